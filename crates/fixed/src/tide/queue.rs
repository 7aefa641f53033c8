//! The length of the queue, and its target.
//!
//! The queueing delay is the smallest RTT of a tick less the base RTT: the wait of every packet of the tick. The swing,
//! the largest less the smallest RTT within a base RTT, is the link's own: a decision of the sender shows in RTTs a
//! base RTT later at the earliest. A smooth link has a small swing and needs little queue to stay busy; a link that
//! serves in bursts has a large swing, and runs empty between bursts unless more packets wait.
//!
//! Jitter that keeps packets in order delays most of them nearly as long as the longest, so that RTTs stay far above
//! the base RTT and swing little. A target below that would shrink the window in each RTT, until the extra packets hold
//! it. So the target is at least 1.25 swings, up to a limit.

use super::part;
use super::settings::Config;
use crate::Micros;

/// Prototype: the divisor of the base RTT that gives the step of the swing's estimate in a tick.
const SWING_STEP: u32 = 80;
/// Number of fractional bits of the swing in microseconds, because steps can be as short as 5 us.
const SWING_BITS: u32 = 8;

/// The part of the longest queueing delay that a tick forgets, as a shift: half of it in 44 base RTTs. Flows that drain
/// together refill the queue at once, which is no step up from the queue before the drain.
const FORGETS: u32 = 8;

/// The queue as the last ticks show it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct Queue {
    /// The swing in units of 2^-8 us.
    swing: u64,
    /// The extremes since the last tick, and those of the ticks before, the newest first.
    ticks: [Extremes; 5],
    delay: Micros,
    /// The longest queueing delay, which fades.
    longest: Micros,
}

/// The smallest and largest RTT; without a sample [`Micros::MAX`] and zero.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
struct Extremes {
    min: Micros,
    max: Micros,
}

impl Extremes {
    const NONE: Self = Self { min: Micros::MAX, max: Micros::ZERO };

    #[inline(always)]
    fn with(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

impl Queue {
    pub(super) const START: Self =
        Self { swing: 0, ticks: [Extremes::NONE; 5], delay: Micros::ZERO, longest: Micros::ZERO };

    /// The queueing delay of the last tick that had a sample.
    #[inline(always)]
    pub(super) fn delay(&self) -> Micros {
        self.delay
    }

    /// The longest recent queueing delay.
    #[inline(always)]
    pub(super) fn longest(&self) -> Micros {
        self.longest
    }

    /// The swing: a quantile of the largest less the smallest RTT within a base RTT.
    #[inline(always)]
    pub(super) fn swing(&self) -> Micros {
        let swing = self.swing >> SWING_BITS;
        Micros(if swing > u32::MAX as u64 { u32::MAX } else { swing as u32 })
    }

    /// The target of the queueing delay.
    #[inline(always)]
    pub(super) fn target(&self, config: &Config) -> Micros {
        let swing = self.swing();
        let floor = part(config.floor_swings, swing).min(config.floor_limit);
        config
            .delay
            .plus(part(config.share_of_swing, swing))
            .max(floor)
            .min(config.max_target.max(config.delay))
    }

    #[inline(always)]
    pub(super) fn add(&mut self, rtt: Micros) {
        let [present, ..] = &mut self.ticks;
        *present = present.with(Extremes { min: rtt, max: rtt });
    }

    #[inline(always)]
    pub(super) fn on_tick(&mut self, config: &Config, base_rtt: Micros) {
        let [present, first, second, third, _] = self.ticks;
        self.ticks = [Extremes::NONE, present, first, second, third];
        if present.min == Micros::MAX {
            return;
        }
        self.delay = Micros(present.min.0.saturating_sub(base_rtt.0));
        self.longest = Micros(self.longest.0 - (self.longest.0 >> FORGETS)).max(self.delay);
        let all = present.with(first).with(second).with(third);
        let sample = (all.max.0.saturating_sub(all.min.0) as u64) << SWING_BITS;
        let step = ((base_rtt.0 as u64) << SWING_BITS) / SWING_STEP as u64;
        let up = config.swing_quantile.of(step);
        // Up by the quantile for a sample above, down by the rest for others: in balance where that share is below.
        self.swing = if sample > self.swing {
            self.swing.saturating_add(up)
        } else {
            self.swing.saturating_sub(step.saturating_sub(up))
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The target for a delay, where the largest and smallest RTT differ by `swing` microseconds.
    fn target(delay: u32, swing: u32) -> u32 {
        let config = Config::DEFAULT.with_delay(Micros(delay));
        let mut queue = Queue::START;
        for _ in 0..1_000 {
            queue.add(Micros(40_000));
            queue.add(Micros(40_000 + swing));
            queue.on_tick(&config, Micros(40_000));
        }
        queue.target(&config).0
    }

    #[test]
    fn the_target_is_a_swing_and_a_quarter_at_least_up_to_ten_milliseconds() {
        // A step of the swing is 0.5 ms here. Half a swing is added to 5 ms, a quarter to 2.5 ms.
        for (delay, swing, expected) in
            [(5_000, 4_000, 7_000), (2_500, 4_000, 5_000), (2_500, 20_000, 10_000), (2_500, 40_000, 12_500)]
        {
            let target = target(delay, swing);
            assert!(target.abs_diff(expected) <= 700, "{target} for {delay} and {swing}");
        }
    }

    #[test]
    fn the_largest_target_is_that_of_the_settings_or_a_longer_delay() {
        assert_eq!([target(20_000, 100_000), target(80_000, 100_000)], [60_000, 80_000]);
    }
}
