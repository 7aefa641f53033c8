//! The RTT of an empty queue, and the drains that show it.
//!
//! The base RTT is the smallest of this epoch and of the last one. An epoch ends with a drain: where the queue has not been
//! nearly empty for a while, the flow halves what is in flight for about an RTT, so that a path which has become longer is
//! known as one after two epochs.

use super::settings::Settings;
use cellcc_units::{Span, Time};

/// Prototype: the queue counts as empty where the RTT is above the base by no more than this share of `delay`.
const EMPTY: f64 = 0.1;
/// Prototype: an epoch has at least so many RTT samples, so that its minimum means something.
const MIN_SAMPLES: u32 = 17;
/// No sample yet.
const UNKNOWN: Span = Span::from_nanos(u64::MAX);

/// The base RTT, and whether the flow drains the queue to see it.
#[derive(Debug, Clone)]
pub(super) struct BaseRtt {
    last_epoch: Span,
    epoch: Span,
    /// RTT samples of this epoch.
    samples: u32,
    /// When the queue was last nearly empty, or a drain began.
    seen_at: Time,
    drain_until: Option<Time>,
    /// Until then RTTs may still show a drain, and not what others do.
    settles_at: Time,
}

impl BaseRtt {
    pub(super) fn new() -> Self {
        Self {
            last_epoch: UNKNOWN,
            epoch: UNKNOWN,
            samples: 0,
            seen_at: Time::ZERO,
            drain_until: None,
            settles_at: Time::ZERO,
        }
    }

    /// The base RTT; longer than any before the first sample.
    pub(super) fn get(&self) -> Span {
        self.epoch.min(self.last_epoch)
    }

    pub(super) fn is_draining(&self) -> bool {
        self.drain_until.is_some()
    }

    /// A drain, and what follows from it, is over.
    pub(super) fn is_settled(&self, now: Time) -> bool {
        now > self.settles_at
    }

    /// The path has become longer: what was known of it is forgotten.
    pub(super) fn learn(&mut self, base_rtt: Span) {
        (self.last_epoch, self.epoch) = (UNKNOWN, base_rtt);
    }

    pub(super) fn add(&mut self, now: Time, sample: Span, delay: Span) {
        let nearly_empty = self.get().min(sample) + delay.mul_f64(EMPTY);
        self.samples = self.samples.saturating_add(1);
        self.epoch = self.epoch.min(sample);
        if sample <= nearly_empty {
            self.seen_at = now;
        }
    }

    /// Ends a drain that would be over at the next tick, and begins one where it is due; a flow that competes drains nothing.
    pub(super) fn on_tick(
        &mut self,
        now: Time,
        next_tick: Time,
        queueing: Span,
        competes: bool,
        settings: &Settings,
    ) {
        let is_due = !competes && now > self.seen_at + settings.drain_every && self.is_settled(now);
        if is_due && self.samples >= MIN_SAMPLES {
            let rtt = self.get() + queueing;
            self.drain_until = Some(now + rtt);
            self.settles_at = now + rtt * 2;
            self.seen_at = now;
            self.samples = 0;
            (self.last_epoch, self.epoch) = (self.epoch, UNKNOWN);
        }
        self.drain_until = self.drain_until.filter(|&until| until > next_tick);
    }
}
