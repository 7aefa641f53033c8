//! A source of messages: an input that says how they come, and a reader that says what is in them.

use super::{
    InputProblem, LeftOut, MessageReader, NextEvent, Plausible, RawInput, Reading, Recorder, Source,
    SourceEvent,
};
use cellcc_units::Rate;
use std::path::Path;

/// Messages, whatever way they come and whatever they say.
#[derive(Debug)]
pub struct Messages<I, R> {
    input: I,
    reader: R,
    plausible: Plausible,
    /// Left out of the message whose samples were given last.
    left_out: LeftOut,
}

impl<I: RawInput, R: MessageReader> Messages<I, R> {
    /// Reads the messages of `input`.
    pub fn new(input: I, reader: R, plausible: Plausible) -> Self {
        Self { input, reader, plausible, left_out: LeftOut::default() }
    }
}

/// Messages from this input about cells that carry at most this; written down where a file is given.
pub(crate) fn read_messages(
    input: impl RawInput + 'static,
    record: Option<&Path>,
    reader: impl MessageReader + 'static,
    cell_rate: Rate,
) -> Box<dyn Source> {
    let plausible = Plausible::in_cells_of(cell_rate);
    match record {
        Some(path) => Box::new(Messages::new(Recorder::new(input, path), reader, plausible)),
        None => Box::new(Messages::new(input, reader, plausible)),
    }
}

impl<I: RawInput, R: MessageReader> Source for Messages<I, R> {
    fn next(&mut self) -> NextEvent<'_> {
        Box::pin(async move {
            if self.left_out.count > 0 {
                return Some(SourceEvent::LeftOut(std::mem::take(&mut self.left_out)));
            }
            Some(match self.input.next().await? {
                Ok(message) => match self.reader.read(message.at, &message.bytes) {
                    Ok(mut reading) => {
                        self.plausible.sift(&mut reading);
                        let Reading { samples, left_out } = reading;
                        // A message without usable entries is not one of an empty cell.
                        if samples.is_empty() && left_out.count > 0 {
                            return Some(SourceEvent::LeftOut(left_out));
                        }
                        self.left_out = left_out;
                        SourceEvent::Samples(samples)
                    }
                    Err(malformed) => SourceEvent::Problem(malformed),
                },
                Err(InputProblem::Missing(problem)) => {
                    self.reader.forget();
                    SourceEvent::Problem(problem)
                }
                Err(InputProblem::Other(problem)) => SourceEvent::Problem(problem),
            })
        })
    }
}
