//! The real stack in virtual time: noq's protocol engine, which does no I/O of its own, at both ends of emulated links.
//!
//! ```text
//!  application -> streams -> noq (recovery, pacing, the scheme) -> link or cell -> noq -> streams -> application
//!                              ^                                                   |
//!                              +------------------ reverse link <------------------+
//! ```
//!
//! One run is one function of its Scenario, as in the simulator; one thread, and no clock but the event loop's.

mod control;
mod crypto;
mod driver;
mod endpoint;
mod flow;
mod settings;
mod signaling;
mod source;
mod tap;

pub use crypto::Protection;
pub use driver::VirtualDriver;
pub use flow::QuicEnds;
pub use settings::{RECEIVER, SENDER, Settings};
