//! C2TCP against the same decisions in floating point.

use cellcc_fixed::c2tcp::{C2tcp, Config, Profile};
use cellcc_fixed::{Ack, Instant, Micros, Packets, Q16};
use proptest::prelude::*;

const CONFIG: Config = Config {
    profile: Profile::V2,
    target: Micros::ZERO,
    multiple: Q16(2 << 16),
    alpha: Q16(3 << 15),
    tuner: true,
};

fn real(number: Q16) -> f64 {
    f64::from(number.0) / 65536.0
}

/// The authors' tuner in real numbers, with one acknowledgement per millisecond.
fn tuned(alpha: f64, rtts: &[u32], min_rtt: f64) -> f64 {
    let mean = rtts.iter().map(|rtt| f64::from(*rtt)).sum::<f64>() / rtts.len() as f64;
    let distance = (2.0 * min_rtt - mean) / mean;
    let change = if distance < 0.0 { 2.0 * distance } else { distance / 2.0 };
    (alpha * (1.0 + change)).clamp(1.0, 10.0)
}

fn ack(now: u64, rtt: u32) -> Ack {
    Ack { now: Instant(now), rtt: Micros(rtt), cwnd_limited: true, ..Ack::default() }
}

proptest! {
    #[test]
    fn alpha_is_that_of_real_numbers(rtts in prop::collection::vec(5_000u32..400_000, 500)) {
        let mut core = C2tcp::START;
        let mut now = 0;
        for rtt in &rtts {
            core.on_ack(&CONFIG, &ack(now, *rtt), Packets(10), false);
            now += 1_000;
        }
        let min_rtt = f64::from(*rtts.iter().min().expect("500 of them"));
        core.on_ack(&CONFIG, &ack(now, 400_000), Packets(10), false);
        // The mean of whole microseconds, at least 5000, and three numbers in units of 2^-16, one of them twice and
        // times alpha.
        let bound = 1.5 * 2.0 * 3.0 / 5_000.0 + 6.0 / 65_536.0;
        let exact = tuned(1.5, &rtts, min_rtt);
        prop_assert!((real(core.alpha().expect("an RTT")) - exact).abs() <= bound, "{exact}");
    }

    #[test]
    fn cuts_come_as_codel_drops(passed in prop::collection::vec(1u64..20_000, 200..2_000)) {
        let config = Config { tuner: false, ..CONFIG };
        let mut core = C2tcp::START;
        core.on_ack(&config, &ack(0, 40_000), Packets(10), false);
        let (mut now, mut next, mut count) = (0, None::<f64>, 1u32);
        for passed in passed {
            now += passed;
            let cut = core.on_ack(&config, &ack(now, 61_000), Packets(10), false).cuts;
            let Some(due) = next else {
                next = Some(now as f64 + 60_000.0);
                prop_assert!(!cut);
                continue;
            };
            // 1.3e-4 of the longest wait, and a whole microsecond.
            let near = (now as f64 - due).abs() <= 9.0;
            prop_assert!(near || cut == (now as f64 > due), "{now} for {due}");
            if cut {
                next = Some(now as f64 + 60_000.0 / f64::from(count).sqrt());
                count += 1;
            }
        }
        prop_assert_eq!(core.cuts() + 1, count);
    }
}

#[test]
fn below_the_setpoint_a_window_of_acknowledgements_grows_by_the_rtts_that_fit_into_it() {
    let config = Config { profile: Profile::V1, target: Micros(105_000), ..CONFIG };
    for (rtt, expected) in [(104_000, 1), (50_000, 2), (20_000, 5)] {
        let mut core = C2tcp::START;
        let grown: u32 = (0..100)
            .map(|number| core.on_ack(&config, &ack(number, rtt), Packets(100), false).growth.0)
            .sum();
        assert_eq!(grown, expected, "{rtt} us");
    }
}

#[test]
fn in_recovery_and_unused_the_window_does_not_grow() {
    let mut core = C2tcp::START;
    let unused = Ack { cwnd_limited: false, ..ack(0, 1_000) };
    for _ in 0..100 {
        assert_eq!(core.on_ack(&CONFIG, &ack(0, 1_000), Packets(2), true).growth, Packets(0));
        assert_eq!(core.on_ack(&CONFIG, &unused, Packets(2), false).growth, Packets(0));
    }
}
