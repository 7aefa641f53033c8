use super::fairness::FlowReport;
use crate::testing::Path;
use cellcc_assist::{Estimator, Evidence, Observation};
use cellcc_control::{Advice, AdviceClass, Arrival, Ecn, MinRttParts};
use cellcc_units::{Bytes, Rate, Span};
use proptest::prelude::*;

const PERIOD: Span = Span::from_millis(50);
const RTT: Span = Span::from_millis(20);
/// 20 packets per RTT.
const CAPACITY_MBIT: f64 = 12.0;

/// Advice of so many Mbit/s, 20 ms and one flow. The packet's own millisecond is left out: the flow's own minimum, 21 ms, counts.
pub(super) fn advice(mbit_per_sec: f64) -> Advice {
    let mut advice = Advice::new(Rate::from_mbit_per_sec(mbit_per_sec), AdviceClass::Backlogged, PERIOD);
    advice.min_rtt = Some(MinRttParts { network: RTT, ..MinRttParts::default() });
    advice
}

fn path(scheme: &str) -> Path {
    Path::new(scheme, Rate::from_mbit_per_sec(CAPACITY_MBIT), RTT)
}

/// Advice once a period, for so many periods.
fn run_with(path: &mut Path, advice: &Advice, periods: u32) {
    for _ in 0..periods {
        path.flow.on_advice(path.now, advice);
        path.run_for(PERIOD);
    }
}

fn pacing_mbit(path: &Path) -> Option<f64> {
    path.flow.limits().pacing_rate.map(|rate| rate.as_mbit_per_sec())
}

#[test]
fn natcp_has_two_bdps_paced_at_the_bandwidth_from_the_first_advice_on() {
    let mut path = path("natcp(guard=off)");
    run_with(&mut path, &advice(6.0), 1);
    assert_eq!(path.window(), 20.0);
    assert_eq!(pacing_mbit(&path), Some(6.0));
    run_with(&mut path, &advice(6.0), 20);
    assert!((10.0..=11.0).contains(&path.inflight()), "one BDP of 6 Mbit/s: {}", path.inflight());
}

#[test]
fn losses_change_nothing_while_advice_is_followed() {
    let mut path = path("natcp");
    run_with(&mut path, &advice(CAPACITY_MBIT), 10);
    path.drop_next(5);
    run_with(&mut path, &advice(CAPACITY_MBIT), 2);
    assert_eq!(path.window(), 40.0);
}

#[test]
fn an_outage_leaves_two_packets_until_the_link_is_back() {
    // This link goes on: the guard would find that out.
    let mut path = path("natcp(guard=off)");
    run_with(&mut path, &advice(CAPACITY_MBIT), 10);
    run_with(&mut path, &advice(0.0), 10);
    assert_eq!(path.window(), 2.0);
    assert!(path.inflight() <= 2.0);
    run_with(&mut path, &advice(CAPACITY_MBIT), 1);
    assert_eq!(path.window(), 40.0);
}

#[test]
fn without_any_advice_each_scheme_is_its_base() {
    for (scheme, base) in [
        ("natcp", "cubic"),
        ("nacubic", "cubic"),
        ("nacap", "cubic"),
        ("nacap(base=bbr)", "bbr"),
        ("tg(fallback=vegas)", "vegas"),
        ("nabbr", "bbr(aggregation=off)"),
        ("natcp(fallback=newreno)", "newreno"),
    ] {
        let (mut assisted, mut alone) = (path(scheme).with_queue(30), path(base).with_queue(30));
        for _ in 0..500 {
            assisted.run_for(Span::from_millis(20));
            alone.run_for(Span::from_millis(20));
            assert_eq!(assisted.flow.limits(), alone.flow.limits(), "{scheme} at {}", alone.now);
        }
    }
}

#[test]
fn after_six_periods_without_advice_the_base_goes_on_from_a_sane_window() {
    let mut path = path("natcp").with_queue(100);
    run_with(&mut path, &advice(CAPACITY_MBIT), 100);
    assert_eq!(path.shows("following"), Some(1.0));
    // The last advice is 50 ms old.
    path.run_for(Span::from_millis(249));
    assert_eq!((path.shows("following"), path.window()), (Some(1.0), 40.0));
    path.run_for(Span::from_millis(2));
    assert_eq!((path.shows("following"), pacing_mbit(&path)), (Some(0.0), None));
    // CUBIC saw at most 40 packets in flight, and learns one round late that its window is not the limit.
    assert!((10.0..=80.0).contains(&path.window()), "{}", path.window());
    path.run_for(Span::from_secs(10));
    assert!(path.queued() > 20.0, "CUBIC fills the queue: {}", path.queued());
    run_with(&mut path, &advice(CAPACITY_MBIT), 2);
    assert_eq!((path.shows("following"), path.window()), (Some(1.0), 40.0));
}

#[test]
fn nacubic_is_cubic_under_the_cap() {
    let mut path = path("nacubic").with_queue(100);
    run_with(&mut path, &advice(CAPACITY_MBIT), 10);
    assert!(path.window() <= 42.0);
    for _ in 0..4 {
        path.drop_next(1);
        run_with(&mut path, &advice(CAPACITY_MBIT), 2);
    }
    let after_losses = path.window();
    assert!(after_losses < 35.0, "CUBIC's cuts count: {after_losses}");
    run_with(&mut path, &advice(CAPACITY_MBIT), 200);
    assert!(path.inflight() > 18.0, "and its growth is not starved: {}", path.inflight());
    assert!(path.queued() <= 20.0, "the cap is two BDPs: {}", path.queued());
}

#[test]
fn the_base_does_not_run_away_behind_the_cap() {
    // Half of the bandwidth: the guard would find that out.
    let mut path = path("nacubic(guard=off)").with_queue(1000);
    run_with(&mut path, &advice(6.0), 400);
    // Without advice, CUBIC must not begin with the window of 20 s of unused slow start.
    path.run_for(Span::from_millis(300));
    assert_eq!(path.shows("following"), Some(0.0));
    assert!(path.window() < 100.0, "{}", path.window());
}

#[test]
fn flows_of_one_user_share_the_window_as_the_network_or_the_user_counts() {
    let mut three = advice(CAPACITY_MBIT);
    three.flows = 3;
    for (scheme, reported, window) in [
        ("natcp", None, 13.0),
        ("natcp(fairness=report)", None, 40.0),
        ("natcp(fairness=report)", Some(4), 10.0),
        ("natcp(fairness=none)", Some(4), 40.0),
        ("nacap(base=fixed-window(window=100pkt),fairness=report)", Some(2), 20.0),
    ] {
        let mut path = path(scheme);
        run_with(&mut path, &three, 2);
        if let Some(flows) = reported {
            path.flow.on_feedback(path.now, &FlowReport { change: 1, flows }.encode(), path.flow.sent());
        }
        assert_eq!(path.window().floor(), window, "{scheme}");
        assert_eq!(pacing_mbit(&path), Some(CAPACITY_MBIT), "{scheme}: the paper divides the window only");
    }
}

#[test]
fn the_user_reports_its_flows_with_every_acknowledgement() {
    let scheme = crate::registry().parse("natcp(fairness=report)").expect("known");
    let mut receiver = scheme.build_receiver(&crate::testing::CONTEXT).expect("it has one");
    let now = cellcc_units::Time::ZERO;
    assert_eq!(receiver.feedback(now), Some(FlowReport::FIRST.encode()));
    for _ in 0..2 {
        receiver.on_user_flows(now, 3);
        assert_eq!(receiver.feedback(now), Some(FlowReport { change: 1, flows: 3 }.encode()));
    }
    let silent = crate::registry().parse("natcp").expect("known");
    assert!(silent.build_receiver(&crate::testing::CONTEXT).is_none());
}

#[test]
fn tg_takes_the_rtt_that_the_sender_has_measured() {
    let mut path = path("tg(rtt=min,guard=off)");
    let wrong = MinRttParts { network: Span::from_secs(1), ..MinRttParts::default() };
    let mut report = advice(6.0);
    report.min_rtt = Some(wrong);
    run_with(&mut path, &report, 20);
    // 21 ms with the transmission of a packet, at 6 Mbit/s, twice.
    assert!((20.0..=22.0).contains(&path.window()), "{}", path.window());
}

#[test]
fn a_pacing_gain_below_one_drains_the_queue() {
    let mut path = path("natcp(pacing-gain=0.95)");
    run_with(&mut path, &advice(2.0 * CAPACITY_MBIT), 10);
    assert!(path.queued() > 5.0);
    run_with(&mut path, &advice(CAPACITY_MBIT), 100);
    assert!(path.queued() <= 1.0, "{}", path.queued());
}

#[test]
fn a_base_that_needs_more_than_its_sender_is_refused_by_name() {
    for (text, message) in [
        (
            "nacap(base=natcp)",
            "scheme `nacap`: `base=natcp` is refused; `natcp` itself needs the network's advice",
        ),
        ("natcp(fallback=nacap(base=cubic))", "`nacap` itself needs the network's advice"),
        ("nacap(base=cubicle)", "unknown scheme `cubicle`"),
        ("nacap(base=cubic(hystart=yes))", "scheme `cubic`: `hystart=yes` is refused"),
    ] {
        let error = crate::registry().parse(text).expect_err("refused").to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
    let scheme = crate::registry().parse("nacap( base = bbr( pacing = off ) , alpha=1)").expect("known");
    assert_eq!(scheme.text(), "nacap(base=bbr(pacing=off),alpha=1)");
}

#[test]
fn a_scheme_within_a_scheme_a_hundred_thousand_times_is_refused_without_effort() {
    let text = "nacap(base=".repeat(100_000) + "cubic" + &")".repeat(100_000);
    assert!(crate::registry().parse(&text).is_err());
}

#[test]
fn advice_of_ten_times_the_bandwidth_is_found_out_and_left() {
    for queue in [5, 100, 10_000] {
        let mut path = path("natcp(fallback=newreno)").with_queue(queue);
        run_with(&mut path, &advice(10.0 * CAPACITY_MBIT), 200);
        assert_eq!(path.shows("following"), Some(0.0), "with a queue of {queue} packets");
    }
}

#[test]
fn advice_of_a_tenth_of_the_bandwidth_is_found_out_and_left() {
    let mut path = path("natcp").with_queue(100);
    run_with(&mut path, &advice(0.1 * CAPACITY_MBIT), 20 * 20);
    assert_eq!(path.shows("following"), Some(0.0));
    assert!(path.inflight() > 20.0, "CUBIC fills the link");
}

#[test]
fn after_an_outage_a_probe_lasts_no_longer_than_a_round() {
    for scheme in ["natcp", "nacap(base=fixed-window(window=1000pkt))", "tg"] {
        let mut path = path(scheme).with_queue(10_000);
        // No queue for nine seconds: a probe is due at ten.
        run_with(&mut path, &advice(11.0), 180);
        path.set_rtt(Span::from_secs(5));
        run_with(&mut path, &advice(0.0), 20);
        path.set_rtt(RTT);
        run_with(&mut path, &advice(0.0), 80);
        let (mut probing_millis, mut most_queued) = (0, 0.0_f64);
        for _ in 0..100 {
            path.flow.on_advice(path.now, &advice(11.0));
            for _ in 0..50 {
                path.run_for(Span::from_millis(1));
                probing_millis += u32::from(pacing_mbit(&path).is_some_and(|rate| rate > 15.0));
                most_queued = most_queued.max(path.queued());
            }
        }
        // The RTT of a round without a queue is one and a half times the smallest, 21 ms, at most; and then an ACK has to come.
        assert!((20..=33).contains(&probing_millis), "{scheme}: {probing_millis} ms");
        // 10 Mbit/s too much for that long are 27 packets.
        assert!(most_queued <= 28.0, "{scheme}: {most_queued} packets");
    }
}

#[test]
fn distrust_ends_and_comes_back_for_twice_as_long() {
    // With a base that keeps the queue full, distrust has no end: the advice stays refuted.
    let mut path = path("natcp(fallback=vegas)").with_queue(100);
    let wrong = advice(10.0 * CAPACITY_MBIT);
    let mut seconds_alone = Vec::new();
    for _ in 0..3 {
        let follows = |path: &Path| path.shows("following") == Some(1.0);
        run_with(&mut path, &wrong, 1);
        while follows(&path) {
            run_with(&mut path, &wrong, 1);
        }
        let since = path.now;
        while !follows(&path) {
            run_with(&mut path, &wrong, 1);
        }
        seconds_alone.push(path.now.since(since).as_secs_f64().round());
    }
    assert_eq!(seconds_alone, [10.0, 20.0, 40.0]);
}

#[test]
fn right_advice_is_never_left() {
    for scheme in ["natcp", "nacubic", "natcp(pacing-gain=0.95)", "tg", "nacap(base=bbr)", "nabbr"] {
        let mut path = path(scheme).with_queue(100);
        // A link that changes under advice that is one period late.
        for second in 0u32..120 {
            let mbit = [12.0, 4.0, 12.0, 30.0, 1.0, 12.0][second as usize % 6];
            path.set_rate(Rate::from_mbit_per_sec(mbit));
            path.run_for(PERIOD);
            for _ in 0..19 {
                run_with(&mut path, &advice(mbit), 1);
                assert_eq!(path.shows("following"), Some(1.0), "{scheme} at {}", path.now);
            }
        }
    }
}

/// Runs `path` for a period, and tells what the base station makes of it.
fn run_and_report(path: &mut Path, estimator: &mut Estimator) -> f64 {
    let before = path.delivered();
    path.run_for(PERIOD);
    let packets = path.delivered() - before;
    let served = Bytes::new(1500).mul_f64(packets);
    let estimate = estimator.estimate(&Observation {
        period: PERIOD,
        served,
        busy: Rate::from_mbit_per_sec(CAPACITY_MBIT).time_for(served).min(PERIOD),
        backlog: Bytes::new(1500).mul_f64(path.queued()),
        channel: None,
        packet: Bytes::new(1500),
        evidence: Evidence::Queue,
    });
    let mut advice = advice(0.0);
    (advice.bandwidth, advice.class) = (estimate.bandwidth, estimate.class);
    path.flow.on_advice(path.now, &advice);
    packets
}

#[test]
fn what_an_application_limited_flow_achieves_is_not_taken_for_the_capacity() {
    for scheme in ["natcp", "nacubic", "tg", "nabbr"] {
        let mut path = path(scheme).with_queue(100);
        let mut estimator = Estimator::new();
        // 0.48 Mbit/s for ten seconds: the reports must not follow it down.
        for _ in 0..200 {
            path.set_app_packets(2);
            run_and_report(&mut path, &mut estimator);
        }
        path.set_app_packets(u64::MAX);
        let rates: Vec<f64> = (0..10).map(|_| run_and_report(&mut path, &mut estimator)).collect();
        // 50 packets a period.
        assert!(rates[9] >= 45.0, "{scheme}: {rates:?}");
        assert_eq!(path.shows("following"), Some(1.0), "{scheme}");
    }
}

#[test]
fn a_report_that_comes_twice_counts_once() {
    let mut path = path("natcp");
    run_with(&mut path, &advice(CAPACITY_MBIT), 10);
    path.run_for(Span::from_secs(1));
    for age in [0, 1] {
        path.run_for(Span::from_millis(age));
        path.flow.on_advice(path.now, &advice(CAPACITY_MBIT).with_age(Span::from_millis(age)));
        assert_eq!(
            path.shows("following"),
            Some(0.0),
            "after a time-out two reports are needed, not one twice"
        );
    }
}

#[test]
fn advice_of_a_tenth_or_of_nothing_is_left_within_five_seconds_and_not_followed_again() {
    // Under a cap of half of the bandwidth CUBIC's own window holds the flow back, which shows nothing. So does BBR's under
    // any: it learns the capped rate.
    for (scheme, factors) in [
        ("natcp", &[0.0, 0.1, 0.3, 0.5][..]),
        ("tg", &[0.0, 0.1, 0.3, 0.5]),
        ("nabbr", &[0.0, 0.1, 0.3, 0.5]),
        ("nacubic", &[0.0, 0.1, 0.3]),
    ] {
        for &factor in factors {
            let mut path = path(scheme).with_queue(100);
            run_with(&mut path, &advice(CAPACITY_MBIT), 100);
            run_with(&mut path, &advice(factor * CAPACITY_MBIT), 100);
            assert_eq!(path.shows("following"), Some(0.0), "{scheme}, {factor} of the capacity");
            run_with(&mut path, &advice(factor * CAPACITY_MBIT), 1200);
            assert_eq!(
                path.shows("following"),
                Some(0.0),
                "{scheme}, {factor} of the capacity, a minute later"
            );
            run_with(&mut path, &advice(CAPACITY_MBIT), 250);
            assert_eq!(path.shows("following"), Some(1.0), "{scheme}: right advice is followed again");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_was_reported_right_advice_is_followed_in_the_end(
        scheme in prop::sample::select(vec!["natcp", "nacubic", "tg", "nabbr"]),
        past in prop::collection::vec(
            (0.05..50.0, prop::option::of(0.0..100.0), 0u64..4, 0u64..3, prop::option::of(0u64..50)), 0..40,
        ),
    ) {
        let mut path = path(scheme).with_queue(50);
        for (capacity, advised, flows, lost, sends) in past {
            path.set_rate(Rate::from_mbit_per_sec(capacity));
            path.set_app_packets(sends.unwrap_or(u64::MAX));
            path.drop_next(lost);
            for _ in 0..10 {
                if let Some(mbit) = advised {
                    let mut report = advice(mbit);
                    report.flows = flows as u32;
                    path.flow.on_advice(path.now, &report);
                }
                path.run_for(PERIOD);
            }
        }
        path.set_app_packets(u64::MAX);
        path.set_rate(Rate::from_mbit_per_sec(1.2));
        // Five minutes, the longest distrust, and the time of the previous queue.
        run_with(&mut path, &advice(1.2), 20 * 310);
        prop_assert_eq!(path.shows("following"), Some(1.0));
    }
}

#[test]
fn regulated_acks_leave_at_the_flows_share_of_what_arrives_for_its_user() {
    let scheme = crate::registry().parse("natcp(fairness=acks)").expect("known");
    let mut receiver = scheme.build_receiver(&crate::testing::CONTEXT).expect("it has one");
    let packet = Bytes::new(1500);
    let (mut released, mut arrived) = (0u64, Bytes::ZERO);
    // Two flows of 1000 packets/s together, three quarters of them this one's.
    receiver.on_user_flows(cellcc_units::Time::ZERO, 2);
    for millis in 0..4000u64 {
        let now = cellcc_units::Time::ZERO + Span::from_millis(millis);
        arrived += packet;
        receiver.on_user_arrivals(now, arrived);
        if millis % 4 != 0 {
            receiver.on_packet(&Arrival::new(now, millis, packet, Ecn::NotEct));
        }
        while released < millis * 3 / 4 && receiver.release_at(now, packet) <= now {
            receiver.on_released(now, packet);
            released += 1;
        }
    }
    assert!((1950..=2150).contains(&released), "half of 4000: {released}");
}
