//! The RTT of an empty queue, and the drains that show it.
//!
//! A drain is an experiment: the flow holds back for a round, and the next round shows the path with less of the flow
//! in it: its RTT with half of the base window, or [its losses](super::loss) with three quarters, which fill no queue.
//! A drain is due where the queue, or losses, have been there for 10 s, and sooner in doubt: after 8, 16, 32 and so on
//! rounds with losses as of a full queue, or with a queue too long for one flow if the base RTT predates a pause.
//!
//! The base RTT is the smallest of this epoch and the last. An epoch ends with a drain for it, so that a longer path is
//! known after two. A flow that its application limits to half of the window is always in a drain, so its rounds end
//! epochs. So does a silence, unless the next sample is from a packet sent in it: then the flow starts like a new one.
//!
//! A pause of the link is no time with a queue, since nothing shows one. So no drain becomes due in it, and the base
//! RTT does not become as long as the pause.

use super::settings::Config;
use crate::{Instant, Micros};

/// Prototype: the largest excess of the RTT over the base with an empty queue, as a part of `delay`: a tenth.
const EMPTY: u32 = 10;
/// Prototype: the fewest RTT samples of an epoch, so that its minimum means something.
const MIN_SAMPLES: u32 = 17;
/// Prototype: the part of rate times base RTT that a drain for the base RTT leaves in flight, as a shift: a half.
pub(super) const DRAIN_TO: u32 = 1;
/// The part of it that a drain for losses removes, as a shift: a quarter. A half costs 0.03 of utilisation with a queue
/// of 1 ms at 200 ms RTT.
const TAKEN_FOR_LOSS: u32 = 2;
/// Rounds of doubt before the first drain for it. With 24, utilisation is 0.83 instead of 0.90 at 5 % loss and 200 ms.
const FIRST_DOUBTS: u32 = 8;

/// No drain.
const NONE: u32 = 0;
/// The flow holds back for the base RTT.
const FOR_RTT: u32 = 1;
/// The flow holds back to see its losses.
const FOR_LOSS: u32 = 2;
/// The round shows packets sent in a drain.
const DRAINED: u32 = 3;

/// The base RTT, and the drains of the queue that show it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct BaseRtt {
    last_epoch: Micros,
    epoch: Micros,
    /// The smallest RTT of this round, [`Micros::MAX`] without a sample.
    round_min: Micros,
    /// RTT samples of this epoch.
    samples: u32,
    /// Time for which the queue has not been nearly empty, as far as samples show.
    filled_for: Micros,
    /// Time for which packets have been lost, since the last drain for losses.
    lossy_for: Micros,
    /// The last RTT sample; then its arrival, which wraps.
    last_rtt: Micros,
    sampled_at_us: u32,
    drain: u32,
    /// The number of rounds of doubt.
    doubts: u32,
    /// Not zero: the flow was silent or limited by its application, and has not seen a nearly empty queue since.
    unsure: u32,
    reserved: u32,
}

/// Observations of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    pub(super) app_limited: bool,
    /// The application leaves half of the window unused.
    pub(super) is_small: bool,
    /// The flow competes, and so drains nothing.
    pub(super) competes: bool,
    /// Packets are lost as with a full queue.
    pub(super) is_full: bool,
    /// The queue is too long for a flow alone.
    pub(super) is_long: bool,
}

impl BaseRtt {
    pub(super) const START: Self = Self {
        last_epoch: Micros::MAX,
        epoch: Micros::MAX,
        round_min: Micros::MAX,
        samples: 0,
        filled_for: Micros::ZERO,
        lossy_for: Micros::ZERO,
        last_rtt: Micros::ZERO,
        sampled_at_us: 0,
        drain: NONE,
        doubts: 0,
        unsure: 0,
        reserved: 0,
    };

    /// The base RTT; [`Micros::MAX`] before the first sample.
    #[inline(always)]
    pub(super) fn get(&self) -> Micros {
        self.epoch.min(self.last_epoch)
    }

    /// The part of a base window that a drain leaves; [`u64::MAX`] outside a drain.
    #[inline(always)]
    pub(super) fn leaves(&self, base_window: u64) -> u64 {
        match self.drain {
            FOR_RTT => base_window >> DRAIN_TO,
            FOR_LOSS => base_window - (base_window >> TAKEN_FOR_LOSS),
            _ => u64::MAX,
        }
    }

    /// True where this round shows packets sent in a drain.
    #[inline(always)]
    pub(super) fn is_drained(&self) -> bool {
        self.drain == DRAINED
    }

    /// True where the RTTs of this round show no drain.
    #[inline(always)]
    pub(super) fn is_settled(&self) -> bool {
        self.drain == NONE
    }

    /// The smallest RTT of this round; `None` without a sample.
    #[inline(always)]
    pub(super) fn seen_in_round(&self) -> Option<Micros> {
        if self.round_min == Micros::MAX { None } else { Some(self.round_min) }
    }

    /// The time since the last sample.
    #[inline(always)]
    pub(super) fn silent_for(&self, now: Instant) -> Micros {
        Micros((now.0 as u32).wrapping_sub(self.sampled_at_us))
    }

    /// Forgets the path except for this base RTT.
    #[inline(always)]
    pub(super) fn learn(&mut self, base_rtt: Micros) {
        (self.last_epoch, self.epoch) = (Micros::MAX, base_rtt);
    }

    #[inline(always)]
    pub(super) fn add(&mut self, now: Instant, rtt: Micros, delay: Micros, is_lossy: bool) {
        let base_rtt = self.get().min(rtt);
        // A sample comes within an RTT of the last one, unless the link pauses.
        let passed = self.silent_for(now).min(self.last_rtt);
        (self.last_rtt, self.sampled_at_us) = (rtt, now.0 as u32);
        self.samples = self.samples.saturating_add(1);
        self.epoch = self.epoch.min(rtt);
        self.round_min = self.round_min.min(rtt);
        let nearly_empty = rtt <= base_rtt.plus(Micros(delay.0 / EMPTY));
        self.filled_for = if nearly_empty { Micros::ZERO } else { self.filled_for.plus(passed) };
        self.lossy_for = if is_lossy { self.lossy_for.plus(passed) } else { Micros::ZERO };
        if nearly_empty {
            self.unsure = 0;
        }
    }

    /// True where a drain for the base RTT is due, even within a round: flows empty a shared queue only together.
    #[inline(always)]
    pub(super) fn is_due(&self, config: &Config) -> bool {
        self.drain == NONE && self.filled_for > config.drain_every && self.samples >= MIN_SAMPLES
    }

    /// Ends an epoch that has enough samples; returns whether it did.
    #[inline(always)]
    fn end_epoch(&mut self) -> bool {
        let ends = self.samples >= MIN_SAMPLES;
        if ends {
            (self.samples, self.filled_for) = (0, Micros::ZERO);
            (self.last_epoch, self.epoch) = (self.epoch, Micros::MAX);
        }
        ends
    }

    /// Doubts the base RTT, because the path may have changed: earlier RTTs become those of the last epoch.
    #[inline(always)]
    pub(super) fn doubt(&mut self) {
        if self.unsure == 0 {
            (self.unsure, self.doubts) = (1, 0);
            self.end_epoch();
        }
    }

    /// Ends the doubt: a drain has shown why packets are lost.
    #[inline(always)]
    pub(super) fn believe(&mut self) {
        self.doubts = 0;
    }

    /// Ends a round. A drain lasts for one, and the next one shows it; a drain that is due begins.
    #[inline(always)]
    pub(super) fn end_round(&mut self, config: &Config, shown: Shown) {
        self.round_min = Micros::MAX;
        if shown.app_limited {
            self.doubt();
        }
        if self.drain == DRAINED {
            self.drain = NONE;
            // A drain in doubt has shown no RTT like those before: the path has changed.
            if self.unsure != 0 && self.epoch != Micros::MAX {
                self.last_epoch = Micros::MAX;
            }
            return;
        }
        if self.drain != NONE {
            self.drain = DRAINED;
            return;
        }
        let is_long = shown.is_long && self.unsure != 0;
        let tries = (shown.is_full || is_long) && self.counts_doubt();
        if shown.is_small {
            self.end_epoch();
            return;
        }
        if shown.competes {
            return;
        }
        if (self.filled_for > config.drain_every || (tries && is_long)) && self.end_epoch() {
            self.drain = FOR_RTT;
        } else if self.lossy_for > config.drain_every || (tries && shown.is_full) {
            self.lossy_for = Micros::ZERO;
            self.drain = FOR_LOSS;
        }
    }

    /// Counts a round of doubt; returns true at [`FIRST_DOUBTS`] and at each later power of two.
    #[inline(always)]
    fn counts_doubt(&mut self) -> bool {
        self.doubts = self.doubts.saturating_add(1);
        self.doubts >= FIRST_DOUBTS && self.doubts & self.doubts.wrapping_sub(1) == 0
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    const BASE_RTT: Micros = Micros(40_000);
    const CALM: Shown =
        Shown { app_limited: false, is_small: false, competes: false, is_full: false, is_long: false };
    const LIMITED: Shown = Shown { app_limited: true, is_small: true, ..CALM };
    const LONG: Shown = Shown { is_long: true, ..CALM };
    const FULL: Shown = Shown { is_full: true, ..CALM };

    struct Flow {
        base_rtt: BaseRtt,
        now: Instant,
    }

    impl Flow {
        /// A flow after half a second without a queue.
        fn new() -> Self {
            let mut flow = Self { base_rtt: BaseRtt::START, now: Instant(0) };
            flow.sees(BASE_RTT, 12, CALM);
            flow
        }

        /// Passes rounds of four samples, a quarter of the base RTT apart; returns those at whose end a drain begins.
        fn sees(&mut self, rtt: Micros, rounds: u32, shown: Shown) -> Vec<u32> {
            let begins = |_: &u32| {
                for _ in 0..4 {
                    self.now = self.now.after(Micros(10_000));
                    self.base_rtt.add(self.now, rtt, Config::DEFAULT.delay, shown.is_full);
                }
                let before = self.base_rtt.drain;
                self.base_rtt.end_round(&Config::DEFAULT, shown);
                before == NONE && self.base_rtt.drain != NONE
            };
            (1..=rounds).filter(begins).collect()
        }
    }

    #[test]
    fn a_queue_that_is_there_for_ten_seconds_is_drained_for_a_round_and_the_next_one_tells_of_it() {
        let mut flow = Flow::new();
        assert_eq!(flow.sees(Micros(50_000), 251, CALM), [251]);
        assert_eq!(flow.base_rtt.leaves(1_000), 500);
        flow.sees(Micros(50_000), 1, CALM);
        assert!(flow.base_rtt.is_drained());
        assert_eq!((flow.base_rtt.leaves(1_000), flow.base_rtt.is_settled()), (u64::MAX, false));
        flow.sees(BASE_RTT, 1, CALM);
        assert!(flow.base_rtt.is_settled());
    }

    #[test]
    fn rounds_that_the_application_limits_show_a_longer_path_within_a_second() {
        let mut flow = Flow::new();
        assert!(flow.sees(Micros(60_000), 10, LIMITED).is_empty());
        assert_eq!(flow.base_rtt.get(), Micros(60_000));
    }

    #[test]
    fn an_application_that_uses_its_window_may_have_made_the_queue() {
        // The base RTT of a video that follows the window once grew with the video's own queue, by 50 ms.
        let mut flow = Flow::new();
        flow.sees(Micros(60_000), 100, Shown { is_small: false, ..LIMITED });
        assert_eq!(flow.base_rtt.get(), BASE_RTT);
    }

    #[test]
    fn a_queue_that_is_too_long_since_a_pause_is_drained_after_8_rounds_and_the_path_is_known_then() {
        // A flow with too short a base RTT once settled at two packets per ms of queue, which explained the queue.
        let mut flow = Flow::new();
        flow.base_rtt.doubt();
        assert!(flow.sees(Micros(60_000), 7, LONG).is_empty());
        assert_eq!(flow.base_rtt.get(), BASE_RTT);
        assert_eq!(flow.sees(Micros(60_000), 1, LONG), [1]);
        assert_eq!(flow.base_rtt.get(), Micros(60_000));
    }

    #[test]
    fn a_drain_in_doubt_that_shows_no_rtt_like_those_before_replaces_them() {
        let mut flow = Flow::new();
        flow.base_rtt.doubt();
        flow.sees(Micros(50_000), 1, CALM);
        flow.base_rtt.add(flow.now, BASE_RTT, Config::DEFAULT.delay, false);
        flow.base_rtt.doubt();
        assert_eq!(flow.sees(Micros(60_000), 8, LONG), [8]);
        assert_eq!(flow.base_rtt.get(), BASE_RTT);
        flow.sees(Micros(60_000), 2, LONG);
        assert_eq!(flow.base_rtt.get(), Micros(60_000));
    }

    #[test]
    fn a_queue_that_is_too_long_is_a_rivals_where_an_empty_one_has_been_seen_since_the_pause() {
        let mut flow = Flow::new();
        flow.sees(BASE_RTT, 1, LIMITED);
        flow.sees(BASE_RTT, 1, CALM);
        assert!(flow.sees(Micros(60_000), 200, LONG).is_empty());
    }

    #[test]
    fn losses_are_tried_after_8_and_16_rounds_and_later_every_ten_seconds_at_least() {
        let mut flow = Flow::new();
        // A drain takes two rounds, which do not count. From 256 rounds of doubt on, doubling would take over 10 s.
        let drains = flow.sees(BASE_RTT, 1_200, FULL);
        assert_eq!(drains[..4], [8, 18, 36, 70]);
        assert!(drains.windows(2).all(|two| two[1] - two[0] <= 252), "{drains:?}");
        assert_eq!(flow.base_rtt.get(), BASE_RTT);
    }

    #[test]
    fn what_a_drain_explains_is_tried_again_soon() {
        let mut flow = Flow::new();
        flow.sees(BASE_RTT, 100, FULL);
        flow.base_rtt.believe();
        assert_eq!(flow.sees(BASE_RTT, 8, FULL), [8]);
    }

    #[test]
    fn a_flow_that_competes_drains_nothing() {
        let mut flow = Flow::new();
        let shown = Shown { competes: true, ..FULL };
        assert!(flow.sees(Micros(60_000), 500, shown).is_empty());
    }

    #[test]
    fn a_pause_makes_no_drain_due_and_becomes_no_base_rtt() {
        // The pause once became the base RTT, so that a tick took a quarter of it, and a drain all of it.
        let mut flow = Flow::new();
        flow.sees(Micros(50_000), 75, CALM);
        flow.now = flow.now.after(Micros(30_000_000));
        assert!(flow.base_rtt.end_epoch());
        assert!(flow.sees(Micros(30_040_000), 4, CALM).is_empty());
        assert_eq!(flow.base_rtt.get(), BASE_RTT);
    }
}
