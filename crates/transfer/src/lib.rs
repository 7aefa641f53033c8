//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! Transfers between two machines, as with iperf3: a server, and a client that downloads or uploads.
//!
//! A transfer has one *control* connection, with one stream of JSON messages, and one or more *data* connections, each of which
//! runs the transfer's scheme at the sending end. The server answers a request with a ticket for each data connection. The
//! client uses it as the first destination connection ID (RFC 9000, section 7.2), so that the server knows the scheme before
//! the handshake begins.
//!
//! | to find | look in |
//! |---|---|
//! | the messages, their framing, their version | `protocol` |
//! | the server: connections, requests, the transfer | `server`, `agreement`, `serving` |
//! | the client: the connections, the transfer | `client`, `connecting`, `running` |
//! | both sides while data move | `session` |
//! | the data | `sending`, `receiving`, `files` |
//! | a data connection and its counters | `flow` |
//! | permissions and limits | `admission`, `certificates`, `limits`, `tickets` |
//! | HTTP/3 on the same port, with a certificate of its own | `server/http`, `server/http_certificate` |
//! | the source of network advice | `advice` |
//! | reports and results | `progress`, `outcome` |

// Transfers take real time: this crate reads clocks and opens sockets.
#![allow(clippy::disallowed_methods)]

mod advice;
mod agreement;
mod certificates;
mod client;
mod error;
mod files;
mod flow;
mod folder;
mod limits;
mod outcome;
mod progress;
mod protocol;
mod receiving;
mod sending;
mod server;
mod session;

pub use advice::AdviceConfig;
pub use certificates::{Fingerprint, Identity, Trust};
pub use client::{ClientSettings, transfer};
pub use error::{CloseCode, TransferError};
pub use limits::Limits;
pub use outcome::Outcome;
pub use progress::{FlowSample, Interval, Progress, SenderSample, Started};
pub use protocol::{Direction, MAX_CONNECTIONS, MAX_STREAMS, MIN_INTERVAL, Payload, Request, VERSION};
pub use server::{Server, ServerSettings};

use cellcc_quic::qlog::Directory;
use noq::{TransportConfig, VarInt};
use std::time::Duration;

/// The application protocol of both kinds of connection (RFC 7301).
const ALPN: &[u8] = b"cellcc/1";

/// A connection without packets from the peer for this long is lost.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of keep-alive packets: three within the idle time-out.
const KEEP_ALIVE: Duration = Duration::from_secs(3);
/// noq closes a connection with more than 1024 gaps in a stream. 2 MB with every second packet lost have fewer.
const STREAM_RECEIVE_WINDOW: u32 = 2_000_000;
/// 2.5 Gbit/s over 100 ms. Data are read at once, so that only data out of order take memory.
const RECEIVE_WINDOW: u32 = 32_000_000;
/// Each frame has a stream: this allows the frames of 17 s.
const CONCURRENT_STREAMS: u32 = 1024;

/// The transport configuration of both ends, without the congestion control. `qlog`: folder for logs.
fn transport(qlog: Option<&Directory>) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let idle = VarInt::from_u32(IDLE_TIMEOUT.as_millis() as u32);
    transport
        .max_idle_timeout(Some(idle.into()))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .stream_receive_window(VarInt::from_u32(STREAM_RECEIVE_WINDOW))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .max_concurrent_uni_streams(VarInt::from_u32(CONCURRENT_STREAMS));
    if let Some(directory) = qlog {
        directory.install(&mut transport);
    }
    transport
}
