//! Stands in the place of `network` in a build without that feature, and says how to have what is missing.

use crate::compare::Prepare;
use crate::exit::{ALL_OF_CELLCC, Exit};
use std::ffi::OsString;
use std::process::ExitCode;

/// What is said of a command or a driver that there is not.
pub(crate) fn more() -> String {
    format!("; this build has the simulator alone, and {ALL_OF_CELLCC}")
}

/// No driver beside the simulator.
pub(crate) const DRIVERS: [(&str, Prepare); 0] = [];

/// Whatever is no command of this build.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(external_subcommand)]
    Absent(Vec<OsString>),
}

pub(crate) fn run(command: Command) -> Result<ExitCode, Exit> {
    refuse("", &command).map(|()| ExitCode::SUCCESS)
}

fn refuse(before: &str, Command::Absent(words): &Command) -> Result<(), Exit> {
    let name = words.first().map(|name| name.to_string_lossy()).unwrap_or_default();
    Err(Exit::input(format!("there is no command `cellcc {before}{name}`{}", more())))
}

/// The arguments.
pub(crate) fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// Of `cellcc trace`.
pub(crate) mod trace {
    pub(crate) use super::Command;
    use crate::exit::Exit;

    pub(crate) fn run(command: &Command) -> Result<(), Exit> {
        super::refuse("trace ", command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_refused_by_name_with_how_to_have_it() {
        let said = |result: Result<(), Exit>| match result {
            Err(Exit::Input(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        let get = Command::Absent(vec!["get".into(), "quic://host".into()]);
        let text = said(run(get).map(drop));
        assert!(
            text.starts_with("there is no command `cellcc get`; this build has the simulator alone"),
            "{text}"
        );
        assert!(text.contains("cargo install --locked --path crates/cli"), "{text}");
        let text = said(trace::run(&Command::Absent(vec!["record".into()])));
        assert!(text.starts_with("there is no command `cellcc trace record`"), "{text}");
    }
}
