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
            if repeats { Capacity::from_steps(steps) } else { Capacity::from_steps_holding_last(steps) }.ok()
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
            // A part of a byte may appear as one, as amounts are given in whole bytes.
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
