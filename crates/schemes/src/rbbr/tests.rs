use super::wire::RateFeedback;
use super::*;
use crate::testing::{BDP, Path, RTT, path};
use cellcc_control::{Feedback, Observed, Verdict};
use cellcc_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

const PROBE_BW: f64 = 2.0;
const PROBE_RTT: f64 = 3.0;

fn shows(path: &Path, name: &str) -> f64 {
    path.shows(name).unwrap_or_else(|| panic!("{name} is shown"))
}

#[test]
fn the_receiver_is_silent_through_startup_and_drain_and_measures_from_then_on() {
    let mut path = path("rbbr(profile=tperf)");
    path.run_until(|path| shows(path, "state") == PROBE_BW);
    assert_eq!(path.shows("x_hat"), None);
    assert_eq!(shows(&path, "uses_feedback"), 0.0);
    assert_eq!(shows(&path, "frozen"), 1.0);
    // The signal takes a round to be there, and the first sample 10 ms.
    path.run_for(RTT * 3);
    assert_eq!(shows(&path, "frozen"), 0.0);
    assert_eq!(shows(&path, "uses_feedback"), 1.0);
    assert!((shows(&path, "x_hat") / 120.0 - 1.0).abs() < 0.01, "{}", shows(&path, "x_hat"));
}

#[test]
fn two_bdps_are_in_flight_without_pacing_and_one_when_paced() {
    let mut window_limited = path("rbbr(profile=tperf)");
    assert_eq!(window_limited.flow.limits().pacing_rate, None);
    window_limited.run_for(Span::from_secs(5));
    let share = window_limited.inflight() / BDP;
    // And three send quanta, 30 packets.
    assert!((1.95..2.3).contains(&share), "{share} BDP in flight");
    let mut paced = path("rbbr(profile=paced)");
    assert!(paced.flow.limits().pacing_rate.is_some());
    paced.run_for(Span::from_secs(5));
    let share = paced.inflight() / BDP;
    assert!((0.7..1.3).contains(&share), "{share} BDP in flight");
}

#[test]
fn the_papers_profile_paces_and_says_that_its_name_meant_another_sender() {
    for (scheme, paces, notes) in
        [("rbbr", true, 0), ("rbbr(profile=paper)", true, 1), ("rbbr(profile=tperf)", false, 0)]
    {
        let path = path(scheme);
        let mut observed = Observed::default();
        path.flow.controller().observe(&mut observed);
        assert_eq!(
            (path.flow.limits().pacing_rate.is_some(), observed.notes.len()),
            (paces, notes),
            "{scheme}"
        );
    }
}

#[test]
fn probe_rtt_does_not_pull_the_estimate_down() {
    for scheme in ["rbbr(profile=tperf)", "rbbr(profile=paced)", "rbbr(profile=tperf,filter=none)"] {
        let mut path = path(scheme);
        path.run_for(Span::from_secs(3));
        path.set_rtt(Span::from_millis(50));
        path.run_until(|path| shows(path, "state") == PROBE_RTT);
        let (before, began) = (shows(&path, "x_hat"), path.now);
        path.run_until(|path| path.window() == 4.0);
        let announced = path.now.since(began);
        assert!(announced < Span::from_millis(1), "one packet is all that leaves before: {announced}");
        let mut least = f64::MAX;
        for _ in 0..400 {
            path.run_for(Span::from_millis(1));
            least = least.min(shows(&path, "x_hat"));
        }
        assert_eq!(shows(&path, "state"), PROBE_BW, "it is over");
        assert!(least > 0.97 * before, "{scheme}: {least} after {before} Mbit/s");
    }
}

#[test]
fn without_the_signal_probe_rtt_would_pull_the_estimate_down() {
    // Shows that the test above can fail: the same path, but all signals are lost.
    let mut path = path("rbbr(profile=tperf)");
    path.run_for(Span::from_secs(3));
    path.set_rtt(Span::from_millis(50));
    path.run_until(|path| shows(path, "state") == PROBE_RTT);
    path.lose_signals();
    let before = shows(&path, "x_hat");
    path.run_for(Span::from_millis(250));
    assert!(shows(&path, "x_hat") < 0.5 * before, "{} after {before}", shows(&path, "x_hat"));
}

#[test]
fn a_receiver_that_falls_silent_leaves_the_sender_to_its_own_filter() {
    let mut path = path("rbbr(profile=tperf)");
    path.run_for(Span::from_secs(3));
    assert_eq!(shows(&path, "uses_feedback"), 1.0);
    path.receiver = None;
    path.run_for(Span::from_millis(400));
    assert_eq!(shows(&path, "uses_feedback"), 1.0, "not yet stale");
    path.run_for(Span::from_millis(200));
    assert_eq!(shows(&path, "uses_feedback"), 0.0);
    path.run_for(Span::from_secs(2));
    let estimate = shows(&path, "btl_bw");
    assert!((estimate / 120.0 - 1.0).abs() < 0.01, "{estimate} Mbit/s");
}

#[test]
fn a_pause_of_the_application_suspends_the_estimation_and_keeps_the_estimate() {
    let mut path = path("rbbr(profile=tperf)");
    path.run_for(Span::from_secs(3));
    let estimate = shows(&path, "x_hat");
    path.set_app_packets(0);
    path.run_for(Span::from_secs(2));
    for _ in 0..50 {
        path.set_app_packets(8);
        path.run_for(RTT);
    }
    assert_eq!(shows(&path, "frozen"), 1.0);
    assert_eq!(shows(&path, "x_hat"), estimate);
    path.set_app_packets(u64::MAX);
    path.run_for(RTT * 4);
    assert_eq!(shows(&path, "frozen"), 0.0);
    assert!((shows(&path, "x_hat") / estimate - 1.0).abs() < 0.03, "{}", shows(&path, "x_hat"));
}

#[test]
fn the_estimate_follows_a_rate_that_falls_within_half_a_second() {
    let mut path = path("rbbr(profile=tperf)");
    path.run_for(Span::from_secs(3));
    path.set_rate(Rate::from_mbit_per_sec(24.0));
    path.run_for(Span::from_millis(500));
    assert!((shows(&path, "x_hat") / 24.0 - 1.0).abs() < 0.05, "{}", shows(&path, "x_hat"));
    // BBR's ten rounds of a queue that has grown five times as long take longer.
    path.run_for(Span::from_secs(1));
    assert!(path.inflight() < 2.4 * BDP / 5.0, "{} packets in flight", path.inflight());
}

#[test]
fn a_greedy_receiver_gains_a_quarter_and_no_more() {
    fn claiming(factor: f64, feedback: Feedback) -> Feedback {
        let feedback = RateFeedback::decode(&feedback).expect("its own");
        RateFeedback { rate: feedback.rate.map(|rate| rate.mul_f64(factor)), ..feedback }.encode()
    }
    type Lie = fn(Feedback) -> Feedback;
    let lies: [(f64, f64, Lie); 2] =
        [(4.0, 1.25, |feedback| claiming(4.0, feedback)), (1.1, 1.1, |feedback| claiming(1.1, feedback))];
    for (claim, bound, lie) in lies {
        let mut path = path("rbbr(profile=tperf)");
        path.run_for(Span::from_secs(3));
        path.receiver_lies(lie);
        path.run_for(Span::from_secs(2));
        let gained = shows(&path, "btl_bw") / 120.0;
        assert!((gained / bound - 1.0).abs() < 0.01, "claiming {claim}: {gained}");
    }
}

#[test]
fn a_receiver_that_got_more_than_was_sent_is_not_believed() {
    let mut path = path("rbbr(profile=tperf)");
    path.run_for(Span::from_secs(3));
    path.receiver_lies(|feedback| {
        let feedback = RateFeedback::decode(&feedback).expect("its own");
        RateFeedback { received: feedback.received * 2, ..feedback }.encode()
    });
    path.run_for(Span::from_secs(1));
    assert_eq!(shows(&path, "uses_feedback"), 0.0);
}

#[test]
fn a_rate_that_rises_from_nearly_nothing_is_found() {
    for scheme in [
        "rbbr(profile=tperf)",
        "rbbr(profile=paced)",
        "rbbr(profile=tperf,filter=none)",
        "rbbr(profile=tperf,filter=kalman-literal)",
    ] {
        let mut path = Path::new(scheme, Rate::from_mbit_per_sec(0.12), RTT);
        path.run_for(Span::from_secs(20));
        path.set_rate(Rate::from_mbit_per_sec(12.0));
        path.run_for(Span::from_secs(5));
        let before = path.now;
        let acked = path.delivered();
        path.run_for(Span::from_secs(5));
        let share = (path.delivered() - acked) / path.now.since(before).as_secs_f64() / 1000.0;
        assert!(share > 0.5, "{scheme}: {share} of the new rate");
        assert!(path.now > Time::ZERO);
    }
}

#[test]
fn feedback_is_taken_once_and_other_bytes_are_refused() {
    let mut path = path("rbbr(profile=tperf)");
    path.run_for(Span::from_secs(1));
    path.receiver = None;
    let feedback = RateFeedback {
        sequence: 1 << 40,
        rate: None,
        interval: Span::ZERO,
        received: Bytes::ZERO,
        frozen: true,
        burst: Bytes::ZERO,
    };
    let lie = RateFeedback { sequence: 1 << 41, received: path.flow.sent() + Bytes::new(1), ..feedback };
    for (feedback, verdict) in [
        (feedback.encode(), Verdict::Taken),
        (feedback.encode(), Verdict::Stale),
        (lie.encode(), Verdict::Untrue),
        (Feedback::new(b"12 Mbit/s").expect("short"), Verdict::Malformed),
    ] {
        assert_eq!(path.flow.on_feedback(path.now, &feedback, path.flow.sent()), verdict);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_feedback_breaks_the_sender(
        steps in prop::collection::vec((0u64..300, any::<u64>(), any::<bool>(), any::<u64>(), any::<u64>()), 1..40),
        profile in prop::sample::select(vec!["paper", "paced"]),
    ) {
        let mut path = path(&format!("rbbr(profile={profile},aggregation=receiver)"));
        path.run_for(Span::from_secs(1));
        // From here on, arbitrary feedback takes the place of the receiver's.
        path.receiver = None;
        for (wait, rate, has_rate, burst, received) in steps {
            let feedback = RateFeedback {
                sequence: rate ^ burst,
                rate: has_rate.then(|| Rate::from_bytes_per_sec(rate)),
                interval: Span::from_nanos(burst),
                received: Bytes::new(received % 40_000_000),
                frozen: has_rate,
                burst: Bytes::new(burst),
            };
            path.flow.on_feedback(path.now, &feedback.encode(), path.flow.sent());
            path.run_for(Span::from_millis(wait));
            let estimate = shows(&path, "btl_bw");
            prop_assert!(estimate > 0.0 && estimate <= 1.25 * 121.0, "{} Mbit/s", estimate);
            prop_assert!((4.0..8.0 * BDP).contains(&path.window()), "{} packets", path.window());
            prop_assert!(path.flow.limits().pacing_rate.is_none_or(|rate| !rate.is_zero()));
        }
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

#[test]
fn a_change_is_reported_with_the_next_packet_and_again_every_20_ms() {
    let mut announcer = Announcer::new();
    let first = announcer.signal();
    assert_eq!(first, Some(RateSignal { estimation: Estimation::Suspend, epoch: 0 }.encode()));
    announcer.on_sent(at(1), first);
    announcer.set(at(20), Estimation::Suspend);
    assert_eq!(announcer.signal(), None);
    announcer.set(at(21), Estimation::Suspend);
    assert_eq!(announcer.signal(), first);
    announcer.set(at(22), Estimation::Run);
    assert_eq!(announcer.signal(), Some(RateSignal { estimation: Estimation::Run, epoch: 1 }.encode()));
    assert!(!announcer.has_to_tell(), "only a suspension has to come before its cause");
}
