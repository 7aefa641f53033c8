//! `cellcc trace`: what a trace is like, and its conversion.

mod convert;
#[cfg(target_os = "linux")]
mod diff;
mod info;
#[cfg(target_os = "linux")]
mod record;

use crate::exit::Exit;
use cellcc_link::{CapacitySpec, Source, synthetic};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Describe traces: rates, outages, gaps, bursts.
    Info(info::Args),
    /// Write a trace in another format, which the ending of OUT says.
    Convert(convert::Args),
    /// Turn a real path into a trace: keep its queue filled, and write down what comes through.
    #[cfg(target_os = "linux")]
    Record(record::Args),
    /// Compare a recorded trace with the original.
    #[cfg(target_os = "linux")]
    Diff(diff::Args),
}

pub(crate) fn run(command: &Command) -> Result<(), Exit> {
    match command {
        Command::Info(args) => info::run(args),
        Command::Convert(args) => convert::run(args),
        #[cfg(target_os = "linux")]
        Command::Record(args) => record::run(args),
        #[cfg(target_os = "linux")]
        Command::Diff(args) => diff::run(args),
    }
}

fn open(text: &str) -> Result<Source, Exit> {
    text.parse::<CapacitySpec>().and_then(|spec| spec.open(synthetic::link)).map_err(Exit::input)
}
