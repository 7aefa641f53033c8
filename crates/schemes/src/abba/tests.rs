//! Both revisions on a path of 400 packets, and next to CUBIC.

use super::*;
use crate::testing::{CONTEXT, Path, RTT, path};
use cellcc_units::Rate;

const LINE: &str = "abba(revision=line)";
const FLOOR: &str = "abba(revision=floor)";

/// A path with a queue of a BDP, on which losses have cut the window to where the queue is empty.
fn drained(scheme: &str, rtt: Span) -> Path {
    let rate = Rate::from_mbit_per_sec(120.0);
    let bdp = rate.bytes_in(rtt).in_packets(CONTEXT.packet);
    let mut path = Path::new(scheme, rate, rtt).with_queue(bdp as u64);
    path.run_for(rtt * 100);
    while path.window() > 0.4 * bdp {
        path.drop_next(1);
        path.run_for(rtt * 4);
    }
    path
}

/// The growth of the window while `packets` arrive.
fn growth(path: &mut Path, packets: f64) -> f64 {
    let (window, delivered) = (path.window(), path.delivered());
    path.run_until(|path| path.delivered() >= delivered + packets);
    path.window() - window
}

#[test]
fn at_the_floor_the_window_grows_by_2_ms_of_the_rtt_or_2_5_percent_in_each_round() {
    // `drain_threshold` is 2 ms above the least RTT, which has a transmission time of 0.1 ms.
    for rtt_ms in [20, 40, 100, 200] {
        let share = f64::max(2.0 / (rtt_ms as f64 + 2.1), 0.025);
        let mut path = drained(FLOOR, Span::from_millis(rtt_ms));
        let round = path.window();
        let grown = growth(&mut path, round) / round;
        // Less than a byte of each packet's 1500 is rounded away.
        assert!(share - 1.0 / 1500.0 < grown && grown < share * 1.01, "{rtt_ms} ms: {grown} for {share}");
    }
}

#[test]
fn below_the_line_two_thirds_of_the_room_is_taken_in_each_round() {
    let mut path = after_handover(LINE);
    let threshold = |path: &Path| path.shows("threshold").unwrap_or(0.0);
    let latest = |path: &Path| path.flow.rtt().latest().expect("samples").as_millis_f64();
    path.run_until(|path| threshold(path) > 102.0);
    let (window, before, rtt) = (path.window(), threshold(&path), latest(&path));
    let grown = growth(&mut path, 100.0);
    // The room is the window that the line gives the missing RTT.
    let slope = (threshold(&path) - before) / grown;
    let room = ((before + threshold(&path)) - (rtt + latest(&path))) / 2.0 / slope;
    let expected = 2.0 / 3.0 * room / (window + grown / 2.0) * 100.0;
    assert!((grown / expected - 1.0).abs() < 0.05, "{grown} for {expected}, with {room} of room");
}

/// A path that becomes 60 ms longer and loses 20 packets while it does.
fn after_handover(scheme: &str) -> Path {
    let mut path = path(scheme).with_queue(400);
    path.run_for(Span::from_secs(20));
    path.set_rtt(RTT + Span::from_millis(60));
    path.drop_next(20);
    path
}

/// The packets of 20 s, of those that the link can carry.
fn use_in_20_s(mut path: Path, rate: f64) -> f64 {
    let before = path.delivered();
    path.run_for(Span::from_secs(20));
    (path.delivered() - before) / (rate * 20.0)
}

#[test]
fn after_a_handover_with_losses_to_a_longer_path_the_line_fills_it_sooner_than_cubic() {
    let [cubic, line, floor] =
        ["cubic", LINE, FLOOR].map(|scheme| use_in_20_s(after_handover(scheme), 10_000.0));
    assert!((0.75..0.78).contains(&cubic), "{cubic}");
    assert!(line > 0.95, "{line}");
    // The longer path's RTT is a high queue to it until its least RTTs are forgotten.
    assert_eq!(floor, cubic);
}

#[test]
fn a_tenfold_rate_is_found_sooner_than_by_cubic_and_by_the_floor_first() {
    let [cubic, line, floor] = ["cubic", LINE, FLOOR].map(|scheme| {
        let mut path = drained(scheme, RTT);
        path.set_rate(Rate::from_mbit_per_sec(1200.0));
        use_in_20_s(path, 100_000.0)
    });
    assert!(floor > 2.0 * line && line > 2.0 * cubic, "{cubic} {line} {floor}");
}

/// The author's figures on a path that loses in 5 % of its rounds are 46.7 % for CUBIC and 97.5 % for an early form of `floor`
/// (h2o/quicly, pull request 689); the source names neither rate nor RTT.
#[test]
fn with_a_loss_in_5_percent_of_the_rounds_both_revisions_use_more_than_cubic() {
    let [cubic, line, floor] = ["cubic", LINE, FLOOR].map(|scheme| {
        let rtt = Span::from_millis(20);
        let mut path = Path::new(scheme, Rate::from_mbit_per_sec(50.0), rtt).with_queue(83);
        let mut random = 1_u64;
        for _ in 0..3_000 {
            // Knuth's MMIX generator.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (random >> 33) % 100 < 5 {
                path.drop_next(1);
            }
            path.run_for(rtt);
        }
        path.delivered() / (path.now.as_secs_f64() * 50e6 / 12_000.0)
    });
    assert!((0.45..0.5).contains(&cubic), "{cubic}");
    assert!(line > 1.2 * cubic, "{line} for CUBIC's {cubic}");
    assert!(floor > 0.9, "{floor}");
}

#[test]
fn a_queue_that_never_returns_brings_the_floor_back_to_slow_start_which_leaves_38_percent() {
    let mut path = drained(FLOOR, RTT);
    path.set_rate(Rate::from_mbit_per_sec(12_000.0));
    // A loss in every eighth round keeps the window far below the path, until it doubles in a round.
    let doubles = (0..1000).any(|round| {
        let before = path.window();
        path.drop_next(u64::from(round % 8 == 0));
        path.run_for(RTT);
        path.window() > 1.8 * before
    });
    assert!(doubles);
    path.drop_next(1);
    let mut before = path.window();
    let left = loop {
        path.run_for(Span::from_micros(100));
        if path.window() < before {
            break path.window() / before;
        }
        before = path.window();
    };
    assert!((left - 1.0 / 2.6).abs() < 0.01, "{left}");
}

#[test]
fn a_spurious_loss_restores_window_and_model() {
    for scheme in [LINE, FLOOR] {
        let mut path = after_handover(scheme);
        path.run_for(Span::from_secs(3));
        let before = (path.window(), path.shows("threshold"));
        let now = path.now;
        let packet = path.flow.on_sent(now, CONTEXT.packet);
        path.flow.on_loss(now, &[packet]);
        assert!(path.window() < before.0, "{scheme}");
        path.flow.on_event(now, Event::SpuriousLoss);
        assert_eq!((path.window(), path.shows("threshold")), before, "{scheme}");
    }
}
