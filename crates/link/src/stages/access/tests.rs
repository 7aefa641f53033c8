use super::*;
use crate::{Capacity, Delay, Link, LinkConfig, Packet, Poll};
use cellcc_units::{Bytes, Rate};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Full;

impl Packet for Full {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
}

fn micros(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// At 100 Mbit/s: 0.12 ms for a packet.
fn link(access: &str, queue: &str, seed: u64) -> Link<Full> {
    let config = LinkConfig {
        capacity: Arc::new(Capacity::constant(Rate::from_mbit_per_sec(100.0)).unwrap()),
        queue: queue.parse().unwrap(),
        delay: Delay::constant(Span::from_millis(17)),
        access: (!access.is_empty()).then(|| access.parse().unwrap()),
        ..LinkConfig::transparent()
    };
    Link::new(config, seed)
}

/// How long packets that come at these times waited for the end of their service.
fn waits(mut link: Link<Full>, times: impl IntoIterator<Item = Time>) -> Vec<Span> {
    times.into_iter().for_each(|at| link.enqueue(at, Full).expect("there is room"));
    let mut waits = Vec::new();
    while let Poll::Ready(delivery) = link.poll(Time::ZERO + Span::from_secs(10_000)) {
        waits.push(delivery.departed_at.since(delivery.queued_at));
    }
    waits
}

#[test]
fn grants_go_on_while_data_flow_and_for_a_while_after() {
    let every = |gap: u64| (0..100).map(move |number| micros(gap * number));
    // The first finds the phone silent; packets within 10 ms of the last departure do not wait for a grant.
    let flowing = waits(link("request=20ms", "unlimited", 1), every(9_000));
    assert!(flowing[5..].iter().all(|wait| *wait == Span::from_micros(120)), "{flowing:?}");
    let silent = waits(link("request=20ms, stays=5ms", "unlimited", 1), every(100_300));
    assert!(silent.iter().filter(|wait| **wait > Span::from_millis(1)).count() > 90);
}

/// Recorded on 5G SA and NSA: 12 ms above the smallest in the median, quartiles 8 and 17. So access explains most of the
/// median, and nothing of the tail.
#[test]
fn a_ping_waits_evenly_up_to_the_cycle_of_requests() {
    let pings = (0..4_000).map(|number| micros(200_700 * number));
    let mut waits = waits(link("request=20ms", "unlimited", 5), pings);
    waits.sort();
    let above = |share: f64| waits[(share * 3_999.0) as usize].saturating_sub(waits[0]).as_millis_f64();
    assert!((above(0.5) - 10.0).abs() < 1.0, "{}", above(0.5));
    assert!((above(0.25) - 5.0).abs() < 1.0 && (above(0.75) - 15.0).abs() < 1.0);
    assert!(above(1.0) <= 20.0);
}

#[test]
fn a_longer_silence_costs_the_wake_up_too() {
    let asleep = |gap_ms: u64| {
        let times = (0..200).map(|number| micros(gap_ms * 1_000 * number + 77 * number));
        let waits = waits(link("request=20ms, wake=15ms", "unlimited", 1), times);
        // But the first, which finds the phone asleep anyway.
        waits[1..].iter().map(|wait| wait.as_millis_f64()).sum::<f64>() / 199.0
    };
    let (short, long) = (asleep(700), asleep(2_000));
    assert!((long - short - 15.0).abs() < 2.5, "{short} ms, {long} ms");
}

#[test]
fn what_comes_while_the_phone_asks_queues_behind_and_order_is_kept() {
    let times = [0, 100_000, 100_500, 101_000].map(micros);
    let waited = waits(link("request=40ms", "unlimited", 2), times);
    let departed: Vec<Time> = times.iter().zip(&waited).map(|(at, wait)| *at + *wait).collect();
    assert!(departed.is_sorted());
    assert!(waited[1] > Span::from_millis(2), "{waited:?}");
    assert_eq!(departed[3].since(departed[2]), Span::from_micros(120));
}

#[test]
fn a_bulk_upload_loses_less_than_a_hundredth() {
    let carried = |access| {
        let mut link = link(access, "50pkt", 1);
        for step in 0..100_000 {
            while link.enqueue(micros(step * 100), Full).is_ok() {}
            while let Poll::Ready(_) = link.poll(micros(step * 100)) {}
        }
        link.counters(micros(10_000_000)).served.as_f64()
    };
    assert!(carried("request=20ms") > 0.99 * carried(""));
}

#[test]
fn a_phone_that_waits_for_its_grant_is_not_busy() {
    for queue in ["unlimited", "droptail(unlimited, mark=1h)"] {
        let mut link = link("request=40ms", queue, 2);
        let (service, mut waiting) = (Span::from_micros(120), 0);
        for number in 0..10 {
            let at = micros(207_000 * number);
            link.enqueue(at, Full).expect("there is room");
            let soon = link.counters(at + Span::from_millis(1));
            waiting += usize::from(!soon.backlog.is_zero() && soon.busy == service * number);
        }
        assert!(waiting >= 8, "{waiting}");
        assert_eq!(link.counters(micros(2_070_000)).busy, service * 10);
    }
}

#[test]
fn what_is_written_reads_back_and_the_rest_is_refused() {
    for text in ["request=20ms", "request=40ms, stays=0s", "wake=15ms, wakes_after=200ms"] {
        let access: Access = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(access.to_string().parse(), Ok(access), "{access}");
    }
    assert_eq!(Access::DEFAULT.to_string(), "request=20ms");
    for text in ["", "20ms", "request=0ms", "request=20", "wakes_after=2s", "wake=0s", "cycle=20ms"] {
        assert!(text.parse::<Access>().is_err(), "{text}");
    }
}
