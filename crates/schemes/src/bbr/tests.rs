use crate::testing::{BDP, CONTEXT, Path, RTT, path, state};
use cellcc_control::{Event, Flow};
use cellcc_units::{Rate, Span, Time};

const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const PROBE_BW: f64 = 2.0;
const PROBE_RTT: f64 = 3.0;

#[test]
fn startup_fills_the_pipe_and_drain_empties_the_queue() {
    let mut path = path("bbr");
    assert_eq!(state(&path), STARTUP);
    path.run_until(|path| state(path) == DRAIN);
    assert_eq!(path.shows("full_pipe"), Some(1.0));
    assert!(path.inflight() > 1.5 * BDP, "{} in flight", path.inflight());
    path.run_until(|path| state(path) == PROBE_BW);
    assert!(path.inflight() < 1.05 * BDP, "{} in flight", path.inflight());
    assert!(path.now < Time::ZERO + RTT * 25);
    let estimate = path.shows("btl_bw").expect("always shown");
    assert!((estimate - 120.0).abs() < 1.2, "{estimate} Mbit/s");
}

#[test]
fn cruising_keeps_one_bdp_in_flight() {
    // 1000 packets per RTT. The three quanta of a millisecond each, which draining leaves in flight, are 3 % of it.
    let mut path = Path::new("bbr", Rate::from_mbit_per_sec(120.0), Span::from_micros(99_900));
    path.run_for(Span::from_secs(5));
    let mut cruising = 0;
    for _ in 0..3000 {
        path.run_for(Span::from_millis(1));
        if path.shows("pacing_gain") == Some(1.0) {
            cruising += 1;
            let share = path.inflight() / 1000.0;
            assert!((0.95..1.05).contains(&share), "{share} BDP in flight");
        }
    }
    assert!(cruising > 1500, "{cruising} ms of 3000");
}

#[test]
fn every_probe_is_followed_by_a_drain_and_six_phases_of_cruising() {
    let mut path = path("bbr");
    path.run_for(Span::from_secs(3));
    let gain = |path: &Path| path.shows("pacing_gain").expect("always shown");
    for _ in 0..5 {
        path.run_until(|path| gain(path) == 1.25);
        path.run_until(|path| gain(path) != 1.25);
        assert_eq!(gain(&path), 0.75);
        path.run_until(|path| gain(path) != 0.75);
        assert_eq!(gain(&path), 1.0);
        let began = path.now;
        path.run_until(|path| gain(path) != 1.0);
        let rounds = path.now.since(began).as_secs_f64() / RTT.as_secs_f64();
        assert!((6.0..6.6).contains(&rounds), "{rounds} rounds");
    }
}

#[test]
fn an_rtt_that_does_not_come_down_for_ten_seconds_is_measured_with_four_packets() {
    let mut path = path("bbr");
    path.run_for(Span::from_secs(2));
    path.set_rtt(Span::from_millis(60));
    assert_eq!(path.shows("min_rtt"), Some(40.0));
    path.run_until(|path| path.shows("min_rtt") != Some(40.0) || state(path) == PROBE_RTT);
    assert_eq!(state(&path), PROBE_RTT, "the old minimum is believed until then");
    let began = path.now;
    // Ten seconds after it was seen last, somewhere in the first two.
    assert!((10.0..12.1).contains(&began.as_secs_f64()), "{began}");
    assert_eq!(path.window(), 4.0);
    path.run_until(|path| state(path) != PROBE_RTT);
    let stay = path.now.since(began);
    // Draining the data in flight takes a round, then 200 ms at four packets.
    assert!((Span::from_millis(255)..Span::from_millis(340)).contains(&stay), "{stay}");
    assert_eq!(state(&path), PROBE_BW);
    assert!(path.window() > BDP, "the window from before is back");
    assert!((path.shows("min_rtt").expect("shown") - 60.1).abs() < 0.2);
}

#[test]
fn the_rates_of_probe_rtt_do_not_count() {
    // Its 200 ms are twenty rounds of this path: twice the memory of the bandwidth filter.
    let mut path = Path::new("bbr", Rate::from_mbit_per_sec(120.0), Span::from_micros(9_900));
    path.run_for(Span::from_secs(2));
    path.set_rtt(Span::from_millis(12));
    path.run_until(|path| state(path) == PROBE_RTT);
    let bandwidth = path.shows("btl_bw").expect("always shown");
    path.run_until(|path| state(path) != PROBE_RTT);
    for _ in 0..100 {
        path.run_for(Span::from_millis(1));
        // Four packets per RTT are 4 Mbit/s; cruising at 1 % below the estimate shows 1 % less of it.
        assert!(path.shows("btl_bw").expect("always shown") > 0.98 * bandwidth, "at {}", path.now);
    }
}

#[test]
fn in_recovery_packets_leave_as_others_arrive_and_then_the_window_comes_back() {
    let mut path = path("bbr");
    path.run_for(Span::from_secs(3));
    path.run_until(|path| path.shows("pacing_gain") == Some(1.0));
    let (window, inflight) = (path.window(), path.inflight());
    path.drop_next(1);
    path.run_until(|path| path.window() < window);
    assert!(path.window() <= inflight + 1.0, "{} after {inflight} in flight", path.window());
    path.run_for(RTT / 2);
    assert!(path.window() <= inflight + 1.0, "still in the first round: {}", path.window());
    path.run_for(RTT * 3);
    assert!(path.window() >= window - 8.0, "{} after {window}", path.window());
}

/// Each round's losses used to begin a recovery of their own, with a round of conservation.
#[test]
fn losses_in_every_round_are_one_recovery_which_conserves_packets_once() {
    let mut path = path("bbr");
    path.run_for(Span::from_secs(3));
    path.run_until(|path| path.shows("pacing_gain") == Some(1.0));
    for round in 0..20 {
        path.drop_next(1);
        path.run_for(RTT / 2);
        path.drop_next(1);
        path.run_for(RTT / 2);
        assert!(round < 4 || path.window() > 1.9 * BDP, "{} in round {round}", path.window());
    }
}

#[test]
fn a_repetition_that_is_lost_again_prolongs_recovery() {
    let controller = crate::registry().parse("bbr").expect("known").build(&CONTEXT);
    let mut flow = Flow::new(controller, CONTEXT.packet);
    let mut now = Time::ZERO;
    let send = |flow: &mut Flow, now, count| -> Vec<_> {
        (0..count).map(|_| flow.on_sent(now, CONTEXT.packet)).collect()
    };
    let first = send(&mut flow, now, 10);
    now += RTT;
    flow.on_ack(now, &first[..9], Some(RTT), None);
    let window = flow.limits().window;
    flow.on_loss(now, &first[9..]);
    let conserving = flow.limits().window;
    assert!(conserving < window);
    for _ in 0..3 {
        // The repetition leaves first, and is lost; all else arrives.
        let round = send(&mut flow, now, 2);
        now += RTT;
        flow.on_ack(now, &round[1..], Some(RTT), None);
        assert!(flow.limits().window < window, "recovery goes on");
        flow.on_loss(now, &round[..1]);
    }
    let repetition = send(&mut flow, now, 1);
    now += RTT;
    flow.on_ack(now, &repetition, Some(RTT), None);
    let next = send(&mut flow, now, 1);
    now += RTT;
    flow.on_ack(now, &next, Some(RTT), None);
    assert!(flow.limits().window >= window, "the window from before is back");
}

/// The outage used to become the minimum RTT, and ProbeRTT then waited for packets that were lost.
#[test]
fn an_outage_is_no_reason_to_look_for_a_new_minimum_rtt() {
    let mut path = path("bbr");
    path.run_for(Span::from_secs(3));
    let outage = Span::from_secs(12);
    path.set_rtt(outage);
    path.run_for(outage + RTT * 2);
    assert_eq!((path.shows("min_rtt"), state(&path)), (Some(40.0), PROBE_BW));
}

#[test]
fn without_pacing_two_bdps_are_in_flight() {
    let mut path = path("bbr(pacing=off,aggregation=off)");
    assert_eq!(path.flow.limits().pacing_rate, None);
    path.run_for(Span::from_secs(3));
    assert_eq!(state(&path), PROBE_BW);
    let share = path.inflight() / BDP;
    // And three send quanta (the pacing rate's millisecond each), 30 packets.
    assert!((1.95..2.3).contains(&share), "{share} BDP in flight");
}

#[test]
fn a_shallow_queue_overflows_without_making_the_estimate_collapse() {
    let mut path = path("bbr").with_queue(40);
    path.run_for(Span::from_secs(9));
    let estimate = path.shows("btl_bw").expect("always shown");
    assert!((estimate - 120.0).abs() < 6.0, "{estimate} Mbit/s");
}

#[test]
fn a_pause_of_the_application_keeps_the_bandwidth() {
    let mut path = path("bbr");
    path.run_for(Span::from_secs(3));
    let estimate = path.shows("btl_bw");
    path.set_app_packets(0);
    path.run_for(Span::from_secs(2));
    for _ in 0..100 {
        path.set_app_packets(2);
        path.run_for(RTT);
    }
    assert_eq!(path.shows("btl_bw"), estimate);
}

#[test]
fn a_spurious_loss_restores_the_window_at_once() {
    let controller = crate::registry().parse("bbr").expect("known").build(&CONTEXT);
    let mut flow = Flow::new(controller, CONTEXT.packet);
    let packets: Vec<_> = (0..10).map(|_| flow.on_sent(Time::ZERO, CONTEXT.packet)).collect();
    let now = Time::ZERO + RTT;
    flow.on_ack(now, &packets[..1], Some(RTT), None);
    let window = flow.limits().window;
    flow.on_loss(now, &packets[1..4]);
    assert!(flow.limits().window < window);
    flow.on_event(now, Event::SpuriousLoss);
    assert_eq!(flow.limits().window, window);
}
