//! BBR v3 on a bottleneck of constant rate. The numbers are those of the cases in the draft's appendix.

use crate::testing::{BDP, Path, RTT, path, state};
use cellcc_control::Event;
use cellcc_units::{Rate, Span};

const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;

fn longterm(path: &Path) -> Option<f64> {
    path.shows("inflight_longterm")
}

/// Cases 1 and 3.
#[test]
fn startup_ends_after_three_rounds_without_growth_and_drain_with_a_bdp_in_flight() {
    for (scheme, gain) in [("bbr3", 0.5), ("bbr3(profile=google)", 1.0 / 2.885)] {
        let mut path = path(scheme);
        path.run_until(|path| state(path) == DRAIN);
        assert!((1.5 * BDP..3.0 * BDP).contains(&path.inflight()), "{} in flight", path.inflight());
        assert_eq!(path.shows("pacing_gain"), Some(gain));
        path.run_until(|path| state(path) > DRAIN);
        assert!(path.inflight() < 1.05 * BDP, "{} in flight", path.inflight());
        let estimate = path.shows("max_bw").expect("always shown");
        assert!((estimate - 120.0).abs() < 0.02 * 120.0, "{estimate} Mbit/s");
    }
}

/// Case 5: the probe's queue is small, and gone two rounds later.
#[test]
fn up_ends_after_three_rounds_without_growth_and_its_queue_drains() {
    let mut path = path("bbr3");
    for _ in 0..3 {
        path.run_until(|path| state(path) == UP);
        assert_eq!(path.shows("pacing_gain"), Some(1.25));
        let began = path.now;
        path.run_until(|path| state(path) != UP);
        let rounds = path.now.since(began).as_secs_f64() / RTT.as_secs_f64();
        assert!((3.0..6.0).contains(&rounds), "{rounds} rounds");
        assert_eq!((state(&path), path.shows("pacing_gain")), (DOWN, Some(0.9)));
        path.run_until(|path| state(path) == CRUISE);
        assert!(path.inflight() < 1.05 * BDP, "{}", path.inflight());
    }
}

/// Case 15: Up goes on while the bandwidth grows.
#[test]
fn a_path_that_carries_ten_times_as_much_is_found_in_one_probe() {
    let mut path = Path::new("bbr3", Rate::from_mbit_per_sec(12.0), RTT);
    path.run_for(Span::from_secs(3));
    path.set_rate(Rate::from_mbit_per_sec(120.0));
    path.run_until(|path| state(path) == UP);
    path.run_until(|path| state(path) == DOWN);
    let estimate = path.shows("max_bw").expect("always shown");
    assert!(estimate > 0.9 * 120.0, "{estimate} Mbit/s");
}

/// Cases 8 and 21: a queue of an eighth of a BDP, which a probe overflows.
#[test]
fn a_probe_that_loses_more_than_two_percent_bounds_what_is_in_flight() {
    let mut path = path("bbr3").with_queue(50);
    path.run_for(Span::from_secs(10));
    path.run_until(|path| state(path) == CRUISE);
    path.run_for(RTT);
    let bound = longterm(&path).expect("set by losses");
    assert!((0.7 * BDP..1.2 * BDP).contains(&bound), "{bound}");
    assert!(path.window() <= 0.85 * bound + 1.0, "headroom: {} of {bound}", path.window());
    let before = path.delivered();
    path.run_for(Span::from_secs(20));
    let share = (path.delivered() - before) / 200_000.0;
    assert!(share > 0.8, "{share}");
}

/// Of v2alpha alike.
#[test]
fn the_probe_after_a_lossy_one_stops_at_its_bound_and_the_next_follows_at_once() {
    for (scheme, shown) in [("bbr3", "inflight_longterm"), ("bbr2(profile=alpha)", "inflight_hi")] {
        let mut path = path(scheme);
        path.run_until(|path| state(path) == UP);
        path.drop_next(20);
        path.run_until(|path| state(path) == DOWN);
        let lost = path.lost();
        path.run_until(|path| state(path) == UP);
        path.run_until(|path| state(path) == DOWN);
        let bound = path.shows(shown).expect("set by losses");
        assert!((path.inflight() - bound).abs() < 2.0, "{scheme}: {} of {bound}", path.inflight());
        assert_eq!(path.lost(), lost, "{scheme}");
        let down = path.now;
        path.run_until(|path| state(path) == REFILL);
        assert!(path.now.since(down) < RTT * 3, "{scheme}: {}", path.now.since(down));
    }
}

#[test]
fn where_the_bound_is_what_the_queue_holds_the_next_probe_loses_less() {
    let mut path = path("bbr3").with_queue(50);
    let mut losses = [0, 0];
    for lost in &mut losses {
        path.run_until(|path| state(path) == UP);
        let before = path.lost();
        path.run_until(|path| state(path) == DOWN);
        *lost = path.lost() - before;
    }
    assert!(losses[1] * 3 <= losses[0] * 2, "{losses:?}");
}

/// Case 14: 64 kbit/s and 10 ms hold a twentieth of a packet. Four packets are always in flight, so that after ten seconds no RTT
/// is below four packets' time: a bandwidth-delay product is four packets then, and the window two of them and an ACK's packet.
#[test]
fn where_the_path_holds_less_than_a_packet_the_link_is_full_with_a_few() {
    let mut path = Path::new("bbr3", Rate::from_mbit_per_sec(0.064), Span::from_millis(10));
    path.run_for(Span::from_secs(30));
    let before = path.delivered();
    for _ in 0..30 {
        path.run_for(Span::from_secs(1));
        assert!((4.0..12.0).contains(&path.window()), "{}", path.window());
    }
    assert!(path.delivered() - before > 0.95 * 30.0 * 64.0 / 12.0, "{}", path.delivered() - before);
}

/// Case 18, for a probe.
#[test]
fn a_loss_that_was_none_gives_back_bounds_and_window_and_the_probe_begins_again() {
    for (scheme, after) in [("bbr3", REFILL), ("bbr3(profile=google)", DOWN)] {
        let mut path = path(scheme);
        path.run_until(|path| state(path) == UP);
        path.run_for(RTT);
        let window = path.window();
        path.drop_next(20);
        path.run_until(|path| state(path) == DOWN);
        assert!(longterm(&path).is_some());
        path.flow.on_event(path.now, Event::SpuriousLoss);
        assert_eq!((state(&path), longterm(&path)), (after, None), "{scheme}");
        assert!(path.window() >= window, "{} after {window}", path.window());
    }
}

#[test]
fn a_mark_in_a_probe_ends_it_and_a_mark_elsewhere_lowers_the_short_term_bound() {
    let mut path = path("bbr3");
    path.run_until(|path| state(path) == UP);
    path.run_for(RTT * 2);
    path.flow.on_event(path.now, Event::CongestionMarked);
    assert_eq!(state(&path), DOWN);
    let bound = longterm(&path).expect("set by the mark");
    assert!((BDP..1.3 * BDP).contains(&bound), "{bound}");
    path.run_until(|path| state(path) == CRUISE);
    path.flow.on_event(path.now, Event::CongestionMarked);
    path.run_for(RTT * 2);
    assert!(path.shows("inflight_shortterm").is_some());
}

/// Case 11: a pause of two seconds, longer than a minimum RTT of five seconds has left.
#[test]
fn no_look_for_the_minimum_rtt_follows_a_pause() {
    let mut path = path("bbr3");
    path.run_for(Span::from_secs(4));
    path.set_app_packets(0);
    path.run_for(Span::from_secs(2));
    path.set_app_packets(u64::MAX);
    let restart = path.now;
    while path.now.since(restart) < RTT {
        path.run_for(Span::from_millis(1));
        assert!(state(&path) != PROBE_RTT && state(&path) != STARTUP);
    }
}
