//! What a seed changes in a run.

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
