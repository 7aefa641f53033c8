//! The core of NetAssist: from what a base station measures of one user to what a sender is told.
//!
//! | to find | look in |
//! |---|---|
//! | the user's bandwidth, and how far it can be trusted | [`Estimator`] |
//! | estimates from a queue's counters, one a period | [`CounterReader`] |
//! | how many flows the user has | [`active_flows`] |
//! | the 64 bytes of a report on the wire | [`Record`] |
//!
//! Pure: no clock, no sockets. Measurements and times come in as arguments.

mod counted;
mod estimator;
mod flows;
mod record;

pub use counted::{CounterReader, Counters, PacketTime, Period};
pub use estimator::{Class, Estimate, Estimator, Observation};
pub use flows::active_flows;
pub use record::{Malformed, Record};
