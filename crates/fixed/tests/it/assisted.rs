//! NATCP's limits, and the freshness of its advice.

use cellcc_fixed::assisted::{Advice, Assisted, Config, Limits, Path};
use cellcc_fixed::{BytesPerSecond, Instant, Micros, Packets};

/// Advice of 12 Mbit/s at 20 ms for the period that ended at `millis`.
fn advice(millis: u64) -> Advice {
    Advice {
        bandwidth: BytesPerSecond(1_500_000),
        measured_at: Instant(millis * 1000),
        min_rtt: Micros(20_000),
        period: Micros(50_000),
        flows: 1,
        reserved: 0,
    }
}

fn path(millis: u64) -> Path {
    let now = Instant(millis * 1000);
    Path {
        now,
        min_rtt: Micros(15_000),
        probe_timeout: Micros(60_000),
        packet_bytes: 1500,
        rtt: Micros(30_000),
    }
}

const OWN: Limits = Limits { pacing: BytesPerSecond(u64::MAX), cwnd: Packets(7) };

fn limits(cwnd: u32, pacing: u64) -> Limits {
    Limits { pacing: BytesPerSecond(pacing), cwnd: Packets(cwnd) }
}

#[test]
fn two_bandwidth_delay_products_are_shared_and_paced_at_the_bandwidth() {
    let config = Config::default();
    assert_eq!(Limits::advised(&config, &advice(0), &path(0)), limits(40, 1_500_000));
    let shared = Advice { flows: 4, ..advice(0) };
    assert_eq!(Limits::advised(&config, &shared, &path(0)), limits(10, 1_500_000));
    let config = Config { paces_at_share: true, ..config };
    assert_eq!(Limits::advised(&config, &shared, &path(0)), limits(10, 375_000));
}

#[test]
fn without_the_networks_rtt_the_senders_own_counts() {
    let unknown = Advice { min_rtt: Micros::ZERO, ..advice(0) };
    assert_eq!(Limits::advised(&Config::default(), &unknown, &path(0)).cwnd, Packets(30));
}

#[test]
fn a_minimum_rtt_below_the_senders_own_is_not_believed() {
    // The network once reported 2.5 ms for a path of 20 ms, and the window held two packets.
    let short = Advice { min_rtt: Micros(1_500), ..advice(0) };
    assert_eq!(Limits::advised(&Config::default(), &short, &path(0)).cwnd, Packets(30));
}

#[test]
fn a_packet_per_rtt_leaves_however_little_is_reported() {
    let wrong = Advice { bandwidth: BytesPerSecond(1_500), ..advice(0) };
    assert_eq!(Limits::advised(&Config::default(), &wrong, &path(0)), limits(2, 50_000));
}

/// A flow over loopback was once paced at one packet per 12 us, six times the reported bandwidth.
#[test]
fn a_path_much_shorter_than_reported_is_paced_as_reported() {
    let short = Path { min_rtt: Micros(5), rtt: Micros(12), ..path(0) };
    assert_eq!(Limits::advised(&Config::default(), &advice(0), &short), limits(40, 1_500_000));
}

#[test]
fn a_dead_link_keeps_two_packets_and_one_per_round_trip() {
    let dead = Advice { bandwidth: BytesPerSecond(0), ..advice(0) };
    assert_eq!(Limits::advised(&Config::default(), &dead, &path(0)), limits(2, 75_000));
}

#[test]
fn the_cap_takes_the_smaller_of_each() {
    assert_eq!(OWN.capped(limits(40, 1_500_000)), limits(7, 1_500_000));
    assert_eq!(limits(100, 1_000).capped(limits(40, 1_500_000)), limits(40, 1_000));
}

#[test]
fn old_advice_leaves_the_schemes_own_limits_and_two_reports_bring_it_back() {
    let mut state = Assisted::START;
    let mut follows = |advice: Advice, now| {
        let mut limits = OWN;
        let follows = state.on_ack(&Config::default(), &advice, &path(now), &mut limits);
        assert_eq!(follows, limits != OWN);
        follows
    };
    assert!(follows(advice(100), 101));
    assert!(follows(advice(100), 399), "six periods of 50 ms");
    assert!(!follows(advice(100), 400));
    assert!(!follows(advice(500), 501), "one report may be a straggler");
    assert!(!follows(advice(500), 520), "seen twice it is still one");
    assert!(follows(advice(550), 551));
}
