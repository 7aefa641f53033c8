//! Reports of transfers over unknown paths.

use crate::fabricated;
use cellcc_experiment::{Record, TRANSFER};
use cellcc_report::{TableFormat, figures, gain, html, table};
use cellcc_units::{Span, Time};

/// Three users' transfers with each of these schemes.
pub(crate) fn transfers(schemes: &[&str]) -> Vec<Record> {
    let mut records = fabricated::records(schemes, &["alice", "bob", "carol"], &[0], Span::from_secs(5));
    for (index, record) in records.iter_mut().enumerate() {
        record.driver = TRANSFER.into();
        record.scenario.driver = TRANSFER.into();
        record.scenario.path.rtt = Span::ZERO;
        record.scenario.duration =
            Time::from_nanos(5_000_000_000 + index as u64 * 1_000_000).since(Time::ZERO);
        record.total.utilisation = f64::NAN;
        record.series.columns.retain(|column| column.name != "capacity_mbit_s");
        record.notes = vec!["acknowledged packets count".into()];
    }
    records
}

#[test]
fn the_table_has_no_column_without_a_value_and_says_what_holds_for_all_once() {
    let text = table(&transfers(&["cubic", "bbr"]), TableFormat::Table, None, 120);
    assert!(!text.contains("Utilisation") && !text.contains("[transfer]"), "{text}");
    assert!(text.contains("By trace: throughput in Mbit/s, p95 queueing delay in ms"), "{text}");
    assert!(text.contains("cubic, bbr: acknowledged packets count (6 runs)"), "{text}");
}

#[test]
fn the_heading_says_only_what_is_known() {
    let page = html("Transfers", &transfers(&["cubic", "bbr"]), None);
    let (_, heading) = page.split_once("<p class=\"conditions\">").unwrap();
    let heading = heading.split('<').next().unwrap();
    assert!(heading.starts_with("5s to 5.005s per run · 3 traces · transfer"), "{heading}");
}

/// It was empty: its axis began at an unknown utilisation.
#[test]
fn the_first_figure_shows_throughput() {
    let figures = figures("Transfers", &transfers(&["cubic", "bbr"]));
    let first = &figures[0];
    assert!(
        first.name == "throughput-delay" && first.svg().contains("Throughput, Mbit/s"),
        "{}",
        first.svg()
    );
}

#[test]
fn what_a_scheme_gains_is_one_sentence() {
    let mut records = transfers(&["cubic", "bbr", "reminis"]);
    for (record, (rtt, mbit)) in
        records.iter_mut().zip([(2800.0, 4.0), (80.0, 3.9), (40.0, 3.6)].into_iter().cycle())
    {
        (record.total.rtt_mean_ms, record.total.throughput_mbit_s) = (Some(rtt), mbit);
    }
    let sentence = gain(&records, "reminis", &["cubic", "bbr"]).unwrap();
    assert_eq!(
        sentence,
        "reminis: 70 times less delay than cubic at 0.90 of its throughput, and 2.0 times less delay than bbr at 0.92 of its \
         throughput (mean RTT: reminis 40 ms, cubic 2800 ms, bbr 80 ms)."
    );
    assert_eq!(gain(&records, "reminis", &[]), None);
    assert_eq!(gain(&records, "vegas", &["cubic"]), None);
}
