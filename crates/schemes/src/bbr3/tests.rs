//! BBR v3 on a bottleneck of constant rate. Cases of the draft that a whole run shows are
//! data, in `cases/bbr.toml`; these look within.

use crate::testing::{BDP, Path, RTT, path, state};
use cellcc_control::Event;
use cellcc_units::Span;

const DRAIN: f64 = 1.0;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;

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

/// Holds also for v2alpha.
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
