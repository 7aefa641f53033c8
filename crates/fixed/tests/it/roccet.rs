//! ROCCET against the same decisions in floating point.

use cellcc_fixed::roccet::{Law, Phase, Roccet, Sender};
use cellcc_fixed::{Ack, Instant, Micros, Packets, Window};
use proptest::prelude::*;

fn ack(now: u64, rtt: u32, delivered: u32) -> Ack {
    Ack {
        now: Instant(now),
        rtt: Micros(rtt),
        delivered: Packets(delivered),
        cwnd_limited: true,
        ..Ack::default()
    }
}

fn sender(sent: u32) -> Sender {
    Sender { srtt: Micros(40_000), sent: Packets(sent), in_recovery: false }
}

proptest! {
    #[test]
    fn sr_rtt_is_that_of_real_numbers(rtts in prop::collection::vec(5_000u32..400_000, 1..500)) {
        let (mut core, mut window) = (Roccet::START, Window::FIRST);
        let (mut exact, mut least) = (0.0, f64::INFINITY);
        for (number, rtt) in rtts.iter().enumerate() {
            core.on_ack(&ack(number as u64 * 1_000, *rtt, number as u32), &sender(0), &mut window);
            least = least.min(f64::from(*rtt));
            exact += 0.2 * ((f64::from(*rtt) - least) / least - exact);
            // The weight is 0.2 less 3e-6, times up to 79 least RTTs; a sample and its share are truncated to units of
            // 2^-16, five times in the sum of all weights.
            let bound = 79.0 * 5.0 * 3.1e-6 + 6.0 / 65_536.0;
            prop_assert!((f64::from(core.sr_rtt().0) / 65_536.0 - exact).abs() <= bound, "{exact}");
        }
    }
}

/// A flow that has launched, with a window of 100 packets and RTTs of 40 ms.
fn in_orbiter() -> (Roccet, Window) {
    let (mut core, mut window) = (Roccet::START, Window { cwnd: Packets(100), ..Window::FIRST });
    assert_eq!(core.on_ack(&ack(0, 40_000, 0), &sender(0), &mut window), Law::Grows);
    assert_eq!(core.on_loss(&mut window), Law::Rests);
    assert_eq!((core.phase(), window.ssthresh), (Phase::Orbiter, Packets(100)));
    (core, window)
}

#[test]
fn a_hundredth_of_the_window_sent_beyond_what_was_acknowledged_stops_growth() {
    let (mut core, mut window) = in_orbiter();
    core.on_ack(&ack(1_000_000, 40_000, 50), &sender(150), &mut window);
    let mut law = |sent| core.on_ack(&ack(1_001_000, 40_000, 60), &sender(sent), &mut window);
    assert_eq!([160, 161, 162, 140].map(&mut law), [Law::Grows, Law::Grows, Law::Rests, Law::Grows]);
}

#[test]
fn a_probe_has_half_of_the_window_for_200_ms_and_then_cubics_clock_still_waits_as_long() {
    let (mut core, mut window) = in_orbiter();
    let mut seen = Vec::new();
    for now in [4_999, 5_000, 5_199, 5_200, 5_399, 5_400] {
        let law = core.on_ack(&ack(now * 1_000, 40_000, 0), &sender(0), &mut window);
        seen.push((law, core.most().0));
    }
    let unbounded = u32::MAX;
    let expected = [
        (Law::Grows, unbounded),
        (Law::Rests, 50),
        (Law::Waits, 50),
        (Law::Waits, unbounded),
        (Law::Waits, unbounded),
        (Law::Rests, unbounded),
    ];
    assert_eq!((seen, window.cwnd), (expected.into(), Packets(100)));
}

#[test]
fn a_time_out_forgets_that_it_has_launched_and_idling_does_not() {
    for (restart, share) in
        [(Roccet::on_timeout as fn(&mut Roccet, &mut Window) -> Law, 50), (Roccet::on_idle_restart, 66)]
    {
        let (mut core, mut window) = in_orbiter();
        assert_eq!(restart(&mut core, &mut window), Law::Begins);
        assert_eq!(window, Window { ssthresh: Packets::INFINITE_SSTHRESH, ..Window::FIRST });
        window.cwnd = Packets(100);
        let unused = |now| Ack { cwnd_limited: false, ..ack(now, 40_000, 0) };
        assert_eq!(core.on_ack(&unused(0), &sender(0), &mut window), Law::Grows);
        assert_eq!(core.on_ack(&unused(500_000), &sender(0), &mut window), Law::Rests);
        assert_eq!(window, Window { cwnd: Packets(share), ssthresh: Packets(share) });
    }
}
