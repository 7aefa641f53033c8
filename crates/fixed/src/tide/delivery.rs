//! The delivery rate of the network, over four ticks and over sixteen.
//!
//! A tick is a quarter of a base RTT, so the shorter rate covers one base RTT. It shows a rising rate at once; the
//! longer one bridges gaps in the service. Neither considers when packets were sent: a sender that its window holds
//! back measures the window's rate, and the ramp of the window leads out of that.

use super::RATE_BITS;
use crate::{Instant, Packets};

/// Prototype: ticks in a base RTT.
pub(super) const TICKS_PER_BASE_RTT: u32 = 4;
/// Prototype: ticks of the shorter rate.
const SHORT_TICKS: u32 = 4;
/// Prototype: ticks of the longer rate. Long averages alone react too late to a changing rate.
const LONG_TICKS: u32 = 16;
/// A power of two above the number of ticks kept.
const SLOTS: usize = 32;

/// Packets delivered by the end of a tick. Both fields wrap.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
struct Tick {
    at_us: u32,
    delivered: u32,
}

/// The last ticks.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct Delivery {
    ticks: [Tick; SLOTS],
    /// The number of ticks that have ended.
    count: u32,
    reserved: u32,
}

/// Packets per 2^32 microseconds, over two intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rates {
    short: u64,
    long: u64,
}

impl Rates {
    /// The larger one: the short one where the rate rises, the long one where the service pauses.
    #[inline(always)]
    pub(super) fn larger(self) -> u64 {
        self.short.max(self.long)
    }

    /// Their mean, for a queue that is too long.
    #[inline(always)]
    pub(super) fn mean(self) -> u64 {
        (self.short >> 1).saturating_add(self.long >> 1)
    }
}

impl Delivery {
    pub(super) const START: Self =
        Self { ticks: [Tick { at_us: 0, delivered: 0 }; SLOTS], count: 0, reserved: 0 };

    /// Begins with a first packet sent at `start`.
    #[inline(always)]
    pub(super) fn since(start: Instant) -> Self {
        let mut delivery = Self::START;
        delivery.push(Tick { at_us: start.0 as u32, delivered: 0 });
        delivery
    }

    /// Ends a tick; `delivered` counts from the beginning of the flow.
    #[inline(always)]
    pub(super) fn on_tick(&mut self, now: Instant, delivered: Packets) -> Rates {
        let tick = Tick { at_us: now.0 as u32, delivered: delivered.0 };
        let rates =
            Rates { short: self.rate_over(SHORT_TICKS, tick), long: self.rate_over(LONG_TICKS, tick) };
        self.push(tick);
        rates
    }

    #[inline(always)]
    fn push(&mut self, tick: Tick) {
        if let Some(slot) = self.ticks.get_mut((self.count & (SLOTS as u32 - 1)) as usize) {
            *slot = tick;
        }
        // Beyond the number of ticks kept, only the place in the ring matters.
        self.count = if self.count == u32::MAX { SLOTS as u32 } else { self.count + 1 };
    }

    #[inline(always)]
    fn rate_over(&self, ticks: u32, now: Tick) -> u64 {
        let back = ticks.min(self.count.min(LONG_TICKS + 1));
        let place = self.count.wrapping_sub(back) & (SLOTS as u32 - 1);
        let Some(then) = self.ticks.get(place as usize) else { return 0 };
        let packets = (now.delivered.wrapping_sub(then.delivered) as u64) << RATE_BITS;
        let span = now.at_us.wrapping_sub(then.at_us).max(1);
        packets.checked_div(span as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Micros;

    #[test]
    fn the_short_rate_is_that_of_four_ticks_and_the_long_one_that_of_sixteen() {
        let mut delivery = Delivery::since(Instant(0));
        let (mut now, mut delivered) = (Instant(0), 0);
        let mut run = |ticks: u32, packets_per_tick: u32| {
            let mut rates = Rates { short: 0, long: 0 };
            for _ in 0..ticks {
                now = now.after(Micros(10_000));
                delivered += packets_per_tick;
                rates = delivery.on_tick(now, Packets(delivered));
            }
            // In packets per tick.
            [rates.short, rates.long]
                .map(|rate| ((rate * 10_000) as f64 / (1_u64 << RATE_BITS) as f64 + 0.001) as u32)
        };
        assert_eq!(run(20, 10), [10, 10]);
        assert_eq!(run(4, 50), [50, 20]);
        assert_eq!(run(12, 50), [50, 50]);
    }
}
