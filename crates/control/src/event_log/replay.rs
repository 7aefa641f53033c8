//! An event log, read and replayed.

use super::entry::{Call, Decision, Driven, Entry, OwnEntry, VOCABULARY};
use super::file::{EventLogError, Header, Reader};
use super::steps::{self, StepReader};
use crate::contract::Controller;
use cellcc_units::{Span, Time};
use std::io::Read;

/// A log, by the vocabulary that its file names.
#[derive(Debug)]
pub enum Log<R> {
    /// Events of a flow's controller.
    Flow(Box<EventLog<R>>),
    /// Steps of the cores in the kernel.
    Kernel(StepReader<R>),
}

impl<R: Read> Log<R> {
    /// Reads the part before the events or steps. Reading is buffered.
    ///
    /// # Errors
    /// See [`EventLogError`].
    pub fn new(source: R) -> Result<Self, EventLogError> {
        let reader = Reader::new(source)?;
        if reader.header().vocabulary == steps::VOCABULARY {
            return StepReader::read(reader).map(Self::Kernel);
        }
        EventLog::read(reader).map(|log| Self::Flow(Box::new(log)))
    }
}

/// A recorded event log, event by event.
#[derive(Debug)]
pub struct EventLog<R> {
    reader: Reader<R>,
    last: Option<OwnEntry>,
}

impl<R: Read> EventLog<R> {
    /// Reads the part before the events. Reading is buffered.
    ///
    /// # Errors
    /// See [`EventLogError`].
    pub fn new(source: R) -> Result<Self, EventLogError> {
        Self::read(Reader::new(source)?)
    }

    fn read(reader: Reader<R>) -> Result<Self, EventLogError> {
        let reader = reader.of(VOCABULARY)?;
        if reader.header().context.packet.is_zero() {
            return Err(reader.damaged("its packets have no bytes"));
        }
        Ok(Self { reader, last: None })
    }

    /// Scheme, context of its controller, and the version of the code.
    pub fn header(&self) -> &Header {
        self.reader.header()
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// The file ends too soon, or is damaged.
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_>>, EventLogError> {
        self.last = self.reader.record(OwnEntry::checked)?;
        Ok(self.last.as_ref().map(OwnEntry::entry))
    }

    /// Gives `controller` every event, up to the first that it decides otherwise.
    ///
    /// # Errors The file ends too soon, or is damaged; all decisions before that were equal.
    pub fn replay(&mut self, controller: Box<dyn Controller>) -> Result<Replay, EventLogError> {
        let mut controller = Driven::new(controller);
        let mut replay = Replay { events: 0, duration: Span::ZERO, difference: None };
        let mut began_at = None;
        while let Some(entry) = self.next_entry()? {
            replay.events += 1;
            if !matches!(entry.call, Call::Built) {
                replay.duration = entry.now.since(*began_at.get_or_insert(entry.now));
            }
            controller.give(entry.now, &entry.call);
            let replayed = controller.decision();
            if replayed != entry.decision {
                let Entry { now, call, decision: recorded } = entry;
                let difference =
                    Difference { now, kind: call.kind(), inputs: call.inputs(), recorded, replayed };
                replay.difference = Some(difference);
                break;
            }
        }
        Ok(replay)
    }

    /// Gives `controller` every event, whatever it decides.
    ///
    /// # Errors The file ends too soon, or is damaged; all events before that were given.
    pub fn give_all(&mut self, controller: Box<dyn Controller>) -> Result<(), EventLogError> {
        let mut controller = Driven::new(controller);
        while let Some(entry) = self.next_entry()? {
            controller.give(entry.now, &entry.call);
            controller.decision();
        }
        Ok(())
    }
}

impl<R: Read> EventLog<R> {
    /// Reads the rest, to replay it without reading.
    ///
    /// # Errors
    /// The file ends too soon, or is damaged.
    pub fn into_memory(mut self) -> Result<InMemory, EventLogError> {
        let mut entries = Vec::new();
        while let Some(entry) = self.reader.record(OwnEntry::checked)? {
            entries.push(entry);
        }
        Ok(InMemory(entries))
    }
}

/// An event log in memory.
#[derive(Debug)]
pub struct InMemory(Vec<OwnEntry>);

impl InMemory {
    /// How many of its events are acknowledgements.
    pub fn acknowledgements(&self) -> u64 {
        let acks = self.0.iter().filter(|entry| matches!(entry.entry().call, Call::Ack(_)));
        acks.count() as u64
    }

    /// Gives `controller` every event, and reads its decision after each, as a flow does.
    pub fn give_all(&self, controller: Box<dyn Controller>) {
        let mut controller = Driven::new(controller);
        for entry in &self.0 {
            let Entry { now, call, .. } = entry.entry();
            controller.give(now, &call);
            // The decision is not used: the measurement covers its computation.
            std::hint::black_box(controller.decision());
        }
    }
}

/// The result of a replay.
#[derive(Debug, Clone)]
pub struct Replay {
    /// How many events the controller was given.
    pub events: u64,
    /// From the first of them that was an event of the flow to the last.
    pub duration: Span,
    /// The difference in its decision; `None` where it decided all alike.
    pub difference: Option<Difference>,
}

/// The first event with a different decision.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The time of the event, on the driver's clock.
    pub now: Time,
    /// The kind of the event: `ack`, `timer`.
    pub kind: &'static str,
    /// Its inputs: names and values, with units.
    pub inputs: Vec<(String, String)>,
    /// The recorded decision.
    pub recorded: Decision,
    /// The replayed decision.
    pub replayed: Decision,
}
