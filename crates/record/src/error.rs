//! Why a recording fails, and what to do about it.

use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Why a recording cannot start, or had to stop.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The far end did not answer within 5 s.
    #[error(
        "no answer from {0}: start `cellcc trace record --serve` there, and let its UDP port through the firewalls"
    )]
    NoAnswer(SocketAddr),
    /// The far end takes part in as many recordings as it allows.
    #[error("{0} is busy with other recordings: try again later, or raise --max-recordings there")]
    Busy(SocketAddr),
    /// The path refused datagrams of so many bytes.
    #[error("the path does not carry datagrams of {0} bytes: give a smaller --packet-size, such as 1400B")]
    PacketTooLarge(usize),
    /// This machine refused to send.
    #[error("this machine does not let the datagrams out: look at its firewall rules")]
    Blocked,
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// The failed action, as it follows "cannot".
        action: String,
        /// The operating system's answer.
        source: io::Error,
    },
}

impl RecordError {
    /// True where the user named something else than the path allows: exit status 2.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::NoAnswer(_) | Self::PacketTooLarge(_))
    }

    /// For `map_err`: the failed action, as it follows "cannot".
    pub(crate) fn system<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Self {
        let action = action.into();
        move |source| Self::System { action, source: source.into() }
    }
}
