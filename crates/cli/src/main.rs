//! The command `cellcc`: parse -> validated Plan -> Driver -> Records -> Report. It has no logic of its own.

mod advice;
mod assist;
mod compare;
mod completions;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod emulated;
mod exit;
mod explain;
mod free_folder;
mod get;
#[cfg(target_os = "linux")]
mod graph;
mod grid;
mod interrupt;
#[cfg(target_os = "linux")]
mod mahimahi;
mod man;
mod merge;
mod own_flows;
mod present;
mod process;
mod put;
mod repeat;
mod replay;
mod report;
mod schemes;
mod serve;
#[cfg(target_os = "linux")]
mod server;
#[cfg(target_os = "linux")]
mod shell;
mod slurm;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod tcp;
mod terminal;
mod trace;
mod transfer;
mod url;

use clap::{Parser, Subcommand};
use exit::Exit;
use std::env;
use std::ffi::OsString;
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
    /// Write a job script that runs a plan on a SLURM cluster, as an array of shares.
    Slurm(Box<slurm::Args>),
    /// Split the queueing delay into the link's part and each scheme's part.
    ///
    /// A sender that foresaw every millisecond of a link would never queue. The bound is for one that knows in advance what each
    /// interval of an RTT carries, and sends evenly within it: more than any sender knows, but not when within the RTT the link
    /// pauses and bursts.
    Explain(explain::Args),
    /// Make the report again from a folder of results.
    Report(report::Args),
    /// Replay a recorded flow and report the first decision that differs.
    Replay(replay::Args),
    /// Summarise a link's packet log, as text and SVG.
    #[cfg(target_os = "linux")]
    Graph(graph::Args),
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    Mahimahi(mahimahi::Command),
    /// Start a program so that its traffic crosses an emulated link.
    #[cfg(target_os = "linux")]
    Shell(Box<shell::Args>),
    /// Check what the emulator can do on this machine.
    #[cfg(target_os = "linux")]
    Doctor(doctor::Args),
    /// Load schemes into the kernel's TCP, for every program on this machine.
    #[cfg(all(target_os = "linux", feature = "kernel"))]
    #[command(subcommand)]
    Tcp(tcp::Command),
    /// Download over QUIC from `cellcc serve`, and report how it went.
    Get(Box<get::Args>),
    /// Upload over QUIC to `cellcc serve`, and report how it went.
    Put(Box<put::Args>),
    /// Answer `cellcc get` and `cellcc put`.
    Serve(Box<serve::Args>),
    /// Network assistance: tell servers what each user's bottleneck can carry.
    #[command(subcommand)]
    Assist(assist::Command),
    /// Print completions for a shell.
    Completions(completions::Args),
    /// Print the man page, or write those of all commands.
    Man(man::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse_from(arguments()).command {
        Command::Compare(args) => compare::run(*args),
        Command::Schemes(args) => schemes::run(&args),
        Command::Trace(command) => trace::run(&command),
        Command::Merge(args) => merge::run(&args),
        Command::Slurm(args) => slurm::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Replay(args) => return replay::run(&args).unwrap_or_else(Exit::report),
        #[cfg(target_os = "linux")]
        Command::Graph(args) => graph::run(&args),
        #[cfg(target_os = "linux")]
        Command::Mahimahi(command) => return mahimahi::run(command).unwrap_or_else(Exit::report),
        #[cfg(target_os = "linux")]
        Command::Shell(args) => return shell::run(*args).unwrap_or_else(Exit::report),
        #[cfg(target_os = "linux")]
        Command::Doctor(args) => doctor::run(&args),
        #[cfg(all(target_os = "linux", feature = "kernel"))]
        Command::Tcp(command) => return tcp::run(&command).unwrap_or_else(Exit::report),
        Command::Get(args) => return get::run(*args).unwrap_or_else(Exit::report),
        Command::Put(args) => return put::run(*args).unwrap_or_else(Exit::report),
        Command::Serve(args) => return serve::run(*args).unwrap_or_else(Exit::report),
        Command::Assist(command) => return assist::run(command).unwrap_or_else(Exit::report),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    result.map_or_else(Exit::report, |()| ExitCode::SUCCESS)
}

/// The arguments; those of a call by one of Mahimahi's names as ours.
fn arguments() -> Vec<OsString> {
    #[cfg(target_os = "linux")]
    return mahimahi::by_name(env::args_os());
    #[cfg(not(target_os = "linux"))]
    env::args_os().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// As wide as clap makes help where the terminal is wider.
    const WIDTH: usize = 100;

    fn too_wide(command: &clap::Command, found: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = help.lines().filter(|line| line.starts_with("  ") && line.chars().count() > WIDTH);
        found.extend(lines.map(|line| format!("{}: {line}", command.get_name())));
        command.get_subcommands().for_each(|one| too_wide(one, found));
    }

    #[test]
    fn examples_and_tables_in_the_help_are_not_wrapped_in_the_middle() {
        let mut found = Vec::new();
        too_wide(&Cli::command(), &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }
}
