//! Errors of a transfer, and their exchange between the sides.

use crate::{Fingerprint, IDLE_TIMEOUT};
use noq::{ConnectionError, ReadError, VarInt, WriteError};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Reason why one side closes a connection: the application error codes of `cellcc/1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseCode {
    /// The transfer is complete.
    Done = 0,
    /// A message that breaks the protocol, or has another version.
    Protocol = 1,
    /// The server refuses the request.
    Refused = 2,
    /// A limit on connections, bytes or time is reached.
    Limit = 3,
    /// The server shuts down.
    Shutdown = 4,
    /// The client was interrupted.
    Cancelled = 5,
    /// Something failed at this side.
    Failed = 6,
}

impl CloseCode {
    pub(crate) fn code(self) -> VarInt {
        VarInt::from_u32(self as u32)
    }
}

/// TLS alert 116 as a QUIC error code (RFC 9001, section 4.8).
const CERTIFICATE_REQUIRED: u64 = 0x100 + 116;

/// Error codes for a process, or a system, that can have no further descriptor: ENFILE and EMFILE of Linux and macOS
/// (errno(3)).
const NO_DESCRIPTOR: [i32; 2] = [23, 24];

/// Reason why a transfer did not begin, or ended. The message says how to proceed.
#[derive(Debug, Error)]
pub enum TransferError {
    /// The user's input cannot be used.
    #[error("{0}")]
    Input(String),
    /// The server's certificate is not the one that was pinned.
    #[error(
        "{server}: its certificate has the fingerprint {presented}, not the one given with --pin; `cellcc serve` prints its own"
    )]
    Pin {
        /// The address that answered.
        server: SocketAddr,
        /// The fingerprint of its certificate.
        presented: Fingerprint,
    },
    /// No connection to the server.
    #[error("cannot connect to {server}: {cause}")]
    Connect {
        /// The server.
        server: SocketAddr,
        /// The cause.
        cause: String,
    },
    /// The other side closed the connection with a reason.
    #[error("the {peer} says: {reason}")]
    Closed {
        /// `server` or `client`.
        peer: &'static str,
        /// The peer's code, one of [`CloseCode`].
        code: u64,
        /// The peer's reason.
        reason: String,
    },
    /// The connection is lost.
    #[error("the connection is lost: {0}")]
    Lost(String),
    /// The other side broke the protocol.
    #[error("not the protocol `cellcc/1`: {0}")]
    Protocol(String),
    /// The server refuses the request.
    #[error("{0}")]
    Refused(String),
    /// A limit is reached.
    #[error("{0}")]
    Limit(String),
    /// The server shuts down.
    #[error("{0}")]
    Shutdown(String),
    /// A file cannot be read or written.
    #[error("cannot {act} {}: {cause}", path.display())]
    File {
        /// `read`, `write`.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The user interrupted it before there was anything to report.
    #[error("interrupted")]
    Interrupted,
}

impl TransferError {
    /// True for bad input: exit status 2.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Input(_))
    }

    /// True where the same may succeed a moment later: as many files are open as may be.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Limit(_) => true,
            Self::File { cause, .. } => {
                cfg!(unix) && cause.raw_os_error().is_some_and(|code| NO_DESCRIPTOR.contains(&code))
            }
            _ => false,
        }
    }

    /// The reason for the other side, which has no business with the paths here.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::File { act, cause, .. } => format!("cannot {act} the file: {cause}"),
            other => other.to_string(),
        }
    }

    /// The code for the other side.
    pub(crate) fn close_code(&self) -> CloseCode {
        match self {
            Self::Protocol(_) => CloseCode::Protocol,
            Self::Refused(_) | Self::Input(_) => CloseCode::Refused,
            Self::Limit(_) => CloseCode::Limit,
            Self::Shutdown(_) => CloseCode::Shutdown,
            Self::Interrupted => CloseCode::Cancelled,
            _ => CloseCode::Failed,
        }
    }

    /// The error for a lost connection to `peer`.
    pub(crate) fn of(error: ConnectionError, peer: &'static str) -> Self {
        match error {
            ConnectionError::ApplicationClosed(close) => Self::Closed {
                peer,
                code: close.error_code.into_inner(),
                reason: String::from_utf8_lossy(&close.reason).into_owned(),
            },
            ConnectionError::TimedOut => {
                let seconds = IDLE_TIMEOUT.as_secs();
                Self::Lost(format!(
                    "no answer from the {peer} for {seconds} s; check that it is still running, and the path is up"
                ))
            }
            ConnectionError::Reset => Self::Lost(format!("the {peer} was restarted; try again")),
            ConnectionError::ConnectionClosed(close)
                if u64::from(close.error_code) == CERTIFICATE_REQUIRED =>
            {
                Self::Input("the server wants a client certificate: give --cert and --key".into())
            }
            other => Self::Lost(other.to_string()),
        }
    }
}

/// An error of writing to a stream.
pub(crate) fn of_write(error: WriteError, peer: &'static str) -> TransferError {
    match error {
        WriteError::ConnectionLost(error) => TransferError::of(error, peer),
        other => TransferError::Lost(other.to_string()),
    }
}

/// An error of reading from a stream.
pub(crate) fn of_read(error: ReadError, peer: &'static str) -> TransferError {
    match error {
        ReadError::ConnectionLost(error) => TransferError::of(error, peer),
        other => TransferError::Lost(other.to_string()),
    }
}
