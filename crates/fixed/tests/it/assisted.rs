//! NATCP's limits, and the freshness of its advice.

use cellcc_fixed::assisted::{Advice, Assisted, Config, Limits, Minimum, Path};
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

fn advised(config: &Config, advice: &Advice, path: &Path) -> Limits {
    let mut minimum = Minimum::START;
    Limits::advised(config, advice, path, minimum.rtt(config, advice.min_rtt, path))
}

#[test]
fn two_bandwidth_delay_products_are_shared_and_paced_at_the_bandwidth() {
    let config = Config::default();
    assert_eq!(advised(&config, &advice(0), &path(0)), limits(40, 1_500_000));
    let shared = Advice { flows: 4, ..advice(0) };
    assert_eq!(advised(&config, &shared, &path(0)), limits(10, 1_500_000));
    let config = Config { paces_at_share: true, ..config };
    assert_eq!(advised(&config, &shared, &path(0)), limits(10, 375_000));
}

#[test]
fn without_the_networks_rtt_the_senders_own_counts() {
    let unknown = Advice { min_rtt: Micros::ZERO, ..advice(0) };
    assert_eq!(advised(&Config::default(), &unknown, &path(0)).cwnd, Packets(30));
}

#[test]
fn a_minimum_rtt_below_the_senders_own_is_not_believed() {
    // The network once reported 2.5 ms for a path of 20 ms, and the window held two packets.
    let short = Advice { min_rtt: Micros(1_500), ..advice(0) };
    assert_eq!(advised(&Config::default(), &short, &path(0)).cwnd, Packets(30));
}

#[test]
fn a_packet_per_rtt_leaves_however_little_is_reported() {
    let wrong = Advice { bandwidth: BytesPerSecond(1_500), ..advice(0) };
    assert_eq!(advised(&Config::default(), &wrong, &path(0)), limits(2, 50_000));
}

/// A flow over loopback was once paced at one packet per 12 us, six times the reported bandwidth.
#[test]
fn a_path_much_shorter_than_reported_is_paced_as_reported() {
    let short = Path { min_rtt: Micros(5), rtt: Micros(12), ..path(0) };
    assert_eq!(advised(&Config::default(), &advice(0), &short), limits(40, 1_500_000));
}

#[test]
fn a_dead_link_keeps_two_packets_and_one_per_round_trip() {
    let dead = Advice { bandwidth: BytesPerSecond(0), ..advice(0) };
    assert_eq!(advised(&Config::default(), &dead, &path(0)), limits(2, 75_000));
}

/// A flow of `path`, whose advice reports `reported`, is asked every 10 ms for its minimum RTT in ms, until the times are over.
fn minima(reported: u32, own: impl Fn(u64) -> u32, until: u64) -> Vec<u32> {
    let mut state = Minimum::START;
    let at = |millis| Path { min_rtt: Micros(own(millis) * 1000), ..path(millis) };
    let rtt = |millis| state.rtt(&Config::default(), Micros(reported * 1000), &at(millis)).0 / 1000;
    (1..=until / 10).map(|tens| tens * 10).map(rtt).collect()
}

#[test]
fn the_reported_minimum_holds_while_two_bdps_of_it_reach_the_flows_own() {
    assert!(minima(20, |_| 40, 30_000).iter().all(|&rtt| rtt == 20));
    assert!(minima(20, |_| 5, 30_000).iter().all(|&rtt| rtt == 20));
}

#[test]
fn a_flow_that_uses_its_own_minimum_drains_its_queue_every_ten_seconds() {
    let known = minima(20, |_| 41, 25_000);
    let drains: Vec<_> =
        (0..known.len()).filter(|&tens| known[tens] == 20).map(|tens| (tens + 1) * 10).collect();
    assert_eq!(
        drains,
        [
            1010, 1020, 1030, 1040, 1050, 1060, 11_010, 11_020, 11_030, 11_040, 11_050, 11_060, 21_010,
            21_020, 21_030, 21_040, 21_050, 21_060
        ]
    );
    let unknown = minima(0, |_| 40, 25_000);
    assert_eq!(unknown.iter().filter(|&&rtt| rtt == 10).count(), 18, "a quarter, for as long");
    assert_eq!(unknown.iter().filter(|&&rtt| rtt == 40).count(), unknown.len() - 18);
}

/// A flow that began behind a queue of 1 s kept 1 s for as long as it ran.
#[test]
fn a_drain_that_lowers_the_minimum_is_followed_by_the_next_at_once() {
    let own = |millis| {
        if millis < 1_040 {
            1000
        } else if millis < 1_100 {
            300
        } else {
            40
        }
    };
    let rtts = minima(0, own, 3_000);
    assert_eq!(&rtts[100..118], [250, 250, 250, 75, 75, 75, 75, 75, 75, 10, 10, 10, 10, 10, 10, 10, 10, 10]);
    assert_eq!(rtts[290], 40);
    assert!(
        minima(40, own, 3_000)[110..].iter().all(|&rtt| rtt == 40),
        "what is reported, once the queue is gone"
    );
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
