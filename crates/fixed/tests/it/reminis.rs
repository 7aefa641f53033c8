//! Reminis on a path, acknowledgement by acknowledgement.

use cellcc_fixed::reminis::{Config, MIN_QUEUEING, Profile, Reminis, Zone};
use cellcc_fixed::{Ack, Instant, Micros, Packets, Q16, Window};

/// The word that gives nearly the median of a Gaussian.
const MEDIAN: u32 = 0x7fff_ffff;

/// A flow with one acknowledgement per millisecond, each for one packet of a full window.
struct Flow {
    config: Config,
    state: Reminis,
    window: Window,
    now: u64,
    delivered: u32,
}

impl Flow {
    fn new(config: Config) -> Self {
        let window = Window { cwnd: Packets(100), ssthresh: Packets(100) };
        Self { config, state: Reminis::START, window, now: 1_000_000, delivered: 0 }
    }

    fn ack(&mut self, rtt: u32) {
        self.ack_with(rtt, |_| ());
    }

    fn ack_with(&mut self, rtt: u32, change: fn(&mut Ack)) {
        self.now += 1_000;
        let sent = self.delivered;
        self.delivered += 1;
        let mut ack = Ack {
            now: Instant(self.now),
            rtt: Micros(rtt),
            delivered: Packets(self.delivered),
            delivered_at_send: Packets(sent.saturating_sub(self.window.cwnd.0 - 1)),
            cwnd_limited: true,
            lost: false,
        };
        change(&mut ack);
        self.state.on_ack(&self.config, &ack, &mut self.window, MEDIAN);
        self.state.after_law(&mut self.window);
    }

    fn acks(&mut self, count: u32, rtt: u32) {
        (0..count).for_each(|_| self.ack(rtt));
    }
}

#[test]
fn the_second_interval_is_the_first_to_act() {
    let mut flow = Flow::new(Config::default());
    flow.acks(40, 20_000);
    assert_eq!((flow.window.cwnd, flow.state.zone()), (Packets(100), Zone::Unknown));
    flow.acks(1, 20_000);
    // The median of a draw at mu = 1: 2^S(1) = 1.66.
    assert_eq!((flow.window.cwnd, flow.state.zone()), (Packets(165), Zone::Explore));
}

#[test]
fn a_first_sample_from_before_an_outage_ends_does_not_make_an_interval_of_seconds() {
    let mut flow = Flow::new(Config::default());
    flow.acks(1, 10_000_000);
    flow.acks(20, 20_000);
    assert_eq!(flow.state.target(), Micros::ZERO);
    flow.acks(1, 20_000);
    assert_eq!(flow.state.target(), Micros(30_000), "20 ms after the first sample of 20 ms");
}

#[test]
fn an_interval_without_samples_decides_nothing() {
    let mut flow = Flow::new(Config::default());
    flow.acks(41, 20_000);
    // The last sample belongs to the next interval.
    (0..20).for_each(|_| flow.ack_with(0, |_| ()));
    let window = flow.window;
    (0..60).for_each(|_| flow.ack_with(0, |_| ()));
    assert_eq!(flow.window, window);
}

#[test]
fn a_flow_that_its_application_limits_does_not_explore() {
    let mut flow = Flow::new(Config::default());
    (0..200).for_each(|_| flow.ack_with(20_000, |ack| ack.cwnd_limited = false));
    assert_eq!((flow.window.cwnd, flow.state.zone()), (Packets(100), Zone::Explore));
}

#[test]
fn where_packets_are_lost_exploration_stays_within_four_times_what_is_delivered() {
    let mut flow = Flow::new(Config::default());
    flow.acks(30, 20_000);
    // 20 packets per interval of one round trip: a window of 100 is more than four times that.
    (0..100).for_each(|_| flow.ack_with(20_000, |ack| ack.lost = true));
    assert_eq!(flow.window.cwnd, Packets(100));
}

#[test]
fn delay_above_the_target_ends_slow_start_once_and_leaves_ssthresh_alone_then() {
    let mut flow = Flow::new(Config::default());
    flow.window.ssthresh = Packets::INFINITE_SSTHRESH;
    flow.acks(30, 20_000);
    flow.acks(31, 31_000);
    let ended = flow.window;
    assert!(ended.cwnd < Packets(100) && ended.ssthresh == ended.cwnd, "{ended:?}");
    flow.window.cwnd = Packets(200);
    flow.acks(80, 31_000);
    assert!(flow.window.cwnd < Packets(200) && flow.window.ssthresh == ended.ssthresh, "{:?}", flow.window);
}

#[test]
fn ssthresh_follows_the_window_that_meets_the_target_where_that_is_asked_for() {
    let mut flow = Flow::new(Config { profile: Profile::Following, ..Config::default() });
    flow.acks(41, 20_000);
    assert_eq!(flow.window.ssthresh, Packets(100), "the window before exploration");
    flow.acks(21, 20_000);
    assert_eq!(flow.window.ssthresh, Packets(165), "with the window");
    // The first cut sets it, as in every profile.
    flow.acks(40, 60_000);
    flow.window = Window { cwnd: Packets(100), ssthresh: Packets(165) };
    flow.acks(60, 60_000);
    // A quarter of the way from 165 to 100 x 30 / 60.
    assert_eq!(flow.window.ssthresh, Packets(136));
}

#[test]
fn a_target_that_no_queue_could_meet_is_raised() {
    let target = |config: Config, min_rtt| {
        let mut flow = Flow::new(config);
        flow.acks(50, min_rtt);
        (flow.state.target(), flow.state.is_target_raised())
    };
    let time = |micros| Config { target: Micros(micros), ..Config::default() };
    assert_eq!(target(time(25_000), 20_000), (Micros(25_000), false));
    assert_eq!(target(time(20_000), 20_000), (Micros(30_000), true));
    assert_eq!(
        target(Config { multiple: Q16(5 << 14), ..Config::default() }, 20_000),
        (Micros(25_000), false)
    );
}

#[test]
fn on_a_path_of_a_data_centre_target_and_interval_have_floors() {
    let mut flow = Flow::new(Config::default());
    flow.acks(3, 30);
    assert_eq!(flow.state.zone(), Zone::Unknown, "intervals of a round trip would be 30 us");
    // The scheduler's noise is no catastrophe.
    for _ in 0..100 {
        flow.acks(1, 30);
        flow.acks(1, 1_900);
        assert_ne!(flow.state.zone(), Zone::Cut);
    }
    assert_eq!(flow.state.target(), Micros(30).plus(MIN_QUEUEING));
    assert!(flow.window.cwnd >= Packets(100));
}

#[test]
fn a_probe_of_the_path_hides_the_window_and_gives_it_back() {
    let config = Config { catastrophe_mitigation: false, ..Config::default() };
    let mut flow = Flow::new(config);
    flow.window.cwnd = Packets(80);
    flow.acks(30, 20_000);
    flow.acks(1_002, 50_000);
    assert_eq!(flow.window.cwnd, Packets(2), "a second above the target");
    flow.ack(29_000);
    assert_eq!(flow.window.cwnd, Packets(80), "a sample within the target");
}

#[test]
fn the_law_sees_the_window_behind_a_probe() {
    let mut flow = Flow::new(Config { catastrophe_mitigation: false, ..Config::default() });
    flow.window.cwnd = Packets(80);
    flow.acks(30, 20_000);
    flow.acks(1_002, 50_000);
    flow.state.before_law(&mut flow.window);
    assert_eq!(flow.window.cwnd, Packets(80));
    flow.window.cwnd = Packets(40);
    flow.state.after_law(&mut flow.window);
    assert_eq!(flow.window.cwnd, Packets(2));
    flow.ack(29_000);
    assert_eq!(flow.window.cwnd, Packets(40));
}

#[test]
fn packets_that_are_alone_on_a_longer_path_tell_its_rtt() {
    let mut flow = Flow::new(Config::default());
    flow.acks(30, 20_000);
    flow.acks(1_010, 60_000);
    assert_eq!((flow.window.cwnd, flow.state.min_rtt()), (Packets(2), Micros(60_000)));
    flow.acks(130, 60_000);
    assert_eq!(flow.state.target(), Micros(90_000));
}
