use super::*;
use proptest::prelude::*;

const PERIOD: Span = Span::from_millis(50);
const PACKET: Bytes = Bytes::new(1500);

fn observed(served: u64, busy_ms: u64) -> Observation {
    Observation {
        period: PERIOD,
        served: Bytes::new(served),
        busy: Span::from_millis(busy_ms),
        backlog: Bytes::ZERO,
        channel: None,
        packet: PACKET,
        evidence: Evidence::Queue,
    }
}

/// Known from round trips only.
fn passive(served: u64, busy_ms: u64) -> Observation {
    Observation { evidence: Evidence::RoundTrips, ..observed(served, busy_ms) }
}

fn mbit(rate: Rate) -> f64 {
    rate.as_mbit_per_sec()
}

/// A link of constant rate with a queue; the sender offers at some rate and is observed once a period.
struct Link {
    capacity: Rate,
    queue: Bytes,
}

impl Link {
    fn period(&mut self, offered: Rate) -> Observation {
        let arrived = offered.bytes_in(PERIOD);
        let served = self.capacity.bytes_in(PERIOD).min(self.queue + arrived);
        self.queue = self.queue + arrived - served;
        let busy = self.capacity.time_for(served).min(PERIOD);
        Observation { served, busy, backlog: self.queue, ..observed(0, 0) }
    }
}

#[test]
fn a_full_queue_is_served_at_the_capacity() {
    let estimate = Estimator::new().estimate(&observed(75_000, 50));
    assert_eq!(estimate.class, AdviceClass::Backlogged);
    assert!((mbit(estimate.bandwidth) - 12.0).abs() < 1e-9);
    assert_eq!(estimate.downlink, Span::from_millis(1));
}

#[test]
fn a_queue_that_is_empty_half_of_the_time_could_have_carried_twice_as_much() {
    let estimate = Estimator::new().estimate(&observed(37_500, 25));
    assert_eq!(estimate.class, AdviceClass::Partial);
    assert!((mbit(estimate.bandwidth) - 12.0).abs() < 1e-9);
}

#[test]
fn an_outage_is_a_bandwidth_of_zero_with_the_last_delay() {
    let mut estimator = Estimator::new();
    estimator.estimate(&observed(75_000, 50));
    let estimate = estimator.estimate(&observed(0, 50));
    assert_eq!((estimate.bandwidth, estimate.class), (Rate::ZERO, AdviceClass::Backlogged));
    assert_eq!(estimate.downlink, Span::from_millis(1));
}

#[test]
fn an_idle_user_hears_what_the_channel_would_carry_or_what_held_before() {
    let mut estimator = Estimator::new();
    estimator.estimate(&observed(75_000, 50));
    let held = estimator.estimate(&observed(0, 0));
    assert_eq!(held.class, AdviceClass::Idle);
    assert!((mbit(held.bandwidth) - 12.0).abs() < 1e-9);
    let channel = Some(Rate::from_mbit_per_sec(30.0));
    let predicted = estimator.estimate(&Observation { channel, ..observed(0, 0) });
    assert_eq!((predicted.class, Some(predicted.bandwidth)), (AdviceClass::Idle, channel));
}

#[test]
fn a_lucky_packet_promises_at_most_twice_what_was_said_before() {
    let mut estimator = Estimator::new();
    estimator.estimate(&observed(75_000, 50));
    for _ in 0..MAX_JOINED_PERIODS {
        estimator.estimate(&observed(0, 0));
    }
    // One packet that waited for 100 us: 120 Mbit/s by the quotient.
    let lucky = Observation { busy: Span::from_micros(100), ..observed(1500, 0) };
    assert!((mbit(estimator.estimate(&lucky).bandwidth) - 24.0).abs() < 1e-9);
}

#[test]
fn the_channel_bounds_what_lucky_packets_promise() {
    let channel = Some(Rate::from_mbit_per_sec(14.0));
    let estimate = Estimator::new().estimate(&Observation { channel, ..observed(37_500, 10) });
    assert_eq!(Some(estimate.bandwidth), channel);
}

#[test]
fn a_queue_whose_first_packet_comes_as_the_period_ends_tells_nothing() {
    let estimate = Estimator::new().estimate(&Observation { backlog: PACKET, ..observed(0, 0) });
    assert_eq!((estimate.bandwidth, estimate.class), (Rate::ZERO, AdviceClass::Partial));
}

#[test]
fn packets_that_wait_for_no_time_are_worth_twice_what_was_served() {
    let estimate = Estimator::new().estimate(&observed(75_000, 0));
    assert_eq!(estimate.class, AdviceClass::Partial);
    assert!((mbit(estimate.bandwidth) - 24.0).abs() < 1e-9);
}

#[test]
fn an_application_limited_flow_that_turns_greedy_reaches_the_capacity_in_two_periods() {
    let mut link = Link { capacity: Rate::from_mbit_per_sec(40.0), queue: Bytes::ZERO };
    let mut estimator = Estimator::new();
    let mut advised = Rate::from_mbit_per_sec(1.0);
    // Ten seconds of a trickle: the reports must not follow it down.
    for _ in 0..200 {
        let trickle = Rate::from_mbit_per_sec(0.4).min(advised);
        advised = estimator.estimate(&link.period(trickle)).bandwidth;
    }
    for _ in 0..2 {
        advised = estimator.estimate(&link.period(advised)).bandwidth;
    }
    assert!((39.0..=41.0).contains(&mbit(advised)), "{advised}");
}

#[test]
fn with_round_trips_only_an_application_limited_flow_lowers_nothing_and_promises_nothing() {
    let mut estimator = Estimator::new();
    assert!((mbit(estimator.estimate(&passive(75_000, 50)).bandwidth) - 12.0).abs() < 1e-9);
    for busy_ms in [0, 5, 40] {
        for _ in 0..100 {
            let estimate = estimator.estimate(&passive(15_000, busy_ms));
            assert_eq!(estimate.class, AdviceClass::Partial);
            assert!((mbit(estimate.bandwidth) - 12.0).abs() < 1e-9, "{estimate:?}");
        }
    }
    let fallen = estimator.estimate(&passive(37_500, 50));
    assert!((mbit(fallen.bandwidth) - 6.0).abs() < 1e-9, "a queue proves the capacity");
}

#[test]
fn with_round_trips_only_a_flow_that_has_what_is_reported_hears_of_more() {
    // The queue of a link with twice the earlier rate is not seen: none builds.
    let mut link = Link { capacity: Rate::from_mbit_per_sec(24.0), queue: Bytes::ZERO };
    let mut estimator = Estimator::new();
    let mut advised = estimator.estimate(&passive(75_000, 50)).bandwidth;
    let mut periods = 0;
    while link.queue.is_zero() {
        let seen = link.period(advised);
        let busy = if seen.backlog.is_zero() { Span::ZERO } else { PERIOD };
        advised = estimator.estimate(&Observation { busy, ..passive(seen.served.get(), 0) }).bandwidth;
        periods += 1;
    }
    assert_eq!(periods, 5, "12 Mbit/s to more than 24 at a factor of 1.25 each");
    assert!((mbit(advised) - 24.0).abs() < 0.1, "{advised}");
}

#[test]
fn with_round_trips_only_a_flow_that_begins_doubles_until_there_is_a_queue() {
    let mut estimator = Estimator::new();
    let mut reported = |served| mbit(estimator.estimate(&passive(served, 0)).bandwidth);
    assert!((reported(30_000) - 4.8).abs() < 1e-9, "what it had");
    assert!((reported(30_000) - 9.6).abs() < 1e-9);
    assert!((reported(60_000) - 19.2).abs() < 1e-9);
    assert!((reported(60_000) - 19.2).abs() < 1e-9, "it does not use it");
}

/// Over srsENB the two packets of a handshake were the first report, and held NATCP to two packets a round trip for as long as it ran.
#[test]
fn where_no_queue_is_seen_an_initial_window_is_no_first_report() {
    for evidence in [Evidence::RoundTrips, Evidence::Served] {
        let mut estimator = Estimator::new();
        let mut estimate = |served| estimator.estimate(&Observation { evidence, ..observed(served, 0) });
        for handshake in [3_000, 15_000] {
            let unknown = estimate(handshake);
            assert_eq!((unknown.class, unknown.bandwidth), (AdviceClass::Idle, Rate::ZERO));
        }
        assert!((mbit(estimate(15_001).bandwidth) - 2.4).abs() < 1e-3);
        assert!(mbit(estimate(3_000).bandwidth) > 0.4, "once something is known, each period counts");
    }
    let known = Estimator::new().estimate(&passive(3_000, 50));
    assert_eq!(known.class, AdviceClass::Backlogged, "a queue shows the capacity, however little passes");
}

/// Only the service is known.
fn served(mbit: f64) -> Observation {
    let served = Rate::from_mbit_per_sec(mbit).bytes_in(PERIOD);
    Observation { served, evidence: Evidence::Served, ..observed(0, 0) }
}

/// It used to double each time that the user had the whole of it, and never fell.
#[test]
fn where_only_what_was_served_is_known_the_lower_bound_falls_with_it_and_stays_near_it() {
    let mut estimator = Estimator::new();
    let mut reported = |mbit_served| mbit(estimator.estimate(&served(mbit_served)).bandwidth);
    assert!((reported(24.0) - 24.0).abs() < 1e-9, "what it had");
    for _ in 0..100 {
        assert!(reported(24.0) <= 30.0 + 1e-9, "a quarter more at most");
    }
    let fallen = (0..8).map(|_| reported(3.0)).last().unwrap();
    assert!((3.0..=3.75).contains(&fallen), "{fallen} Mbit/s eight periods after the fall to 3");
}

#[test]
fn where_only_what_was_served_is_known_a_pause_lowers_nothing_and_a_sender_that_follows_rises() {
    let mut estimator = Estimator::new();
    estimator.estimate(&served(24.0));
    for _ in 0..100 {
        let held = estimator.estimate(&served(0.0));
        assert_eq!(held.class, AdviceClass::Idle);
        assert!((mbit(held.bandwidth) - 24.0).abs() < 1e-9, "{held:?}");
    }
    assert!(mbit(estimator.estimate(&served(5.0)).bandwidth) > 23.9, "the end of a pause");
    // A link of 40 Mbit/s, and a sender that sends at the rate of the last record.
    let mut advised = 24.0;
    for _ in 0..4 {
        advised = mbit(estimator.estimate(&served(f64::min(advised, 40.0))).bandwidth);
    }
    assert!((39.9..=50.1).contains(&advised), "{advised}");
}

#[test]
fn a_flow_that_paces_below_what_is_reported_does_not_hear_of_less_and_less() {
    let mut link = Link { capacity: Rate::from_mbit_per_sec(40.0), queue: Bytes::ZERO };
    let mut estimator = Estimator::new();
    let mut advised = Rate::from_mbit_per_sec(40.0);
    for _ in 0..1000 {
        advised = estimator.estimate(&link.period(advised.mul_f64(0.95))).bandwidth;
    }
    assert!(mbit(advised) > 39.0, "{advised}");
}

#[test]
fn a_flow_that_begins_doubles_per_period_up_to_the_capacity() {
    let mut link = Link { capacity: Rate::from_mbit_per_sec(40.0), queue: Bytes::ZERO };
    let mut estimator = Estimator::new();
    let mut advised = estimator.estimate(&link.period(Rate::from_mbit_per_sec(1.0))).bandwidth;
    let mut periods = 1;
    while mbit(advised) < 39.0 {
        advised = estimator.estimate(&link.period(advised)).bandwidth;
        periods += 1;
    }
    assert_eq!(periods, 6, "1 Mbit/s to 40 at a factor of two each");
}

proptest! {
    #[test]
    fn no_estimate_is_below_what_was_served_or_above_the_channel(
        periods in prop::collection::vec((0u64..10_000_000, 0u64..60_000, 0u64..100_000, prop::option::of(0u64..100_000_000)), 1..40),
    ) {
        let mut estimator = Estimator::new();
        for (served, busy_us, backlog, channel) in periods {
            let observation = Observation {
                busy: Span::from_micros(busy_us).min(PERIOD),
                backlog: Bytes::new(backlog),
                channel: channel.map(Rate::from_bytes_per_sec),
                ..observed(served, 0)
            };
            let estimate = estimator.estimate(&observation);
            let achieved = Rate::from_transfer(observation.served, PERIOD);
            let channel = observation.channel.unwrap_or(Rate::MAX);
            prop_assert!(estimate.bandwidth >= achieved.min(channel));
            prop_assert!(estimate.bandwidth <= channel);
        }
    }
}

#[test]
fn the_time_of_a_packet_is_held_while_nothing_moves() {
    let mut time = PacketTime::default();
    assert_eq!(time.at(Rate::ZERO, Bytes::new(1500)), Span::ZERO);
    assert_eq!(time.at(Rate::from_mbit_per_sec(12.0), Bytes::new(1500)), Span::from_millis(1));
    assert_eq!(time.at(Rate::ZERO, Bytes::new(1500)), Span::from_millis(1));
}
