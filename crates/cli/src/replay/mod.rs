//! `cellcc replay`: recorded decisions, repeated: those of a flow by any driver, or of the kernel's TCP.

mod flow;
#[cfg(all(target_os = "linux", feature = "kernel"))]
pub(crate) mod kernel;

use crate::exit::Exit;
use crate::grid::TextOrJson;
#[cfg(not(all(target_os = "linux", feature = "kernel")))]
use crate::without_kernel as kernel;
use cellcc_control::event_log::Log;
use cellcc_units::input;
use std::fmt::Display;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  cellcc compare --schemes cubic --traces lte-drive --events events
  cellcc replay events/*.events
  cellcc replay events/0123456789abcdef.flow0.events --scheme 'cubic(hystart=off)'
  cellcc replay record decisions.capture --duration 10s && cellcc replay decisions.capture

Exit status: 0 if every decision is the recorded one, 1 if one differs, 2 for bad input."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Event logs, from `cellcc compare --events` or `cellcc replay record`.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Scheme to replay a flow's events with [default: the recorded one].
    #[arg(long, value_name = "SCHEME")]
    scheme: Option<String>,
    #[command(flatten)]
    format: TextOrJson,
    /// Print every event of a flow with its decision, one per line, without a replay.
    #[arg(long, conflicts_with_all = ["scheme", "json", "format"])]
    dump: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Record each decision of the schemes in the kernel's TCP, until interrupted.
    Record(kernel::Args),
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Exit> {
    if let Some(Verb::Record(args)) = &args.verb {
        return kernel::run(args);
    }
    let mut differs = false;
    for path in &args.files {
        differs |= replay(args, path)?;
    }
    Ok(ExitCode::from(u8::from(differs)))
}

/// Replays a file, and says whether a decision differs.
fn replay(args: &Args, path: &Path) -> Result<bool, Exit> {
    if path.is_dir() {
        return Err(named(path, "is a folder; name an event log in it, such as RUN.flow0.events"));
    }
    let file = input::open(path).map_err(|error| named(path, error))?;
    match Log::new(BufReader::new(file)).map_err(|error| named(path, error))? {
        Log::Flow(log) => flow::differs(*log, args, path),
        Log::Kernel(_) if args.scheme.is_some() || args.dump => Err(named(
            path,
            "--scheme and --dump are for the events of a flow; this file has steps of the kernel's TCP",
        )),
        Log::Kernel(steps) => kernel::differs(steps, args.format.is_json(), path),
    }
}

/// An error in a file.
fn named(path: &Path, error: impl Display) -> Exit {
    Exit::input(format!("{}: {error}", path.display()))
}
