//! The one way out: an exit status and what to say on standard error; and the one way to write on standard output.

use crate::terminal;
use cellcc_report::highlighted;
use cellcc_runner::{RequestError, RunnerError, with_causes};
use cellcc_units::{output, printable_lines};
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Where to get the parts that a build leaves out.
pub(crate) const ALL_OF_CELLCC: &str = "`cargo install --locked --path crates/cli` builds the rest";

/// Why the command ends early.
#[derive(Debug)]
pub(crate) enum Exit {
    /// Bad input: status 2.
    Input(Box<dyn Error>),
    /// Something failed on the way: status 1.
    Failed(Box<dyn Error>),
    /// Runs failed and have been named already: status 1.
    FailedRuns,
    /// A verdict or a number is another one than before, and has been named already: status 1.
    Differs,
    /// Interrupted, and the way to go on has been named already: status 130.
    Interrupted,
    /// A command that cannot be started: the status that shells use for it.
    Command(Box<dyn Error>, u8),
    /// The reader closed stdout (as `head` does): not an error.
    Closed,
}

impl Exit {
    pub(crate) fn input(error: impl Into<Box<dyn Error>>) -> Self {
        Self::Input(error.into())
    }

    pub(crate) fn failed(error: impl Into<Box<dyn Error>>) -> Self {
        Self::Failed(error.into())
    }

    /// The error in words.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Input(error) | Self::Failed(error) | Self::Command(error, _) => with_causes(error.as_ref()),
            Self::FailedRuns | Self::Differs | Self::Interrupted | Self::Closed => String::new(),
        }
    }

    /// Tells the error, and gives the status.
    pub(crate) fn report(self) -> ExitCode {
        match &self {
            Self::Input(_) | Self::Failed(_) | Self::Command(..) => tell(&format!("error: {}", self.text())),
            Self::FailedRuns | Self::Differs | Self::Interrupted | Self::Closed => {}
        }
        match self {
            Self::Input(_) => ExitCode::from(2),
            Self::Failed(_) | Self::FailedRuns | Self::Differs => ExitCode::from(1),
            Self::Interrupted => ExitCode::from(130),
            Self::Command(_, status) => ExitCode::from(status),
            Self::Closed => ExitCode::SUCCESS,
        }
    }
}

impl From<RunnerError> for Exit {
    fn from(error: RunnerError) -> Self {
        if error.is_input() { Self::input(error) } else { Self::failed(error) }
    }
}

impl From<RequestError> for Exit {
    fn from(error: RequestError) -> Self {
        Self::input(error)
    }
}

/// A line on standard error, without characters that a terminal would obey; ignored if that is closed.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(line));
}

/// Writes a file that the user has named, or that goes into a folder of theirs: whole or not at all.
pub(crate) fn write_file(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Exit> {
    output::write(path, content).map_err(|error| unwritten(path, &error))
}

/// Why a file is not written.
pub(crate) fn unwritten(path: &Path, error: &io::Error) -> Exit {
    Exit::failed(format!("cannot write {}: {error}", path.display()))
}

/// Writes results on standard output, without characters that a terminal would obey except bold and faint letters in tables,
/// one line break at the end.
pub(crate) fn print(text: &str) -> Result<(), Exit> {
    print_after("", text)
}

/// Prints text after an escape sequence of ours, which the terminal obeys.
pub(crate) fn print_after(sequence: &str, text: &str) -> Result<(), Exit> {
    let text = printable_lines(text.trim_end_matches('\n'));
    let text = highlighted(&text, terminal::has_colours());
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{sequence}{text}").and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Exit::Closed,
        _ => Exit::failed(format!("cannot write to standard output: {error}")),
    })
}
