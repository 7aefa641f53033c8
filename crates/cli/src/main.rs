//! The command `cellcc`: parse -> validated Plan -> Driver -> Records -> Report. It has no logic of its own.

mod advice;
mod assist;
mod compare;
mod completions;
mod conditions;
mod emulator;
mod exit;
mod free_folder;
mod grid;
mod interrupt;
mod man;
mod own_flows;
mod present;
mod process;
mod repeat;
mod results;
mod schemes;
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
    Merge(results::merge::Args),
    /// Write a job script that runs a plan on a SLURM cluster, as an array of shares.
    Slurm(Box<results::slurm::Args>),
    /// Split the queueing delay into the link's part and each scheme's part.
    ///
    /// A sender that foresaw every millisecond of a link would never queue. The bound is for one that knows in advance what each
    /// interval of an RTT carries, and sends evenly within it: more than any sender knows, but not when within the RTT the link
    /// pauses and bursts.
    Explain(results::explain::Args),
    /// Make the report again from a folder of results.
    Report(results::report::Args),
    /// Replay a recorded flow and report the first decision that differs.
    Replay(results::replay::Args),
    /// Summarise a link's packet log, as text and SVG.
    #[cfg(target_os = "linux")]
    Graph(emulator::graph::Args),
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    Mahimahi(emulator::mahimahi::Command),
    /// Start a program so that its traffic crosses an emulated link.
    #[cfg(target_os = "linux")]
    Shell(Box<emulator::shell::Args>),
    /// Check what the emulator can do on this machine.
    #[cfg(target_os = "linux")]
    Doctor(emulator::doctor::Args),
    /// Load schemes into the kernel's TCP, for every program on this machine.
    #[cfg(all(target_os = "linux", feature = "kernel"))]
    #[command(subcommand)]
    Tcp(tcp::Command),
    /// Download over QUIC from `cellcc serve`, and report how it went.
    Get(Box<transfer::get::Args>),
    /// Upload over QUIC to `cellcc serve`, and report how it went.
    Put(Box<transfer::put::Args>),
    /// Answer `cellcc get` and `cellcc put`.
    Serve(Box<transfer::serve::Args>),
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
        Command::Merge(args) => results::merge::run(&args),
        Command::Slurm(args) => results::slurm::run(&args),
        Command::Explain(args) => results::explain::run(&args),
        Command::Report(args) => results::report::run(&args),
        Command::Replay(args) => return results::replay::run(&args).unwrap_or_else(Exit::report),
        #[cfg(target_os = "linux")]
        Command::Graph(args) => emulator::graph::run(&args),
        #[cfg(target_os = "linux")]
        Command::Mahimahi(command) => return emulator::mahimahi::run(command).unwrap_or_else(Exit::report),
        #[cfg(target_os = "linux")]
        Command::Shell(args) => return emulator::shell::run(*args).unwrap_or_else(Exit::report),
        #[cfg(target_os = "linux")]
        Command::Doctor(args) => emulator::doctor::run(&args),
        #[cfg(all(target_os = "linux", feature = "kernel"))]
        Command::Tcp(command) => return tcp::run(&command).unwrap_or_else(Exit::report),
        Command::Get(args) => return transfer::get::run(*args).unwrap_or_else(Exit::report),
        Command::Put(args) => return transfer::put::run(*args).unwrap_or_else(Exit::report),
        Command::Serve(args) => return transfer::serve::run(*args).unwrap_or_else(Exit::report),
        Command::Assist(command) => return assist::run(command).unwrap_or_else(Exit::report),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    result.map_or_else(Exit::report, |()| ExitCode::SUCCESS)
}

/// The arguments; those of a call by one of Mahimahi's names as ours.
fn arguments() -> Vec<OsString> {
    #[cfg(target_os = "linux")]
    return emulator::mahimahi::by_name(env::args_os());
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
