//! Errors of the emulator, with their remedies.

use std::io;
use thiserror::Error;

/// Reason why the emulator cannot start, or had to stop.
#[derive(Debug, Error)]
pub enum EmuError {
    /// Bad input: a flag, a file, a value. The message says where and what to do; exit status 2.
    #[error("{0}")]
    Input(String),
    /// The machine lacks something: which, and what to do about it.
    #[error("{0}")]
    Missing(String),
    /// The user's command cannot be started.
    #[error("{message}")]
    Command {
        /// The problem.
        message: String,
        /// The exit status that shells use for it: 127, not found; 126, not a program that may be run.
        status: u8,
    },
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// The failed action, as it follows "cannot".
        action: String,
        /// The operating system's answer.
        source: io::Error,
    },
}

impl EmuError {
    /// Converts an error of a failed action, which follows "cannot"; for `map_err`.
    pub fn system<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Self {
        let action = action.into();
        move |source| Self::System { action, source: source.into() }
    }
}
