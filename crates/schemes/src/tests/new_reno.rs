//! The growth law NewReno, run by its scheme.

use crate::testing::{CONTEXT, Path};
use cellcc_control::Event;
use cellcc_units::{Rate, Span};

const RTT: Span = Span::from_millis(100);

/// A path that never holds a window back.
fn wide_path() -> Path {
    Path::new("newreno", Rate::from_mbit_per_sec(12_000.0), RTT)
}

/// One that has just lost a packet at a window of 64 packets or more, and the window before.
fn after_a_loss() -> (Path, f64) {
    let mut path = wide_path();
    path.run_until(|path| path.window() >= 64.0);
    path.drop_next(1);
    path.run_until(|path| path.shows("ssthresh").is_some());
    let before = path.window() * 2.0;
    (path, before)
}

#[test]
fn slow_start_doubles_the_window_every_round() {
    let mut path = wide_path();
    path.run_for(Span::from_millis(450));
    assert_eq!(path.window(), 160.0);
}

#[test]
fn one_packet_more_every_round_after_a_loss() {
    let (mut path, _) = after_a_loss();
    path.run_for(RTT * 2);
    let window = path.window();
    for rounds in 1..=20 {
        path.run_for(RTT);
        let grown = path.window() - window;
        assert!((grown - f64::from(rounds)).abs() <= 1.0, "{grown} packets in {rounds} rounds");
    }
}

#[test]
fn a_loss_halves_the_window_once_per_episode() {
    let mut path = wide_path();
    path.run_until(|path| path.window() >= 64.0);
    path.drop_next(5);
    let mut before = path.window();
    while path.shows("ssthresh").is_none() {
        before = path.window();
        path.run_for(Span::from_micros(1));
    }
    let halved = path.window();
    // Between two looks one ACK may have added a packet.
    assert!((before / 2.0..=before / 2.0 + 1.0).contains(&halved), "{halved} after {before}");
    path.run_for(RTT / 2);
    assert_eq!(
        path.window(),
        halved,
        "further losses of the episode change nothing, and nothing grows in it"
    );
}

#[test]
fn a_spurious_loss_gives_the_window_and_the_threshold_back() {
    let (mut path, before) = after_a_loss();
    path.flow.on_event(path.now, Event::SpuriousLoss);
    assert!(path.window() >= before);
    assert_eq!(path.shows("ssthresh"), None);
}

#[test]
fn persistent_congestion_leaves_two_packets() {
    let mut path = wide_path();
    path.run_until(|path| path.window() >= 64.0);
    let window = path.window();
    path.set_app_packets(0);
    let lost = path.flow.on_sent(path.now, CONTEXT.packet);
    path.flow.on_persistent_congestion(path.now, &[lost]);
    assert_eq!(path.window(), 2.0);
    let ssthresh = path.shows("ssthresh").expect("a loss sets it");
    assert!(
        (ssthresh - window / 2.0).abs() < 1e-3,
        "slow start will lead back to half of {window}: {ssthresh}"
    );
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let (mut path, _) = after_a_loss();
    path.run_for(RTT * 2);
    // Two packets per RTT are far from the window.
    path.set_app_packets(0);
    path.run_for(RTT * 2);
    let window = path.window();
    for _ in 0..50 {
        path.set_app_packets(2);
        path.run_for(RTT);
    }
    assert_eq!(path.window(), window);
}

#[test]
fn idling_leaves_the_initial_window_and_slow_start_leads_back() {
    let (mut path, _) = after_a_loss();
    path.run_for(RTT * 2);
    path.set_app_packets(0);
    path.run_for(Span::from_secs(1));
    path.set_app_packets(u64::MAX);
    path.run_for(Span::from_millis(1));
    assert_eq!(path.window(), 10.0);
    path.run_for(RTT + RTT / 2);
    assert_eq!(path.window(), 20.0);
}
