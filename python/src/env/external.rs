//! A controller that gets its actions from outside, and keeps an agent's observations.

use cellcc_control::{Ack, Context, Controller, Event, Flow, Limits, Loss, Observed, Observer, Sent, Tag};
use cellcc_schemes::learned::{AgentKind, Interval, Meter, Sender, Steering};
use cellcc_units::{Bytes, Span, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The common state of an agent and the controller of its flow. One thread at a time has both. A lock for each acknowledgement
/// would cost 3 to 10 % of an environment's speed, so the controller counts by itself until it is looked at.
#[derive(Debug)]
pub(crate) struct Mailbox(Mutex<Shared>);

#[derive(Debug)]
struct Shared {
    /// Taken at the beginning of the next interval.
    steering: Option<Steering>,
    /// Its begin, its length, and the data sent before it; taken with its first event.
    begins: Option<(Time, Span, Bytes)>,
    next_decision: Time,
    /// As of when the controller was looked at last, like the congestion window.
    meter: Meter,
    window: Bytes,
}

impl Mailbox {
    pub(crate) fn new(kind: AgentKind) -> Self {
        Self(Mutex::new(Shared {
            steering: None,
            begins: None,
            next_decision: Time::ZERO,
            meter: kind.meter(),
            window: Bytes::ZERO,
        }))
    }

    /// Has the sender, which has sent these bytes, steered like this from now on, until `next` at least.
    pub(crate) fn steer(&self, steering: Steering, now: Time, next: Time, sent: Bytes) {
        let mut shared = self.shared();
        (shared.steering, shared.next_decision) = (Some(steering), next);
        shared.begins = Some((now, next.since(now), sent));
    }

    /// The results of this flow's interval so far.
    pub(crate) fn interval(&self, now: Time, flow: &Flow) -> Interval {
        flow.controller().observe(&mut Observed::default());
        let shared = self.shared();
        shared.meter.interval(now, flow.sent(), shared.window)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The controller of a flow that an agent steers.
pub(crate) struct External {
    kind: AgentKind,
    mailbox: Arc<Mailbox>,
    sender: Sender,
    meter: Meter,
    /// Only counted for Indigo.
    sent: Bytes,
    timer: Time,
}

/// After the time of a decision, when the agent has seen all events until then.
const DECIDES_AFTER: Span = Span::from_nanos(1);

impl External {
    pub(crate) fn new(kind: AgentKind, mailbox: Arc<Mailbox>, context: &Context) -> Self {
        let sender = kind.sender(context);
        let timer = Time::ZERO + DECIDES_AFTER;
        Self { kind, mailbox, sender, meter: kind.meter(), sent: Bytes::ZERO, timer }
    }

    /// With the first event of an interval.
    #[cold]
    fn begin_interval(&mut self) {
        if let Some((began, length, sent)) = self.mailbox.shared().begins.take() {
            self.meter.begin(began, length, sent);
        }
    }
}

impl Controller for External {
    fn hears_departures(&self) -> bool {
        self.kind.hears_departures()
    }

    fn on_sent(&mut self, sent: &Sent) -> Tag {
        let before = self.sent.get();
        self.sent += sent.bytes;
        before
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.now >= self.timer {
            self.begin_interval();
        }
        self.sender.on_ack(ack);
        self.meter.on_ack(ack, self.sent);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        if loss.now >= self.timer {
            self.begin_interval();
        }
        self.sender.on_loss(loss);
        self.meter.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.sender.on_event(now, event);
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.sender.next_timer().map_or(self.timer, |timer| timer.min(self.timer)))
    }

    /// An interval begins, or the sender has set the timer.
    fn on_timer(&mut self, now: Time) {
        self.sender.on_timer(now);
        if now < self.timer {
            return;
        }
        self.begin_interval();
        let mut shared = self.mailbox.shared();
        self.timer = shared.next_decision.max(now) + DECIDES_AFTER;
        if let Some(steering) = shared.steering.take() {
            self.sender.steer(steering);
        }
    }

    fn limits(&self) -> Limits {
        self.sender.limits()
    }

    fn observe(&self, _: &mut dyn Observer) {
        let mut shared = self.mailbox.shared();
        (shared.meter, shared.window) = (self.meter.clone(), self.sender.window());
    }
}
