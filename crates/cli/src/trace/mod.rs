//! `cellcc trace`: statistics of a trace, and its conversion.

mod convert;
mod info;

use crate::exit::Exit;
#[cfg(target_os = "linux")]
use crate::network;
use crate::terminal::quoted;
use cellcc_link::Source;
use cellcc_link::trace::Reading;
use cellcc_runner::traces;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Describe traces: rates, outages, gaps, bursts.
    Info(info::Args),
    /// Write a trace in the format of the output file's extension.
    Convert(convert::Args),
    /// Name the program that took its place, until cellcc 1.0.
    #[command(hide = true, disable_help_flag = true)]
    Radio {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<PathBuf>,
    },
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    OfAPath(network::trace::Command),
}

pub(crate) fn run(command: &Command) -> Result<(), Exit> {
    match command {
        Command::Info(args) => info::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Radio { words } => Err(moved_to_python("radio", words)),
        #[cfg(target_os = "linux")]
        Command::OfAPath(command) => network::trace::run(command),
    }
}

fn moved_to_python(module: &str, words: &[PathBuf]) -> Exit {
    let words: String = words.iter().map(|word| format!(" {}", quoted(word))).collect();
    Exit::input(format!("this is part of cellcc's Python package: python -m cellcc.{module}{words}"))
}

/// The link of this text, with the meaning of bare numbers that `--as` states.
fn open(text: &str, reading: Option<Reading>) -> Result<Source, Exit> {
    let stated = reading.map(|reading| format!("{text},as={reading}"));
    traces::open(stated.as_deref().unwrap_or(text)).map_err(Exit::input)
}
