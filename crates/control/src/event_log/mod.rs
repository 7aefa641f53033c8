//! The event log of a flow: every event of its controller, with the decision after it, written to a file while the flow runs and
//! replayed to a controller later. Decisions depend on nothing else, so they are the same, bit for bit, or the scheme has
//! changed.
//!
//! | to find | look in |
//! |---|---|
//! | how to record one | [`Scheme::recorded`](crate::Scheme::recorded) |
//! | how to read one, and to replay it | [`EventLog`]; [`Log`] where it may be the kernel's |
//! | the file: header, blocks, checksums, end | `file` |
//! | the content of a controller's log | `entry` |
//! | the values in words | `show` |
//!
//! A file names the vocabulary of its events: `controller`, or `kernel` for [`Step`]s of the cores that run in the
//! kernel's TCP. Another needs no other file format.

mod entry;
mod file;
mod recorder;
mod replay;
mod steps;
#[cfg(test)]
mod tests;

pub use entry::{Call, Decision, Entry, Received};
pub use file::{EventLogError, FORMAT, Header};
pub(crate) use recorder::Destination;
pub use replay::{Difference, EventLog, InMemory, Log, Replay};
pub use steps::{Step, StepReader, StepWriter};
