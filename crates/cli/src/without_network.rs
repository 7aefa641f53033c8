//! Replaces `network` in a build without that feature, and says how to have the missing parts.

use crate::exit::{ALL_OF_CELLCC, Exit};
use clap::{Arg, ArgMatches, FromArgMatches, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// A command that this build leaves out, of `cellcc` or of `cellcc trace`, by its name.
#[derive(Debug)]
pub(crate) struct Absent<const OF_TRACE: bool>(String);

pub(crate) type Command = Absent<false>;

impl<const OF_TRACE: bool> Absent<OF_TRACE> {
    const NAMES: &[&str] = if OF_TRACE {
        &["record", "diff"]
    } else {
        &[
            "view",
            "graph",
            "mm-delay",
            "mm-link",
            "mm-loss",
            "mm-onoff",
            "mm-throughput-graph",
            "mm-delay-graph",
            "shell",
            "doctor",
            "tcp",
            "get",
            "put",
            "serve",
            "video",
            "assist",
        ]
    };

    fn refuse(&self) -> Result<(), Exit> {
        let of = if OF_TRACE { "trace " } else { "" };
        Err(Exit::input(format!(
            "there is no command `cellcc {of}{}`; this build has the simulator alone, and {ALL_OF_CELLCC}",
            self.0
        )))
    }
}

impl<const OF_TRACE: bool> FromArgMatches for Absent<OF_TRACE> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(matches.subcommand_name().unwrap_or_default().into()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|absent| *self = absent)
    }
}

impl<const OF_TRACE: bool> Subcommand for Absent<OF_TRACE> {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        let words = || Arg::new("words").num_args(0..).trailing_var_arg(true).allow_hyphen_values(true);
        let absent =
            |name: &&'static str| clap::Command::new(*name).hide(true).disable_help_flag(true).arg(words());
        command.subcommands(Self::NAMES.iter().map(absent))
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Self::NAMES.contains(&name)
    }
}

pub(crate) fn run(command: Command) -> Result<ExitCode, Exit> {
    command.refuse().map(|()| ExitCode::SUCCESS)
}

/// The arguments.
pub(crate) fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// The commands of `cellcc trace`.
pub(crate) mod trace {
    use crate::exit::Exit;

    pub(crate) type Command = super::Absent<true>;

    pub(crate) fn run(command: &Command) -> Result<(), Exit> {
        command.refuse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    /// As the command itself has it.
    #[derive(Debug, Parser)]
    struct Small {
        #[command(subcommand)]
        command: Commands,
    }

    #[derive(Debug, clap::Subcommand)]
    enum Commands {
        #[command(flatten)]
        Absent(Command),
        #[command(subcommand)]
        Trace(Trace),
        Compare,
    }

    #[derive(Debug, clap::Subcommand)]
    enum Trace {
        #[command(flatten)]
        Absent(trace::Command),
        Info,
    }

    fn said(result: Result<(), Exit>) -> String {
        match result {
            Err(Exit::Input(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_left_out_is_refused_by_name_with_how_to_have_it() {
        let words = ["cellcc", "get", "--json", "quic://host", "--help"];
        let Commands::Absent(get) = Small::parse_from(words).command else { panic!() };
        let text = said(run(get).map(drop));
        assert!(text.starts_with("there is no command `cellcc get`; this build has the simulator"), "{text}");
        assert!(text.contains("cargo install --locked --path crates/cli"), "{text}");
        let Commands::Trace(Trace::Absent(record)) =
            Small::parse_from(["cellcc", "trace", "record", "host"]).command
        else {
            panic!()
        };
        let text = said(trace::run(&record));
        assert!(text.starts_with("there is no command `cellcc trace record`"), "{text}");
    }

    /// A stand-in that took every name also took these.
    #[test]
    fn what_is_there_is_not_taken_for_what_is_left_out() {
        assert!(matches!(Small::parse_from(["cellcc", "compare"]).command, Commands::Compare));
        let command = Small::parse_from(["cellcc", "trace", "info"]).command;
        assert!(matches!(command, Commands::Trace(Trace::Info)));
        let unknown = Small::try_parse_from(["cellcc", "comparr"]).unwrap_err().to_string();
        assert!(unknown.contains("'compare'"), "{unknown}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn all_commands_of_the_network_are_known_and_no_other() {
        fn names<T: Subcommand>() -> Vec<String> {
            let command = T::augment_subcommands(clap::Command::new("cellcc"));
            command.get_subcommands().map(|one| one.get_name().to_owned()).collect()
        }
        assert_eq!(names::<Command>(), names::<crate::network::Command>());
        assert_eq!(names::<trace::Command>(), names::<crate::network::trace::Command>());
    }
}
