//! A controller whose events are recorded.

use super::entry::{Call, Driven, Entry, Received, VOCABULARY};
use super::file::{Header, Writer};
use crate::advice::Advice;
use crate::contract::{Ack, Context, Controller, Ecn, Event, Loss, Sent, Tag};
use crate::limits::Limits;
use crate::message::{ArrivalReport, Feedback, Verdict};
use crate::observer::Observer;
use cellcc_units::{Bytes, Time};
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the event log of the next controller goes. Clones are the same place.
#[derive(Clone)]
pub(crate) struct Destination(Arc<Mutex<Option<Box<dyn Write + Send>>>>);

impl Destination {
    pub(crate) fn new(destination: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(Some(destination))))
    }

    /// Has the events of `controller` recorded, if it is the first that is built.
    pub(crate) fn record(
        &self,
        scheme: &str,
        context: &Context,
        controller: Box<dyn Controller>,
    ) -> Box<dyn Controller> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(destination) => Box::new(Recorder::new(destination, scheme, context, controller)),
            None => controller,
        }
    }
}

impl fmt::Debug for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Destination")
    }
}

/// A controller that wraps another one and logs each event with the decision after it.
struct Recorder {
    driven: Driven,
    writer: Writer,
}

impl Recorder {
    fn new(
        destination: Box<dyn Write + Send>,
        scheme: &str,
        context: &Context,
        controller: Box<dyn Controller>,
    ) -> Self {
        let header = Header {
            vocabulary: VOCABULARY.into(),
            scheme: scheme.into(),
            context: *context,
            code: env!("CARGO_PKG_VERSION").into(),
        };
        let writer = Writer::new(destination, &header);
        let mut recorder = Self { driven: Driven::new(controller), writer };
        recorder.give(Time::ZERO, Call::Built);
        recorder
    }

    fn give(&mut self, now: Time, call: Call<'_>) {
        self.driven.give(now, &call);
        let entry = Entry { now, call, decision: self.driven.decision() };
        self.writer.record(&entry.written());
    }
}

impl Controller for Recorder {
    fn ecn(&self) -> Ecn {
        self.driven.controller.ecn()
    }

    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.give(sent.now, Call::Sent(*sent));
        self.driven.tag
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.give(ack.now, Call::Ack(*ack));
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.give(loss.now, Call::Loss(*loss));
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.give(now, Call::Event(event));
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback, sent: Bytes) -> Verdict {
        self.give(now, Call::Feedback(Received { feedback: *feedback, sent }));
        self.driven.verdict.unwrap_or(Verdict::Malformed)
    }

    fn on_advice(&mut self, now: Time, advice: &Advice) {
        self.give(now, Call::Advice(*advice));
    }

    fn on_arrivals(&mut self, now: Time, report: &ArrivalReport) {
        self.give(now, Call::Arrivals(report));
    }

    fn on_timer(&mut self, now: Time) {
        self.give(now, Call::Timer);
    }

    fn next_timer(&self) -> Option<Time> {
        self.driven.controller.next_timer()
    }

    fn limits(&self) -> Limits {
        self.driven.controller.limits()
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.driven.controller.observe(observer);
    }
}
