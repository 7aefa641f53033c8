//! A source of messages: an input that says how they come, and a reader that says what is in them.

use super::{NextEvent, RawInput, Source, SourceEvent};
use crate::sample::Sample;
use cellcc_units::Time;

/// What is in a source's messages. Pure.
pub trait MessageReader: Send {
    /// The samples in a message that arrived at `now`.
    ///
    /// # Errors
    /// It is no message of this source: what is wrong with it.
    fn read(&mut self, now: Time, bytes: &[u8]) -> Result<Vec<Sample>, String>;

    /// Begins anew: messages are missing.
    fn forget(&mut self);
}

/// Messages, whatever way they come and whatever they say.
#[derive(Debug)]
pub struct Messages<I, R> {
    input: I,
    reader: R,
}

impl<I: RawInput, R: MessageReader> Messages<I, R> {
    /// Reads what comes from `input`.
    pub fn new(input: I, reader: R) -> Self {
        Self { input, reader }
    }
}

impl<I: RawInput, R: MessageReader> Source for Messages<I, R> {
    fn next(&mut self) -> NextEvent<'_> {
        Box::pin(async move {
            Some(match self.input.next().await? {
                Ok(message) => match self.reader.read(message.at, &message.bytes) {
                    Ok(samples) => SourceEvent::Samples(samples),
                    Err(malformed) => SourceEvent::Problem(malformed),
                },
                Err(problem) => {
                    // What comes next does not continue what was before.
                    self.reader.forget();
                    SourceEvent::Problem(problem)
                }
            })
        })
    }
}
