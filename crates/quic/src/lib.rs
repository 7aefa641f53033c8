//! Adds any congestion control of cellcc to a QUIC program that uses noq.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let connection: noq::Connection = unimplemented!();
//! let congestion = cellcc_quic::Congestion::named("reminis")?;
//! let mut transport = noq::TransportConfig::default();
//! congestion.install(&mut transport);
//! // ... and for every connection:
//! let attached = congestion.attach(&connection);
//! // A connection that only receives, with any congestion control, can run the receiver-side components of its peer's schemes:
//! let receiver = cellcc_quic::attach_receiver(&connection, cellcc_control::Registry::default());
//! # Ok(()) }
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | a scheme as noq's controller: what noq reports, what it is told | `controller`, `sender` |
//! | a flow's time on the system's clock | `clock` |
//! | the same flow from the rest of the program, and what both share | [`SchemeHandle`], `shared_flow` |
//! | when a paced packet may leave | `pacing` |
//! | which sent packet an acknowledgement or a loss is about | `outstanding` |
//! | what the two ends of a scheme send each other | `extension` |
//! | timers, send buffer and messages between acknowledgements | `attach`, `service`, `inbox` |
//! | an endpoint for many connections: a thread of its own for what arrives | [`reception`] |
//! | what the network says about a peer's bottleneck, and where that comes from | [`advice`] |
//! | logs of connections that qvis and other tools read | [`qlog`] |
//!
//! noq counts UDP payloads, cellcc whole packets on the link: [`PacketSize`] converts in one place.

// This crate reads clocks and opens sockets.
#![allow(clippy::disallowed_methods)]

pub mod advice;
mod attach;
mod clock;
mod congestion;
mod controller;
pub mod extension;
mod handle;
mod inbox;
mod outstanding;
mod pacing;
mod packet_size;
mod published;
pub mod qlog;
pub mod reception;
mod sender;
mod service;
mod shared_flow;

pub use attach::{Attached, AttachedReceiver, attach_receiver};
pub use clock::{Clock, span};
pub use congestion::{Congestion, CongestionError};
pub use handle::SchemeHandle;
pub use pacing::Timers;
pub use packet_size::PacketSize;
pub use sender::{Observed, Snapshot};
