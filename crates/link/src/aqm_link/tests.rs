use super::*;
use crate::{Access, Delay, DropReason, Harq, Jitter, Link, ShareOverTime};
use crate::{DropTail, Queue};
use cellcc_units::{Ecn, QueueLimit, Rate, Ratio, Span};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbered {
    number: u64,
    size: u64,
    ecn: Ecn,
}

impl Packet for Numbered {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    /// Five flows in turn.
    fn flow(&self) -> u64 {
        self.number % 5
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

fn full(number: u64) -> Numbered {
    Numbered { number, size: 1500, ecn: Ecn::Ect0 }
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn config(capacity: Capacity, queue: &str) -> LinkConfig {
    LinkConfig {
        capacity: Arc::new(capacity),
        queue: queue.parse().unwrap(),
        delay: Delay::constant(Span::from_millis(10)),
        jitter: Jitter::NONE,
        loss: ShareOverTime::constant(Ratio::ZERO),
        ..LinkConfig::transparent()
    }
}

/// 1500 bytes per millisecond.
fn twelve_megabit() -> Capacity {
    Capacity::constant(Rate::from_mbit_per_sec(12.0)).unwrap()
}

type Outcome = (Vec<Delivery<Numbered>>, Vec<Dropped<Numbered>>);

/// All that comes out of the link by `now`.
fn collect(link: &mut Link<Numbered>, now: Time, (deliveries, drops): &mut Outcome) {
    loop {
        match link.poll(now) {
            Poll::Ready(delivery) => deliveries.push(delivery),
            Poll::Dropped(dropped) => drops.push(dropped),
            Poll::Wake(_) | Poll::Idle => return,
        }
    }
}

fn numbers(packets: impl IntoIterator<Item = Numbered>) -> Vec<u64> {
    packets.into_iter().map(|packet| packet.number).collect()
}

/// The departures of `count` full packets that come at once, at 5 ms.
fn burst(capacity: Capacity, queue: &str, count: u64) -> (Vec<u64>, Vec<u64>) {
    let mut link = Link::new(config(capacity, queue), 1);
    let mut outcome = Outcome::default();
    for number in 0..count {
        if let Err(dropped) = link.enqueue(millis(5), full(number)) {
            outcome.1.push(dropped);
        }
    }
    collect(&mut link, millis(60_000), &mut outcome);
    (numbers(outcome.0.iter().map(|it| it.packet)), numbers(outcome.1.iter().map(|it| it.packet)))
}

#[test]
fn drop_head_drops_the_oldest_packets_but_not_the_one_in_service() {
    assert_eq!(burst(twelve_megabit(), "drophead(3pkt)", 6), (vec![0, 4, 5], vec![1, 2, 3]));
    // Bytes and times limit it as they limit drop-tail: three packets wait for two others.
    assert_eq!(burst(twelve_megabit(), "drophead(4.5kB)", 6), (vec![0, 4, 5], vec![1, 2, 3]));
    assert_eq!(burst(twelve_megabit(), "drophead(2ms)", 6), (vec![0, 4, 5], vec![1, 2, 3]));
    // Only the packet in service is older, so the newest is dropped.
    assert_eq!(burst(twelve_megabit(), "drophead(1pkt)", 3), (vec![0], vec![1, 2]));
}

#[test]
fn before_an_opportunity_no_packet_is_in_service_so_that_the_very_oldest_is_dropped() {
    let opportunities = || Capacity::from_opportunities([100, 200, 300]).unwrap();
    assert_eq!(burst(opportunities(), "drophead(2pkt)", 5), (vec![3, 4], vec![0, 1, 2]));
}

#[test]
fn a_drop_at_the_head_is_reported_at_once() {
    let mut link = Link::new(config(twelve_megabit(), "drophead(2pkt)"), 1);
    (0..3).for_each(|number| assert!(link.enqueue(millis(5), full(number)).is_ok()));
    assert_eq!((link.next_wake(), link.backlog(millis(5))), (millis(5), (2, Bytes::new(3000))));
    let dropped = Dropped { packet: full(1), at: millis(5), reason: DropReason::QueueHead };
    assert_eq!(link.poll(millis(5)), Poll::Dropped(dropped));
    // The second service begins at 6 ms, before the first arrival.
    assert_eq!(link.poll(millis(5)), Poll::Wake(millis(6)));
    assert_eq!(link.poll(millis(6)), Poll::Wake(millis(16)));
}

#[test]
fn packets_that_waited_beyond_the_threshold_are_marked_and_none_is_dropped() {
    let mut link = Link::new(config(twelve_megabit(), "droptail(unlimited, mark=2ms)"), 1);
    for number in 0..6 {
        // The last cannot be marked.
        let packet = Numbered { ecn: if number < 5 { Ecn::Ect0 } else { Ecn::NotEct }, ..full(number) };
        assert!(link.enqueue(Time::ZERO, packet).is_ok());
    }
    let mut outcome = Outcome::default();
    collect(&mut link, millis(100), &mut outcome);
    let marked: Vec<bool> = outcome.0.iter().map(|delivery| delivery.packet.is_marked()).collect();
    // They wait 0, 1, 2, 3, 4 and 5 ms.
    assert_eq!(marked, [false, false, false, true, true, false]);
    assert!(outcome.1.is_empty());
}

/// An overload of 2 to 1 for 5 s: packets delivered, marked and dropped, and the longest wait of the last second.
fn overload(queue: &str, ecn: Ecn) -> (usize, usize, usize, Span) {
    let mut link = Link::new(config(twelve_megabit(), queue), 1);
    let mut outcome = Outcome::default();
    for number in 0..10_000 {
        let now = Time::ZERO + Span::from_micros(500 * number);
        collect(&mut link, now, &mut outcome);
        if let Err(dropped) = link.enqueue(now, Numbered { ecn, ..full(number) }) {
            outcome.1.push(dropped);
        }
    }
    collect(&mut link, millis(60_000), &mut outcome);
    let (deliveries, drops) = outcome;
    let late = deliveries.iter().filter(|it| it.queued_at > millis(4000));
    let wait = late.map(|it| it.departed_at.since(it.queued_at)).max().unwrap_or(Span::ZERO);
    (deliveries.len(), deliveries.iter().filter(|it| it.packet.is_marked()).count(), drops.len(), wait)
}

#[test]
fn pie_holds_a_sender_that_does_not_listen_near_the_target() {
    let (delivered, marked, dropped, wait) = overload("pie", Ecn::Ect0);
    assert_eq!((delivered + dropped, marked), (10_000, 0));
    assert!(wait < Span::from_millis(60), "{wait}");
}

#[test]
fn ecn_turns_drops_into_marks_where_the_packet_can_carry_them() {
    // Under an overload that does not yield, PIE's probability is soon above its limit for marks.
    for (queue, least) in [("codel(ecn)", 20), ("pie(ecn)", 1)] {
        let (_, marked, ..) = overload(queue, Ecn::Ect0);
        assert!(marked >= least, "{queue}: {marked}");
        let (_, marked, dropped, _) = overload(queue, Ecn::NotEct);
        assert!(marked == 0 && dropped > 20, "{queue}: {marked}, {dropped}");
    }
    // CoDel never drops packets that it can mark.
    assert_eq!(overload("codel(ecn)", Ecn::Ect0).2, 0);
}

#[test]
fn waking_late_by_a_span_misses_no_later_arrival_of_that_span() {
    for queue in ["unlimited", "codel"] {
        let mut link = Link::new(config(twelve_megabit(), queue), 1);
        assert_eq!(link.last_arrival_within(Span::from_millis(3)), Time::NEVER);
        for number in 0..10 {
            assert!(link.enqueue(Time::ZERO, full(number)).is_ok());
        }
        collect(&mut link, millis(10), &mut Outcome::default());
        // All have departed or are the last: arrivals at 11, 12, ... 20 ms.
        assert_eq!(link.last_arrival_within(Span::from_micros(2_500)), millis(13), "{queue}");
        assert_eq!(link.last_arrival_within(Span::ZERO), millis(11));
        assert_eq!(link.last_arrival_within(Span::MAX), millis(20));
    }
}

#[test]
fn jitter_in_order_delays_and_jitter_that_reorders_overtakes_and_neither_loses() {
    for reorders in [false, true] {
        let jitter = Jitter { up_to: Span::from_millis(5), reorders, ..Jitter::NONE };
        let mut link = Link::new(LinkConfig { jitter, ..config(twelve_megabit(), "unlimited") }, 1);
        (0..500).for_each(|number| assert!(link.enqueue(Time::ZERO, full(number)).is_ok()));
        let mut outcome = Outcome::default();
        collect(&mut link, millis(60_000), &mut outcome);
        let mut numbers = numbers(outcome.0.iter().map(|it| it.packet));
        assert!(outcome.0.is_sorted_by_key(|it| it.arrived_at));
        assert_eq!(numbers.is_sorted(), !reorders);
        numbers.sort_unstable();
        assert_eq!(numbers, (0..500).collect::<Vec<_>>());
        let extra = |it: &Delivery<Numbered>| it.arrived_at.since(it.departed_at);
        assert!(outcome.0.iter().all(|it| extra(it) >= Span::from_millis(10)));
        assert!(outcome.0.iter().all(|it| extra(it) <= Span::from_millis(15)));
    }
}

fn any_capacity() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        Just(Capacity::from_opportunities([0, 1, 1, 3, 8, 8, 9]).unwrap()),
        Just(twelve_megabit()),
        Just(
            Capacity::from_steps(
                [(12.0, 3), (0.0, 5), (100.0, 1)]
                    .map(|(mbit, length)| (Span::from_millis(length), Rate::from_mbit_per_sec(mbit)))
                    .to_vec()
            )
            .unwrap()
        ),
    ]
}

/// Gaps in microseconds and sizes; often those of a packet of [`twelve_megabit`], so that one comes as another leaves.
fn any_packets() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop_oneof![Just(0), Just(1_000), 0u64..4_000];
    proptest::collection::vec((gap, prop_oneof![Just(1500), 40u64..3000]), 1..300)
}

/// None, or one whose cycle the packets above meet.
fn any_access() -> impl Strategy<Value = Option<Access>> {
    let text = prop_oneof![
        Just("request=3ms, stays=1ms"),
        Just("request=20ms, stays=0s, wake=5ms, wakes_after=2ms")
    ];
    proptest::option::of(text.prop_map(|text| text.parse().unwrap()))
}

/// None, or one that repeats often.
fn any_harq() -> impl Strategy<Value = Option<Harq>> {
    let text = prop_oneof![Just("mmwave, failed=40%"), Just("fdd-up, failed=50%, again_fails=90%")];
    proptest::option::of(text.prop_map(|text| text.parse().unwrap()))
}

/// A link that stays at zero.
fn down() -> Capacity {
    Capacity::constant(Rate::ZERO).unwrap()
}

proptest! {
    /// With a threshold that is never reached, drop-tail runs in the general link: both must do the same.
    #[test]
    fn drop_tail_is_the_same_on_both_ways(
        packets in any_packets(), capacity in prop_oneof![4 => any_capacity(), 1 => Just(down())],
        asked_every in 1u64..8,
        limit in prop_oneof![Just("5pkt"), Just("10kB"), Just("7ms"), Just("unlimited")],
        access in any_access(), harq in any_harq(),
    ) {
        let limit: QueueLimit = limit.parse().unwrap();
        let of = |mark_above| Link::new(
            LinkConfig {
                queue: Queue::DropTail(DropTail { limit, mark_above, ack_filter: false }),
                access,
                harq,
                ..config(capacity.clone(), "1pkt")
            },
            1,
        );
        let (mut fast, mut general) = (of(None), of(Some(Span::MAX)));
        let (mut from_fast, mut from_general) = (Outcome::default(), Outcome::default());
        let mut now = Time::ZERO;
        for (number, (gap, size)) in (0..).zip(packets) {
            now += Span::from_micros(gap);
            let packet = Numbered { size, ..full(number) };
            prop_assert_eq!(fast.enqueue(now, packet), general.enqueue(now, packet));
            // Reading counters makes the queue count: they must also be right without earlier reads.
            if number % asked_every == 0 {
                prop_assert_eq!(fast.backlog(now), general.backlog(now));
                prop_assert_eq!(fast.counters(now), general.counters(now));
            }
        }
        collect(&mut fast, millis(60_000), &mut from_fast);
        collect(&mut general, millis(60_000), &mut from_general);
        prop_assert_eq!(from_fast, from_general);
        prop_assert_eq!(fast.counters(millis(60_000)), general.counters(millis(60_000)));
    }

    #[test]
    fn every_packet_is_delivered_dropped_or_queued_and_time_never_goes_back(
        packets in any_packets(), capacity in any_capacity(),
        queue in prop::sample::select(&[
            "drophead(5pkt)", "drophead(10kB)", "drophead(7ms)", "codel(target=1ms, interval=10ms)",
            "codel(target=1ms, interval=10ms, limit=9pkt, ecn)", "red(min=3kB, max=9kB, limit=30pkt)",
            "fq-codel(target=1ms, interval=10ms, queues=3, quantum=300B, limit=9pkt)", "fq-codel(limit=10kB)",
            "fq-codel(limit=7ms)", "abc(target=2ms, limit=30pkt)", "codel(mahimahi, target=1ms, interval=10ms)", "pie(mahimahi, target=1ms, limit=30pkt)", "pie(target=1ms, burst=0s, update=2ms, limit=30pkt)",
            "pie(target=1ms, burst=5ms, update=1ms, limit=20ms, ecn)", "droptail(10kB, mark=2ms)",
        ][..]),
        jitter in prop_oneof![Just(0u64), Just(3_000)], reorders in any::<bool>(), lazily in any::<bool>(),
        correlated in prop::sample::select(&["", "mean=3ms, sd=9ms", "normal, memory=2ms"][..]),
        access in any_access(), harq in any_harq(),
    ) {
        let correlated = correlated.parse().ok();
        let jitter = Jitter { up_to: Span::from_micros(jitter), correlated, reorders };
        let mut link = Link::new(LinkConfig { jitter, access, harq, ..config(capacity, queue) }, 1);
        let mut outcome = Outcome::default();
        let (mut now, mut sent) = (Time::ZERO, 0);
        for (gap, size) in packets {
            now += Span::from_micros(gap);
            if !lazily {
                while link.next_wake() <= now {
                    let wake = link.next_wake();
                    collect(&mut link, wake, &mut outcome);
                    prop_assert!(link.next_wake() > wake);
                }
            }
            if let Err(dropped) = link.enqueue(now, Numbered { size, ..full(sent) }) {
                outcome.1.push(dropped);
            }
            sent += 1;
            let (count, bytes) = link.backlog(now);
            prop_assert!(!queue.contains("(5pkt") || count <= 5);
            prop_assert!(!queue.contains("10kB") || bytes <= Bytes::new(10_000));
        }
        collect(&mut link, millis(60_000), &mut outcome);
        prop_assert_eq!((link.backlog(millis(60_000)), link.next_wake()), ((0, Bytes::ZERO), Time::NEVER));
        let (deliveries, drops) = outcome;
        let served: Bytes = deliveries.iter().map(|it| it.packet.size()).sum();
        prop_assert_eq!(link.counters(millis(60_000)).served, served);
        let end = deliveries.iter().map(|it| it.departed_at).max().unwrap_or(Time::ZERO);
        prop_assert!(served <= link.offered(Time::ZERO, end));
        prop_assert!(deliveries.is_sorted_by_key(|it| it.arrived_at));
        prop_assert!(deliveries.iter().all(|it| it.queued_at <= it.departed_at && it.departed_at <= it.arrived_at));
        let mut all = numbers(deliveries.iter().map(|it| it.packet).chain(drops.iter().map(|it| it.packet)));
        all.sort_unstable();
        prop_assert_eq!(all, (0..sent).collect::<Vec<_>>());
    }
}

/// An acknowledgement of 1500 bytes, so that each takes a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ack {
    flow: u32,
    upto: u64,
    pure: bool,
}

impl Packet for Ack {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }

    fn supersedes(&self, older: &Self) -> bool {
        self.flow == older.flow && older.pure && self.upto >= older.upto
    }
}

/// The arrivals of acknowledgements that all come at 5 ms, `(flow, upto, pure)`, and the queue's number of drops.
fn filtered(queue: &str, acks: &[(u32, u64, bool)]) -> (Vec<(u32, u64)>, usize) {
    let mut link = Link::new(config(twelve_megabit(), queue), 1);
    for &(flow, upto, pure) in acks {
        link.enqueue(millis(5), Ack { flow, upto, pure }).expect("there is room");
    }
    let (mut arrived, mut dropped) = (Vec::new(), 0);
    loop {
        match link.poll(millis(1_000)) {
            Poll::Ready(Delivery { packet, .. }) => arrived.push((packet.flow, packet.upto)),
            Poll::Dropped(drop) => {
                assert_eq!(drop.reason, DropReason::AckFilter);
                dropped += 1;
            }
            Poll::Wake(_) | Poll::Idle => return (arrived, dropped),
        }
    }
}

#[test]
fn an_ack_filter_keeps_the_newest_acknowledgements_of_each_flow_and_the_one_in_service() {
    let acks: Vec<_> = (1..=10).flat_map(|upto| [(1, upto, true), (2, upto, true)]).collect();
    let (arrived, dropped) = filtered("droptail(5pkt, ack-filter)", &acks);
    // Two of each wait; the first began to be served when it came.
    assert_eq!((arrived, dropped), (vec![(1, 1), (1, 9), (2, 9), (1, 10), (2, 10)], 15));
}

#[test]
fn an_ack_filter_leaves_alone_what_tells_more_and_what_carries_more() {
    let reported = [(1, 1, true), (1, 9, true), (1, 8, true), (1, 7, true)];
    assert_eq!(filtered("droptail(9pkt, ack-filter)", &reported).1, 0);
    let carrying = [(1, 1, true), (1, 2, false), (1, 3, false), (1, 4, true), (1, 5, true), (1, 6, true)];
    assert_eq!(filtered("droptail(9pkt, ack-filter)", &carrying).0, [(1, 1), (1, 2), (1, 3), (1, 5), (1, 6)]);
    assert_eq!(filtered("droptail(9pkt)", &[(1, 1, true); 5]).1, 0);
}
