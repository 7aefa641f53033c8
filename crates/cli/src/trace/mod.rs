//! `cellcc trace`: statistics of a trace, and its conversion; radio parameters from recordings.

mod convert;
mod info;
mod radio;

use crate::exit::Exit;
#[cfg(target_os = "linux")]
use crate::network;
use cellcc_link::Source;
use cellcc_link::trace::Reading;
use cellcc_runner::traces;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Describe traces: rates, outages, gaps, bursts.
    Info(info::Args),
    /// Write a trace in the format of the output file's extension.
    Convert(convert::Args),
    /// Estimate HARQ retransmissions and uplink access delay from NR-Scope logs or ping output.
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

/// The link of this text, with the meaning of bare numbers that `--as` states.
fn open(text: &str, reading: Option<Reading>) -> Result<Source, Exit> {
    let stated = reading.map(|reading| format!("{text},as={reading}"));
    traces::open(stated.as_deref().unwrap_or(text)).map_err(Exit::input)
}
