//! The command `cellcc`: parse -> validated Plan -> Driver -> Records -> Report. It has no logic of its own.

mod compare;
mod completions;
#[cfg(target_os = "linux")]
mod doctor;
mod exit;
mod grid;
mod man;
mod merge;
mod present;
mod report;
mod schemes;
mod trace;
mod traces;

use clap::{Parser, Subcommand};
use exit::Exit;
use std::process::ExitCode;

/// Compares congestion controls over cellular links.
#[derive(Debug, Parser)]
#[command(name = "cellcc", version, long_version = env!("CELLCC_BUILD"), max_term_width = 100)]
#[command(after_help = "`cellcc compare` alone runs the quick start; `cellcc COMMAND --help` says more.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run schemes over links and report what came out.
    Compare(Box<compare::Args>),
    /// Describe the schemes and their parameters.
    Schemes(schemes::Args),
    /// Look at traces and convert them.
    #[command(subcommand)]
    Trace(trace::Command),
    /// Join the folders that `compare --shard` left.
    Merge(merge::Args),
    /// Make the report again from a folder of results.
    Report(report::Args),
    /// Say what the emulator can and cannot do on this machine.
    #[cfg(target_os = "linux")]
    Doctor(doctor::Args),
    /// Print completions for a shell.
    Completions(completions::Args),
    /// Print the man page, or write those of all commands.
    Man(man::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Compare(args) => compare::run(*args),
        Command::Schemes(args) => schemes::run(&args),
        Command::Trace(command) => trace::run(&command),
        Command::Merge(args) => merge::run(&args),
        Command::Report(args) => report::run(&args),
        #[cfg(target_os = "linux")]
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    result.map_or_else(Exit::report, |()| ExitCode::SUCCESS)
}
