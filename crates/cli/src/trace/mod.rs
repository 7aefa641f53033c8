//! `cellcc trace`: what a trace is like, and its conversion; what recordings say of a radio.

mod convert;
mod info;
mod radio;

use crate::exit::Exit;
#[cfg(target_os = "linux")]
use crate::network;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Describe traces: rates, outages, gaps, bursts.
    Info(info::Args),
    /// Write a trace in another format, which the ending of OUT says.
    Convert(convert::Args),
    /// Find out how the radio of a network repeats and waits, from logs of NR-Scope or output of ping.
    Radio(radio::Args),
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    OfAPath(network::trace::Command),
}

pub(crate) fn run(command: &Command) -> Result<(), Exit> {
    match command {
        Command::Info(args) => info::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Radio(args) => radio::run(args),
        #[cfg(target_os = "linux")]
        Command::OfAPath(command) => network::trace::run(command),
    }
}
