//! ROCCET on a path of 100 packets.

use super::*;
use crate::testing::{Path, state};
use cellcc_fixed::roccet::LEAST_WINDOW;

/// A link of 100 packets per RTT of 100 ms.
fn path() -> Path {
    Path::new("roccet", Rate::from_mbit_per_sec(12.0), Span::from_millis(99))
}

fn in_state(name: &str) -> f64 {
    STATES.iter().position(|state| *state == name).unwrap() as f64
}

fn run_to(path: &mut Path, name: &str) {
    let number = in_state(name);
    path.run_until(|path| path.shows("state").is_some_and(|state| state == number));
}

#[test]
fn launch_ends_with_half_of_the_window_where_rtts_are_twice_the_least_and_acks_no_longer_grow() {
    let mut path = path();
    let mut before = path.window();
    while path.shows("state").is_none_or(|state| state == in_state("launch")) {
        before = path.window();
        path.run_for(Span::from_millis(1));
    }
    assert!(path.shows("sr_rtt").unwrap() > 100.0);
    assert!(before > 200.0, "as much again as the path holds: {before}");
    assert!((path.window() - before / 2.0).abs() <= 2.0, "{} of {before}", path.window());
    assert_eq!(path.lost(), 0);
}

#[test]
fn a_loss_ends_launch_without_a_cut_and_later_ones_leave_70_percent() {
    let mut path = path();
    path.run_until(|path| path.window() >= 40.0);
    path.drop_next(1);
    let before = path.window();
    run_to(&mut path, "orbiter");
    assert!(path.window() >= before, "{} of {before}", path.window());
    path.run_for(Span::from_secs(1));
    path.drop_next(1);
    let before = path.window();
    path.run_until(|path| path.window() < before - 2.0);
    assert!((path.window() / before - BETA).abs() < 0.02, "{} of {before}", path.window());
}

#[test]
fn what_fills_the_queue_to_an_rtt_again_is_cut_by_30_percent_and_drains_for_100_ms() {
    let mut path = path();
    run_to(&mut path, "drain");
    let window = path.window();
    path.run_for(Span::from_millis(98));
    assert_eq!((path.window(), state(&path)), (window, in_state("drain")), "no growth");
    path.run_for(Span::from_millis(10));
    assert_ne!(state(&path), in_state("drain"));
    assert_eq!(path.lost(), 0);
}

#[test]
fn five_seconds_without_a_lower_rtt_half_the_window_is_probed_with_and_the_old_one_comes_back() {
    let mut path = path();
    run_to(&mut path, "orbiter");
    let mut before = 0.0;
    while state(&path) != in_state("probe") {
        before = path.window();
        path.run_for(Span::from_millis(1));
    }
    assert!((path.window() - before / 2.0).abs() <= 2.0, "{} of {before}", path.window());
    let began = path.now;
    path.run_until(|path| path.window() > before * 0.9);
    assert!(path.now.since(began) >= Span::from_millis(200));
    assert_eq!(state(&path), in_state("probe"), "no growth yet");
    assert!((path.window() - before).abs() <= 2.0, "{} of {before}", path.window());
}

#[test]
fn an_application_that_does_not_use_the_window_ends_launch() {
    let mut path = path();
    for _ in 0..20 {
        path.set_app_packets(3);
        path.run_for(Span::from_millis(100));
    }
    assert_eq!(
        (state(&path), path.shows("ssthresh")),
        (in_state("orbiter"), Some(f64::from(LEAST_WINDOW.0)))
    );
}

const BETA: f64 = 0.7;
