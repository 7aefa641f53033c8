//! The conversation of a flow: every event that its controller was told, with the decision after it, written to a file
//! while it runs and told to a controller again later. Decisions depend on nothing else, so they are the same, bit for bit,
//! or the scheme has changed.
//!
//! | to find | look in |
//! |---|---|
//! | how to record one | [`Scheme::recorded`](crate::Scheme::recorded) |
//! | how to read one, and to tell it again | [`Conversation`] |
//! | the file: header, blocks, checksums, end | `file` |
//! | how values become bytes | `coding`, `values`, `fields` |
//! | what is written of a controller | `controller` |
//!
//! A file says which vocabulary its events are of: `controller`, or `kernel` for [`Step`]s of the cores that run in the
//! kernel's TCP. Another needs no other file format.

mod coding;
mod controller;
mod fields;
mod file;
mod recorder;
mod replay;
mod steps;
#[cfg(test)]
mod tests;
mod values;

pub use controller::{Call, Decision, Received, Turn};
pub use file::{ConversationError, Header};
pub(crate) use recorder::Destination;
pub use replay::{Conversation, Difference, Replay, Told};
pub use steps::{Step, StepReader, StepWriter};
