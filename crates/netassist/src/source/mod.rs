//! Where measurements come from. A source is a small adapter: it ends in [`Sample`]s, whatever it began with.
//!
//! To add one: implement [`Source`], or, for a source of messages, implement [`RawInput`] for their arrival and
//! [`MessageReader`], which is pure, for their content. Then messages can be recorded and replayed without a line of yours. Its
//! table in the configuration is a `SourceKind`, which opens it. Name that in the list of `config.rs`.

mod config;
pub mod counters;
pub mod gnb;
mod host;
mod kind;
pub mod mec;
mod messages;
mod plausible;
mod recording;
mod timetables;
mod udp;
mod websocket;

use crate::sample::Sample;
use cellcc_units::Time;
use std::pin::Pin;

pub use crate::entries::LeftOut;
pub use config::SourceConfig;
pub use counters::{CountersReader, CountersSource, UserCounters};
pub use host::{Host, HostInterface};
pub(crate) use kind::Services;
pub use kind::{HostCounters, OpenHostCounters};
pub use mec::HttpPoll;
pub use messages::Messages;
pub use plausible::{FASTEST_CELL, Plausible};
pub use recording::{Recorder, Recording, RecordingError};
pub use timetables::{FeedbackSource, Timetables, Trace};
pub use udp::UdpInput;
pub use websocket::WebSocketInput;

/// The future that [`Source::next`] returns.
pub type NextEvent<'a> = Pin<Box<dyn Future<Output = Option<SourceEvent>> + Send + 'a>>;

/// An event of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceEvent {
    /// The measurements of a message, or of a look; none of an empty cell.
    Samples(Vec<Sample>),
    /// Entries of the message before that were no measurements; for the log, and counted.
    LeftOut(LeftOut),
    /// Something else that is no measurement; for the log, and counted.
    Problem(String),
}

/// A source of measurements.
pub trait Source: Send {
    /// The next event. `None` after the last: a source that can come back waits and tries again by itself.
    ///
    /// Cancel-safe: nothing is lost if the future is dropped before it is ready.
    fn next(&mut self) -> NextEvent<'_>;
}

/// A message as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMessage {
    /// When, on the service's clock.
    pub at: Time,
    /// The message.
    pub bytes: Vec<u8>,
}

/// What is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputProblem {
    /// Messages are missing: the next one does not continue the one before.
    Missing(String),
    /// Something else; no message is missing.
    Other(String),
}

/// The future that [`RawInput::next`] returns.
pub type NextMessage<'a> =
    Pin<Box<dyn Future<Output = Option<Result<RawMessage, InputProblem>>> + Send + 'a>>;

/// How messages arrive.
pub trait RawInput: Send {
    /// The next message, or what is wrong. `None` after the last. Cancel-safe.
    fn next(&mut self) -> NextMessage<'_>;
}

impl RawInput for Box<dyn RawInput> {
    fn next(&mut self) -> NextMessage<'_> {
        (**self).next()
    }
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// Its measurements.
    pub samples: Vec<Sample>,
    /// Its entries that are not such samples.
    pub left_out: LeftOut,
}

/// The reader of a source's messages. Pure.
pub trait MessageReader: Send {
    /// The content of a message that arrived at `now`.
    ///
    /// # Errors
    /// It is no message of this source: what is wrong with it.
    fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Reading, String>;

    /// Restarts: messages are missing.
    fn forget(&mut self);
}
