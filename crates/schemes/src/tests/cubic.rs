//! The growth law CUBIC, run by its scheme.

use crate::testing::Path;
use cellcc_control::Event;
use cellcc_units::{Rate, Span};

const RTT: Span = Span::from_millis(100);

/// A path of a given RTT that never holds a window back, just after a loss at a window of 400 packets.
fn after_a_loss(rtt: Span) -> Path {
    let mut path = Path::new("cubic", Rate::from_mbit_per_sec(12_000.0), rtt);
    lose_one_at(&mut path, 400.0);
    path
}

fn lose_one_at(path: &mut Path, window: f64) {
    path.run_until(|path| path.window() >= window);
    path.drop_next(1);
    let w_max = path.shows("w_max");
    path.run_until(|path| path.shows("w_max") != w_max);
}

#[test]
fn a_loss_leaves_seventy_percent_and_slow_start_ends() {
    let path = after_a_loss(RTT);
    let w_max = path.shows("w_max").expect("a loss sets it");
    assert!((path.window() - 0.7 * w_max).abs() < 0.01);
    assert!((path.shows("ssthresh").expect("a loss sets it") - path.window()).abs() < 1e-9);
}

#[test]
fn the_window_follows_the_cubic_function_and_is_back_at_w_max_after_k_seconds() {
    let mut path = after_a_loss(RTT);
    path.run_until(|path| path.shows("k").is_some());
    let (w_max, k) = (path.shows("w_max").expect("set"), path.shows("k").expect("set"));
    assert!((k - libm::cbrt(0.3 * w_max / 0.4)).abs() < 1e-9, "RFC 9438, equation 2");
    let start = path.now;
    // Beyond K as far as before it: concave, then convex.
    while path.now.since(start).as_secs_f64() < 1.8 * k {
        path.run_for(Span::from_millis(500));
        let from_k = path.now.since(start).as_secs_f64() - k;
        let expected = 0.4 * from_k * from_k * from_k + w_max;
        // The window of a moment is aimed at one RTT ahead, and reached within it.
        let slack = 0.4 * 3.0 * from_k * from_k * RTT.as_secs_f64() + 1.0;
        assert!((path.window() - expected).abs() <= slack, "{} at {from_k}: {expected}", path.window());
    }
}

#[test]
fn a_loss_below_the_last_maximum_lowers_it_further() {
    let mut path = after_a_loss(RTT);
    let first = path.shows("w_max").expect("set");
    lose_one_at(&mut path, 0.8 * first);
    let (second, prior) = (path.shows("w_max").expect("set"), path.window() / 0.7);
    assert!((0.8 * first..first).contains(&prior));
    assert!((second - 0.85 * prior).abs() < 0.01, "RFC 9438, section 4.7");
}

#[test]
fn at_a_short_rtt_the_window_is_that_of_reno() {
    let rtt = Span::from_millis(5);
    let mut path = after_a_loss(rtt);
    path.run_until(|path| path.shows("w_est").is_some());
    let window = path.window();
    path.run_for(rtt * 100);
    // alpha packets per RTT (RFC 9438, section 4.3), while cwnd is below cwnd_prior.
    let grown = path.window() - window;
    assert!((50.0..=54.0).contains(&grown), "{grown} packets in 100 rounds");
    // And a whole packet from there on.
    let cwnd_prior = path.shows("w_max").expect("set");
    path.run_until(|path| path.window() >= cwnd_prior);
    let window = path.window();
    path.run_for(rtt * 100);
    let grown = path.window() - window;
    assert!((98.0..=101.0).contains(&grown), "{grown} packets in 100 rounds");
}

#[test]
fn as_in_linux_a_cut_leaves_whole_packets_and_the_window_grows_as_renos_beyond_the_last_one() {
    let rtt = Span::from_millis(5);
    let mut path = Path::new("cubic(variant=linux)", Rate::from_mbit_per_sec(12_000.0), rtt);
    lose_one_at(&mut path, 40.0);
    assert_eq!(path.window().fract(), 0.0, "{}", path.window());
    let cwnd_prior = path.shows("w_max").expect("set");
    path.run_until(|path| path.window() >= cwnd_prior);
    let window = path.window();
    path.run_for(rtt * 100);
    // The cubic function is slower at this RTT.
    let grown = path.window() - window;
    assert!((50.0..=54.0).contains(&grown), "{grown} packets in 100 rounds");
}

#[test]
fn time_in_which_the_window_is_not_used_does_not_count() {
    let mut path = after_a_loss(RTT);
    path.run_until(|path| path.shows("k").is_some());
    path.run_for(Span::from_secs(1));
    // Less than three RTTs of silence: no idle restart, and yet the clock of the epoch stands.
    path.set_app_packets(0);
    path.run_for(RTT * 2);
    let window = path.window();
    for _ in 0..50 {
        path.set_app_packets(2);
        path.run_for(RTT);
    }
    assert_eq!(path.window(), window);
    path.set_app_packets(u64::MAX);
    path.run_for(RTT * 3);
    // Three rounds at the slope of one second into the epoch; five seconds more would be 60 packets more.
    assert!(path.window() - window < 25.0, "{} after {window}", path.window());
    assert!(path.window() > window);
}

#[test]
fn a_spurious_loss_gives_everything_back() {
    let mut path = after_a_loss(RTT);
    path.run_until(|path| path.shows("k").is_some());
    lose_one_at(&mut path, 350.0);
    let mut before = after_a_loss(RTT);
    before.run_until(|path| path.shows("k").is_some());
    before.run_until(|path| path.window() >= 350.0);
    path.flow.on_event(path.now, Event::SpuriousLoss);
    assert_eq!(path.shows("w_max"), before.shows("w_max"));
    assert_eq!(path.shows("k"), before.shows("k"));
    assert_eq!(path.shows("ssthresh"), before.shows("ssthresh"));
    assert!(path.window() >= 350.0);
}
