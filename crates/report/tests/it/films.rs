//! Reports of videos in a browser: the viewer's metrics, with the link's.

use crate::fabricated;
use cellcc_experiment::{BROWSER, Column, Record};
use cellcc_report::{TableFormat, figures, html, table};
use cellcc_units::Span;

/// Ten runs of each of two schemes; the second one stalls.
fn films() -> Vec<Record> {
    let seeds: Vec<u64> = (1..=10).collect();
    let mut records = fabricated::records(&["bbr", "cubic"], &["drive"], &seeds, Span::from_secs(5));
    for record in &mut records {
        (record.driver, record.scenario.driver) = (BROWSER.into(), BROWSER.into());
        record.flows.iter_mut().for_each(|flow| flow.rtt = Default::default());
        let stalls = if record.scenario.scheme == "cubic" { record.scenario.seed } else { 0 };
        let total = &mut record.total;
        (total.rtt_mean_ms, total.rtt_p95_ms) = (None, None);
        total.startup_s = Some(0.5 + record.scenario.seed as f64 / 10.0);
        total.freezes = Some(stalls);
        total.freeze_ratio = Some(stalls as f64 / 100.0);
        total.media_rate_mbit_s = Some(3.5);
        total.qoe_lin = Some(3.0 - stalls as f64);
        let bins = record.scenario.series_bins();
        let column = |name: &str, value| Column { name: name.into(), values: vec![value; bins] };
        record
            .series
            .columns
            .extend([column("flow0.buffer_s", 12.5), column("flow0.media_rate_mbit_s", 3.5)]);
    }
    records
}

/// A quality that is below zero is an average as others are, with its interval.
#[test]
fn the_table_has_what_the_viewer_saw_with_intervals() {
    let columns = ["startup", "media-rate", "freezes", "frozen", "qoe"].map(|name| name.parse().unwrap());
    let options = cellcc_report::TableOptions { columns: columns.into(), ..Default::default() };
    let records = films();
    let report = cellcc_report::Report::new("Films", &records, "");
    insta::assert_snapshot!(report.table(TableFormat::Table, 100, &options));
    let unasked = table(&records, TableFormat::Table, None, 200);
    for title in ["Startup", "Freezes", "QoE"] {
        assert!(unasked.contains(title), "{unasked}");
    }
}

#[test]
fn a_run_that_was_not_a_film_has_no_such_column() {
    let records = fabricated::records(&["bbr"], &["drive"], &[1], Span::from_secs(5));
    let text = table(&records, TableFormat::Table, None, 200);
    assert!(!text.contains("QoE") && !text.contains("Startup"), "{text}");
}

/// Where a run had no value of them, as simulated ones have none, they were left out of every run.
#[test]
fn programs_get_all_of_it_for_each_run_that_has_it() {
    let mut records = films();
    records[0].total.startup_s = None;
    let csv = table(&records, TableFormat::Csv, None, 100);
    let mut reader = csv.lines();
    let header: Vec<&str> = reader.next().unwrap().split(',').collect();
    let at = header.iter().position(|name| *name == "startup_s").unwrap();
    let values: Vec<&str> = reader.map(|line| line.split(',').nth(at).unwrap()).collect();
    assert_eq!((values[0], values[1]), ("", "0.7"));
    let json: serde_json::Value =
        serde_json::from_str(&table(&records, TableFormat::Json, None, 100)).unwrap();
    assert_eq!((&json[0]["startup_s"], &json[1]["qoe_lin"]), (&serde_json::Value::Null, &3.0.into()));
}

#[test]
fn the_players_buffer_stands_over_time_with_queue_and_rate() {
    let page = html("Films", &films(), None);
    let place = |title: &str| page.find(&format!("\"{title}\"")).unwrap_or_else(|| panic!("{title}"));
    assert!(place("Throughput, Mbit/s") < place("Queueing delay, ms"));
    assert!(place("Queueing delay, ms") < place("Media rate, Mbit/s"));
    assert!(place("Media rate, Mbit/s") < place("Player's buffer, s"));
}

/// It used to be drawn, empty, and first.
#[test]
fn a_delay_that_nobody_measured_has_no_figure() {
    let figures = figures("Films", &films());
    assert!(figures.iter().all(|figure| figure.name != "rtt-cdf"));
    assert!(figures[0].svg().contains("queueing delay, ms"), "{}", figures[0].svg());
}
