//! When each packet of a first-in-first-out queue has left, on a given capacity.

use crate::capacity::opportunities::{Opportunities, Slot};
use crate::capacity::steps::{StepIndex, Steps};
use crate::capacity::{Capacity, NANOS_PER_SEC, Shape};
use cellcc_units::{Bytes, Time};
use std::sync::Arc;

/// Serves bytes in order of arrival. The capacity that a packet leaves over (a fraction of a nanosecond, the rest of
/// an opportunity) goes to the next packet if that has arrived by then. So rounding does not add up.
#[derive(Debug, Clone)]
pub struct ServiceClock {
    capacity: Arc<Capacity>,
    position: Position,
}

#[derive(Debug, Clone)]
enum Position {
    Steps(StepsPosition),
    Opportunities(Option<Slot>),
}

/// The capacity until `at` is used, all but `surplus` nanobytes.
#[derive(Debug, Clone, Copy)]
struct StepsPosition {
    at: u64,
    surplus: u64,
    step: StepIndex,
    /// Of the segment at `step`, so that the usual packet reads nothing else.
    rate: u64,
    end: u64,
}

/// How many segments or opportunities are tried one by one before a binary search. The next one is the rule; the
/// search bounds the cost of a packet that crosses thousands.
const NEIGHBOURS: usize = 8;

impl ServiceClock {
    /// A clock at time zero.
    pub fn new(capacity: Arc<Capacity>) -> Self {
        let position = match &capacity.shape {
            Shape::Steps(steps) => Position::Steps(StepsPosition::at(steps, 0)),
            // The first opportunity is found on the first packet: those before it are lost.
            Shape::Opportunities(list) => Position::Opportunities(list.first_after(0)),
        };
        Self { capacity, position }
    }

    /// The capacity it moves on.
    pub fn capacity(&self) -> &Arc<Capacity> {
        &self.capacity
    }

    /// When the next `bytes` have left: they arrive at `ready`, and are served after the bytes of all earlier calls.
    /// `ready` must not decrease. [`Time::NEVER`] where the link stays at zero for ever.
    #[inline(always)]
    pub fn finish(&mut self, ready: Time, bytes: Bytes) -> Time {
        let (ready, bytes) = (ready.as_nanos(), bytes.get());
        Time::from_nanos(match (&mut self.position, &self.capacity.shape) {
            (Position::Steps(position), Shape::Steps(steps)) => position.finish(steps, ready, bytes),
            (Position::Opportunities(slot), Shape::Opportunities(list)) => {
                finish_opportunities(slot, list, ready, bytes)
            }
            // `new` makes the position from the shape.
            _ => u64::MAX,
        })
    }

    /// When the service of the next byte begins, if it arrives at `ready`: after an outage, not in it.
    /// [`Time::NEVER`] where the link stays at zero for ever.
    pub(crate) fn begin(&self, ready: Time) -> Time {
        let ready = ready.as_nanos();
        Time::from_nanos(match (&self.position, &self.capacity.shape) {
            (Position::Steps(position), Shape::Steps(steps)) => position.begin(steps, ready),
            (Position::Opportunities(Some(slot)), Shape::Opportunities(list)) => {
                let next = match slot {
                    passed if passed.time <= ready => list.first_after(ready),
                    used if used.left == 0 => list.after(used),
                    open => Some(*open),
                };
                next.map_or(u64::MAX, |slot| slot.time)
            }
            _ => u64::MAX,
        })
    }
}

impl StepsPosition {
    fn at(steps: &Steps, time: u64) -> Self {
        let mut position =
            Self { at: time, surplus: 0, step: StepIndex { index: 0, base: 0 }, rate: 0, end: 0 };
        position.enter(steps, steps.step_at(time));
        position
    }

    fn enter(&mut self, steps: &Steps, step: StepIndex) {
        self.step = step;
        self.rate = steps.segments[step.index].rate;
        self.end = steps.end_time(step);
    }

    #[inline(always)]
    fn finish(&mut self, steps: &Steps, ready: u64, bytes: u64) -> u64 {
        if ready > self.at {
            self.at = ready;
            self.surplus = 0;
            if ready >= self.end {
                self.enter_at(steps, ready);
            }
        }
        // Above 9 GB in one go the product no longer fits 64 bits.
        const LARGEST: u64 = u64::MAX / (2 * NANOS_PER_SEC as u64);
        if bytes <= LARGEST && self.rate > 0 {
            let needed = bytes * NANOS_PER_SEC as u64;
            if needed <= self.surplus {
                self.surplus -= needed;
                return self.at;
            }
            let missing = needed - self.surplus;
            // A link much faster than its packets, such as a reverse path without a limit, needs no division.
            let span = if missing <= self.rate { 1 } else { missing.div_ceil(self.rate) };
            if span <= self.end - self.at {
                self.at += span;
                self.surplus = span * self.rate - missing;
                return self.at;
            }
        }
        self.finish_across(steps, bytes)
    }

    #[cold]
    fn enter_at(&mut self, steps: &Steps, time: u64) {
        self.enter(steps, steps.step_at(time));
    }

    fn begin(&self, steps: &Steps, ready: u64) -> u64 {
        let from = self.at.max(ready);
        if self.surplus > 0 && from == self.at || self.rate > 0 && from < self.end {
            return from;
        }
        match steps.time_of(steps.carried_until(from) + 1) {
            u64::MAX => u64::MAX,
            // A rate above zero carries a nanobyte within a nanosecond.
            carried => carried - 1,
        }
    }

    /// Service that continues in another segment.
    #[cold]
    fn finish_across(&mut self, steps: &Steps, bytes: u64) -> u64 {
        if self.at == u64::MAX {
            return u64::MAX;
        }
        let needed = u128::from(bytes) * NANOS_PER_SEC;
        if needed <= u128::from(self.surplus) {
            self.surplus -= needed as u64;
            return self.at;
        }
        let mut missing = needed - u128::from(self.surplus);
        let goal = steps.carried_until(self.at) + missing;
        for _ in 0..NEIGHBOURS {
            let here = u128::from(self.rate) * u128::from(self.end - self.at);
            if missing <= here || self.end == u64::MAX {
                break;
            }
            missing -= here;
            self.at = self.end;
            self.enter(steps, steps.after(self.step));
        }
        let here = u128::from(self.rate) * u128::from(self.end - self.at);
        if missing > here {
            self.at = steps.time_of(goal);
            self.enter(steps, steps.step_at(self.at));
            if self.at == u64::MAX {
                return u64::MAX;
            }
            self.surplus = (steps.carried_until(self.at) - goal) as u64; // less than one nanosecond's worth
            return self.at;
        }
        let span = missing.div_ceil(u128::from(self.rate.max(1)));
        self.at += span as u64; // within the segment, as `missing <= here`
        self.surplus = (span * u128::from(self.rate) - missing) as u64;
        self.at
    }
}

// A function of its own: the shorter way of a rate needs none of its registers.
#[inline(never)]
fn finish_opportunities(position: &mut Option<Slot>, list: &Opportunities, ready: u64, bytes: u64) -> u64 {
    let Some(mut slot) = *position else { return u64::MAX };
    if slot.time <= ready {
        let next = list.after(&slot).filter(|next| next.time > ready).or_else(|| list.first_after(ready));
        let Some(next) = next else {
            *position = None;
            return u64::MAX;
        };
        slot = next;
    }
    let mut missing = bytes;
    for _ in 0..NEIGHBOURS {
        if missing <= slot.left {
            slot.left -= missing;
            *position = Some(slot);
            return slot.time;
        }
        missing -= slot.left;
        match list.after(&slot) {
            Some(next) => slot = next,
            None => {
                *position = None;
                return u64::MAX;
            }
        }
    }
    // Nothing of `slot` is used here: all that it offers lies after the nanosecond before it.
    *position = list.time_of(list.carried_until(slot.time - 1) + u128::from(missing));
    position.map_or(u64::MAX, |slot| slot.time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::{Rate, Span};
    use proptest::prelude::*;

    fn millis(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn clock(capacity: Result<Capacity, crate::CapacityError>) -> ServiceClock {
        ServiceClock::new(Arc::new(capacity.unwrap()))
    }

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn a_link_delivers_its_rate_to_the_nanosecond_however_long_it_runs() {
        const PACKETS: u64 = 10_000_000;
        for rate in ["1Gbit/s", "3Gbit/s", "333.333Mbit/s"].map(rate) {
            let mut clock = clock(Capacity::constant(rate));
            let mut end = Time::ZERO;
            for _ in 0..PACKETS {
                end = clock.finish(Time::ZERO, Bytes::new(1500));
            }
            assert_eq!(end, Time::ZERO + rate.time_for(Bytes::new(1500 * PACKETS)), "{rate}");
        }
    }

    #[test]
    fn a_stretch_at_zero_is_skipped() {
        let steps = [("1Mbit/s", 10), ("0Mbit/s", 78_000), ("2Mbit/s", 10)]
            .map(|(text, length)| (Span::from_millis(length), rate(text)));
        let mut clock = clock(Capacity::from_steps(steps.to_vec()));
        // 1250 bytes before the outage, 250 after it at 0.25 bytes per microsecond.
        assert_eq!(clock.finish(Time::ZERO, Bytes::new(1500)), millis(78_011));
    }

    #[test]
    fn a_link_that_stays_at_zero_never_delivers_and_does_not_recover() {
        let steps = vec![(Span::from_secs(1), rate("12Mbit/s")), (Span::from_secs(1), Rate::ZERO)];
        let mut clock = clock(Capacity::from_steps_holding_last(steps));
        assert_eq!(clock.finish(Time::ZERO, Bytes::new(1_500_000)), millis(1000));
        for _ in 0..3 {
            assert_eq!(clock.finish(millis(2000), Bytes::new(1)), Time::NEVER);
        }
    }

    #[test]
    fn small_packets_share_an_opportunity_and_a_large_one_spans_several() {
        let mut clock = clock(Capacity::from_opportunities([10, 20, 30]));
        let ends = [500, 500, 600, 4000].map(|bytes| clock.finish(Time::ZERO, Bytes::new(bytes)));
        // The third has 500 bytes left at 10 ms and needs 100 at 20 ms; the fourth 1400 there, 1500 at 30, 1100 at 40.
        assert_eq!(ends, [10, 10, 20, 40].map(millis));
    }

    #[test]
    fn an_unused_opportunity_is_lost() {
        let mut clock = clock(Capacity::from_opportunities([10, 20, 30]));
        assert_eq!(clock.finish(Time::ZERO, Bytes::new(100)), millis(10));
        // 1400 bytes of the first opportunity and all of the second have passed by.
        assert_eq!(clock.finish(millis(25), Bytes::new(1500)), millis(30));
    }

    #[test]
    fn a_packet_that_arrives_with_an_opportunity_waits_for_the_next() {
        let mut clock = clock(Capacity::from_opportunities([10, 20]));
        assert_eq!(clock.finish(millis(10), Bytes::new(1500)), millis(20));
    }

    #[test]
    fn an_opportunity_at_zero_comes_together_with_the_last_of_the_round_before() {
        let mut clock = clock(Capacity::from_opportunities([0, 0, 10]));
        let ends = [(); 4].map(|()| clock.finish(Time::ZERO, Bytes::new(1500)));
        assert_eq!(ends, [10, 10, 10, 20].map(millis));
    }

    fn any_capacity() -> impl Strategy<Value = Capacity> {
        let step = (1u64..5_000_000, prop_oneof![Just(0u64), 1u64..2_000_000_000]);
        let steps = (proptest::collection::vec(step, 1..30), any::<bool>()).prop_filter_map(
            "a capacity",
            |(steps, repeats)| {
                let steps = steps
                    .into_iter()
                    .map(|(length, rate)| (Span::from_nanos(length), Rate::from_bytes_per_sec(rate)))
                    .collect();
                if repeats { Capacity::from_steps(steps) } else { Capacity::from_steps_holding_last(steps) }
                    .ok()
            },
        );
        let opportunities = (proptest::collection::vec(0u64..60, 1..40), 0u64..59, 1u64..60).prop_filter_map(
            "a capacity",
            |(mut list, offset, duration)| {
                list.sort_unstable();
                let whole = Capacity::from_opportunities(list).ok()?;
                let part = whole.cut(Span::from_millis(offset), Some(Span::from_millis(duration)));
                Some(part.unwrap_or(whole))
            },
        );
        prop_oneof![steps, opportunities]
    }

    /// The reference for `ServiceClock`: each packet by bisection over `bytes_between`, idle or not.
    fn finish_by_search(capacity: &Capacity, busy_since: Time, bytes_so_far: Bytes) -> Time {
        let mut later = 1u64 << 50;
        let mut earlier = busy_since.as_nanos();
        if capacity.bytes_between(busy_since, Time::from_nanos(later)) < bytes_so_far {
            return Time::NEVER;
        }
        while earlier + 1 < later {
            let middle = earlier.midpoint(later);
            match capacity.bytes_between(busy_since, Time::from_nanos(middle)) < bytes_so_far {
                true => earlier = middle,
                false => later = middle,
            }
        }
        Time::from_nanos(later)
    }

    proptest! {
        #[test]
        fn bytes_between_is_additive(capacity in any_capacity(), mut times in proptest::array::uniform3(0u64..1_000_000_000)) {
            times.sort_unstable();
            let [a, b, c] = times.map(Time::from_nanos);
            prop_assert_eq!(
                capacity.bytes_between(a, b) + capacity.bytes_between(b, c),
                capacity.bytes_between(a, c)
            );
        }

        /// Beginning at time zero, where the carried amount is whole, bytes_between decides to the nanosecond.
        #[test]
        fn a_busy_period_ends_when_the_capacity_has_carried_its_bytes(
            capacity in any_capacity(), sizes in proptest::collection::vec(1u64..200_000, 1..60)
        ) {
            let mut clock = ServiceClock::new(Arc::new(capacity.clone()));
            let mut sum = Bytes::ZERO;
            for size in sizes {
                sum += Bytes::new(size);
                let end = clock.finish(Time::ZERO, Bytes::new(size));
                prop_assert_eq!(end, finish_by_search(&capacity, Time::ZERO, sum));
                prop_assert_eq!(end, capacity.time_to_carry(Time::ZERO, sum));
            }
        }

        #[test]
        fn no_more_leaves_than_is_carried_and_nothing_leaves_before_it_came(
            capacity in any_capacity(), packets in proptest::collection::vec((0u64..8_000_000, 1u64..20_000), 1..100)
        ) {
            let mut clock = ServiceClock::new(Arc::new(capacity.clone()));
            let (mut now, mut before, mut begun, mut sum) = (Time::ZERO, Time::ZERO, Time::ZERO, Bytes::ZERO);
            for (gap, size) in packets {
                now += Span::from_nanos(gap);
                if now > before {
                    (begun, sum) = (now, Bytes::ZERO);
                }
                sum += Bytes::new(size);
                let end = clock.finish(now, Bytes::new(size));
                prop_assert!(end >= before && end >= now);
                if end == Time::NEVER { break; }
                prop_assert!(sum <= capacity.bytes_between(begun, end));
                before = end;
            }
        }

        #[test]
        fn a_service_begins_when_the_link_first_carries_something_and_ends_as_if_it_had_come_then(
            capacity in any_capacity(), packets in proptest::collection::vec((0u64..8_000_000, 1u64..20_000), 1..50)
        ) {
            let mut clock = ServiceClock::new(Arc::new(capacity.clone()));
            let (mut now, mut before) = (Time::ZERO, Time::ZERO);
            for (gap, size) in packets {
                now += Span::from_nanos(gap);
                let begin = clock.begin(now);
                let end = clock.finish(now, Bytes::new(size));
                prop_assert!(begin >= before.max(now) && begin <= end);
                let pause_ends = Time::from_nanos(begin.as_nanos().saturating_sub(1));
                // What is less than a byte may appear as one, as amounts are given in whole bytes.
                let unseen = Bytes::new(u64::from(!capacity.is_opportunities()));
                prop_assert!(capacity.bytes_between(before.max(now), pause_ends) <= unseen);
                if end == Time::NEVER { break; }
                before = end;
            }
        }

        #[test]
        fn the_largest_amounts_and_times_do_not_overflow(
            capacity in any_capacity(), calls in proptest::collection::vec((any::<u64>(), any::<u64>()), 1..10)
        ) {
            let mut clock = ServiceClock::new(Arc::new(capacity.clone()));
            let mut ready: Vec<u64> = calls.iter().map(|call| call.0).collect();
            ready.sort_unstable();
            for (ready, (_, bytes)) in ready.into_iter().zip(calls) {
                let ready = Time::from_nanos(ready);
                prop_assert!(clock.finish(ready, Bytes::new(bytes)) >= ready);
                capacity.bytes_between(Time::ZERO, ready);
                capacity.time_to_carry(ready, Bytes::new(bytes));
            }
        }
    }
}
