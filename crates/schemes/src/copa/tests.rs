//! Copa against the paper's analysis, and its profile `mvfst` against the numbers of mvfst's own tests.

use crate::testing::Path;
use cellcc_control::{Ack, Context, Controller, Limits, Packet, Rtt};
use cellcc_units::{Bytes, Rate, Span, Time};

/// 12 Mbit/s, 40 ms: 40 packets per RTT.
fn path(scheme: &str) -> Path {
    Path::new(scheme, Rate::from_mbit_per_sec(12.0), Span::from_millis(39))
}

/// The mean number of packets in the queue or in transmission over ten seconds.
fn mean_queue(path: &mut Path) -> f64 {
    let looks = 1000;
    let sum: f64 = (0..looks)
        .map(|_| {
            path.run_for(Span::from_millis(10));
            path.queued()
        })
        .sum();
    sum / f64::from(looks)
}

#[test]
fn one_over_delta_packets_wait_in_the_queue() {
    // A path of 40 packets, and one of 400. The analysis holds where the queue hardly changes the RTT: 2.5/0.05 packets are more
    // than the shorter path, and there the queue never drains (docs/algorithms/copa.md).
    for (rate_mbit_s, deltas) in [(12.0, [0.5, 0.2, 0.1]), (120.0, [0.2, 0.1, 0.05])] {
        for delta in deltas {
            let mut path = path(&format!("copa(delta={delta})"));
            path.set_rate(Rate::from_mbit_per_sec(rate_mbit_s));
            path.run_for(Span::from_secs(20));
            let queue = mean_queue(&mut path) * delta;
            // Paper, section 3: between nothing and 2.5/delta, 1.25/delta on average; one packet is in transmission.
            assert!(
                (1.0..=1.5 + delta).contains(&queue),
                "{queue:.2}/delta at {delta}, {rate_mbit_s} Mbit/s"
            );
            assert_eq!(path.shows("competing"), Some(0.0));
        }
    }
}

/// The bug: the delay of an RTT ago was compared with the window of now, so that a flow missed the moments at which one of its
/// packets waited, mistook its own queue for others', and kept seconds of it permanently.
#[test]
fn alone_it_does_not_compete_with_itself_for_long_however_few_packets_the_path_holds() {
    for rate_mbit_s in [0.3, 0.5, 1.0, 2.0, 5.0, 10.0] {
        for rtt_ms in [20, 21, 40, 79, 80] {
            let [auto, default] = ["copa", "copa(mode=default)"].map(|scheme| {
                let rate = Rate::from_mbit_per_sec(rate_mbit_s);
                let mut path = Path::new(scheme, rate, Span::from_millis(rtt_ms));
                path.run_for(Span::from_secs(50));
                mean_queue(&mut path)
            });
            assert!(
                auto <= 2.0 * default,
                "{rate_mbit_s} Mbit/s, {rtt_ms} ms: {auto:.1}, {default:.1} packets"
            );
        }
    }
}

#[test]
fn a_flow_that_competes_with_nobody_goes_back_to_the_default_mode() {
    let mut path = path("copa");
    path.run_for(Span::from_secs(5));
    // A path that has become longer looks like others' queue for ten seconds; a larger share of it brings nothing.
    path.set_rtt(Span::from_millis(160));
    path.run_until(|path| path.shows("competing") == Some(1.0));
    path.run_until(|path| path.shows("delta") < Some(0.2));
    path.run_until(|path| path.shows("competing") == Some(0.0));
    assert!(path.now < Time::ZERO + Span::from_secs(15), "{:?}", path.now);
}

#[test]
fn slow_start_doubles_every_round_and_ends_with_the_first_queue() {
    let mut path = Path::new("copa", Rate::from_mbit_per_sec(12_000.0), Span::from_millis(100));
    path.run_for(Span::from_millis(600));
    let before = path.window();
    path.run_for(Span::from_millis(100));
    let factor = path.window() / before;
    assert!((1.95..=2.05).contains(&factor), "{factor}");
    let mut path = self::path("copa");
    path.run_until(|path| path.shows("slow_start") == Some(0.0));
    // Paced at twice its rate the window queues packets before it holds the path's 40, and doubles at most until that is seen.
    assert!((40.0..=80.0).contains(&path.window()), "{}", path.window());
}

#[test]
fn the_velocity_doubles_every_round_once_the_direction_has_held_for_three() {
    let mut path = path("copa");
    path.run_for(Span::from_secs(5));
    path.set_rate(Rate::from_mbit_per_sec(120.0));
    let mut seen = Vec::new();
    for _ in 0..400 {
        path.run_for(Span::from_millis(1));
        let velocity = path.shows("velocity").expect("shown");
        if seen.last() != Some(&velocity) {
            seen.push(velocity);
        }
    }
    assert!(seen.windows(5).any(|run| run == [1.0, 2.0, 4.0, 8.0, 16.0]), "{seen:?}");
}

#[test]
fn a_queue_that_is_never_nearly_empty_is_competed_for_until_it_is() {
    let mut path = path("copa");
    path.run_for(Span::from_secs(5));
    // Half the rate, with a queue that the flow did not build: a standing queue for as long as others keep it.
    path.set_rtt(Span::from_millis(60));
    path.run_for(Span::from_secs(1));
    assert_eq!(path.shows("competing"), Some(1.0));
    let delta = path.shows("delta").expect("shown");
    assert!(delta < 0.25, "1/delta grows by one per round: {delta}");
    path.drop_next(1);
    path.run_until(|path| path.shows("delta") > Some(delta * 1.2));
    path.set_rtt(Span::from_millis(39));
    path.run_for(Span::from_secs(2));
    assert_eq!((path.shows("competing"), path.shows("delta")), (Some(0.0), Some(0.5)));
}

#[test]
fn the_default_mode_takes_a_loss_for_nothing() {
    let mut path = path("copa");
    path.run_for(Span::from_secs(5));
    path.drop_next(1);
    path.run_for(Span::from_secs(1));
    assert!(path.window() > 38.0, "{}", path.window());
}

/// Acknowledgements as mvfst's tests make them: of one packet, with RTTs set by hand.
struct Mvfst {
    copa: Box<dyn Controller>,
    now: Time,
    rtt: Rtt,
    packet: Packet,
}

/// mvfst `kDefaultUDPSendPacketLen`.
const MVFST_PACKET: Bytes = Bytes::new(1252);

impl Mvfst {
    fn new(initial_packets: u64) -> Self {
        let context = Context::new(MVFST_PACKET, MVFST_PACKET * initial_packets, 1);
        let scheme = crate::registry().parse("copa(profile=mvfst,delta=0.5,delay=standing)").expect("known");
        let packet = Packet::new(0, Time::ZERO, MVFST_PACKET);
        Self { copa: scheme.build(&context), now: Time::ZERO, rtt: Rtt::default(), packet }
    }

    /// An acknowledgement after so long, with the latest and the smoothed RTT.
    fn ack(&mut self, after_ms: u64, latest_ms: u64, smoothed_ms: u64) -> f64 {
        self.now += Span::from_millis(after_ms);
        let latest = Span::from_millis(latest_ms);
        self.rtt = Rtt::new(latest, Span::ZERO, Span::from_millis(smoothed_ms), Span::ZERO);
        let mut ack = Ack::new(self.now, std::slice::from_ref(&self.packet), &self.rtt);
        ack.cwnd_limited = true;
        self.copa.on_ack(&ack);
        self.window()
    }

    fn window(&self) -> f64 {
        let Limits { window, .. } = self.copa.limits();
        window.in_packets(MVFST_PACKET)
    }

    /// mvfst `exitSlowStart`.
    fn leave_slow_start(&mut self) {
        let initial = self.window();
        assert_eq!(self.ack(50, 50, 50), initial);
        self.moves(110, 150, 100, -1.0);
    }

    /// An acknowledgement that moves the window by `velocity / (0.5 cwnd)`; mvfst computes in whole bytes.
    fn moves(&mut self, after_ms: u64, latest_ms: u64, smoothed_ms: u64, velocity: f64) {
        let before = self.window();
        let moved = self.ack(after_ms, latest_ms, smoothed_ms) - before;
        let expected = velocity / (0.5 * before);
        assert!((moved - expected).abs() < 2.0 / MVFST_PACKET.as_f64(), "{moved}, expected {expected}");
    }
}

/// facebook/mvfst, `CopaTest.cpp`, `TestSlowStartAck`.
#[test]
fn mvfst_doubles_once_per_smoothed_rtt_and_leaves_slow_start_when_the_standing_rtt_rises() {
    let mut mvfst = Mvfst::new(10);
    assert_eq!(mvfst.ack(280, 280, 280), 10.0);
    assert_eq!(mvfst.ack(50, 280, 280), 10.0);
    assert_eq!(mvfst.ack(0, 280, 280), 10.0);
    assert_eq!(mvfst.ack(300, 300, 300), 20.0);
    assert_eq!(mvfst.ack(100, 300, 300), 20.0);
    assert_eq!(mvfst.ack(100, 350, 300), 20.0, "the standing RTT has not risen yet");
    assert!(mvfst.ack(201, 400, 300) < 20.0);
}

/// facebook/mvfst, `QuicConstants.h`, `kDefaultMaxCwndInMss`. The bug: on a short queue, where the delay never says stop, the
/// window had no bound.
#[test]
fn mvfst_allows_2000_packets_at_most() {
    let mut mvfst = Mvfst::new(10);
    for _ in 0..20 {
        mvfst.ack(110, 100, 100);
    }
    assert_eq!(mvfst.window(), 2000.0);
}

/// facebook/mvfst, `CopaTest.cpp`, `TestSteadyStateChanges`.
#[test]
fn mvfst_moves_by_one_over_delta_cwnd_for_each_packet() {
    let mut mvfst = Mvfst::new(9);
    mvfst.leave_slow_start();
    mvfst.moves(10, 100, 100, -1.0);
    mvfst.moves(10, 50, 100, 1.0);
    mvfst.moves(10, 100, 100, 1.0);
    mvfst.moves(110, 100, 100, -1.0);
}

/// facebook/mvfst, `CopaTest.cpp`, `TestVelocity`.
#[test]
fn mvfst_doubles_the_velocity_after_four_rounds_and_resets_it_when_the_direction_turns() {
    let mut mvfst = Mvfst::new(11);
    mvfst.leave_slow_start();
    for velocity in [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0] {
        mvfst.moves(100, 50, 100, velocity);
    }
    mvfst.moves(110, 200, 100, -1.0);
}
