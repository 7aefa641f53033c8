//! The command `cellcc`: parse -> validated Plan -> Driver -> Records -> Report. It has no logic of its own.

// What only commands of the network use.
#![cfg_attr(not(feature = "network"), allow(dead_code))]

mod check;
mod compare;
mod completions;
mod conditions;
mod exit;
mod free_folder;
mod grid;
mod interrupt;
mod man;
#[cfg_attr(not(feature = "network"), path = "without_network.rs")]
mod network;
mod present;
mod reproduce;
mod results;
mod running;
mod schemes;
mod terminal;
mod trace;
mod usage;
// Its tests compare it with `network`.
#[cfg(all(test, feature = "network"))]
#[allow(dead_code)]
mod without_network;

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
    /// Judge what the papers say by runs of your own, and check the tables of the documentation.
    ///
    /// Run it in a clone of the repository, whose claims/, scenarios/ and docs/ it reads. CELLCC_TRACES names the folder of the
    /// recordings; claims whose recordings are not there are named and left out. Exit status: 0 every verdict is that of
    /// claims/state.tsv, 1 one differs, for better or worse, a number of a page has drifted, or a run failed; 2 bad input.
    Reproduce(Box<reproduce::Args>),
    /// Check whether a congestion controller does what drafts and RFCs ask.
    ///
    /// Each condition has a verdict: pass, fail, skip with the reason, or error, where a run panicked, stalled or failed. Exit
    /// status: 0 nothing failed, 1 something did, 2 bad input, 130 interrupted.
    Check(Box<check::Args>),
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
    /// Draw one figure of a folder of results, for a paper.
    Plot(Box<results::plot::Args>),
    /// Write runs, time series and curves of a folder of results as Parquet or CSV.
    Export(results::export::Args),
    /// List the runs of a folder of results one by one, outliers first.
    Runs(results::runs::Args),
    /// Replay a recorded flow and report the first decision that differs.
    Replay(results::replay::Args),
    #[command(flatten)]
    Network(network::Command),
    /// Print completions for a shell.
    Completions(completions::Args),
    /// Print the man page, or write those of all commands.
    Man(man::Args),
}

fn main() -> ExitCode {
    let arguments = network::arguments();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return usage::report(&error, &arguments),
    };
    let result = match cli.command {
        Command::Compare(args) => compare::run(*args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Schemes(args) => schemes::run(&args),
        Command::Trace(command) => trace::run(&command),
        Command::Merge(args) => results::merge::run(&args),
        Command::Slurm(args) => results::slurm::run(&args),
        Command::Explain(args) => results::explain::run(&args),
        Command::Report(args) => results::report::run(&args),
        Command::Plot(args) => results::plot::run(&args),
        Command::Export(args) => results::export::run(&args),
        Command::Runs(args) => results::runs::run(&args),
        Command::Replay(args) => return results::replay::run(&args).unwrap_or_else(Exit::report),
        Command::Network(command) => return network::run(command).unwrap_or_else(Exit::report),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    result.map_or_else(Exit::report, |()| ExitCode::SUCCESS)
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
