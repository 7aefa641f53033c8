//! Tide on a bottleneck of constant rate.

use crate::testing::Path;
use cellcc_units::{Rate, Span};

const RTT: Span = Span::from_millis(40);

/// 12 Mbit/s: a packet takes a millisecond, 40 are in flight in an RTT.
fn path(scheme: &str) -> Path {
    Path::new(scheme, Rate::from_mbit_per_sec(12.0), RTT)
}

/// The mean number of packets in the queue or in transmission over five seconds.
fn mean_queue(path: &mut Path) -> f64 {
    let looks = 5000;
    let look = |path: &mut Path| {
        path.run_for(Span::from_millis(1));
        path.queued()
    };
    (0..looks).map(|_| look(path)).sum::<f64>() / f64::from(looks)
}

fn competes(path: &Path) -> bool {
    path.shows("competing") == Some(1.0)
}

#[test]
fn the_queue_is_the_target_and_a_little_for_the_extra_packets() {
    for (delay_ms, extra) in [(2.5, 2.0), (5.0, 2.0), (20.0, 2.0), (5.0, 0.0), (5.0, 4.0)] {
        let mut path =
            path(&format!("tide(delay={delay_ms}ms,extra-packets={extra},swing-share=0,floor-swings=0)"));
        path.run_for(Span::from_secs(5));
        // In flight is rate * (base RTT + q), and the window is rate * (base RTT + T) + extra packets, which take a millisecond
        // each.
        let expected = delay_ms + extra;
        let queue = mean_queue(&mut path);
        // A packet that is being sent counts as a half; the smallest RTT of a tick is that of one that found it gone.
        assert!((queue - expected).abs() <= 1.0, "{queue} packets, expected {expected}");
    }
}

/// The utilisation of a settled flow, and its queue in milliseconds.
fn settled(scheme: &str, mbit_s: f64, rtt: Span) -> (f64, f64) {
    let rate = Rate::from_mbit_per_sec(mbit_s);
    let packet_s = crate::testing::CONTEXT.packet.as_f64() * 8e-6 / mbit_s;
    let mut path = Path::new(scheme, rate, rtt);
    let span = Span::from_secs_f64((200.0 * packet_s).max(30.0 * rtt.as_secs_f64()));
    path.run_for(span);
    let before = path.delivered();
    let queue = (0..100).map(|_| (path.run_for(span / 100), path.queued()).1).sum::<f64>() / 100.0;
    ((path.delivered() - before) * packet_s / span.as_secs_f64(), queue * packet_s * 1e3)
}

#[test]
fn every_rate_and_rtt_is_used_with_a_queue_of_the_target_and_three_packets() {
    for (mbit_s, rtt_ms) in [
        (0.02, 40),
        (0.02, 1_000),
        (0.2, 1),
        (1.0, 40),
        (12.0, 1),
        (12.0, 100),
        (500.0, 1),
        (500.0, 40),
        (5_000.0, 5),
    ] {
        let (used, queue_ms) = settled("tide(swing-share=0)", mbit_s, Span::from_millis(rtt_ms));
        let packet_ms = 12.0 / mbit_s;
        // A drain leaves half of the link unused for a base RTT in ten seconds.
        let base_rtt_s = (rtt_ms as f64 + packet_ms) / 1e3;
        assert!(used > 0.97 - base_rtt_s / 20.0, "{used} of {mbit_s} Mbit/s at {rtt_ms} ms");
        assert!(queue_ms < 5.0 + 3.0 * packet_ms, "{queue_ms} ms at {mbit_s} Mbit/s and {rtt_ms} ms");
    }
}

#[test]
fn a_preset_sets_the_delay_and_a_delay_that_is_given_wins() {
    for (scheme, expected) in [
        ("tide", 5.0),
        ("tide(preset=interactive,swing-share=0,floor-swings=0)", 2.5),
        ("tide(preset=bulk,swing-share=0)", 20.0),
        ("tide(preset=bulk,delay=7ms,swing-share=0)", 7.0),
    ] {
        let mut path = path(scheme);
        path.run_for(Span::from_secs(1));
        let target = path.shows("target").expect("shown");
        assert!((expected..=expected + 1.0).contains(&target), "{scheme}: {target}");
    }
}

#[test]
fn with_an_empty_queue_the_window_grows_by_half_in_an_rtt() {
    let mut path = Path::new("tide", Rate::from_mbit_per_sec(12_000.0), RTT);
    path.run_for(RTT * 4);
    let before = path.window();
    path.run_for(RTT * 4);
    let factor = path.window() / before;
    // The window is twice the arrivals of the last RTT, which left in the one before. So it doubles in one RTT and a half; pacing
    // takes a little of that.
    assert!((4.0..=6.3).contains(&factor), "{factor} in four RTTs");
}

#[test]
fn a_rate_that_falls_or_rises_is_followed_within_a_second() {
    let mut path = path("tide");
    path.run_for(Span::from_secs(5));
    path.set_rate(Rate::from_mbit_per_sec(1.2));
    path.run_for(Span::from_secs(1));
    let rate = path.shows("rate").expect("shown");
    assert!((1.1..=1.3).contains(&rate), "{rate}");
    path.set_rate(Rate::from_mbit_per_sec(12.0));
    path.run_for(Span::from_secs(1));
    let before = path.delivered();
    path.run_for(Span::from_secs(1));
    assert!(path.delivered() - before > 990.0, "{} of 1000 packets", path.delivered() - before);
}

#[test]
fn lost_packets_that_no_queue_explains_cost_no_more_than_themselves() {
    let mut path = path("tide");
    path.run_for(Span::from_secs(5));
    let before = path.delivered();
    for _ in 0..100 {
        path.drop_next(1);
        path.run_for(Span::from_millis(100));
    }
    // 10 s with one packet of a hundred lost, each of them before the queue, which holds more.
    assert!(path.delivered() - before > 9_900.0, "{}", path.delivered() - before);
}

#[test]
fn a_queue_shorter_than_the_target_is_not_overflowed_for_ever() {
    let mut path = path("tide(delay=20ms)").with_queue(3);
    path.run_for(Span::from_secs(10));
    let (before, sent_before) = (path.delivered(), path.flow.sent());
    path.run_for(Span::from_secs(10));
    let delivered = path.delivered() - before;
    let sent = (path.flow.sent() - sent_before).in_packets(crate::testing::CONTEXT.packet);
    assert!(delivered > 9_000.0, "{delivered} of 10000");
    assert!(sent < 1.1 * delivered, "{sent} sent for {delivered}");
}

#[test]
fn a_path_that_becomes_shorter_is_known_after_a_drain_and_a_longer_one_after_two() {
    let mut path = path("tide(compete=off)");
    path.run_for(Span::from_secs(2));
    let base = |path: &Path| path.shows("base_rtt").expect("shown");
    assert!((base(&path) - 41.0).abs() < 0.1, "{}", base(&path));
    path.set_rtt(Span::from_millis(20));
    path.run_for(Span::from_secs(11));
    assert!((base(&path) - 21.0).abs() < 0.1, "{}", base(&path));
    path.set_rtt(Span::from_millis(80));
    path.run_for(Span::from_secs(9));
    assert!((base(&path) - 21.0).abs() < 0.1, "{}", base(&path));
    path.run_for(Span::from_secs(13));
    assert!((base(&path) - 81.0).abs() < 1.0, "{}", base(&path));
}

#[test]
fn a_queue_that_stands_for_24_rounds_is_competed_for_until_it_is_gone() {
    let mut path = path("tide");
    path.run_for(Span::from_secs(5));
    // A queue that the flow did not build, and that rises in no step.
    for rtt_ms in [50, 60, 70, 80] {
        path.set_rtt(Span::from_millis(rtt_ms));
        path.run_for(RTT * 2);
    }
    path.run_for(RTT * 2 * 18);
    assert!(!competes(&path));
    path.run_for(RTT * 2 * 4);
    path.run_until(competes);
    let window = path.window();
    // An RTT and a half: it grows by half in each.
    path.run_for(RTT * 3);
    assert!(path.window() > 1.4 * window, "{} after {window}", path.window());
    path.drop_next(1);
    path.set_rtt(RTT);
    // It looks after 4 s.
    path.run_for(Span::from_secs(5));
    assert!(!competes(&path));
    let mut alone = self::path("tide(compete=off)");
    alone.run_for(Span::from_secs(5));
    alone.set_rtt(RTT * 2);
    alone.run_for(RTT * 2 * 40);
    assert!(!competes(&alone));
}

#[test]
fn a_path_that_becomes_longer_is_known_when_nobody_yields() {
    let mut path = path("tide");
    path.run_for(Span::from_secs(5));
    path.set_rtt(RTT * 3);
    path.run_until(competes);
    path.run_until(|path| !competes(path));
    let base_rtt = path.shows("base_rtt").expect("shown");
    assert!((base_rtt - 121.0).abs() < 0.1, "{base_rtt}");
    path.run_for(Span::from_secs(2));
    // The old window is gone, and the target is that of a steady link except for the step's addition to the swing.
    let target_packets = path.shows("target").expect("shown");
    let queue = mean_queue(&mut path);
    assert!(queue < target_packets + 3.0, "{queue} packets, target {target_packets}");
    assert!(!competes(&path));
}

#[test]
fn a_path_that_becomes_longer_at_once_is_competed_for_after_eight_rounds() {
    let mut path = path("tide");
    path.run_for(Span::from_secs(5));
    path.set_rtt(RTT * 3);
    let before = path.delivered();
    path.run_for(RTT * 3 * 11);
    assert!(competes(&path));
    path.run_for(RTT * 3 * 14);
    // With 24 rounds it was a tenth.
    assert!(path.delivered() - before > 1700.0, "{} of 3000 packets", path.delivered() - before);
}

#[test]
fn what_the_application_sends_does_not_take_the_rate_for_the_paths() {
    let mut path = path("tide");
    path.run_for(Span::from_secs(5));
    for _ in 0..100 {
        path.set_app_packets(4);
        path.run_for(RTT);
    }
    // The path holds 40 packets.
    assert!(path.window() >= 40.0, "{}", path.window());
}

#[test]
fn an_application_that_sends_little_has_the_restart_window_until_it_has_sent_all_it_may_for_a_second() {
    // A packet takes 40 ms, so that two or three fill path and target.
    let mut path = Path::new("tide", Rate::from_mbit_per_sec(0.3), RTT);
    path.run_for(Span::from_secs(10));
    assert!(path.window() < 8.0, "{}", path.window());
    path.set_app_packets(0);
    for _ in 0..10 {
        path.run_for(Span::from_millis(100));
        path.set_app_packets(1);
    }
    assert!(path.window() >= 10.0, "{}", path.window());
    path.set_app_packets(u64::MAX);
    path.run_for(Span::from_millis(500));
    assert!(path.window() >= 10.0, "{}", path.window());
    path.run_for(Span::from_millis(1500));
    assert!(path.window() < 8.0, "{}", path.window());
}

#[test]
fn on_a_slow_link_the_flows_own_packets_are_no_rival() {
    // Below 400 kbit/s its two extra packets take longer than others' share of the queue. It competed, and lost a fifth of them.
    for mbit_s in [0.3, 0.2, 0.1, 0.05, 0.02] {
        let mut path = Path::new("tide", Rate::from_mbit_per_sec(mbit_s), RTT).with_queue(20);
        for _ in 0..1_000 {
            path.run_for(Span::from_millis(120));
            assert!(!competes(&path), "{mbit_s} Mbit/s, {}", path.now);
        }
        let sent = path.flow.sent().in_packets(crate::testing::CONTEXT.packet);
        assert!(sent - path.delivered() < 10.0, "{} of {sent} arrived", path.delivered());
    }
}
