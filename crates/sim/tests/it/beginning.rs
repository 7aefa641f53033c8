//! How a run begins: where in its trace, and with a part that is left out of its metrics.

use crate::common::compare;
use cellcc_experiment::{Metrics, Offset, Record};
use cellcc_units::Span;

/// CUBIC, which draws no random number, and the limit, with three seeds on a recorded kind of link.
fn with(offset: Offset) -> Vec<Record> {
    compare(&["cubic"], "lte-drive", |file| {
        file.seeds = "1..3".parse().expect("a list of seeds");
        file.duration = Span::from_secs(5);
        file.offset = offset;
    })
}

fn totals<'a>(records: &'a [Record], scheme: &'a str) -> Vec<&'a Metrics> {
    records.iter().filter(|run| run.scenario.scheme == scheme).map(|run| &run.total).collect()
}

/// Three seeds gave three equal results, and the table an interval of no width.
#[test]
fn a_seed_changes_a_scheme_without_randomness_only_where_the_offset_is_random() {
    let fixed = with(Offset::Fixed);
    let of_cubic = totals(&fixed, "cubic");
    assert!(of_cubic.iter().all(|total| *total == of_cubic[0]));
    let random = with(Offset::Random);
    let of_cubic = totals(&random, "cubic");
    assert!(of_cubic[0] != of_cubic[1] && of_cubic[1] != of_cubic[2] && of_cubic[0] != of_cubic[2]);
}

#[test]
fn no_scheme_beats_the_limit_of_its_own_offset() {
    let random = with(Offset::Random);
    let (limits, schemes) = (totals(&random, "limit"), totals(&random, "cubic"));
    assert_eq!(limits.len(), schemes.len());
    for (limit, scheme) in limits.iter().zip(schemes) {
        assert!(scheme.throughput_mbit_s <= limit.throughput_mbit_s);
    }
}

#[test]
fn a_record_names_a_random_offset_and_is_as_before_with_a_fixed_one() {
    let text = |records: &[Record]| serde_json::to_string(&records[3].scenario).unwrap();
    let random = text(&with(Offset::Random));
    assert!(random.contains("\"offset\":\"random\",\"trace_offset\":\""), "{random}");
    assert!(!text(&with(Offset::Fixed)).contains("offset"));
}

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
