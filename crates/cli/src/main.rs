//! The command `cellcc`: parse -> validated Plan -> Driver -> Records -> Report. It has no logic of its own.

// What only commands of the network use.
#![cfg_attr(not(feature = "network"), allow(dead_code))]

mod check;
mod compare;
mod conditions;
mod documents;
mod exit;
mod free_folder;
mod grid;
mod interrupt;
#[cfg_attr(not(feature = "network"), path = "without_network.rs")]
mod network;
mod present;
mod reproduce;
mod results;
mod running;
mod schemes;
mod terminal;
mod trace;
// Its tests compare it with `network`.
#[cfg(all(test, feature = "network"))]
#[allow(dead_code)]
mod without_network;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error, Parser, Subcommand};
use exit::{Exit, tell};
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
    Merge(results::report::Merge),
    /// Write a job script that runs a plan on a SLURM cluster, as an array of shares.
    Slurm(Box<results::slurm::Args>),
    /// Split the queueing delay into the link's part and each scheme's part.
    ///
    /// A sender that foresaw every millisecond of a link would never queue. The bound is for one that knows in advance what each
    /// interval of an RTT carries, and sends evenly within it: more than any sender knows, but not when within the RTT the link
    /// pauses and bursts.
    Explain(results::explain::Args),
    /// Make the report again from a folder of results.
    Report(results::report::Report),
    /// Draw one figure of a folder of results, for a paper.
    Plot(Box<results::plot::Args>),
    /// Write runs, time series and curves of a folder of results as Parquet or CSV.
    Export(results::export::Export),
    /// List the runs of a folder of results one by one, outliers first.
    Runs(results::export::Runs),
    /// Replay a recorded flow and report the first decision that differs.
    Replay(results::replay::Args),
    #[command(flatten)]
    Network(network::Command),
    /// Print completions for a shell.
    Completions(documents::Completions),
    /// Print the man page, or write those of all commands.
    Man(documents::Man),
}

fn main() -> ExitCode {
    let arguments = network::arguments();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return report_usage(&error, &arguments),
    };
    let result = match cli.command {
        Command::Compare(args) => compare::run(*args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Schemes(args) => schemes::run(&args),
        Command::Trace(command) => trace::run(&command),
        Command::Merge(args) => results::report::merge(&args),
        Command::Slurm(args) => results::slurm::run(&args),
        Command::Explain(args) => results::explain::run(&args),
        Command::Report(args) => results::report::report(&args),
        Command::Plot(args) => results::plot::run(&args),
        Command::Export(args) => results::export::export(&args),
        Command::Runs(args) => results::export::runs(&args),
        Command::Replay(args) => return results::replay::run(&args).unwrap_or_else(Exit::report),
        Command::Network(command) => return network::run(command).unwrap_or_else(Exit::report),
        Command::Completions(args) => documents::completions(&args),
        Command::Man(args) => documents::man(&args),
    };
    result.map_or_else(Exit::report, |()| ExitCode::SUCCESS)
}

/// Says what is wrong with the arguments, and gives the status; prints help and version, which are no errors.
fn report_usage(error: &Error, arguments: &[OsString]) -> ExitCode {
    let help = [
        ErrorKind::DisplayHelp,
        ErrorKind::DisplayVersion,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ];
    if help.contains(&error.kind()) {
        error.exit();
    }
    if error.kind() == ErrorKind::InvalidUtf8
        && let Some(argument) = arguments.iter().find(|argument| argument.to_str().is_none())
    {
        return Exit::input(format!("the argument {argument:?} is not UTF-8; rename the file")).report();
    }
    let invalid = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if error.kind() == ErrorKind::UnknownArgument => Some(word),
        _ => None,
    };
    if let Some(meant) = invalid.and_then(|word| list(word, arguments)) {
        return Exit::input(meant).report();
    }
    tell(error.render().to_string().trim_end());
    ExitCode::from(2)
}

/// A hint for a list written with spaces in place of commas: `--schemes cubic bbr`.
fn list(word: &str, arguments: &[OsString]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let at = words.iter().position(|one| *one == word)?;
    let flag = words[..at].iter().rposition(|one| one.starts_with('-'))?;
    let root = Cli::command();
    let subcommands = std::iter::successors(Some((&root, 1)), |(command, at)| {
        Some((command.find_subcommand(words.get(*at)?)?, at + 1))
    });
    let (command, _) = subcommands.last()?;
    let name = words[flag].trim_start_matches('-');
    let is_named = |arg: &&clap::Arg| arg.get_long() == Some(name) || name.chars().eq(arg.get_short());
    let arg = command.get_arguments().find(is_named)?;
    let takes_list = arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "LIST"));
    let parts: Vec<&str> =
        words[flag + 1..].iter().copied().take_while(|one| !one.starts_with('-')).collect();
    let (flag, list) = (words[flag], parts.join(","));
    takes_list.then(|| format!("{flag} takes a list with commas between its parts: {flag} {list}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
