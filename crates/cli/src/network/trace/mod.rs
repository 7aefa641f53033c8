//! `cellcc trace` on a real path.

mod diff;
mod record;

use crate::exit::Exit;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Record a trace of a real path: keep its queue filled, and log the arrivals.
    Record(record::Args),
    /// Compare a recorded trace with the original.
    Diff(diff::Args),
}

pub(crate) fn run(command: &Command) -> Result<(), Exit> {
    match command {
        Command::Record(args) => record::run(args),
        Command::Diff(args) => diff::run(args),
    }
}
