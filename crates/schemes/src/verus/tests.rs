use crate::testing::Path;
use cellcc_control::Observed;
use cellcc_units::{Rate, Span};

const PRESETS: [&str; 3] = ["verus(preset=authors)", "verus(preset=paper)", "verus(preset=robust)"];

/// 40 packets per RTT.
fn path(scheme: &str) -> Path {
    Path::new(scheme, Rate::from_mbit_per_sec(12.0), Span::from_millis(39))
}

#[test]
fn slow_start_ends_by_delay_and_the_profile_takes_over() {
    for scheme in PRESETS {
        let mut path = path(scheme);
        path.run_until(|path| path.shows("delay_target").is_some());
        path.run_for(Span::from_secs(20));
        let min = path.shows("min_delay").expect("shown");
        assert!((39.0..42.0).contains(&min), "{scheme}: {min} ms");
    }
}

#[test]
fn the_delay_stays_within_r_and_the_link_is_used() {
    for (scheme, least, most) in [
        ("verus(preset=authors,r=2)", 20.0, 60.0),
        ("verus(preset=paper)", 20.0, 60.0),
        ("verus(preset=robust,r=2)", 20.0, 60.0),
    ] {
        let mut path = path(scheme);
        path.run_for(Span::from_secs(20));
        let mut sum = 0.0;
        for _ in 0..100 {
            path.run_for(Span::from_millis(37));
            sum += path.inflight();
        }
        let mean = sum / 100.0;
        assert!(
            (least..most + 20.0).contains(&mean),
            "{scheme}: {mean} packets in flight of 40 without a queue"
        );
    }
}

#[test]
fn a_packet_lost_cuts_the_window_once_its_timer_expires() {
    let mut path = path("verus(preset=authors)");
    path.run_for(Span::from_secs(20));
    path.drop_next(1);
    let before = path.window();
    path.run_for(Span::from_millis(120));
    assert!(path.shows("in_recovery") == Some(0.0), "the timer has not expired: {before}");
    path.run_until(|path| path.shows("in_recovery") == Some(1.0));
    path.run_until(|path| path.shows("in_recovery") == Some(0.0));
}

#[test]
fn an_application_with_little_to_send_does_not_let_the_target_grow() {
    let mut path = path("verus(preset=authors)");
    path.run_for(Span::from_secs(5));
    path.set_app_packets(0);
    path.run_for(Span::from_secs(1));
    let target = path.shows("delay_target").expect("shown");
    path.run_for(Span::from_secs(10));
    assert_eq!(path.shows("delay_target"), Some(target), "without data there are no epochs");
    path.set_app_packets(1000);
    path.run_for(Span::from_secs(3));
    assert_eq!(path.inflight(), 0.0, "a thousand packets are through: the flow goes on after a pause");
}

/// The authors' program ends slow start above `SS_EXIT_THRESHOLD`, 500 ms, and restarts it if the points are too few for a profile.
#[test]
fn where_the_path_alone_takes_longer_than_slow_start_may_a_note_says_why_nothing_is_sent() {
    for (scheme, rtt_ms, notes) in [
        ("verus(preset=authors)", 490, 0),
        ("verus(preset=authors)", 510, 1),
        ("verus(preset=authors,slow-start-delay=1s)", 510, 0),
        ("verus(preset=paper)", 510, 0),
        ("verus(preset=robust)", 510, 0),
    ] {
        let mut path = Path::new(scheme, Rate::from_mbit_per_sec(12.0), Span::from_millis(rtt_ms));
        path.run_for(Span::from_secs(20));
        let mut observed = Observed::default();
        path.flow.controller().observe(&mut observed);
        assert_eq!(observed.notes.len(), notes, "{scheme}, {rtt_ms} ms: {:?}", observed.notes);
        assert_eq!(path.delivered() < 50.0, notes == 1, "{scheme}, {rtt_ms} ms: {}", path.delivered());
    }
}

#[test]
fn robust_learns_that_a_path_has_become_longer() {
    let mut path = path("verus(preset=robust,r=2)");
    path.run_for(Span::from_secs(20));
    path.set_rtt(Span::from_millis(119));
    path.run_for(Span::from_secs(30));
    let min = path.shows("min_delay").expect("shown");
    assert!((119.0..135.0).contains(&min), "{min} ms");
}

#[test]
fn robust_learns_no_minimum_delay_from_silence() {
    let mut path = path("verus(preset=robust,r=2)");
    path.run_for(Span::from_secs(5));
    let before = path.shows("min_delay").expect("shown");
    // One packet per twelve seconds: only packets that were already under way could arrive.
    path.set_rate(Rate::from_mbit_per_sec(0.001));
    path.run_for(Span::from_secs(8));
    let after = path.shows("min_delay").expect("shown");
    assert!(after <= before, "{before} ms, {after} ms after eight seconds without acknowledgements");
}

/// Equation 6 is for losses and time-outs; the program aims for its minimum delay.
#[test]
fn a_time_out_leaves_m_of_the_window_in_paper() {
    let mut path = path("verus(preset=paper)");
    path.run_for(Span::from_secs(20));
    path.set_rate(Rate::from_mbit_per_sec(0.001));
    path.run_until(|path| path.shows("in_recovery") == Some(1.0));
    for _ in 0..2 {
        let before = path.shows("sending_window").expect("shown");
        path.run_until(|path| path.shows("sending_window").is_some_and(|window| window < before));
        // Packets carry whole windows.
        assert_eq!(path.shows("sending_window"), Some(0.7 * before.floor()));
    }
}

/// The paper ends slow start by delay without a word of a cut.
#[test]
fn the_end_of_slow_start_by_delay_is_no_loss_in_paper() {
    for (scheme, recovers) in
        [("verus(preset=paper,slow-start-delay=2x)", 0.0), ("verus(preset=authors,slow-start-delay=2x)", 1.0)]
    {
        let mut path = path(scheme);
        path.run_until(|path| path.shows("delay_target").is_some());
        assert_eq!(path.shows("in_recovery"), Some(recovers), "{scheme}");
    }
}
