//! The queueing delay by one-way delays: its base, its average, and how much it varies. All in seconds.

use cellcc_units::{Span, Time};
use std::collections::VecDeque;

/// The variation (WebRTC): gain of its average, largest sample, and the limit.
const VARIATION_GAIN: f64 = 1.0 / 32.0;
const MOST_VARIATION: f64 = 0.02;
const FULL_VARIATION: f64 = 0.01;
/// By how much the extremes decay in a step, and the longest step.
const DECAY: f64 = 1.0 / 16.0;
const LONGEST_STEP: Span = Span::from_millis(30);
/// Gain of the average when it rises; it falls at once.
const RISE: f64 = 0.25;

/// The smallest one-way delay of the last periods.
#[derive(Debug)]
pub(super) struct Base {
    period: Span,
    periods: usize,
    smallest: VecDeque<(Time, f64)>,
}

impl Base {
    pub(super) fn new(period: Span, periods: usize) -> Self {
        Self { period, periods, smallest: VecDeque::new() }
    }

    /// The excess over the base, which this delay may lower.
    pub(super) fn above(&mut self, now: Time, delay: f64) -> f64 {
        match self.smallest.back_mut() {
            Some((began, least)) if now.since(*began) < self.period => *least = least.min(delay),
            _ => self.smallest.push_back((now, delay)),
        }
        if self.smallest.len() > self.periods {
            self.smallest.pop_front();
        }
        delay - self.smallest.iter().map(|(_, least)| *least).fold(f64::INFINITY, f64::min)
    }

    pub(super) fn forget(&mut self) {
        self.smallest.clear();
    }
}

/// The queueing delay, report by report.
#[derive(Debug)]
pub(super) struct QueueDelay {
    /// Falls at once, rises by a quarter.
    pub(super) average: f64,
    /// It moves at most once in this, or in a round trip where that is shorter.
    interval: Span,
    averaged_at: Time,
    most: f64,
    least: f64,
    variation: f64,
    stepped_at: Time,
}

impl QueueDelay {
    pub(super) fn new(interval: Span) -> Self {
        Self {
            average: 0.0,
            interval,
            averaged_at: Time::ZERO,
            most: 0.0,
            least: 0.0,
            variation: 0.0,
            stepped_at: Time::ZERO,
        }
    }

    /// A report has this delay, and these extremes.
    pub(super) fn on_report(&mut self, now: Time, delay: f64, (least, most): (f64, f64), srtt: Span) {
        if now.since(self.averaged_at) >= self.interval.min(srtt) {
            self.averaged_at = now;
            self.average = delay.min(self.average + RISE * (delay - self.average));
        }
        self.most = self.most.max(most);
        self.least = self.least.min(least);
        if now.since(self.stepped_at) >= LONGEST_STEP.min(srtt) {
            self.stepped_at = now;
            let varies = (self.most - self.least).clamp(0.0, MOST_VARIATION);
            self.variation += VARIATION_GAIN * (varies - self.variation);
            self.most -= DECAY * self.most;
            self.least += DECAY * (self.most - self.least);
        }
    }

    /// From one, for a steady delay, to zero.
    pub(super) fn steadiness(&self) -> f64 {
        (1.0 - self.variation / FULL_VARIATION).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_base_is_the_smallest_delay_of_the_last_periods() {
        let mut base = Base::new(Span::from_secs(60), 2);
        let above: Vec<f64> = [(0, 0.02), (1, 0.03), (61_000, 0.025), (122_000, 0.04)]
            .into_iter()
            .map(|(millis, delay)| (base.above(at(millis), delay) * 1e3).round())
            .collect();
        assert_eq!(above, [0.0, 10.0, 5.0, 15.0]);
        base.forget();
        assert_eq!(base.above(at(122_001), 0.05), 0.0);
    }

    #[test]
    fn the_average_falls_at_once_and_rises_by_a_quarter() {
        let mut queue = QueueDelay::new(Span::ZERO);
        let average = |queue: &mut QueueDelay, delay| {
            queue.on_report(at(0), delay, (delay, delay), Span::from_millis(30));
            queue.average
        };
        assert_eq!([0.04, 0.04, 0.004].map(|delay| average(&mut queue, delay)), [0.01, 0.0175, 0.004]);
    }

    #[test]
    fn a_delay_that_swings_by_10_ms_and_more_is_not_steady() {
        let steadiness = |swing: f64| {
            let mut queue = QueueDelay::new(Span::ZERO);
            for step in 0..1000_u64 {
                let delay = if step % 2 == 0 { 0.0 } else { swing };
                queue.on_report(at(step * 30), delay, (delay, delay), Span::from_millis(40));
            }
            queue.steadiness()
        };
        assert_eq!((steadiness(0.0), steadiness(0.02)), (1.0, 0.0));
        assert!((0.4..0.7).contains(&steadiness(0.005)), "{}", steadiness(0.005));
    }
}
