//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! The command `cellcc`: parse -> validated Plan -> Driver -> Records -> Report. It has no logic of its own.
//!
//! A program with schemes of its own has the whole command with them:
//!
//! ```no_run
//! # fn scheme() -> cellcc_control::SchemeInfo { unimplemented!() }
//! fn main() -> std::process::ExitCode {
//!     let mut registry = cellcc::registry();
//!     registry.register(scheme());
//!     cellcc::main_with(registry)
//! }
//! ```

// Code that only commands of the network use.
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
mod own;
mod present;
mod replay;
mod reproduce;
mod results;
mod running;
mod schemes;
mod score;
mod terminal;
mod trace;
#[cfg(any(not(all(target_os = "linux", feature = "kernel")), test))]
#[cfg_attr(test, allow(dead_code, reason = "tests of a build with the kernel use one function of it"))]
mod without_kernel;
// Its tests compare it with `network`.
#[cfg(all(test, feature = "network"))]
#[allow(dead_code)]
mod without_network;

pub use cellcc_experiment::registry;

use cellcc_control::Registry;
use cellcc_experiment::conditions::rows;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error, Parser, Subcommand};
use exit::{Exit, tell};
use std::ffi::OsString;
use std::process::ExitCode;

/// Compare congestion-control schemes on cellular links, and run them in QUIC and Linux TCP.
#[derive(Debug, Parser)]
#[command(name = "cellcc", version, long_version = env!("CELLCC_BUILD"), max_term_width = 100)]
#[command(override_help = help())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run schemes over links, print a table and write an HTML report.
    Compare(Box<compare::Args>),
    /// Re-run the papers' claims and report which ones reproduce.
    ///
    /// Run it in a clone of the repository, whose claims/, scenarios/ and docs/ it reads. CELLCC_TRACES names the folder of the
    /// recorded traces; claims whose traces are missing are named and left out. Exit status: 0 every result is that of
    /// claims/state.tsv; 1 one differs, for better or worse, a number of a page has drifted, or a run failed; 2 bad input.
    Reproduce(Box<reproduce::Args>),
    /// Test a congestion controller against IETF criteria.
    ///
    /// Each assertion has a result: pass, fail, skip with the reason, or error, if a run panicked, stalled or failed. Exit
    /// status: 0 nothing failed, 1 something did, 2 bad input, 130 interrupted.
    Check(Box<check::Args>),
    /// Score schemes with one number each, to search for better ones.
    ///
    /// A score is from 0 to 100: the weighted geometric mean of throughput, delay, loss, harm to CUBIC, and recovery from faults, on
    /// links that cellcc has. Schemes with overlapping intervals rank equally. Exit status: 0; 1 a run failed; 2 bad input; 130
    /// interrupted.
    Score(score::Args),
    /// List schemes and their parameters.
    Schemes(schemes::Args),
    /// Inspect, convert, record and compare traces.
    #[command(subcommand)]
    Trace(trace::Command),
    /// Join the folders written by `compare --shard`.
    Merge(results::report::Merge),
    /// Write a job script that runs a plan on a SLURM cluster, as an array of shards.
    Slurm(Box<results::slurm::Args>),
    /// Split the queueing delay into the link's part and each scheme's part.
    ///
    /// A sender that foresaw every millisecond of a link would never queue. The lower bound is for a sender that knows in
    /// advance how much each interval of an RTT carries, but not the timing within it, and sends evenly.
    Explain(results::explain::Args),
    /// Rebuild the report of a folder of results.
    Report(results::report::Report),
    /// Draw one figure of a folder of results, for a paper.
    Plot(Box<results::plot::Args>),
    /// Write runs, time series and curves of a folder of results as Parquet or CSV.
    Export(results::export::Export),
    /// List the runs of a folder of results, worst first.
    Runs(results::export::Runs),
    /// Replay recorded flows and find the first decision that differs; record the kernel's.
    Replay(replay::Args),
    #[command(flatten)]
    Network(network::Command),
    /// Print completions for a shell.
    Completions(documents::Completions),
    /// Print the man page, or write those of all commands.
    Man(documents::Man),
}

/// The commands in groups, which clap's list has not.
fn help() -> String {
    let real = if cfg!(all(feature = "network", target_os = "linux")) { REAL_NETWORKS } else { "" };
    format!("{START}{real}{MORE}")
}

const START: &str = "\
cellcc: compare congestion-control schemes on cellular links, and run them in
QUIC and Linux TCP

Usage: cellcc <COMMAND>

Start here:
  compare     Run schemes over links, print a table and write an HTML report
  schemes     List schemes and their parameters
  trace       Inspect, convert, record and compare traces

Work with results:
  explain     Split queueing delay into the link's part and each scheme's part
  report      Rebuild the report
  plot        Draw a figure for a paper
  runs        List runs, worst first
  export      Write runs and series as Parquet or CSV
  replay      Find the first decision that differs

";

const REAL_NETWORKS: &str = "\
Real networks:
  shell       Run a program over an emulated link
  graph       Plot the packet log of an emulated link
  video       Test schemes in a browser over an emulated link
  serve, get, put
              Measure a path over QUIC
  tcp         Load schemes into the kernel's TCP
  assist      Network assistance (NetAssist)
  view        Show the live report of a comparison
  doctor      Check whether this machine can emulate links

";

const MORE: &str = "\
Verify:
  check       Test a scheme against IETF criteria
  score       Score schemes with one number each, to search for better ones
  reproduce   Re-run the papers' claims (in a clone of the repository)

More: merge, slurm, mm-* (Mahimahi's commands), completions, man
Options: -h, --help, -V, --version

Examples:
  cellcc compare
  cellcc compare --schemes cubic,tide --traces my.mahi --rtt 40ms --out results
  cellcc shell --down lte-drive --rtt 40ms -- curl http://100.64.0.1:8000/file

`cellcc COMMAND -h` is a summary, `--help` has everything. Documentation: docs/
in the repository.";

/// The command with the schemes of cellcc.
pub fn main() -> ExitCode {
    let arguments = network::arguments();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return report_usage(&error, &arguments),
    };
    let result = match cli.command {
        Command::Compare(args) => compare::run(*args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Score(args) => score::run(&args),
        Command::Schemes(args) => schemes::run(&args),
        Command::Trace(command) => trace::run(&command),
        Command::Merge(args) => results::report::merge(&args),
        Command::Slurm(args) => results::slurm::run(&args),
        Command::Explain(args) => results::explain::run(&args),
        Command::Report(args) => results::report::report(&args),
        Command::Plot(args) => results::plot::run(&args),
        Command::Export(args) => results::export::export(&args),
        Command::Runs(args) => results::export::runs(&args),
        Command::Replay(args) => return replay::run(&args).unwrap_or_else(Exit::report),
        Command::Network(command) => return network::run(command).unwrap_or_else(Exit::report),
        Command::Completions(args) => documents::completions(&args),
        Command::Man(args) => documents::man(&args),
    };
    result.map_or_else(Exit::report, |()| ExitCode::SUCCESS)
}

/// The command with the schemes of `registry`: those of [`registry`](registry()) and the program's own. The version of results then
/// has a word for the program, so that `--resume` never mixes results of two of its builds.
///
/// `serve`, `get`, `put`, `video`, `tcp` and `assist` have cellcc's schemes alone.
pub fn main_with(registry: Registry) -> ExitCode {
    own::begin(registry);
    main()
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
    if let Some(meant) = invalid.and_then(|word| several(word, arguments)) {
        return Exit::input(meant).report();
    }
    tell(error.render().to_string().trim_end());
    ExitCode::from(2)
}

/// A hint for a list written with spaces in place of commas, as `--schemes cubic bbr`, and for a sweep written as one, as a shell makes
/// `--rtt 10ms 20ms` of `--rtt {10,20}ms`.
fn several(word: &str, arguments: &[OsString]) -> Option<String> {
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
    if word.starts_with('-') {
        return None;
    }
    let parts: Vec<&str> =
        words[flag + 1..].iter().copied().take_while(|one| !one.starts_with('-')).collect();
    let flag = words[flag];
    if arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "LIST")) {
        let list = parts.join(",");
        return Some(format!("{flag} takes a list with commas between its parts: {flag} {list}"));
    }
    let row = rows().find(|row| arg.get_id() == row.key)?;
    let sweep = format!("[vary] {:?} = {parts:?}", row.key);
    let are_values = parts.iter().all(|part| row.value(part).is_ok());
    are_values.then(|| format!("{flag} takes one value; a Scenario file takes several, as a sweep: {sweep}"))
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

    /// Each command below `command` that has no commands of its own, by its words.
    fn leaves(command: &clap::Command, words: &str, found: &mut Vec<(String, clap::Command)>) {
        for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let words = format!("{words} {}", one.get_name());
            if one.has_subcommands() {
                leaves(one, &words, found);
            } else {
                found.push((words, one.clone()));
            }
        }
    }

    #[test]
    fn every_command_has_an_example() {
        let mut found = Vec::new();
        leaves(&Cli::command(), "cellcc", &mut found);
        assert!(found.len() > 12, "{}", found.len());
        found.retain(|(_, command)| {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            !help.contains("Example") && !command.is_disable_help_flag_set()
        });
        let without: Vec<_> = found.into_iter().map(|(words, _)| words).collect();
        assert!(without.is_empty(), "{without:?}");
    }

    #[test]
    fn the_help_names_every_command_on_one_screen() {
        let help = help();
        assert!(help.lines().count() <= 45, "{}", help.lines().count());
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        let words: Vec<_> = help.split([' ', ',', '\n']).collect();
        for command in Cli::command().get_subcommands().filter(|one| !one.is_hide_set()) {
            let name = command.get_name();
            assert!(name.starts_with("mm-") || words.contains(&name), "{name}");
        }
    }

    #[test]
    fn the_short_help_of_compare_fits_a_screen() {
        let mut compare = Cli::command().find_subcommand("compare").expect("compare").clone().term_width(80);
        let help = compare.render_help().to_string();
        assert!(help.lines().count() <= 50, "{help}");
    }

    #[test]
    fn examples_and_tables_in_the_help_are_not_wrapped_in_the_middle() {
        let mut found = Vec::new();
        too_wide(&Cli::command(), &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }
}
