//! Packet logs in Mahimahi's text format: packets at a link, their times, and their waits.
//!
//! | line | meaning |
//! |---|---|
//! | `# base timestamp: 0` and other lines that begin with `#` | the header |
//! | `12 # 1504` | at 12 ms the link could carry 1504 bytes |
//! | `12 + 1504` | a packet of 1504 bytes came to the queue |
//! | `15 - 1504 3` | a packet left the link; it had waited 3 ms |
//! | `16 d 2 3008` | two packets were dropped, of 3008 bytes together |
//!
//! Mahimahi counts 4 bytes more than IP does for each packet (the header of its TUN device), and 1504 bytes for an
//! opportunity of 1500. People compare logs with older ones of Mahimahi, so the [`LogSink`] writes as Mahimahi does: every
//! packet with those 4 bytes, and every capacity by 1504/1500 larger. The opportunities of one millisecond stand in one line
//! with their sum.

mod delays;
mod digest;
mod lines;
mod read;
mod sink;

pub use delays::{DelayRange, DelaySeries};
pub use digest::{Bin, Digest, Summary};
pub use read::{Entry, read, read_from};
pub use sink::{LogSink, LogSummary};

use cellcc_units::{Bytes, Span, Time};
use std::path::PathBuf;

/// The file in which a link's packets are logged, and its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSpec {
    /// The file. An existing one is replaced.
    pub path: PathBuf,
    /// The log's header.
    pub header: LogHeader,
}

/// The header of a log about the link, for people; nothing is computed from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogHeader {
    /// The direction: `Uplink` or `Downlink`.
    pub link: String,
    /// The trace as it was named.
    pub trace: String,
    /// The command line that started the link.
    pub command_line: String,
    /// The queue, such as `droptail [packets=100]`.
    pub queue: String,
    /// The shells around this one, as in the prompt: `[delay 10 ms] `. Where it is empty, the header has no such
    /// line.
    pub config: String,
}

/// An event of a packet. Each packet arrives first; then it is dropped, or it departs. Sizes are those of the IP
/// packet, its header included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogEvent {
    /// A packet came to the queue.
    Arrived {
        /// The time on the emulation's clock.
        at: Time,
        /// The packet's size, including the IP header.
        bytes: Bytes,
    },
    /// A packet was dropped, by the queue or at random.
    Dropped {
        /// The time of the drop.
        at: Time,
        /// The packet's size.
        bytes: Bytes,
    },
    /// A packet left the link.
    Departed {
        /// The time at which its last byte was delivered.
        at: Time,
        /// The packet's size.
        bytes: Bytes,
        /// The time from its arrival at the queue to its departure.
        queued: Span,
    },
}

impl LogEvent {
    /// The time of the event.
    pub fn at(&self) -> Time {
        match *self {
            Self::Arrived { at, .. } | Self::Dropped { at, .. } | Self::Departed { at, .. } => at,
        }
    }
}

#[cfg(test)]
mod tests;
