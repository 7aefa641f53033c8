//! Every congestion control of cellcc in real QUIC, on noq: a library that adds one to any noq program, and two drivers.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let connection: noq::Connection = unimplemented!();
//! let congestion = cellcc_quic::Congestion::named("reminis")?;
//! let mut transport = noq::TransportConfig::default();
//! congestion.install(&mut transport);
//! // ... and for every connection:
//! let attached = congestion.attach(&connection);
//! # Ok(()) }
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | a scheme as noq's controller: what noq reports, what it is told | `controller`, `sender` |
//! | which sent packet an acknowledgement or a loss is about | `outstanding` |
//! | timers, feedback and advice between acknowledgements | `attach` |
//! | the driver in virtual time | `virtual_time` |
//!
//! noq counts UDP payloads, cellcc whole packets on the link: [`PacketSize`] converts in one place.

// A program in real time: this crate reads clocks and opens sockets; its virtual-time driver takes both as arguments.
#![allow(clippy::disallowed_methods)]

mod attach;
mod congestion;
mod controller;
mod outstanding;
mod packet_size;
mod published;
mod sender;
mod virtual_time;

pub use attach::Attached;
pub use congestion::{Congestion, CongestionError};
pub use controller::SchemeHandle;
pub use packet_size::PacketSize;
pub use sender::{Observed, Snapshot};
pub use virtual_time::{Protection, VirtualDriver};
