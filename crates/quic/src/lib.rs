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
//! let receiver = cellcc_quic::attach_receiver(&connection, cellcc_schemes::registry());
//! # Ok(()) }
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | a scheme as noq's controller | `controller`, `sender` |
//! | the limits that noq reads without a lock | `atomic_limits` |
//! | a flow's time on the system's clock | `clock` |
//! | the view of a flow for the rest of the program | [`Monitor`], `shared_flow` |
//! | when a paced packet may leave | `pacing` |
//! | the sent packet that an acknowledgement or a loss is about | `outstanding` |
//! | messages between a scheme and its receiver-side component | `extension` |
//! | ECT(1) on noq, and counts of marks | [`L4s`], [`ecn_socket`] |
//! | timers, send buffer and messages between acknowledgements | `attach`, `service`, `inbox` |
//! | an endpoint for many connections, with its own receive thread | [`receive_thread`] |
//! | the network's reports about a peer's bottleneck | [`advice`] |
//! | connection logs for qvis and other tools | [`qlog`], with the feature of that name |
//!
//! Without the feature `sockets`, a default, the crate has only the parts that need neither sockets nor tokio's runtime.
//!
//! noq counts UDP payloads, cellcc whole packets on the link: `packet_size` converts in one place.

// This crate reads clocks and opens sockets.
#![allow(clippy::disallowed_methods)]

#[cfg(feature = "sockets")]
pub mod advice;
mod atomic_limits;
#[cfg(feature = "sockets")]
mod attach;
mod clock;
mod congestion;
mod controller;
#[doc(hidden)]
pub mod ecn;
#[cfg(feature = "sockets")]
pub mod ecn_socket;
#[doc(hidden)]
pub mod extension;
mod handle;
#[cfg(feature = "sockets")]
mod inbox;
mod outstanding;
mod pacing;
mod packet_size;
#[cfg_attr(not(feature = "qlog"), path = "no_qlog.rs")]
pub mod qlog;
#[cfg(feature = "sockets")]
pub mod receive_thread;
mod sender;
#[cfg(feature = "sockets")]
mod service;
mod shared_flow;

#[cfg(feature = "sockets")]
pub use attach::{Attached, AttachedReceiver, attach_mapping_receiver, attach_receiver};
pub use congestion::{Congestion, CongestionError};
pub use ecn::L4s;
pub use extension::{Counters, PeerComponent};
pub use handle::Monitor;
pub use sender::{Observed, Snapshot};

// Internal, exact version: for drivers and services of cellcc, as the hidden modules are.
#[doc(hidden)]
pub use self::{
    clock::{Clock, span},
    handle::{DrivenFlow, MayLeave},
    pacing::Timers,
    packet_size::PacketSize,
};
