//! Mahimahi's commands, as `cellcc mm-link ...` and through links to this program that have their names.

use crate::exit::{Exit, tell};
use crate::network::emulator::{graph, shell};
use cellcc_emu::mahimahi::{self, Shell};
use cellcc_runner::traces;
use clap::Subcommand;
use std::env;
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Mahimahi: run a command behind a delay, the same in both directions.
    #[command(name = "mm-delay", override_usage = Shell::Delay.usage(), after_help = DELAY)]
    Delay(Words),
    /// Mahimahi: run a command behind a link in each direction.
    #[command(name = "mm-link", override_usage = Shell::Link.usage(), after_help = LINK)]
    Link(Words),
    /// Mahimahi: run a command behind random loss in one direction.
    #[command(name = "mm-loss", override_usage = Shell::Loss.usage(), after_help = LOSS)]
    Loss(Words),
    /// Mahimahi: run a command behind outages of one direction.
    #[command(name = "mm-onoff", override_usage = Shell::OnOff.usage(), after_help = ON_OFF)]
    OnOff(Words),
    /// Mahimahi: plot a log's throughput to standard output, its numbers to standard error.
    #[command(
        name = "mm-throughput-graph",
        after_help = "\
Example:
  mm-throughput-graph 500 down.log > throughput.svg"
    )]
    ThroughputGraph {
        /// Width of the bins in milliseconds.
        #[arg(value_name = "MS_PER_BIN")]
        bin_ms: NonZeroU64,
        /// The log [default: standard input].
        log: Option<PathBuf>,
    },
    /// Mahimahi: plot a log's queueing delay to standard output, its numbers to standard error.
    #[command(
        name = "mm-delay-graph",
        after_help = "\
Example:
  mm-delay-graph down.log > delay.svg"
    )]
    DelayGraph {
        /// The log [default: standard input].
        log: Option<PathBuf>,
    },
}

const DELAY: &str = "\
MILLISECONDS is the delay of each direction: 20, or with a unit 2.5ms, or over time 10ms@5s,40ms@5s.
COMMAND runs behind it (default: your shell); it may be another of these shells.

Examples:
  mm-delay 20
  mm-delay 20 mm-link 12Mbit/s lte-drive -- curl -O http://100.64.0.1:8000/file

The machine is at $MAHIMAHI_BASE, 100.64.0.1 where no other emulator runs.";

const LINK: &str = "\
UP and DOWN are traces (a Mahimahi file, or a rate over time), rates such as 12Mbit/s, or synthetic
links such as lte-drive.
UP is from the command to the outside. COMMAND runs behind the link (default: your shell).

Options, before or after the traces:
  --uplink-log=FILE, --downlink-log=FILE
                       Log the packets, for `cellcc graph` and Mahimahi's scripts
  --uplink-queue=KIND, --downlink-queue=KIND
                       infinite [default], droptail, drophead, codel, pie, or cellular (ABC's);
                       or any queue of `cellcc compare --queue` with its settings, such as
                       'red(limit=100pkt)' or fq-codel
  --uplink-queue-args=ARGS, --downlink-queue-args=ARGS
                       packets=NUMBER or bytes=NUMBER, the size, which all kinds except infinite
                       need; target=MS,interval=MS for codel, qdelay_ref=MS,max_burst=MS for pie,
                       as in their RFCs by default
  --once               Play the traces once; then nothing passes. Without it, they repeat
  --meter-uplink, --meter-uplink-delay, --meter-downlink, --meter-downlink-delay, --meter-all
                       Accepted, without effect: there are no live plots; see `cellcc graph LOG`

Examples:
  mm-link up.trace down.trace
  mm-link 20Mbit/s lte-drive --downlink-queue=droptail --downlink-queue-args=packets=100 \\
      --downlink-log=down.log -- sh -c 'iperf3 -R -c $MAHIMAHI_BASE'";

const LOSS: &str = "\
uplink is from the command to the outside.
RATE is the fraction of lost packets: 0.01, or 1%, or over time 0%@5s,1%@5s.
COMMAND runs behind it (default: your shell); it may be another of these shells.

Options:
  --seed=NUMBER        Lose other packets. Without it, they are the same each time

Example:
  mm-loss downlink 0.01 mm-delay 20 sh -c 'ping -c 100 $MAHIMAHI_BASE'";

const ON_OFF: &str = "\
uplink is from the command to the outside. Periods in which all packets pass or all are lost alternate, of random length with these
means: 10, in seconds, or with a unit 200ms.
COMMAND runs behind it (default: your shell); it may be another of these shells.

Options:
  --seed=NUMBER        Draw other times. Without it, they are the same each time

Example:
  mm-onoff uplink 10 200ms sh -c 'ping -c 100 $MAHIMAHI_BASE'";

/// The words of a shell, the command that runs within it included; read by [`mahimahi::parse`].
#[derive(Debug, clap::Args)]
pub(crate) struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD", hide = true)]
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
    let chain = mahimahi::parse(&line, &outside, &traces::open)?;
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
    use crate::network;
    use clap::Parser;

    /// The words that a shell gets.
    fn words(arguments: &[&str]) -> Vec<OsString> {
        let arguments = by_name(arguments.iter().map(OsString::from));
        match crate::Cli::parse_from(arguments).command {
            crate::Command::Network(network::Command::Mahimahi(
                Command::Delay(words) | Command::Link(words) | Command::Loss(words) | Command::OnOff(words),
            )) => words.words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_help_of_a_shell_names_its_words_options_and_an_example() {
        let help =
            |name: &str| crate::Cli::try_parse_from(["cellcc", name, "--help"]).unwrap_err().to_string();
        for (name, words) in [
            ("mm-delay", &["mm-delay MILLISECONDS", "mm-delay 20"][..]),
            ("mm-link", &["mm-link UP DOWN", "--uplink-queue-args", "--once", "mm-link up.trace"]),
            ("mm-loss", &["mm-loss uplink|downlink RATE", "--seed=NUMBER", "mm-loss downlink 0.01"]),
            ("mm-onoff", &["MEAN-ON-SECONDS MEAN-OFF-SECONDS", "--seed=NUMBER", "mm-onoff uplink 10"]),
            ("mm-delay-graph", &["mm-delay-graph down.log"]),
        ] {
            let help = help(name);
            words.iter().for_each(|word| assert!(help.contains(word), "{name}: {word}: {help}"));
            assert!(!help.contains("[WORD]"), "{name}: {help}");
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
