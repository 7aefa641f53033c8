//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! Records a trace of a real path: a link that always has packets to carry shows its capacity.
//!
//! After the Saturator (Winstein, Sivaraman, Balakrishnan: Stochastic Forecasts Achieve High Throughput and Low Delay
//! over Cellular Networks, NSDI 2013, section 4): a sender keeps a queue at the bottleneck, so each arrival at the
//! other end is a delivery opportunity.
//!
//! | piece | description |
//! |---|---|
//! | [`Saturator`] | the sender's window: keeps the queue between two bounds. Pure |
//! | [`Arrivals`] | the receiver's log, and the reports about it. Pure |
//! | [`wire`] | the datagrams. Pure |
//! | [`Recording`] | conclusions from the arrivals on the link: a trace, and its reliability. Pure |
//! | [`compare_traces`] | how far a recorded trace is from the link that it was recorded on. Pure |
//! | [`record`], [`serve`] | the two ends, over real sockets |
//!
//! Differences from the original. The bounds of the queue are one-way queueing delays, not round-trip times: so a
//! long path or a full reverse path changes nothing, and no second, unsaturated path is needed. The window grows and
//! shrinks in proportion, from 0.1 Mbit/s to 2 Gbit/s. The peer must prove its address. Both ends stop at a cap on
//! bytes.
//!
//! Linux only.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real time has clocks, threads and sockets")]

mod agreement;
mod arrivals;
mod client;
mod clock;
mod error;
mod flow;
mod peer_log;
mod recording;
mod server;
mod socket;
#[cfg(test)]
mod tests;
mod window;
pub mod wire;

pub use agreement::{Agreement, compare_traces, opportunity_times};
pub use arrivals::Arrivals;
pub use client::{Ended, Progress, RecordSettings, Recorded, record};
pub use error::RecordError;
pub use recording::{Recording, Summary};
pub use server::{ServeSettings, ServerEvent, serve};
pub use window::{QueueDelay, Saturator};
pub use wire::Arrival;
pub use wire::{Directions, Request};

/// The UDP port of the far end where none is named. Not registered with IANA.
pub const DEFAULT_PORT: u16 = 9347;
