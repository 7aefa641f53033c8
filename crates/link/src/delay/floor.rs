//! The queueing delay that no sender could avoid.
//!
//! A sender that knew every millisecond of a link in advance would never queue. None knows what happens within the next round trip:
//! whatever comes back is as old as that. So this sender is allowed more than any real one has, but not that:
//!
//! 1. It knows in advance the link's capacity in every interval of an RTT, to the end.
//! 2. It decides for each interval how much it sends in it, and sends that evenly: the link's pauses and bursts within the interval
//!    are not known.
//! 3. It decides so that the mean queueing delay is the smallest at which it uses a given share of the link.
//!
//! The remaining delay is the link's: capacity that comes in a burst is used only where something waits for it.
//!
//! A sender whose rate follows a pattern within the interval (one that knew the period and phase of a scheduler, say) could do
//! better.
//!
//! Method: with `q_k` the queue after millisecond `k`, `a` the arrivals and `s` the link's capacity in it, `q_k = max(q_{k-1} +
//! a - s_k, 0)`, and the sum of the queue over time is the sum of all delays (Little's law). Smallest `sum of q - price x sum
//! of a` is a convex problem: solved backwards over the intervals, with the value of the remaining queue as a function on a
//! grid. The price is the delay in seconds that one more byte is worth; a larger price uses more of the link. Since the problem
//! is convex, the solution for each price is a bound for every use: a byte more costs at least that price. A coarse grid makes
//! the bound larger: with twice the points and six more steps of the search it is up to 1.5 % lower on four LTE recordings.
//! Arrivals are a fluid, so that packets wait a little longer.

mod interval;

use crate::{Access, Capacity};
use cellcc_units::{Ratio, Span, Time};
use interval::{Grid, Interval, pass};

/// The grain of the calculation: that of Mahimahi's traces.
const STEP: Span = Span::from_millis(1);
/// Upper end of the grid: the link's capacity in its best consecutive intervals, this many of them.
const GRID_INTERVALS: usize = 8;
/// Prices in seconds: from one at which little is sent to one at which nearly all is, evenly in each decade.
const LOWEST_PRICE: f64 = 1e-3;
const DECADES: usize = 4;
const PRICES_IN_A_DECADE: usize = 8;

/// A sender's use of a link and the least delay that it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloorPoint {
    /// The used part of the link's capacity.
    pub utilisation: Ratio,
    /// The mean queueing delay of a byte: no sender is below it.
    pub mean: Span,
    /// 95 % of the bytes wait no longer. The percentile of the sender whose mean is the smallest: another could have a smaller one.
    pub p95: Span,
}

/// The lower bound of a link on the delay of any sender that cannot see into the next interval.
#[derive(Debug, Clone)]
pub struct DelayFloor {
    /// Bytes that the link carries in each step, interval by interval.
    intervals: Vec<Vec<f64>>,
    carried: f64,
    grid: Grid,
    /// In the order of prices.
    solutions: Vec<Solution>,
}

/// The schedule that is best at a price.
#[derive(Debug, Clone, Copy)]
struct Solution {
    price: Span,
    point: FloorPoint,
}

impl DelayFloor {
    /// The bound of a link from its beginning, for `duration`; `interval` is the sender's RTT, of at least a millisecond.
    /// `None` where there is no whole interval, or where nothing is carried.
    pub fn new(capacity: &Capacity, duration: Span, interval: Span) -> Option<Self> {
        let steps = usize::try_from(interval.as_nanos() / STEP.as_nanos()).ok()?.max(1);
        let count = usize::try_from(duration.as_nanos() / (STEP.as_nanos() * steps as u64)).ok()?;
        let mut from = Time::ZERO;
        let mut carried_in_step = || {
            let bytes = capacity.bytes_between(from, from + STEP);
            from += STEP;
            bytes.as_f64()
        };
        let intervals: Vec<Vec<f64>> =
            (0..count).map(|_| (0..steps).map(|_| carried_in_step()).collect()).collect();
        let sums: Vec<f64> = intervals.iter().map(|steps| steps.iter().sum()).collect();
        let carried: f64 = sums.iter().sum();
        let in_a_row = GRID_INTERVALS.clamp(1, count.max(1));
        let end = sums.windows(in_a_row).map(|some| some.iter().sum()).fold(0.0, f64::max);
        let mut floor = (carried > 0.0).then_some(Self {
            intervals,
            carried,
            grid: Grid { end },
            solutions: Vec::new(),
        })?;
        floor.solutions = (0..=DECADES * PRICES_IN_A_DECADE).map(|place| floor.solve(place)).collect();
        Some(floor)
    }

    /// The least delay at which a sender uses this share of the link. Above the utilisation at the highest price (0.99 to 1),
    /// the bound at that price.
    pub fn at(&self, utilisation: Ratio) -> FloorPoint {
        let last = self.solutions[self.solutions.len() - 1].point;
        let wanted = utilisation.get().clamp(0.0, last.utilisation.get());
        // Delays of all bytes together, relative to the link's capacity.
        let bound = self.solutions.iter().map(|Solution { price, point }| {
            let used = point.utilisation.get();
            used * point.mean.as_secs_f64() + price.as_secs_f64() * (wanted - used)
        });
        let all = bound.fold(0.0, f64::max);
        let mean = if wanted > 0.0 { Span::from_secs(1).mul_f64(all / wanted) } else { Span::ZERO };
        let first = self.solutions.iter().find(|one| one.point.utilisation.get() >= wanted);
        FloorPoint { utilisation: Ratio::new(wanted), mean, p95: first.map_or(last.p95, |one| one.point.p95) }
    }

    /// The wait of a single packet for the link's next service, mean and 95th percentile, where packets come in each interval
    /// in proportion to the link's capacity in it. With `access` it finds the phone silent, and first waits up to the cycle of
    /// requests, and for the wake-up.
    pub fn alone(&self, access: Option<&Access>) -> (Span, Span) {
        let steps_in = |span: Span| (span.as_nanos() / STEP.as_nanos()) as usize;
        let (wake, cycle) = access.map_or((0, 1), |access| {
            (steps_in(access.wake.unwrap_or(Span::ZERO)), steps_in(access.request).max(1))
        });
        let mut waits = Vec::new();
        // From each step on, the last one first.
        let mut until_next: Vec<f64> = Vec::new();
        for steps in self.intervals.iter().rev() {
            let weight = steps.iter().sum::<f64>() / steps.len() as f64;
            for &carried in steps.iter().rev() {
                let after = until_next.last().map_or(1.0, |after| after + 1.0);
                until_next.push(if carried > 0.0 { 0.0 } else { after });
                for asks in wake..wake + cycle {
                    // The capacity beyond the end is not known.
                    let begin = until_next.len().saturating_sub(1 + asks);
                    waits.push((asks as f64 + until_next[begin], weight));
                }
            }
        }
        (mean(&waits), p95(&mut waits))
    }

    fn solve(&self, place: usize) -> Solution {
        let price = LOWEST_PRICE * libm::exp10(place as f64 / PRICES_IN_A_DECADE as f64);
        let point = self.point(&self.schedule(price));
        Solution { price: Span::from_secs(1).mul_f64(price), point }
    }

    /// The amount sent in each interval at this price, in bytes.
    fn schedule(&self, price: f64) -> Vec<f64> {
        let price = price / STEP.as_secs_f64();
        // Bytes queued at the end were never carried: they are worth their price.
        let mut values = vec![self.grid.queues().map(|queue| price * queue).collect::<Vec<f64>>()];
        for steps in self.intervals.iter().rev() {
            let interval = Interval { steps, after: &values[values.len() - 1], price, grid: self.grid };
            values.push(self.grid.queues().map(|queue| interval.cost(queue, interval.best(queue))).collect());
        }
        let mut queue = 0.0;
        let forward = self.intervals.iter().zip(values.iter().rev().skip(1)).map(|(steps, after)| {
            let sent = Interval { steps, after, price, grid: self.grid }.best(queue);
            queue = pass(steps, queue, sent).queue;
            sent
        });
        forward.collect()
    }

    fn utilisation(&self, schedule: &[f64]) -> f64 {
        let queue = self
            .intervals
            .iter()
            .zip(schedule)
            .fold(0.0, |queue, (steps, &sent)| pass(steps, queue, sent).queue);
        (schedule.iter().sum::<f64>() - queue) / self.carried
    }

    fn point(&self, schedule: &[f64]) -> FloorPoint {
        let mut waits = self.waits(schedule);
        FloorPoint {
            utilisation: Ratio::new(self.utilisation(schedule)),
            mean: mean(&waits),
            p95: p95(&mut waits),
        }
    }

    /// How many steps the bytes of each step wait, and how many they are; without those that the link never carries.
    fn waits(&self, schedule: &[f64]) -> Vec<(f64, f64)> {
        let steps = || self.intervals.iter().flatten().copied();
        let arrivals = self.intervals.iter().zip(schedule);
        let arrivals: Vec<f64> =
            arrivals.flat_map(|(steps, sent)| vec![sent / steps.len() as f64; steps.len()]).collect();
        let mut waits = Vec::new();
        let (mut first, mut left) = (0, 0.0);
        for (now, carried) in steps().enumerate() {
            let mut carried = carried;
            while carried > 0.0 && first <= now {
                if left <= 0.0 {
                    left = arrivals[first];
                }
                let leaves = left.min(carried);
                if leaves > 0.0 {
                    waits.push(((now - first) as f64, leaves));
                }
                carried -= leaves;
                left -= leaves;
                if left <= 0.0 {
                    first += 1;
                }
            }
        }
        waits
    }
}

/// The mean of times in steps with weights.
fn mean(waits: &[(f64, f64)]) -> Span {
    let weight: f64 = waits.iter().map(|(_, weight)| weight).sum();
    let sum: f64 = waits.iter().map(|(time, weight)| time * weight).sum();
    STEP.mul_f64(if weight > 0.0 { sum / weight } else { 0.0 })
}

fn p95(waits: &mut [(f64, f64)]) -> Span {
    waits.sort_by(|one, other| one.0.total_cmp(&other.0));
    let wanted = 0.95 * waits.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut sum = 0.0;
    let reached = waits.iter().find(|(_, weight)| {
        sum += weight;
        sum >= wanted
    });
    STEP.mul_f64(reached.map_or(0.0, |(time, _)| *time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Rate;

    const RTT: Span = Span::from_millis(40);
    const DURATION: Span = Span::from_secs(2);

    fn floor(capacity: &Capacity) -> DelayFloor {
        DelayFloor::new(capacity, DURATION, RTT).expect("a link that carries something")
    }

    fn steps(steps: &[(u64, f64)]) -> Capacity {
        let steps =
            steps.iter().map(|&(millis, mbit)| (Span::from_millis(millis), Rate::from_mbit_per_sec(mbit)));
        Capacity::from_steps(steps.collect()).expect("a capacity")
    }

    #[test]
    fn nobody_needs_to_queue_where_the_rate_changes_only_between_round_trips() {
        let point = floor(&steps(&[(400, 10.0), (800, 90.0), (40, 1.0)])).at(Ratio::new(0.99));
        assert!(point.utilisation.get() >= 0.99, "{point:?}");
        assert!(point.mean < Span::from_micros(100), "{point:?}");
    }

    /// A thousandfold, and nothing for half a second.
    #[test]
    fn nobody_needs_to_queue_where_an_outage_falls_between_round_trips() {
        let link =
            floor(&steps(&[(400, 1000.0), (520, 0.0), (400, 1.0), (40, 300.0), (80, 0.0), (200, 20.0)]));
        for wanted in [0.9, 0.99] {
            let point = link.at(Ratio::new(wanted));
            assert!(point.mean < Span::from_micros(100), "{point:?}");
        }
    }

    /// The link carries 40 Mbit/s in the last 10 ms of each 40. A share `u` of it, sent evenly, has 30 ms of arrivals in the
    /// queue when it begins, is through with them `t = 30 u / (4 - u)` ms later, and waits for `(450 + 15 t) / 40` ms on
    /// average.
    #[test]
    fn a_link_that_pauses_within_the_round_trip_makes_everybody_wait() {
        let floor = floor(&steps(&[(30, 0.0), (10, 40.0)]));
        for wanted in [0.5, 0.9, 0.98] {
            let point = floor.at(Ratio::new(wanted));
            let mean = (450.0 + 15.0 * 30.0 * wanted / (4.0 - wanted)) / 40.0;
            // A bound from prices that are a third apart.
            assert!((0.97..=1.001).contains(&(point.mean.as_millis_f64() / mean)), "{mean} ms: {point:?}");
            // The first bytes of an interval wait for 29 of its milliseconds.
            assert!((28.0..=29.0).contains(&point.p95.as_millis_f64()), "{point:?}");
        }
        // From the middle of a millisecond on: a lone packet waits until the pause is over.
        assert!((floor.alone(None).0.as_millis_f64() - 0.75 * 15.5).abs() < 0.1);
    }

    /// Half a cycle of requests in steps of a millisecond, 9.5 of 20, and the wake-up, on a link that never pauses.
    #[test]
    fn a_lone_packet_waits_for_the_silent_phone_too() {
        let floor = floor(&steps(&[(40, 40.0), (40, 20.0)]));
        let alone = |text: &str| floor.alone(Some(&text.parse().expect("an access"))).0.as_millis_f64();
        assert!((alone("request=20ms") - 9.5).abs() < 0.01);
        assert!((alone("request=20ms, wake=15ms") - 24.5).abs() < 0.01);
        assert_eq!(floor.alone(None).0, Span::ZERO);
    }

    /// A grain that does not fit the round trip, twenty times faster within milliseconds.
    #[test]
    fn more_use_costs_more_delay() {
        let floor = floor(&steps(&[(7, 2.0), (3, 40.0), (11, 0.0), (2, 20.0)]));
        let points = [0.5, 0.8, 0.9, 0.95, 0.98, 0.99].map(|wanted| floor.at(Ratio::new(wanted)));
        for (one, next) in points.iter().zip(&points[1..]) {
            assert!(one.utilisation < next.utilisation && one.mean < next.mean, "{points:#?}");
        }
    }

    /// Random schedules of the same use: none has less delay.
    #[test]
    fn no_other_schedule_has_less_delay_at_the_same_use() {
        let link = floor(&steps(&[
            (7, 2.0),
            (3, 40.0),
            (11, 0.0),
            (2, 20.0),
            (100, 5.0),
            (450, 0.0),
            (60, 400.0),
            (13, 0.0),
            (90, 3.0),
        ]));
        let best = link.schedule(0.02);
        let cost = |schedule: &[f64]| {
            let waited = link.waits(schedule).iter().map(|(time, bytes)| time * bytes).sum::<f64>();
            waited * STEP.as_secs_f64() - 0.02 * link.utilisation(schedule) * link.carried
        };
        let least = cost(&best);
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f64 / (1_u64 << 24) as f64
        };
        for size in [0.01, 0.05, 0.2, 1.0] {
            for _ in 0..50 {
                let other: Vec<f64> =
                    best.iter().map(|sent| sent * (1.0 + size * (random() - 0.5))).collect();
                assert!(cost(&other) >= least - 1e-3 * least.abs(), "{} against {least}", cost(&other));
            }
        }
    }

    #[test]
    fn a_link_that_carries_nothing_has_no_floor() {
        let down = Capacity::constant(Rate::ZERO).expect("a link that is down");
        assert!(DelayFloor::new(&down, DURATION, RTT).is_none());
        assert!(DelayFloor::new(&steps(&[(30, 5.0)]), Span::from_millis(20), RTT).is_none());
    }
}
