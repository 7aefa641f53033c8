//! The RTT of an empty queue, and the drains that show it.
//!
//! The base RTT is the smallest of this epoch and of the last one. An epoch ends with a drain: where the queue has not been
//! nearly empty for a while, the flow halves what is in flight for about an RTT, so that a path which has become longer is
//! known as one after two epochs.
//!
//! A pause of the link is no time with a queue: nothing shows one. So no epoch ends in it, and the base RTT does not become as long as
//! the pause was.

use super::settings::Config;
use crate::{Instant, Micros};

/// Prototype: the queue counts as empty where the RTT is above the base by no more than this part of `delay`, a tenth.
const EMPTY: u32 = 10;
/// Prototype: an epoch has at least so many RTT samples, so that its minimum means something.
const MIN_SAMPLES: u32 = 17;

/// The base RTT, and whether the flow drains the queue to see it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct BaseRtt {
    /// Zero: no drain.
    drain_until: Instant,
    /// Until then RTTs may still show a drain, and not what others do.
    settles_at: Instant,
    last_epoch: Micros,
    epoch: Micros,
    /// RTT samples of this epoch.
    samples: u32,
    /// For how long the queue has not been nearly empty, as far as samples show it.
    filled_for: Micros,
    /// The last RTT sample, and when it came, which wraps.
    last_rtt: Micros,
    sampled_at_us: u32,
}

impl BaseRtt {
    pub(super) const START: Self = Self {
        drain_until: Instant(0),
        settles_at: Instant(0),
        last_epoch: Micros::MAX,
        epoch: Micros::MAX,
        samples: 0,
        filled_for: Micros::ZERO,
        last_rtt: Micros::ZERO,
        sampled_at_us: 0,
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
        let base_rtt = self.get().min(rtt);
        // A sample comes within an RTT of the last one, unless the link pauses.
        let passed = Micros((now.0 as u32).wrapping_sub(self.sampled_at_us)).min(self.last_rtt);
        (self.last_rtt, self.sampled_at_us) = (rtt, now.0 as u32);
        self.samples = self.samples.saturating_add(1);
        self.epoch = self.epoch.min(rtt);
        let nearly_empty = rtt <= base_rtt.plus(Micros(delay.0 / EMPTY));
        self.filled_for = if nearly_empty { Micros::ZERO } else { self.filled_for.plus(passed) };
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
        let is_due = !competes && self.filled_for > config.drain_every && self.is_settled(now);
        if is_due && self.samples >= MIN_SAMPLES {
            (self.drain_until, self.settles_at) = (Instant(u64::MAX), Instant(u64::MAX));
            self.filled_for = Micros::ZERO;
            self.samples = 0;
            (self.last_epoch, self.epoch) = (self.epoch, Micros::MAX);
        }
        // It lasts an RTT, which may turn out to be shorter.
        let rtt = self.get().plus(queueing);
        self.drain_until = self.drain_until.min(now.after(rtt));
        self.settles_at = self.settles_at.min(now.after(rtt).after(rtt));
        if self.drain_until <= next_tick {
            self.drain_until = Instant(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Micros = Micros(10_000);
    const BASE_RTT: Micros = Micros(40_000);

    struct Flow {
        base_rtt: BaseRtt,
        now: Instant,
    }

    impl Flow {
        /// Half a second without a queue.
        fn new() -> Self {
            let mut flow = Self { base_rtt: BaseRtt::START, now: Instant(0) };
            flow.sees(BASE_RTT, 50);
            flow
        }

        /// A sample of this RTT in each tick; how many ticks of them end in a drain.
        fn sees(&mut self, rtt: Micros, ticks: u32) -> usize {
            let ticks = (0..ticks).filter(|_| {
                self.now = self.now.after(TICK);
                self.base_rtt.add(self.now, rtt, Config::DEFAULT.delay);
                let queueing = Micros(rtt.0.saturating_sub(self.base_rtt.get().0));
                let instants = [self.now, self.now.after(TICK)];
                self.base_rtt.on_tick(&Config::DEFAULT, instants, queueing, false);
                self.base_rtt.is_draining()
            });
            ticks.count()
        }

        fn pauses(&mut self, pause: Micros) {
            self.now = self.now.after(pause);
        }
    }

    #[test]
    fn a_queue_that_is_there_for_ten_seconds_is_drained_for_an_rtt() {
        let mut flow = Flow::new();
        assert_eq!(flow.sees(Micros(50_000), 1_000), 0);
        // Five ticks; one that would end within the next tick is over.
        assert_eq!(flow.sees(Micros(50_000), 100), 4);
    }

    #[test]
    fn a_pause_ends_no_epoch_and_becomes_no_base_rtt() {
        // It once did, so that a tick took a quarter of the pause, and a drain all of it.
        let mut flow = Flow::new();
        flow.sees(Micros(50_000), 300);
        flow.pauses(Micros(30_000_000));
        assert_eq!(flow.sees(Micros(30_040_000), 20), 0);
        assert_eq!(flow.base_rtt.get(), BASE_RTT);
    }

    #[test]
    fn a_drain_that_was_to_last_as_long_as_a_pause_ends_when_rtts_are_short_again() {
        let mut flow = Flow::new();
        flow.sees(Micros(50_000), 999);
        flow.pauses(Micros(30_000_000));
        assert_eq!(flow.sees(Micros(30_040_000), 5), 5);
        assert_eq!(flow.sees(Micros(50_000), 10), 4);
    }
}
