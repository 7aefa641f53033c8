//! A recorded conversation, read and told to a controller again.

use super::controller::{Call, Decision, Driven, ReadTurn, Turn, VOCABULARY};
use super::file::{ConversationError, Header, Reader};
use crate::contract::Controller;
use cellcc_units::{Span, Time};
use std::io::Read;

/// A recorded conversation, event by event.
#[derive(Debug)]
pub struct Conversation<R> {
    reader: Reader<R>,
    last: Option<ReadTurn>,
}

impl<R: Read> Conversation<R> {
    /// Reads what comes before the events. Reading is buffered.
    ///
    /// # Errors
    /// See [`ConversationError`].
    pub fn new(source: R) -> Result<Self, ConversationError> {
        let reader = Reader::new(source, VOCABULARY)?;
        if reader.header().context.packet.is_zero() {
            return Err(reader.damaged("its packets have no bytes"));
        }
        Ok(Self { reader, last: None })
    }

    /// Scheme, what its controller was built with, and the version of the code.
    pub fn header(&self) -> &Header {
        self.reader.header()
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// The file ends too soon, or is damaged.
    pub fn next_turn(&mut self) -> Result<Option<Turn<'_>>, ConversationError> {
        self.last = self.reader.record(ReadTurn::decode)?;
        Ok(self.last.as_ref().map(ReadTurn::turn))
    }

    /// Tells `controller` every event, up to the first that it decides otherwise.
    ///
    /// # Errors
    /// The file ends too soon, or is damaged; what came before that was decided alike.
    pub fn replay(&mut self, controller: Box<dyn Controller>) -> Result<Replay, ConversationError> {
        let mut controller = Driven::new(controller);
        let mut replay = Replay { events: 0, duration: Span::ZERO, difference: None };
        let mut began_at = None;
        while let Some(turn) = self.next_turn()? {
            replay.events += 1;
            if !matches!(turn.call, Call::Built) {
                replay.duration = turn.now.since(*began_at.get_or_insert(turn.now));
            }
            controller.tell(turn.now, &turn.call);
            let replayed = controller.decision();
            if replayed != turn.decision {
                let Turn { now, call, decision: recorded } = turn;
                let difference =
                    Difference { now, kind: call.kind(), inputs: call.inputs(), recorded, replayed };
                replay.difference = Some(difference);
                break;
            }
        }
        Ok(replay)
    }

    /// Tells `controller` every event, whatever it decides.
    ///
    /// # Errors
    /// The file ends too soon, or is damaged; what came before that was told.
    pub fn tell(&mut self, controller: Box<dyn Controller>) -> Result<(), ConversationError> {
        let mut controller = Driven::new(controller);
        while let Some(turn) = self.next_turn()? {
            controller.tell(turn.now, &turn.call);
            controller.decision();
        }
        Ok(())
    }
}

impl<R: Read> Conversation<R> {
    /// Reads the rest, to tell it without reading.
    ///
    /// # Errors
    /// The file ends too soon, or is damaged.
    pub fn into_memory(mut self) -> Result<Told, ConversationError> {
        let mut turns = Vec::new();
        while let Some(turn) = self.reader.record(ReadTurn::decode)? {
            turns.push(turn);
        }
        Ok(Told(turns))
    }
}

/// A conversation in memory.
#[derive(Debug)]
pub struct Told(Vec<ReadTurn>);

impl Told {
    /// How many of its events are acknowledgements.
    pub fn acknowledgements(&self) -> u64 {
        let acks = self.0.iter().filter(|turn| matches!(turn.turn().call, Call::Ack(_)));
        acks.count() as u64
    }

    /// Tells `controller` every event, and asks after each what it decides, as a flow does.
    pub fn tell(&self, controller: Box<dyn Controller>) {
        let mut controller = Driven::new(controller);
        for turn in &self.0 {
            let Turn { now, call, .. } = turn.turn();
            controller.tell(now, &call);
            // Nobody needs the decision: what is measured is that it was made.
            std::hint::black_box(controller.decision());
        }
    }
}

/// What came of telling a controller a conversation again.
#[derive(Debug, Clone)]
pub struct Replay {
    /// How many events it was told.
    pub events: u64,
    /// From the first of them that was an event of the flow to the last.
    pub duration: Span,
    /// What it decided otherwise at that one; `None` where it decided all alike.
    pub difference: Option<Difference>,
}

/// The first event after which a controller decided otherwise.
#[derive(Debug, Clone)]
pub struct Difference {
    /// When.
    pub now: Time,
    /// What it was told: `ack`, `timer`.
    pub kind: &'static str,
    /// With what: names and values, with units.
    pub inputs: Vec<(&'static str, String)>,
    /// What was decided then.
    pub recorded: Decision,
    /// What was decided now.
    pub replayed: Decision,
}
