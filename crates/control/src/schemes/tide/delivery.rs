//! How fast the network delivers: over four ticks, and over sixteen.
//!
//! A tick is a quarter of a base RTT, so that the shorter rate is that of one base RTT. It sees a rate that rises at once; the
//! longer one bridges gaps in the service. Neither asks when packets left: a sender that is held back by its window measures what
//! its window lets it, and the ramp of the window takes it out of that.

use cellcc_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Prototype: ticks in a base RTT.
pub(super) const TICKS_PER_BASE_RTT: u64 = 4;
/// Prototype.
const SHORT_TICKS: usize = 4;
/// Prototype: long averages alone are too late where the rate changes.
const LONG_TICKS: usize = 16;
/// Two ticks at the same moment give no rate.
const LEAST_INTERVAL: Span = Span::from_micros(1);

/// What had been delivered at the end of each of the last ticks.
#[derive(Debug, Clone)]
pub(super) struct Delivery {
    ticks: VecDeque<(Time, Bytes)>,
}

/// Bytes per second, over two intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rates {
    pub(super) short: f64,
    pub(super) long: f64,
}

impl Rates {
    /// The larger one: the short one where the rate rises, the long one where the service pauses.
    pub(super) fn larger(self) -> f64 {
        self.short.max(self.long)
    }

    /// Their mean, for a queue that is too long.
    pub(super) fn mean(self) -> f64 {
        (self.short + self.long) / 2.0
    }
}

impl Delivery {
    /// The first packet leaves at `start`.
    pub(super) fn since(start: Time) -> Self {
        Self { ticks: [(start, Bytes::ZERO)].into() }
    }

    /// A tick ends; `delivered` counts from the beginning of the flow.
    pub(super) fn on_tick(&mut self, now: Time, delivered: Bytes) -> Rates {
        let rates = Rates {
            short: self.rate_over(SHORT_TICKS, now, delivered),
            long: self.rate_over(LONG_TICKS, now, delivered),
        };
        self.ticks.push_back((now, delivered));
        if self.ticks.len() > LONG_TICKS + 1 {
            self.ticks.pop_front();
        }
        rates
    }

    fn rate_over(&self, ticks: usize, now: Time, delivered: Bytes) -> f64 {
        let first = self.ticks.len().saturating_sub(ticks);
        let Some(&(then, before)) = self.ticks.get(first) else { return 0.0 };
        (delivered - before).as_f64() / now.since(then).max(LEAST_INTERVAL).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_rate_is_that_of_four_ticks_and_the_long_one_that_of_sixteen() {
        let tick = Span::from_millis(10);
        let mut delivery = Delivery::since(Time::ZERO);
        let (mut now, mut delivered) = (Time::ZERO, Bytes::ZERO);
        let mut run = |ticks: u64, bytes_per_tick: u64| {
            let mut rates = Rates { short: 0.0, long: 0.0 };
            for _ in 0..ticks {
                now += tick;
                delivered += Bytes::new(bytes_per_tick);
                rates = delivery.on_tick(now, delivered);
            }
            rates
        };
        assert_eq!(run(20, 1000), Rates { short: 100_000.0, long: 100_000.0 });
        assert_eq!(run(4, 5000), Rates { short: 500_000.0, long: 200_000.0 });
        assert_eq!(run(12, 5000), Rates { short: 500_000.0, long: 500_000.0 });
    }
}
