//! `cellcc trace`: what a trace is like, and its conversion.

mod convert;
mod info;

use crate::exit::Exit;
use cellcc_link::{CapacitySpec, Source, synthetic};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Say what traces are like: rates, outages, gaps, bursts.
    Info(info::Args),
    /// Write a trace in another format, which the ending of OUT says.
    Convert(convert::Args),
}

pub(crate) fn run(command: &Command) -> Result<(), Exit> {
    match command {
        Command::Info(args) => info::run(args),
        Command::Convert(args) => convert::run(args),
    }
}

fn open(text: &str) -> Result<Source, Exit> {
    text.parse::<CapacitySpec>().and_then(|spec| spec.open(synthetic::link)).map_err(Exit::input)
}
