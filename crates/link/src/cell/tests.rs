use super::*;
use crate::DropReason;
use crate::{Delay, Jitter, Link, ShareOverTime};
use crate::{DropHead, Queue};
use cellcc_units::{QueueLimit, Rate, Ratio};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Full;

impl Packet for Full {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
}

fn config(capacity: Capacity) -> LinkConfig {
    LinkConfig {
        capacity: Arc::new(capacity),
        queue: QueueLimit::Packets(50).into(),
        delay: Delay::constant(Span::from_millis(10)),
        jitter: Jitter::NONE,
        loss: ShareOverTime::constant(Ratio::ZERO),
        ..LinkConfig::transparent()
    }
}

fn constant(mbit: f64) -> LinkConfig {
    config(Capacity::constant(Rate::from_mbit_per_sec(mbit)).unwrap())
}

const SCHEDULERS: [Scheduler; 2] = [Scheduler::RoundRobin, Scheduler::PROPORTIONAL_FAIR];

/// Keeps all queues full for some seconds and counts the packets that departed in time.
fn saturate(users: Vec<LinkConfig>, scheduler: Scheduler, secs: u64) -> Vec<u64> {
    let end = Time::ZERO + Span::from_secs(secs);
    let mut delivered = vec![0; users.len()];
    let mut cell = Cell::new(users, scheduler, 1);
    let mut now = Time::ZERO;
    while now < end + Span::from_millis(10) {
        for user in 0..delivered.len() {
            while cell.enqueue(now, user, Full).is_ok() {}
        }
        while let Poll::Ready((user, delivery)) = cell.poll(now) {
            delivered[user] += u64::from(delivery.departed_at <= end);
        }
        now = cell.next_wake();
    }
    delivered
}

#[test]
fn equal_users_share_equally() {
    for scheduler in SCHEDULERS {
        let delivered = saturate(vec![constant(60.0), constant(60.0)], scheduler, 10);
        // 60 Mbit/s carry 5000 packets a second: 50,000 in all, less the first slot, which found nothing.
        assert!(delivered.iter().all(|&count| count.abs_diff(25_000) <= 5), "{scheduler}: {delivered:?}");
    }
}

#[test]
fn proportional_fair_gives_half_the_slots_to_a_channel_ten_times_worse() {
    let delivered = saturate(vec![constant(120.0), constant(12.0)], Scheduler::PROPORTIONAL_FAIR, 30);
    // Alone they would get 300,000 and 30,000.
    let shares = [delivered[0] as f64 / 300_000.0, delivered[1] as f64 / 30_000.0];
    assert!(shares.iter().all(|share| (share - 0.5).abs() < 0.02), "{shares:?}");
}

#[test]
fn proportional_fair_serves_a_user_while_its_channel_is_good() {
    let alternating = |first: u64, second: u64| {
        let rate = |packets| Rate::from_bytes_per_sec(1_500_000 * packets);
        let slow = Span::from_millis(50);
        config(Capacity::from_steps(vec![(slow, rate(first)), (slow, rate(second))]).unwrap())
    };
    let users = || vec![alternating(10, 2), alternating(2, 10)];
    let opportunistic: u64 = saturate(users(), Scheduler::PROPORTIONAL_FAIR, 10).iter().sum();
    let in_turn: u64 = saturate(users(), Scheduler::RoundRobin, 10).iter().sum();
    // In turn: 6 packets a slot on the average. Always the better channel: 10.
    assert!(in_turn.abs_diff(60_000) < 100, "{in_turn}");
    assert!(opportunistic > 98_000, "{opportunistic}");
}

#[test]
fn no_slot_is_wasted_on_a_user_whose_channel_is_down() {
    for scheduler in SCHEDULERS {
        let delivered = saturate(vec![constant(0.0), constant(12.0)], scheduler, 5);
        assert_eq!(delivered[0], 0);
        assert!(delivered[1] >= 4_999, "{delivered:?}");
    }
}

#[test]
fn nobody_gets_more_than_its_channel_carries() {
    let trace = || Capacity::from_opportunities([1, 4, 4, 5, 9, 20]).unwrap();
    for scheduler in SCHEDULERS {
        let delivered = saturate(vec![config(trace()), constant(3.0)], scheduler, 10);
        let carried = trace().bytes_between(Time::ZERO, Time::ZERO + Span::from_secs(10));
        assert!(delivered[0] * 1500 <= carried.get() && delivered[1] <= 2500, "{delivered:?}");
        assert!(delivered.iter().sum::<u64>() > 2500, "{delivered:?}");
    }
}

#[test]
fn a_backlogged_user_alone_gets_what_a_link_would_give_up_to_the_end_of_the_slot() {
    let steps = [(30.0, 40), (0.0, 25), (7.0, 35)]
        .map(|(mbit, length)| (Span::from_millis(length), Rate::from_mbit_per_sec(mbit)));
    let capacity = Capacity::from_steps(steps.to_vec()).unwrap();
    for scheduler in SCHEDULERS {
        let config = LinkConfig { queue: QueueLimit::Unlimited.into(), ..config(capacity.clone()) };
        let mut cell = Cell::new(vec![config.clone()], scheduler, 1);
        let mut link = Link::new(config, 1);
        for _ in 0..2000 {
            assert!(cell.enqueue(Time::ZERO, 0, Full).is_ok() && link.enqueue(Time::ZERO, Full).is_ok());
        }
        for _ in 0..2000 {
            let (late, early) = (cell.poll(Time::ZERO + Span::from_secs(60)), link.poll(link.next_wake()));
            let (Poll::Ready((0, late)), Poll::Ready(early)) = (late, early) else { panic!("not delivered") };
            assert_eq!(late.departed_at, slot_start(slot_from(early.departed_at)));
        }
    }
}

/// The slots are the cell's own: repetitions there are those of a link whose packets leave as slots end.
#[test]
fn repetitions_are_those_of_a_link_and_order_is_kept() {
    let harq = Some("fdd, failed=20%".parse().unwrap());
    let config = LinkConfig { queue: QueueLimit::Unlimited.into(), harq, ..constant(12.0) };
    let mut cell = Cell::new(vec![config.clone()], Scheduler::RoundRobin, 1);
    let mut link = Link::new(config, 1);
    for _ in 0..20_000 {
        assert!(cell.enqueue(Time::ZERO, 0, Full).is_ok() && link.enqueue(Time::ZERO, Full).is_ok());
    }
    let mut arrived = Vec::new();
    while let (Poll::Ready((0, one)), Poll::Ready(other)) =
        (cell.poll(Time::ZERO + Span::from_secs(60)), link.poll(link.next_wake()))
    {
        assert_eq!(one, other);
        arrived.push(one.arrived_at.since(one.departed_at));
    }
    assert_eq!(arrived.len(), 20_000);
    assert!(arrived.iter().any(|late| *late > Span::from_millis(17)));
}

#[test]
fn a_silent_phone_of_a_cell_asks_first_and_is_not_busy_meanwhile() {
    let access = Some("request=20ms".parse().unwrap());
    let mut cell = Cell::new(vec![LinkConfig { access, ..constant(120.0) }], Scheduler::RoundRobin, 1);
    let (mut waits, mut sum) = (Vec::new(), Span::ZERO);
    for number in 0..1_000 {
        assert!(cell.enqueue(Time::ZERO + Span::from_micros(200_700 * number), 0, Full).is_ok());
        let Poll::Ready((0, one)) = cell.poll(Time::ZERO + Span::from_micros(200_700 * number + 100_000))
        else {
            panic!("not delivered")
        };
        waits.push(one.departed_at.since(one.queued_at));
        sum += *waits.last().unwrap();
    }
    let mean = sum.as_millis_f64() / waits.len() as f64;
    // Half a cycle, half a slot until the next one begins, and that slot.
    assert!((mean - 11.5).abs() < 0.5, "{mean} ms");
    let busy = cell.counters(Time::ZERO + Span::from_secs(300), 0).busy;
    assert!(busy < Span::from_millis(1_000), "{busy}");
}

#[test]
fn a_packet_that_comes_within_a_slot_waits_for_the_next() {
    let mut cell = Cell::new(vec![constant(120.0)], Scheduler::RoundRobin, 1);
    assert!(cell.enqueue(Time::ZERO + Span::from_micros(300), 0, Full).is_ok());
    assert_eq!(cell.next_wake(), Time::ZERO + Span::from_millis(2));
    let wake = Time::ZERO + Span::from_millis(12);
    assert_eq!(cell.poll(Time::ZERO + Span::from_millis(2)), Poll::Wake(wake));
    assert!(matches!(cell.poll(wake), Poll::Ready((0, delivery)) if delivery.arrived_at == wake));
    assert_eq!((cell.poll(wake), cell.backlog(0)), (Poll::Idle, (0, Bytes::ZERO)));
}

#[test]
fn an_outage_is_slept_through() {
    let twelve = Rate::from_mbit_per_sec(12.0);
    let steps = vec![(Span::from_secs(3600), Rate::ZERO), (Span::from_millis(10), twelve)];
    let capacity = Capacity::from_steps(steps).unwrap();
    let mut cell = Cell::new(vec![config(capacity)], Scheduler::PROPORTIONAL_FAIR, 1);
    assert!(cell.enqueue(Time::ZERO, 0, Full).is_ok());
    assert_eq!(cell.next_wake(), Time::ZERO + Span::from_secs(3600) + Span::from_millis(1));
}

#[test]
fn each_discipline_works_on_the_queue_of_its_user_and_tells_of_its_drops() {
    let limit = QueueLimit::Packets(3);
    let users =
        vec![constant(12.0), LinkConfig { queue: Queue::DropHead(DropHead { limit }), ..constant(12.0) }];
    let mut cell = Cell::new(users, Scheduler::RoundRobin, 1);
    for _ in 0..5 {
        assert!(cell.enqueue(Time::ZERO, 1, Full).is_ok());
    }
    // Nothing is in service before a slot begins: the two oldest are dropped, and the driver gets the drops at once.
    assert_eq!((cell.backlog(1).0, cell.next_wake()), (3, Time::ZERO));
    let dropped = Dropped { packet: Full, at: Time::ZERO, reason: DropReason::QueueHead };
    assert_eq!(cell.poll(Time::ZERO), Poll::Dropped((1, dropped)));
    assert_eq!(cell.poll(Time::ZERO), Poll::Dropped((1, dropped)));
    assert_eq!(cell.poll(Time::ZERO), Poll::Wake(Time::ZERO + Span::from_millis(1)));
    let mut delivered = 0;
    while cell.next_wake() < Time::NEVER {
        delivered += usize::from(matches!(cell.poll(cell.next_wake()), Poll::Ready((1, _))));
    }
    assert_eq!(delivered, 3);
}

#[test]
fn waking_late_by_a_span_misses_no_later_arrival_of_that_span() {
    let mut cell = Cell::new(vec![constant(12.0)], Scheduler::RoundRobin, 1);
    assert_eq!(cell.last_arrival_within(Span::from_millis(3)), Time::NEVER);
    (0..5).for_each(|_| assert!(cell.enqueue(Time::ZERO, 0, Full).is_ok()));
    // All have been carried: arrivals at 11, 12, ... 15 ms.
    assert!(matches!(cell.poll(Time::ZERO + Span::from_millis(6)), Poll::Wake(_)));
    assert_eq!(cell.last_arrival_within(Span::from_micros(2_500)), Time::ZERO + Span::from_millis(13));
}

/// A user's service rate while its queue is busy, in Mbit/s, when each user of a 20-Mbit/s channel sends at this rate.
fn rate_while_busy(users: usize, sent_mbit: f64) -> f64 {
    let mut cell = Cell::new(vec![constant(20.0); users], Scheduler::RoundRobin, 1);
    let gap = Rate::from_mbit_per_sec(sent_mbit).time_for(Bytes::new(1500));
    for packet in 0..(2e9 / gap.as_nanos() as f64) as u64 {
        for user in 0..users {
            cell.enqueue(Time::ZERO + gap * packet, user, Full).unwrap();
        }
    }
    let QueueCounters { served, busy, .. } = cell.counters(Time::ZERO + Span::from_secs(2), 0);
    Rate::from_transfer(served, busy).as_mbit_per_sec()
}

#[test]
fn a_user_that_asks_for_little_is_seen_to_be_served_at_what_it_could_have() {
    for sent in [0.5, 2.0, 8.0, 16.0, 19.0] {
        let rate = rate_while_busy(1, sent);
        assert!((rate / 20.0 - 1.0).abs() < 0.02, "alone at {sent}: {rate}");
    }
    for sent in [0.5, 2.0, 6.0, 9.0] {
        let rate = rate_while_busy(2, sent);
        // Between each one's rate while both are busy, minus the slots that the other fills only in part, and the rate of one
        // alone.
        assert!((10.0 * 0.9..20.4).contains(&rate), "two at {sent}: {rate}");
    }
}
