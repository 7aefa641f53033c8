//! The base station (gNB) of OCUDU, and of srsRAN before it: JSON with what the scheduler has counted in each period.
//!
//! Sources: ocudu/ocudu at 9b0cfa6 (22 July 2026) and srsran/srsRAN_Project at 4bf1543 (16 February 2026), the JSON generators of
//! both; the documentation of both where it does not contradict them. Not tried: a live base station.
//!
//! Two traps, each with a test: `dl_brate` and `ul_brate` are bit/s, where the documentation says kbit/s;
//! `max_pdsch_distance` is in milliseconds, where the documentation says slots.

mod report;
mod samples;

pub use report::{CellReport, Malformed, Message, UeReport, parse};
pub use samples::{GnbReader, GnbSettings, message};

use super::{NextEvent, RawInput, Source, SourceEvent};

/// A base station's messages, whatever way they come.
#[derive(Debug)]
pub struct Gnb<I> {
    input: I,
    reader: GnbReader,
}

impl<I: RawInput> Gnb<I> {
    /// Reads what comes from `input`.
    pub fn new(input: I, settings: GnbSettings) -> Self {
        Self { input, reader: GnbReader::new(settings) }
    }
}

impl<I: RawInput> Source for Gnb<I> {
    fn next(&mut self) -> NextEvent<'_> {
        Box::pin(async move {
            Some(match self.input.next().await? {
                Ok(message) => match self.reader.read(message.at, &message.bytes) {
                    Ok(samples) => SourceEvent::Samples(samples),
                    Err(malformed) => SourceEvent::Problem(malformed.to_string()),
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
