//! Mahimahi's commands, as `cellcc mm-link ...` and through links to this program that have their names.

use crate::exit::{Exit, tell};
use crate::{graph, shell, traces};
use cellcc_emu::mahimahi::{self, Shell};
use cellcc_link::{CapacitySpec, synthetic};
use clap::Subcommand;
use std::env;
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Mahimahi: run a command behind a delay, `mm-delay MILLISECONDS [COMMAND...]`.
    #[command(name = "mm-delay")]
    Delay(Words),
    /// Mahimahi: run a command behind a link, `mm-link UP DOWN [OPTION...] [-- COMMAND...]`.
    #[command(name = "mm-link")]
    Link(Words),
    /// Mahimahi: run a command behind random loss, `mm-loss uplink|downlink RATE [COMMAND...]`.
    #[command(name = "mm-loss")]
    Loss(Words),
    /// Mahimahi: run a command behind outages, `mm-onoff uplink|downlink MEAN-ON MEAN-OFF [COMMAND...]`.
    #[command(name = "mm-onoff")]
    OnOff(Words),
    /// Mahimahi: draw a log's throughput on standard output.
    #[command(name = "mm-throughput-graph")]
    ThroughputGraph {
        /// Width of the bins in milliseconds.
        #[arg(value_name = "MS_PER_BIN")]
        bin_ms: NonZeroU64,
        /// The log [default: standard input].
        log: Option<PathBuf>,
    },
    /// Mahimahi: draw a log's queueing delay on standard output.
    #[command(name = "mm-delay-graph")]
    DelayGraph {
        /// The log [default: standard input].
        log: Option<PathBuf>,
    },
}

/// The words of a shell, the command that runs within it included; read by [`mahimahi::parse`].
#[derive(Debug, clap::Args)]
pub(crate) struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    words: Vec<OsString>,
}

pub(crate) fn run(command: Command) -> Result<ExitCode, Exit> {
    let (shell, words) = match command {
        Command::Delay(words) => (Shell::Delay, words),
        Command::Link(words) => (Shell::Link, words),
        Command::Loss(words) => (Shell::Loss, words),
        Command::OnOff(words) => (Shell::OnOff, words),
        Command::ThroughputGraph { bin_ms, log } => {
            return graph::throughput(bin_ms, log.as_deref()).map(|()| ExitCode::SUCCESS);
        }
        Command::DelayGraph { log } => {
            return graph::delay(log.as_deref()).map(|()| ExitCode::SUCCESS);
        }
    };
    let mut line = vec![OsString::from(shell.name())];
    line.extend(words.words);
    let outside = env::var("MAHIMAHI_SHELL_PREFIX").unwrap_or_default();
    let open =
        |text: &str| traces::normal(text).parse::<CapacitySpec>().and_then(|spec| spec.open(synthetic::link));
    let chain = mahimahi::parse(&line, &outside, &open)?;
    for note in &chain.notes {
        tell(&format!("note: {note}"));
    }
    shell::run_chain(chain)
}

/// The arguments of this program; where it was called by one of Mahimahi's names, as if that were its subcommand.
pub(crate) fn by_name(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let name = arguments.first().and_then(|program| Path::new(program).file_name()).map(OsString::from);
    if let Some(name) = name.filter(|name| name.to_string_lossy().starts_with("mm-")) {
        arguments.splice(..1, ["cellcc".into(), name]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    /// The words that a shell gets.
    fn words(arguments: &[&str]) -> Vec<OsString> {
        let arguments = by_name(arguments.iter().map(OsString::from));
        match crate::Cli::parse_from(arguments).command {
            crate::Command::Mahimahi(
                Command::Delay(words) | Command::Link(words) | Command::Loss(words) | Command::OnOff(words),
            ) => words.words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_shell_gets_all_words_as_they_are_by_its_name_and_as_a_subcommand() {
        for line in [
            &["10", "mm-link", "up", "down", "--once", "--", "ls", "--help", "--", "-x"][..],
            &["--uplink-log=x", "up", "--", "down", "--", "ls"],
            &["-u", "x", "up", "down"],
            &[],
        ] {
            let expected: Vec<OsString> = line.iter().map(OsString::from).collect();
            for name in ["mm-delay", "mm-link", "mm-loss", "mm-onoff"] {
                let by_link = format!("/usr/local/bin/{name}");
                assert_eq!(words(&[&[by_link.as_str()], line].concat()), expected, "{name}");
                assert_eq!(words(&[&["cellcc", name], line].concat()), expected, "{name}");
            }
        }
    }
}
