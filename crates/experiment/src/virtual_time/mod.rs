//! The event loop of every driver in virtual time: the path, the queue of events, time series, network assistance and
//! the Record. A driver adds the two ends of a flow.
//!
//! ```text
//!   sending end --> forward path (loss, queue, service, propagation) --> receiving end
//!        ^                                                                    |
//!        +---- extra path of the flow <---- reverse path <--------------------+
//!        +---- reports (out of band, or on the ACKs) <---- base station
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | the ends that a driver adds | [`Ends`], [`Transport`] |
//! | the actions of an end on the network | [`Network`] |
//! | the loop, to be stepped from outside | [`Run`] |
//! | the loop as a [`Driver`](crate::Driver) | [`VirtualTime`] |

mod driver;
mod ends;
mod flow;
mod network;
mod run;
mod wakes;

pub use driver::{Transport, VirtualTime};
pub use ends::Ends;
pub use network::{InTransit, Network};
pub use run::Run;
