//! Packet logs: what passed a link, when, and how long it had waited.

use cellcc_units::{Bytes, Span, Time};
use std::path::PathBuf;

/// Where and how a link's packets are written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSpec {
    /// The file.
    pub path: PathBuf,
}

/// What happened to a packet, or to several at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogEvent {
    /// A packet came to the queue.
    Arrived {
        /// When, on the emulation's clock.
        at: Time,
        /// Its size, IP header included.
        bytes: Bytes,
    },
    /// A packet was dropped, by the queue or at random.
    Dropped {
        /// When.
        at: Time,
        /// Its size.
        bytes: Bytes,
    },
    /// A packet left the link.
    Departed {
        /// When its last byte was carried.
        at: Time,
        /// Its size.
        bytes: Bytes,
        /// From its arrival at the queue to its departure.
        queued: Span,
    },
}
