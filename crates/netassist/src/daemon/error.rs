//! Why a daemon cannot begin.

use super::nats::SecretError;
use crate::identity::Ambiguous;
use crate::transport::{BindError, UnknownName};
use cellcc_netassist_client::CertificateError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Where Linux shows its tracked connections.
pub(super) const CONNTRACK: &str = "/proc/net/nf_conntrack";

/// Why a daemon cannot begin.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// Its certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// Its users.
    #[error("the users of the configuration: {0}")]
    Users(#[from] Ambiguous),
    /// Its addresses.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Its HTTP address.
    #[error("cannot listen on {address} for HTTP: {cause}; choose another address or port")]
    Http {
        /// Which.
        address: SocketAddr,
        /// The system's error.
        cause: io::Error,
    },
    /// The audit log.
    #[error("cannot write the audit log {}: {cause}", .path.display())]
    Audit {
        /// Which.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// There is no connection tracking.
    #[error(
        "live_flows = \"conntrack\" needs {CONNTRACK}, which cannot be read: {0}; load nf_conntrack and run as root, or use \
         \"none\" with consent"
    )]
    Conntrack(io::Error),
    /// A source cannot begin.
    #[error("source {which}: {problem}")]
    Source {
        /// Its kind and input.
        which: String,
        /// What is wrong.
        problem: String,
    },
    /// The users' keys.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The servers that receive reports through the broker.
    #[error("[nats]: {0}")]
    Servers(#[from] UnknownName),
}
