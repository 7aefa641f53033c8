//! Vivace on a bottleneck of constant rate.

use crate::testing::{CONTEXT, Path};
use cellcc_units::{Rate, Span, Time};

const RTT: Span = Span::from_millis(40);

/// 100 Mbit/s, 40 ms: 333 packets per RTT.
fn path(scheme: &str) -> Path {
    Path::new(scheme, Rate::from_mbit_per_sec(100.0), RTT)
}

fn rate(path: &Path) -> f64 {
    path.shows("rate").expect("shown")
}

#[test]
fn slow_start_doubles_the_rate_until_the_rtt_rises_and_goes_back_to_half() {
    let mut path = path("vivace");
    let mut seen = vec![rate(&path)];
    while path.shows("probing") == Some(0.0) {
        path.run_for(Span::from_millis(1));
        if seen.last() != Some(&rate(&path)) {
            seen.push(rate(&path));
        }
    }
    let last = seen.pop().expect("many");
    assert!(seen.windows(2).all(|pair| pair[1] == 2.0 * pair[0]), "{seen:?}");
    let highest = *seen.last().expect("many");
    assert!((100.0..=200.0).contains(&highest) && last == highest / 2.0, "{seen:?}, {last}");
}

#[test]
fn alone_it_fills_the_link_without_a_long_queue() {
    for scheme in ["vivace", "vivace(profile=nsdi2018)"] {
        let mut path = path(scheme).with_queue(333);
        path.run_for(Span::from_secs(20));
        let before = path.delivered();
        path.run_for(Span::from_secs(20));
        let share = (path.delivered() - before) * 12_000.0 / 20e8;
        assert!(share > 0.9, "{scheme}: {share}");
    }
}

#[test]
fn the_authors_program_sends_1024_megabits_at_most() {
    let mut path =
        Path::new("vivace(profile=nsdi2018)", Rate::from_mbit_per_sec(4000.0), Span::from_millis(10));
    let most = Rate::from_mbit_per_sec(1024.0);
    let mut reached = false;
    for _ in 0..1000 {
        path.run_for(Span::from_millis(1));
        let pacing = path.flow.limits().pacing_rate.expect("paced");
        assert!(pacing <= most && rate(&path) <= 1024.0, "{pacing:?}, {}", rate(&path));
        reached |= pacing == most;
    }
    assert!(reached, "{}", rate(&path));
}

#[test]
fn a_rate_that_falls_is_followed_down() {
    let mut path = path("vivace").with_queue(1000);
    path.run_for(Span::from_secs(10));
    path.set_rate(Rate::from_mbit_per_sec(50.0));
    path.run_for(Span::from_secs(10));
    assert!((40.0..=56.0).contains(&rate(&path)), "{}", rate(&path));
}

#[test]
fn random_loss_costs_the_loss_utility_nothing_that_it_could_have() {
    // The utility rises with the rate while less than 0.9/11.35 rate^-0.1 is lost, 5 % at 100 Mbit/s; here 1.2 % is.
    let mut path = path("vivace(utility=loss)");
    path.run_for(Span::from_secs(10));
    let before = rate(&path);
    for _ in 0..100 {
        path.drop_next(1);
        path.run_for(Span::from_millis(10));
    }
    assert!(rate(&path) > 0.9 * before, "{} after {before}", rate(&path));
}

#[test]
fn what_the_application_decides_is_tried_again() {
    let mut path = path("vivace");
    path.run_for(Span::from_secs(5));
    let before = rate(&path);
    for _ in 0..50 {
        path.set_app_packets(2);
        path.run_for(RTT);
    }
    // At most the step of a trial that was complete before.
    assert!((rate(&path) / before - 1.0).abs() <= 0.3, "{} after {before}", rate(&path));
}

#[test]
fn after_persistent_congestion_slow_start_begins_with_two_packets_per_rtt() {
    let mut path = path("vivace");
    path.run_for(Span::from_secs(5));
    path.set_app_packets(0);
    path.run_for(Span::from_secs(1));
    let lost = path.flow.on_sent(path.now, CONTEXT.packet);
    path.flow.on_persistent_congestion(path.now, &[lost]);
    let packets = rate(&path) * 1e6 / 12_000.0 * path.flow.rtt().smoothed().as_secs_f64();
    assert!((packets - 2.0).abs() < 0.01, "{packets}");
    path.set_app_packets(u64::MAX);
    path.run_until(|path| rate(path) > 40.0);
    assert!(path.now < Time::ZERO + Span::from_secs(10));
}
