//! The packet engine: senders, receivers and links in virtual time.
//!
//! One run is one function of its [`Scenario`](cellcc_experiment::Scenario): no clock, no threads, no global state, and
//! the same Record byte for byte on every machine. [`SimDriver`] is the way in.
//!
//! ```text
//!  application -> sender (RFC 9002 recovery, pacing) -> link or cell (loss, queue, service, propagation) -> receiver
//!                    ^                                                                                        |
//!                    +------------------------- reverse link (ACKs, feedback) <-------------------------------+
//!                    ^                                                                                        |
//!                    +-- reports (out of band, or on the ACKs) <- NetAssist <- what the link served <---------+
//! ```

mod assistance;
mod driver;
mod engine;
mod limit;
mod packets;
mod receiver;
mod recovery;
mod sender;

pub use driver::SimDriver;
