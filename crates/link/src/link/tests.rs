use super::*;
use crate::{DropReason, Jitter, ShareOverTime};
use cellcc_units::{Ratio, Span};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbered(u64, u64);

impl Packet for Numbered {
    fn size(&self) -> Bytes {
        Bytes::new(self.1)
    }
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn link(capacity: Capacity, queue: &str, delay: &str, loss: f64) -> Link<Numbered> {
    link_with_grain(capacity, queue, delay, loss, 0)
}

fn link_with_grain(capacity: Capacity, queue: &str, delay: &str, loss: f64, grain_ms: u64) -> Link<Numbered> {
    let config = LinkConfig {
        capacity: Arc::new(capacity),
        queue: queue.parse().unwrap(),
        delay: delay.parse().unwrap(),
        jitter: Jitter::NONE,
        loss: ShareOverTime::constant(Ratio::new(loss)),
        ..LinkConfig::transparent()
    };
    Link::with_grain(config, 1, Span::from_millis(grain_ms))
}

/// 1500 bytes per millisecond.
fn twelve_megabit() -> Capacity {
    Capacity::constant("12Mbit/s".parse().unwrap()).unwrap()
}

fn offer(link: &mut Link<Numbered>, now: Time, packets: u64) -> Vec<Result<(), DropReason>> {
    (0..packets).map(|i| link.enqueue(now, Numbered(i, 1500)).map_err(|dropped| dropped.reason)).collect()
}

/// All that is to arrive. A link with a grain also moves packets on from one program to the next; others wake for arrivals only.
fn drain(link: &mut Link<Numbered>) -> Vec<Delivery<Numbered>> {
    let mut deliveries = Vec::new();
    loop {
        let now = link.next_wake();
        match link.poll(now) {
            Poll::Ready(delivery) => deliveries.push(delivery),
            Poll::Dropped(dropped) => panic!("{dropped:?}"),
            Poll::Wake(next) if next > now && matches!(link.server, Server::Grain(_)) => {}
            Poll::Wake(time) => panic!("woken before {time}"),
            Poll::Idle => return deliveries,
        }
    }
}

#[test]
fn a_packet_arrives_after_service_and_propagation() {
    let mut link = link(twelve_megabit(), "unlimited", "10ms", 0.0);
    assert_eq!(link.poll(millis(3)), Poll::Idle);
    offer(&mut link, millis(5), 2);
    assert_eq!(link.poll(millis(5)), Poll::Wake(millis(16)));
    let packet = Numbered(0, 1500);
    let first = Delivery { packet, queued_at: millis(5), departed_at: millis(6), arrived_at: millis(16) };
    assert_eq!(link.poll(millis(16)), Poll::Ready(first));
    assert_eq!(link.poll(millis(16)), Poll::Wake(millis(17)));
}

#[test]
fn the_packet_in_service_counts_toward_the_limit_until_it_has_left() {
    let mut link = link(twelve_megabit(), "2pkt", "10ms", 0.0);
    assert_eq!(offer(&mut link, millis(0), 3), [Ok(()), Ok(()), Err(DropReason::QueueFull)]);
    assert_eq!(link.backlog(millis(0)), (2, Bytes::new(3000)));
    // The first leaves at 1 ms and is on its way then: it no longer waits.
    assert_eq!(offer(&mut link, millis(1), 2), [Ok(()), Err(DropReason::QueueFull)]);
}

#[test]
fn a_limit_in_bytes_holds_small_packets_in_larger_numbers() {
    let mut link = link(twelve_megabit(), "3kB", "0ms", 0.0);
    let admitted = (0..100).filter(|&i| link.enqueue(Time::ZERO, Numbered(i, 100)).is_ok()).count();
    assert_eq!(admitted, 30);
}

#[test]
fn a_limit_in_time_knows_the_outage_that_is_coming() {
    let steps = [("12Mbit/s", 2), ("0Mbit/s", 100), ("12Mbit/s", 1000)]
        .map(|(rate, length)| (Span::from_millis(length), rate.parse().unwrap()));
    let mut link = link(Capacity::from_steps(steps.to_vec()).unwrap(), "50ms", "0ms", 0.0);
    // Two leave before the outage; the third would leave after it but waits only 2 ms for the others.
    let results = offer(&mut link, Time::ZERO, 4);
    assert_eq!(results, [Ok(()), Ok(()), Ok(()), Err(DropReason::QueueFull)]);
}

#[test]
fn a_delay_that_shrinks_does_not_reorder() {
    let mut link = link(twelve_megabit(), "unlimited", "30ms@2ms,1ms", 0.0);
    offer(&mut link, Time::ZERO, 4);
    let arrivals: Vec<Time> = drain(&mut link).iter().map(|delivery| delivery.arrived_at).collect();
    // Departures at 1, 2, 3 and 4 ms; the delay is 1 ms from 2 ms on.
    assert_eq!(arrivals, [31, 31, 31, 31].map(millis));
}

#[test]
fn a_link_that_stays_down_keeps_what_it_was_given() {
    let down = Capacity::constant(cellcc_units::Rate::ZERO).unwrap();
    let mut link = link(down, "3pkt", "10ms", 0.0);
    assert_eq!(offer(&mut link, Time::ZERO, 4).iter().filter(|result| result.is_ok()).count(), 3);
    assert_eq!((link.poll(Time::NEVER), link.next_wake()), (Poll::Idle, Time::NEVER));
    assert_eq!(link.backlog(Time::NEVER), (3, Bytes::new(4500)));
}

#[test]
fn a_base_station_knows_what_it_served_and_how_long_something_waited() {
    let mut link = link(twelve_megabit(), "unlimited", "10ms", 0.0);
    offer(&mut link, millis(5), 2);
    let served = |bytes, busy, backlog| QueueCounters {
        served: Bytes::new(bytes),
        busy: Span::from_millis(busy),
        backlog: Bytes::new(backlog),
        ..QueueCounters::default()
    };
    assert_eq!(link.counters(millis(6)), served(1500, 1, 1500));
    assert_eq!(link.counters(millis(9)), served(3000, 2, 0));
    offer(&mut link, millis(20), 1);
    assert_eq!(link.counters(millis(30)), served(4500, 3, 0));
}

#[test]
fn a_packet_that_comes_as_the_last_one_leaves_finds_the_queue_empty_and_keeps_it_busy() {
    let mut link = link(twelve_megabit(), "1pkt", "10ms", 0.0);
    for ms in 5..8 {
        assert_eq!(offer(&mut link, millis(ms), 2), [Ok(()), Err(DropReason::QueueFull)]);
    }
    let QueueCounters { served, busy, backlog, .. } = link.counters(millis(8));
    assert_eq!((served, busy, backlog), (Bytes::new(4500), Span::from_millis(3), Bytes::ZERO));
}

#[test]
fn a_link_that_stays_down_is_busy_for_ever_and_serves_nothing() {
    let mut link = link(Capacity::constant(cellcc_units::Rate::ZERO).unwrap(), "unlimited", "10ms", 0.0);
    for ms in [5, 7] {
        offer(&mut link, millis(ms), 1);
        let QueueCounters { served, busy, backlog, .. } = link.counters(millis(ms + 1));
        assert_eq!((served, busy), (Bytes::ZERO, Span::from_millis(ms - 4)));
        assert_eq!(backlog, Bytes::new(1500 * (ms - 3) / 2));
    }
    assert_eq!(link.counters(Time::NEVER).served, Bytes::ZERO);
}

#[test]
fn a_lost_packet_takes_no_room_and_no_capacity() {
    let mut link = link(twelve_megabit(), "unlimited", "0ms", 1.0);
    assert_eq!(offer(&mut link, Time::ZERO, 2), [Err(DropReason::Loss); 2]);
    assert_eq!((link.backlog(Time::ZERO).0, link.next_wake()), (0, Time::NEVER));
}

proptest! {
    #[test]
    fn what_is_admitted_arrives_once_and_in_order_and_the_queue_keeps_its_limit(
        packets in proptest::collection::vec((0u64..4_000, 40u64..3000), 1..200),
        queue in prop_oneof![Just("5pkt"), Just("10kB"), Just("7ms"), Just("unlimited")],
        opportunities in any::<bool>(),
        grain_ms in 0_u64..3,
    ) {
        let capacity = if opportunities {
            Capacity::from_opportunities([0, 1, 1, 3, 8, 8, 9]).unwrap()
        } else {
            let steps = [(12.0, 3), (0.0, 5), (100.0, 1)]
                .map(|(mbit, length)| (Span::from_millis(length), cellcc_units::Rate::from_mbit_per_sec(mbit)));
            Capacity::from_steps(steps.to_vec()).unwrap()
        };
        let mut link = link_with_grain(capacity, queue, "5ms@20ms,1ms", 0.1, grain_ms);
        let (mut now, mut admitted, mut arrived) = (Time::ZERO, Vec::new(), Vec::new());
        for (number, (gap_micros, size)) in (0..).zip(packets) {
            now += Span::from_micros(gap_micros);
            while let Poll::Ready(delivery) = link.poll(now) {
                prop_assert!(delivery.arrived_at <= now);
                arrived.push(delivery);
            }
            let packet = Numbered(number, size);
            if link.enqueue(now, packet).is_ok() {
                admitted.push(packet);
            }
            let (count, bytes) = link.backlog(now);
            prop_assert!(queue != "5pkt" || count <= 5);
            prop_assert!(queue != "10kB" || bytes <= Bytes::new(10_000));
        }
        arrived.extend(drain(&mut link));
        prop_assert_eq!(link.backlog(Time::NEVER), (0, Bytes::ZERO));
        prop_assert_eq!(arrived.iter().map(|delivery| delivery.packet).collect::<Vec<_>>(), admitted);
        prop_assert!(arrived.is_sorted_by_key(|delivery| delivery.arrived_at));
        let end = arrived.iter().map(|delivery| delivery.departed_at).max().unwrap_or(Time::ZERO);
        let sum: Bytes = arrived.iter().map(|delivery| delivery.packet.size()).sum();
        prop_assert!(sum <= link.offered(Time::ZERO, end));
    }
}
