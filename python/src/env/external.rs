//! A controller that gets its actions from outside, and keeps what an agent observes.

use cellcc_control::{Ack, Context, Controller, Event, Limits, Loss, Sent, Tag};
use cellcc_schemes::learned::{AgentKind, Interval, Meter, Sender, Steering};
use cellcc_units::{Bytes, Span, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an agent and the controller of its flow share. One thread at a time has both.
#[derive(Debug)]
pub(crate) struct Mailbox(Mutex<Shared>);

#[derive(Debug)]
struct Shared {
    /// Taken at the beginning of the next interval.
    steering: Option<Steering>,
    next_decision: Time,
    meter: Meter,
    /// The congestion window.
    window: Bytes,
}

impl Mailbox {
    pub(crate) fn new(kind: AgentKind) -> Self {
        let meter = Meter::new(kind);
        Self(Mutex::new(Shared { steering: None, next_decision: Time::ZERO, meter, window: Bytes::ZERO }))
    }

    /// Has the sender, which has sent these bytes, steered like this from now on, until `next` at least.
    pub(crate) fn steer(&self, steering: Steering, now: Time, next: Time, sent: Bytes) {
        let mut shared = self.shared();
        (shared.steering, shared.next_decision) = (Some(steering), next);
        shared.meter.begin(now, next.since(now), sent);
    }

    /// What the interval has shown so far.
    pub(crate) fn interval(&self, now: Time, sent: Bytes) -> Interval {
        let shared = self.shared();
        shared.meter.interval(now, sent, shared.window)
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
    /// Only counted for Indigo.
    sent: Bytes,
    timer: Time,
}

/// After the time of a decision, by which the agent has seen all that happened until then.
const DECIDES_AFTER: Span = Span::from_nanos(1);

impl External {
    pub(crate) fn new(kind: AgentKind, mailbox: Arc<Mailbox>, context: &Context) -> Self {
        let sender = Sender::new(kind, context);
        Self { kind, mailbox, sender, sent: Bytes::ZERO, timer: Time::ZERO + DECIDES_AFTER }
    }
}

impl Controller for External {
    fn hears_departures(&self) -> bool {
        self.kind == AgentKind::Indigo
    }

    fn on_sent(&mut self, sent: &Sent) -> Tag {
        let before = self.sent.get();
        self.sent += sent.bytes;
        before
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.sender.on_ack(ack);
        let mut shared = self.mailbox.shared();
        shared.meter.on_ack(ack, self.sent);
        shared.window = self.sender.window();
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.sender.on_loss(loss);
        let mut shared = self.mailbox.shared();
        shared.meter.on_loss(loss);
        shared.window = self.sender.window();
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.sender.on_event(now, event);
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.sender.next_timer().map_or(self.timer, |timer| timer.min(self.timer)))
    }

    /// An interval begins, or the sender has asked for it.
    fn on_timer(&mut self, now: Time) {
        self.sender.on_timer(now);
        if now < self.timer {
            return;
        }
        let mut shared = self.mailbox.shared();
        self.timer = shared.next_decision.max(now) + DECIDES_AFTER;
        if let Some(steering) = shared.steering.take() {
            self.sender.steer(steering);
        }
        shared.window = self.sender.window();
    }

    fn limits(&self) -> Limits {
        self.sender.limits()
    }
}
