//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! The packet engine: senders, receivers and links in virtual time.
//!
//! One run is one function of its [`Scenario`](cellcc_experiment::Scenario): no clock, no threads, no global state, and
//! the same Record byte for byte on every machine. [`SimDriver`] is the way in.
//!
//! ```text
//!  application -> sender (recovery, pacing, the scheme) -> path -> receiver -> path back -> sender
//! ```
//!
//! The path, the queue of events and the Record are those of every driver in virtual time:
//! [`cellcc_experiment::virtual_time`].

mod ack_schedule;
mod arrivals;
mod ascending;
mod driver;
mod ends;
mod limit;
mod lost_data;
mod packets;
mod rack;
mod receiver;
mod recovery;
mod sender;

pub use driver::SimDriver;
pub use ends::Ends;
pub use packets::{AckPacket, DataPacket};
