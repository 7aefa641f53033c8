//! BBR v2 on a bottleneck of constant rate, and against the numbers of quiche's own tests.

use crate::testing::{BDP, CONTEXT, RTT, path, state};
use cellcc_control::{Controller, Flow, Observer, Packet};
use cellcc_units::{Bytes, Rate, Span, Time};

const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;

#[test]
fn startup_fills_the_pipe_and_drain_empties_the_queue() {
    for (scheme, gain) in [("bbr2", 0.5), ("bbr2(profile=alpha)", 1.0 / 2.885)] {
        let mut path = path(scheme);
        path.run_until(|path| state(path) == DRAIN);
        assert!(path.inflight() > 1.5 * BDP, "{} in flight", path.inflight());
        assert_eq!(path.shows("pacing_gain"), Some(gain));
        path.run_until(|path| state(path) > DRAIN);
        assert!(path.inflight() < 1.05 * BDP, "{} in flight", path.inflight());
        let estimate = path.shows("max_bw").expect("always shown");
        assert!((estimate - 120.0).abs() < 1.2, "{estimate} Mbit/s");
    }
}

#[test]
fn every_two_to_three_seconds_the_pipe_is_refilled_and_a_probe_of_a_quarter_more_is_drained_again() {
    let mut path = path("bbr2");
    path.run_until(|path| state(path) == CRUISE);
    let mut probes = 0;
    while probes < 4 {
        let cruise = path.now;
        path.run_until(|path| state(path) != CRUISE);
        if state(&path) == PROBE_RTT {
            path.run_until(|path| state(path) == CRUISE);
            continue;
        }
        probes += 1;
        assert_eq!(state(&path), REFILL);
        // 63 rounds of 40 ms are 2.5 s.
        let waited = path.now.since(cruise);
        assert!((Span::from_millis(1900)..Span::from_millis(3100)).contains(&waited), "{waited}");
        let refill = path.now;
        path.run_until(|path| state(path) != REFILL);
        assert!((RTT..RTT * 2).contains(&path.now.since(refill)), "{}", path.now.since(refill));
        assert_eq!((state(&path), path.shows("pacing_gain")), (UP, Some(1.25)));
        let mut most: f64 = 0.0;
        while state(&path) == UP {
            path.run_for(Span::from_millis(1));
            most = most.max(path.inflight());
        }
        assert!((1.2 * BDP..1.35 * BDP).contains(&most), "{most}");
        assert_eq!((state(&path), path.shows("pacing_gain")), (DOWN, Some(0.9)));
        path.run_until(|path| state(path) == CRUISE);
        assert!(path.inflight() < 1.05 * BDP, "{}", path.inflight());
    }
}

#[test]
fn a_probe_that_loses_more_than_two_percent_bounds_what_is_in_flight() {
    // A queue of an eighth of a BDP: a probe of a quarter more overflows it.
    let mut path = path("bbr2").with_queue(50);
    path.run_for(Span::from_secs(10));
    let bound = path.shows("inflight_hi").expect("set by losses");
    assert!((BDP..1.2 * BDP).contains(&bound), "{bound}");
    path.run_until(|path| state(path) == CRUISE);
    path.run_for(RTT);
    let bound = path.shows("inflight_hi").expect("set by losses");
    assert!(path.window() <= 0.85 * bound + 1.0, "headroom: {} of {bound}", path.window());
}

#[test]
fn a_shallow_queue_costs_few_packets_and_little_throughput() {
    let mut path = path("bbr2").with_queue(50);
    path.run_for(Span::from_secs(5));
    let before = path.delivered();
    path.run_for(Span::from_secs(20));
    let share = (path.delivered() - before) / 200_000.0;
    assert!(share > 0.8, "{share}");
}

/// v3 alike: case 10 of its draft.
#[test]
fn five_seconds_without_a_smaller_rtt_are_followed_by_200_ms_at_half_a_bdp() {
    for scheme in ["bbr2", "bbr3"] {
        let mut path = path(scheme);
        path.run_for(Span::from_secs(2));
        path.set_rtt(Span::from_millis(60));
        path.run_until(|path| state(path) == PROBE_RTT);
        assert!((5.0..7.1).contains(&path.now.since(Time::ZERO).as_secs_f64()), "{}", path.now);
        let began = path.now;
        path.run_for(Span::from_millis(150));
        assert!((path.window() / (BDP / 2.0) - 1.0).abs() < 0.05, "{}", path.window());
        path.run_until(|path| state(path) != PROBE_RTT);
        let stay = path.now.since(began);
        assert!((Span::from_millis(200)..Span::from_millis(400)).contains(&stay), "{stay}");
        assert_eq!(state(&path), CRUISE);
    }
}

/// A flow with packets sent and acknowledged by hand, as in quiche's tests.
struct Quiche {
    flow: Flow,
    now: Time,
    sent: Vec<Packet>,
}

impl Quiche {
    fn new() -> Self {
        let controller = crate::registry().parse("bbr2").expect("known").build(&CONTEXT);
        Self { flow: Flow::new(controller, CONTEXT.packet), now: Time::ZERO, sent: Vec::new() }
    }

    fn send(&mut self, count: usize) {
        for _ in 0..count {
            let packet = self.flow.on_sent(self.now, CONTEXT.packet);
            self.sent.push(packet);
        }
    }

    /// After an RTT of 50 ms.
    fn ack(&mut self, from: usize, to: usize) {
        self.now += Span::from_millis(50);
        let packets: Vec<Packet> = self.sent.drain(from..to).collect();
        self.flow.on_ack(self.now, &packets, Some(Span::from_millis(50)), None);
    }

    fn shows(&self, name: &str) -> f64 {
        struct One<'a>(&'a str, Option<f64>);
        impl Observer for One<'_> {
            fn value(&mut self, name: &'static str, _unit: &'static str, value: f64) {
                if name == self.0 {
                    self.1 = Some(value);
                }
            }
        }
        let mut one = One(name, None);
        let controller: &dyn Controller = self.flow.controller();
        controller.observe(&mut one);
        one.1.expect("shown")
    }

    fn window(&self) -> Bytes {
        self.flow.limits().window
    }
}

/// cloudflare/quiche, `bbr2/mod.rs`, `bbr2_startup`: five packets acknowledged after 50 ms.
#[test]
fn quiche_grows_by_what_is_acknowledged_in_startup() {
    let mut quiche = Quiche::new();
    let before = quiche.window();
    quiche.send(5);
    quiche.ack(0, 5);
    assert_eq!(quiche.shows("state"), STARTUP);
    assert_eq!(quiche.window(), before + CONTEXT.packet * 5);
    let rate = Rate::from_transfer(CONTEXT.packet * 5, Span::from_millis(50));
    assert_eq!(quiche.shows("max_bw"), rate.as_mbit_per_sec());
}

/// From the file of the test before, `bbr2_congestion_event`: the last of five packets arrives, two are lost, two are in flight.
#[test]
fn quiche_conserves_packets_after_a_loss() {
    let mut quiche = Quiche::new();
    quiche.send(5);
    quiche.ack(4, 5);
    let lost: Vec<Packet> = quiche.sent.drain(0..2).collect();
    quiche.flow.on_loss(quiche.now, &lost);
    assert_eq!(quiche.window(), CONTEXT.packet * 3);
}

/// From that file, `bbr2_probe_bw`: three rounds of a packet, then one of five that arrives. There four packets are enough for
/// Drain; here three quanta of two are, hence eight packets in place of five.
#[test]
fn quiche_drains_after_three_rounds_without_growth() {
    let mut quiche = Quiche::new();
    for _ in 0..3 {
        quiche.send(1);
        quiche.ack(0, 1);
    }
    assert_eq!(quiche.shows("state"), STARTUP);
    quiche.send(8);
    quiche.ack(0, 1);
    assert_eq!((quiche.shows("state"), quiche.shows("full_pipe")), (DRAIN, 1.0));
    assert!(quiche.shows("pacing_gain") < 1.0);
}

/// From that file, `bbr2_probe_rtt`, its first part: the fourth round of a packet leads through Drain and Down to Cruise.
#[test]
fn quiche_cruises_at_once_where_nothing_is_in_flight() {
    let mut quiche = Quiche::new();
    for _ in 0..4 {
        quiche.send(1);
        quiche.ack(0, 1);
    }
    assert_eq!(quiche.shows("state"), CRUISE);
}
