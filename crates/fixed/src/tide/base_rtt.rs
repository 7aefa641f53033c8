//! The RTT of an empty queue, and the drains that show it.

use super::settings::Config;
use crate::{Instant, Micros};

/// The queue counts as empty where the RTT is above the base by no more than this part of `delay`.
const EMPTY: u32 = 10;
/// An epoch has at least so many RTT samples, so that its minimum means something.
const MIN_SAMPLES: u32 = 17;

/// The base RTT, and whether the flow drains the queue to see it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct BaseRtt {
    /// When the queue was last nearly empty, or a drain began.
    seen_at: Instant,
    /// Zero: no drain.
    drain_until: Instant,
    /// Until then RTTs may still show a drain, and not what others do.
    settles_at: Instant,
    last_epoch: Micros,
    epoch: Micros,
    /// RTT samples of this epoch.
    samples: u32,
    reserved: u32,
}

impl BaseRtt {
    pub(super) const START: Self = Self {
        seen_at: Instant(0),
        drain_until: Instant(0),
        settles_at: Instant(0),
        last_epoch: Micros::MAX,
        epoch: Micros::MAX,
        samples: 0,
        reserved: 0,
    };

    /// The base RTT; longer than any before the first sample.
    #[inline(always)]
    pub(super) fn get(&self) -> Micros {
        self.epoch.min(self.last_epoch)
    }

    #[inline(always)]
    pub(super) fn is_draining(&self) -> bool {
        self.drain_until != Instant(0)
    }

    /// A drain, and what follows from it, is over.
    #[inline(always)]
    pub(super) fn is_settled(&self, now: Instant) -> bool {
        now > self.settles_at
    }

    /// The path has become longer: what was known of it is forgotten.
    #[inline(always)]
    pub(super) fn learn(&mut self, base_rtt: Micros) {
        (self.last_epoch, self.epoch) = (Micros::MAX, base_rtt);
    }

    #[inline(always)]
    pub(super) fn add(&mut self, now: Instant, rtt: Micros, delay: Micros) {
        let nearly_empty = self.get().min(rtt).plus(Micros(delay.0 / EMPTY));
        self.samples = self.samples.saturating_add(1);
        self.epoch = self.epoch.min(rtt);
        if rtt <= nearly_empty {
            self.seen_at = now;
        }
    }

    /// Ends a drain that would be over at the next tick, and begins one where it is due; a flow that competes drains nothing.
    #[inline(always)]
    pub(super) fn on_tick(
        &mut self,
        config: &Config,
        [now, next_tick]: [Instant; 2],
        queueing: Micros,
        competes: bool,
    ) {
        let is_due = !competes && now > self.seen_at.after(config.drain_every) && self.is_settled(now);
        if is_due && self.samples >= MIN_SAMPLES {
            let rtt = self.get().plus(queueing);
            self.drain_until = now.after(rtt);
            self.settles_at = now.after(rtt).after(rtt);
            self.seen_at = now;
            self.samples = 0;
            (self.last_epoch, self.epoch) = (self.epoch, Micros::MAX);
        }
        if self.drain_until <= next_tick {
            self.drain_until = Instant(0);
        }
    }
}
