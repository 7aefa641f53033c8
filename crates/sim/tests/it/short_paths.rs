//! Reminis on the path of a data centre, where jitter is longer than a round trip.

use crate::common::run;
use cellcc_experiment::Path;
use cellcc_units::Span;

/// The share that a flow uses of 1 Gbit/s at 100 us with 500 us of jitter: the scheduler's and the interrupts'.
fn share_used(scheme: &str) -> f64 {
    let path = Path { rtt: Span::from_micros(100), jitter: Span::from_micros(500), ..Path::default() };
    run(scheme, "rate=1Gbit/s", "1s", path).total.utilisation
}

#[test]
fn floors_of_interval_and_target_keep_jitter_from_being_a_catastrophe() {
    // The paper's SI and DTT, of 100 and 150 us, took it for one in nearly every interval, and used 5 %.
    for scheme in ["reminis", "reminis(timer=off)"] {
        let used = share_used(scheme);
        assert!(used > 0.95, "{scheme}: {used}");
    }
}
