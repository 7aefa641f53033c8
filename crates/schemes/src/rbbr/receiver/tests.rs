use super::*;
use crate::testing::CONTEXT;
use cellcc_control::Ecn;
use proptest::prelude::*;

const PACKET: Bytes = Bytes::new(1500);

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn signal(estimation: Estimation, epoch: u32) -> Option<RateSignal> {
    Some(RateSignal { estimation, epoch })
}

/// A receiver-side component, and the arrivals and ACKs of a test.
struct Bench {
    receiver: Box<dyn ReceiverComponent>,
    number: u64,
}

impl Bench {
    fn new(scheme: &str) -> Self {
        let scheme = crate::registry().parse(scheme).expect("a known scheme");
        Self { receiver: scheme.build_receiver(&CONTEXT).expect("it has one"), number: 0 }
    }

    fn arrives(&mut self, now: Time, signal: Option<RateSignal>) {
        if let Some(signal) = signal {
            self.receiver.on_signal(&signal.encode());
        }
        self.receiver.on_packet(&Arrival::new(now, self.number, PACKET, Ecn::NotEct));
        self.number += 1;
    }

    /// A packet per millisecond, 12 Mbit/s, for these milliseconds.
    fn arrive(&mut self, ms: impl Iterator<Item = u64>) {
        ms.for_each(|ms| self.arrives(at(ms), None));
    }

    fn feedback(&mut self, ms: u64) -> RateFeedback {
        let message = self.receiver.feedback(at(ms)).expect("feedback");
        RateFeedback::decode(&message).expect("its own")
    }

    fn mbit(&mut self, ms: u64) -> Option<f64> {
        self.feedback(ms).rate.map(Rate::as_mbit_per_sec)
    }
}

#[test]
fn nothing_is_estimated_until_the_sender_says_so() {
    let mut bench = Bench::new("rbbr");
    bench.arrive(0..50);
    assert_eq!(bench.mbit(50), None);
    bench.arrives(at(50), signal(Estimation::Run, 1));
    bench.arrive(51..61);
    assert_eq!(bench.mbit(61), Some(12.0));
}

#[test]
fn what_arrives_while_suspended_leaves_no_trace() {
    let mut bench = Bench::new("rbbr(filter=none)");
    bench.arrives(at(0), signal(Estimation::Run, 1));
    bench.arrive(1..36);
    assert_eq!(bench.mbit(36), Some(12.0));
    // Five packets of an open interval, then a trickle, then full speed again.
    bench.arrives(at(36), signal(Estimation::Suspend, 2));
    for ms in (40..300).step_by(10) {
        bench.arrives(at(ms), None);
    }
    let frozen = bench.feedback(300);
    assert_eq!((frozen.rate.map(Rate::as_mbit_per_sec), frozen.frozen), (Some(12.0), true));
    bench.arrives(at(301), signal(Estimation::Run, 3));
    bench.arrive(302..312);
    let resumed = bench.feedback(312);
    assert_eq!((resumed.rate.map(Rate::as_mbit_per_sec), resumed.frozen), (Some(12.0), false));
    assert_eq!(resumed.interval, Span::from_millis(10));
}

#[test]
fn a_signal_of_other_bytes_is_refused() {
    let mut bench = Bench::new("rbbr");
    bench.arrives(at(0), signal(Estimation::Run, 1));
    assert_eq!(bench.receiver.on_signal(&Signal::new(b"suspend").expect("short")), Verdict::Malformed);
    assert!(!bench.feedback(1).frozen);
}

#[test]
fn an_older_signal_that_arrives_late_changes_nothing() {
    let mut bench = Bench::new("rbbr");
    bench.arrives(at(0), signal(Estimation::Run, u32::MAX));
    bench.arrives(at(1), signal(Estimation::Suspend, 0));
    assert!(bench.feedback(1).frozen, "the count of changes goes on from zero");
    bench.arrives(at(2), signal(Estimation::Run, u32::MAX));
    assert!(bench.feedback(2).frozen);
}

#[test]
fn a_lower_bound_may_only_raise_the_estimate() {
    let mut bench = Bench::new("rbbr(filter=none)");
    bench.arrives(at(0), signal(Estimation::Run, 1));
    bench.arrive(1..11);
    bench.arrives(at(11), signal(Estimation::RaiseOnly, 2));
    for ms in (13..60).step_by(2) {
        bench.arrives(at(ms), None);
    }
    assert_eq!(bench.mbit(60), Some(12.0), "6 Mbit/s do not lower it");
    for half_ms in 120..200 {
        bench.arrives(Time::ZERO + Span::from_micros(500 * half_ms), None);
    }
    assert_eq!(bench.mbit(100), Some(24.0), "24 Mbit/s raise it");
}

/// Previously the innovations of lower bounds, all of one sign and alike, drove the filter's gain down to 0.0035, and a path whose
/// rate had risen a thousandfold was filled only 18.6 s later.
#[test]
fn lower_bounds_that_keep_rising_do_not_wear_the_filter_out() {
    let mut bench = Bench::new("rbbr");
    bench.arrives(at(0), signal(Estimation::Run, 1));
    bench.arrive(1..100);
    bench.arrives(at(100), signal(Estimation::RaiseOnly, 2));
    // A sender that probes with a quarter more than the estimate, for two seconds.
    let (mut now, end) = (at(100), at(2100));
    while now < end {
        let estimate = Rate::from_mbit_per_sec(bench.mbit(100).expect("samples came"));
        now += estimate.mul_f64(1.25).time_for(PACKET);
        bench.arrives(now, None);
    }
    let risen = bench.mbit(2100).expect("samples came");
    assert!(risen > 1000.0, "{risen} Mbit/s, from 12");
}

#[test]
fn feedback_goes_with_every_so_many_acks_or_by_the_clock() {
    let mut by_acks = Bench::new("rbbr(feedback-every=4)");
    let sent: Vec<_> = (0..12).filter(|&ms| by_acks.receiver.feedback(at(ms)).is_some()).collect();
    assert_eq!(sent, [3, 7, 11]);

    let mut by_clock = Bench::new("rbbr(feedback-interval=10ms)");
    assert_eq!(by_clock.receiver.next_timer(), None, "a silent flow has nothing to tell");
    by_clock.arrives(at(5), None);
    assert_eq!(by_clock.receiver.next_timer(), Some(at(15)));
    assert_eq!(by_clock.receiver.feedback(at(6)), None, "an ACK before its time carries none");
    assert!(by_clock.receiver.has_urgent_feedback(at(15)), "it leaves although no ACK is due");
    assert!(by_clock.receiver.feedback(at(15)).is_some());
    assert_eq!(by_clock.receiver.next_timer(), None);
}

#[test]
fn feedback_counts_itself_and_the_bytes_received() {
    let mut bench = Bench::new("rbbr");
    bench.arrive(0..3);
    assert_eq!((bench.feedback(3).sequence, bench.feedback(3).sequence), (1, 2));
    assert_eq!(bench.feedback(3).received, PACKET * 3);
}

#[test]
fn where_packets_are_lost_the_spread_of_the_samples_raises_the_estimate() {
    let estimate = |scheme: &str, lose_every: u64| {
        let mut bench = Bench::new(scheme);
        let mut now = Time::ZERO;
        bench.arrives(now, signal(Estimation::Run, 1));
        for packet in 1..2000 {
            // 20 packets at 12 Mbit/s, 20 at 24 Mbit/s, in turn.
            now += Span::from_micros(if packet / 20 % 2 == 0 { 1000 } else { 500 });
            bench.number += u64::from(packet % lose_every == 0);
            bench.arrives(now, None);
        }
        bench.mbit(2000).expect("there is one")
    };
    let plain = estimate("rbbr", u64::MAX);
    assert_eq!(estimate("rbbr", 20), plain);
    assert_eq!(estimate("rbbr(bias=on)", u64::MAX), plain);
    // The samples lie 6 Mbit/s from their mean; the filter follows them part of the way.
    let added = estimate("rbbr(bias=on)", 20) - plain;
    assert!((3.0..9.0).contains(&added), "{added} Mbit/s");
}

#[test]
fn bursts_are_reported_where_asked_for() {
    let burst = |scheme: &str| {
        let mut bench = Bench::new(scheme);
        bench.arrives(at(0), signal(Estimation::Run, 1));
        // 10 packets at once after 10 ms, 30 after 30 ms, in turn: 10 ms hold 5 on average and up to 30.
        for turn in 1..40u64 {
            let count = if turn % 2 == 0 { 30 } else { 10 };
            (0..count).for_each(|_| bench.arrives(at(turn * 20), None));
        }
        bench.feedback(800).burst
    };
    assert_eq!(burst("rbbr"), Bytes::ZERO);
    assert!(burst("rbbr(aggregation=receiver)") > PACKET * 5);
}

proptest! {
    #[test]
    fn no_arrivals_make_a_rate_that_is_none(
        arrivals in prop::collection::vec((0u64..200_000_000, 0u64..40, 0u64..3000, 0u32..9), 1..200),
        filter in prop::sample::select(vec!["kalman", "kalman-literal", "adaptive", "ewma", "none"]),
    ) {
        let mut bench = Bench::new(&format!("rbbr(filter={filter},bias=on,aggregation=receiver)"));
        let mut now = Time::ZERO;
        for (wait, skipped, size, word) in arrivals {
            now += Span::from_nanos(wait);
            let estimation = match word % 3 {
                0 => Estimation::Suspend,
                1 => Estimation::RaiseOnly,
                _ => Estimation::Run,
            };
            if word > 3 {
                bench.receiver.on_signal(&RateSignal { estimation, epoch: word }.encode());
            }
            bench.number += skipped;
            bench.receiver.on_packet(&Arrival::new(now, bench.number, Bytes::new(size), Ecn::NotEct));
            if let Some(feedback) = bench.receiver.feedback(now) {
                let feedback = RateFeedback::decode(&feedback).expect("its own");
                // 40 packets of 3000 bytes at one instant, a millisecond at the least per sample, 5 % for losses.
                prop_assert!(feedback.rate.is_none_or(|rate| rate < Rate::from_mbit_per_sec(1e6)));
            }
        }
    }
}

/// The rates (Mbit/s) of the samples that packets at these times (in ms) give.
fn rates(interval_ms: u64, arrivals_ms: impl IntoIterator<Item = u64>) -> Vec<f64> {
    let mut sampling = Sampling::new(Span::from_millis(interval_ms));
    arrivals_ms
        .into_iter()
        .filter_map(|ms| sampling.on_packet(Time::ZERO + Span::from_millis(ms), PACKET, 0))
        .map(|sample| sample.rate.as_mbit_per_sec())
        .collect()
}

#[test]
fn one_packet_a_millisecond_is_12_mbit_per_second() {
    assert_eq!(rates(10, 0..=30), [12.0, 12.0, 12.0]);
}

#[test]
fn the_time_that_passed_counts_and_not_the_nominal_interval() {
    // Eight packets at once every 16 ms: 6 Mbit/s, whatever the interval.
    let bursts = (0..=40).map(|packet| packet / 8 * 16);
    let rates = rates(10, bursts);
    assert_eq!(rates, [6.0; 5]);
}

#[test]
fn a_slow_link_gets_longer_intervals_and_an_answer_within_100_ms() {
    // A packet per 5 ms: four of them take 20 ms. A packet per 60 ms: two of them take more than 100 ms.
    assert_eq!(rates(10, (0..=8).map(|packet| packet * 5)), [2.4, 2.4]);
    assert_eq!(rates(10, (0..=4).map(|packet| packet * 60)), [0.2, 0.2]);
}

#[test]
fn a_discarded_interval_leaves_no_trace() {
    let mut sampling = Sampling::new(Span::from_millis(10));
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    for ms in 0..9 {
        assert!(sampling.on_packet(at(ms), PACKET, 0).is_none());
    }
    sampling.discard();
    // After a silence that would have spoiled it.
    let samples: Vec<_> = (500..=510).filter_map(|ms| sampling.on_packet(at(ms), PACKET, 0)).collect();
    assert_eq!(samples.len(), 1);
    assert_eq!(samples[0].rate.as_mbit_per_sec(), 12.0);
}

#[test]
fn a_burst_is_what_exceeds_the_estimate_and_is_forgotten_within_two_slots() {
    let mut burst = Burst::default();
    let span = Span::from_millis(10);
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    burst.on_sample(at(10), 3_000_000.0, span, 1_000_000.0);
    assert_eq!(burst.bytes(), Bytes::new(20_000));
    for ms in (20..=600).step_by(10) {
        burst.on_sample(at(ms), 1_000_000.0, span, 1_000_000.0);
        assert!(ms > 320 || burst.bytes() == Bytes::new(20_000), "at {ms} ms");
    }
    burst.on_sample(at(630), 1_000_000.0, span, 1_000_000.0);
    assert_eq!(burst.bytes(), Bytes::ZERO);
}
