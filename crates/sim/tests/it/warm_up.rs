//! The part of a run that is left out of its metrics.

use crate::common::compare;
use cellcc_experiment::Record;
use cellcc_units::Span;

fn with_warm_up(secs: u64) -> Vec<Record> {
    compare(&["cubic:frames(8Mbit/s,100ms)"], "step=4Mbit/s@5s,20Mbit/s@15s", |file| {
        file.duration = Span::from_secs(20);
        file.warm_up = Span::from_secs(secs);
    })
}

#[test]
fn what_happens_in_the_warm_up_is_in_the_series_and_in_no_metric() {
    let (whole, rest) = (with_warm_up(0), with_warm_up(10));
    let (limit, cubic) = (&rest[0].total, &rest[1].total);
    // The slow beginning is gone: the link is at 20 Mbit/s, and the frames of 8 Mbit/s are all in time.
    assert!((limit.throughput_mbit_s - 20.0).abs() < 0.01, "{}", limit.throughput_mbit_s);
    assert_eq!(cubic.deadline_miss_ratio, Some(0.0));
    assert!(whole[1].total.deadline_miss_ratio > Some(0.2));
    assert!(cubic.frames.unwrap() < whole[1].total.frames.unwrap());
    assert!(cubic.sent_packets < whole[1].total.sent_packets);
    assert!(cubic.rtt_max_ms < whole[1].total.rtt_max_ms);
    let columns = |record: &Record| record.series.to_csv();
    assert_eq!(columns(&rest[1]), columns(&whole[1]), "the run itself is the same");
}

#[test]
fn a_run_too_short_for_a_round_trip_says_so() {
    let records = compare(&["cubic"], "rate=10Mbit/s", |file| {
        file.duration = Span::from_millis(15);
    });
    assert!(
        records[1].notes[0].contains("active for 15ms, too short for one round trip of 20ms"),
        "{:?}",
        records[1].notes
    );
}
