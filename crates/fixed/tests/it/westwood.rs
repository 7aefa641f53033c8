//! Westwood+ against the same filters in floating point, and the window after a loss.

use cellcc_fixed::westwood::{Profile, Westwood};
use cellcc_fixed::{Ack, Instant, Micros, Packets, Window};
use proptest::prelude::*;

/// The filters in real numbers, in packets per microsecond.
#[derive(Default)]
struct Real {
    filters: Option<(f64, f64)>,
    min_rtt: f64,
    began: Option<(f64, u32)>,
}

impl Real {
    fn on_ack(&mut self, now: f64, rtt: f64, delivered: u32) {
        self.min_rtt = if self.began.is_none() { rtt } else { self.min_rtt.min(rtt) };
        let (began, before) = *self.began.get_or_insert((now, delivered));
        let span = now - began;
        if span <= rtt.max(50_000.0) {
            return;
        }
        let sample = f64::from(delivered - before) / span;
        self.filters = Some(match self.filters {
            None => (sample, sample),
            Some((first, second)) => {
                let first = first * 0.875 + sample * 0.125;
                (first, second * 0.875 + first * 0.125)
            }
        });
        self.began = Some((now, delivered));
    }
}

proptest! {
    #[test]
    fn the_estimates_are_those_of_real_numbers(
        acks in prop::collection::vec((1u32..2_000, 1_000u32..300_000, 1u32..50), 1..2_000),
    ) {
        let (mut core, mut real) = (Westwood::START, Real::default());
        let (mut now, mut delivered) = (0u64, 0u32);
        for (passed, rtt, packets) in acks {
            now += u64::from(passed);
            delivered += packets;
            core.on_ack(&Ack {
                now: Instant(now),
                rtt: Micros(rtt),
                delivered: Packets(delivered),
                ..Ack::default()
            });
            real.on_ack(now as f64, rtt.into(), delivered);
        }
        let Some((_, bandwidth)) = real.filters else {
            prop_assert_eq!(core.estimated_window(), None);
            return Ok(());
        };
        // Each step of a filter drops less than one unit of 2^-32, and keeps seven eighths of earlier losses: 8 units
        // for the first filter, 8 more plus those of the first for the second.
        let estimate = core.bandwidth().expect("a sample") as f64 / 4_294_967_296.0;
        prop_assert!((estimate - bandwidth).abs() <= 17.0 / 4_294_967_296.0 + 1e-12 * bandwidth);
        let window = core.estimated_window().expect("both estimates").0;
        let exact = (bandwidth * real.min_rtt).max(2.0);
        prop_assert!(f64::from(window) <= exact + 1e-6 && f64::from(window) > exact - 1.01, "{window} for {exact}");
    }
}

/// A packet per millisecond with an RTT of 100 ms: the path holds 100.
fn steady() -> Westwood {
    let mut state = Westwood::START;
    for millis in 0..1_000u32 {
        state.on_ack(&Ack {
            now: Instant(u64::from(millis) * 1_000),
            rtt: Micros(100_000),
            delivered: Packets(millis),
            ..Ack::default()
        });
    }
    state
}

const HALVED: Window = Window { cwnd: Packets(75), ssthresh: Packets(75) };

/// True for 100 packets, which the filters may round down to 99.
fn is_the_path(packets: Packets) -> bool {
    (99..=100).contains(&packets.0)
}

#[test]
fn a_loss_leaves_what_the_path_holds_and_in_linux_does_so_when_recovery_ends() {
    let state = steady();
    for (profile, at_the_loss) in [(Profile::Paper, true), (Profile::Linux, false)] {
        let mut window = HALVED;
        state.on_cut(profile, Packets(150), &mut window);
        assert_eq!((is_the_path(window.cwnd), is_the_path(window.ssthresh)), (at_the_loss, at_the_loss));
        let mut window = HALVED;
        state.on_recovered(profile, &mut window);
        assert_eq!(is_the_path(window.cwnd), !at_the_loss);
    }
}

#[test]
fn a_loss_raises_no_window() {
    let mut window = HALVED;
    steady().on_cut(Profile::Paper, Packets(40), &mut window);
    assert_eq!((window.cwnd, is_the_path(window.ssthresh)), (Packets(40), true));
}

#[test]
fn a_loss_before_the_first_sample_leaves_renos_half() {
    let mut window = HALVED;
    Westwood::START.on_cut(Profile::Paper, Packets(150), &mut window);
    assert_eq!(window, HALVED);
}

#[test]
fn a_timeout_begins_a_new_minimum() {
    let mut state = steady();
    let mut window = HALVED;
    state.on_timeout(&mut window);
    assert!(is_the_path(window.ssthresh) && window.cwnd == HALVED.cwnd);
    assert_eq!(state.estimated_window(), None);
    let ack =
        Ack { now: Instant(1_000_000), rtt: Micros(300_000), delivered: Packets(1_000), ..Ack::default() };
    state.on_ack(&ack);
    assert!((297..=300).contains(&state.estimated_window().expect("an RTT").0));
}
