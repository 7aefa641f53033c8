//! A scheme that runs behind limits that are not its own: it sees everything, and decides when asked.

use cellcc_control::{Ack, Controller, Event, Limits, Loss, Observer, Sent, Tag};
use cellcc_units::{Bytes, Time};

/// The base of an assisted scheme. Its window must not grow without bound behind a smaller limit, and must grow behind
/// one that lets as much through as it would itself. So it hears that it is the limit exactly in rounds in which what
/// is in flight reaches its own window.
pub(super) struct Background {
    base: Box<dyn Controller>,
    limits: Limits,
    round: u64,
    /// The last round in which the base's own window was reached.
    reached_round: Option<u64>,
    /// Limits are exceeded, in a probe: what is in flight then is not for the base to grow by.
    pub(super) exceeds: bool,
    /// The last round in which they were.
    exceeded_round: Option<u64>,
}

impl Background {
    pub(super) fn new(base: Box<dyn Controller>) -> Self {
        Self {
            limits: base.limits(),
            base,
            round: 0,
            reached_round: None,
            exceeds: false,
            exceeded_round: None,
        }
    }

    /// What the base would do.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    pub(super) fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.note(sent.inflight, sent.packet_size);
        let tag = self.base.on_sent(sent);
        self.limits = self.base.limits();
        tag
    }

    /// `alone` where the limits are the base's own, and the flow's judgement of them is true.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>, alone: bool) {
        self.round = ack.round;
        self.note(ack.inflight_before, ack.packet_size);
        let reached = self.reached_round.is_some_and(|reached| ack.round.saturating_sub(1) <= reached);
        let cwnd_limited = if alone { ack.cwnd_limited } else { reached };
        self.base.on_ack(&Ack { cwnd_limited, ..*ack });
        self.limits = self.base.limits();
    }

    pub(super) fn on_loss(&mut self, loss: &Loss<'_>) {
        self.base.on_loss(loss);
        self.limits = self.base.limits();
    }

    pub(super) fn on_event(&mut self, now: Time, event: Event) {
        self.base.on_event(now, event);
        self.limits = self.base.limits();
    }

    pub(super) fn next_timer(&self) -> Option<Time> {
        self.base.next_timer()
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        if self.base.next_timer().is_some_and(|due| due <= now) {
            self.base.on_timer(now);
            self.limits = self.base.limits();
        }
    }

    pub(super) fn observe(&self, observer: &mut dyn Observer) {
        self.base.observe(observer);
    }

    fn note(&mut self, inflight: Bytes, packet_size: Bytes) {
        if self.exceeds {
            self.exceeded_round = Some(self.round);
        }
        let is_of_probe = self.exceeded_round.is_some_and(|exceeded| self.round <= exceeded + 1);
        if !is_of_probe && inflight + packet_size > self.limits.window {
            self.reached_round = Some(self.round);
        }
    }
}
