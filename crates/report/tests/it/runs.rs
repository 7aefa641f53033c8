//! Runs one by one, results against results, and a terminal's highlights.

use crate::fabricated;
use cellcc_experiment::Record;
use cellcc_report::{
    DEFAULT_WIDTH, NONE, Report, RunsOptions, TableFormat, TableOptions, highlighted, plain_table, runs_table,
};
use cellcc_units::Span;

fn records(traces: usize) -> Vec<Record> {
    let names = fabricated::trace_names(traces);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fabricated::records(&["limit", "cubic", "bbr", "reminis"], &names, &[1], Span::from_secs(5))
}

fn slower(mut records: Vec<Record>, scheme: &str, times: f64) -> Vec<Record> {
    for run in records.iter_mut().filter(|run| run.scenario.scheme == scheme) {
        run.total.rtt_mean_ms = run.total.rtt_mean_ms.map(|ms| ms * times);
    }
    records
}

#[test]
fn the_worst_run_comes_first_with_the_file_of_its_series_and_the_limit_is_none() {
    let mut records = records(3);
    records[5].total.rtt_p99_ms = Some(9e5);
    records[6].total.rtt_p99_ms = None;
    let options = RunsOptions { worst: "rtt_p99_ms".parse().ok(), count: Some(4), ..RunsOptions::default() };
    let table = runs_table(&records, TableFormat::Table, DEFAULT_WIDTH, &options);
    let rows: Vec<&str> = table.lines().skip(4).collect();
    assert!(rows[0].contains(NONE) && rows[0].contains(&format!("series/{}.csv", records[6].id)), "{table}");
    assert!(rows[1].contains("900000") && rows[1].contains(&records[5].id), "{table}");
    let of_many = runs_table(
        &records,
        TableFormat::Table,
        DEFAULT_WIDTH,
        &RunsOptions { planned: 1_001, ..options.clone() },
    );
    let id = &records[6].id;
    assert!(of_many.contains(&format!("series/{}/{id}.csv", &id[..2])), "{of_many}");
    assert!(table.contains("4 of 9 runs") && !table.contains("limit"), "{table}");
    let csv = runs_table(&records, TableFormat::Csv, DEFAULT_WIDTH, &options);
    let ids: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').nth(5).unwrap()).collect();
    assert_eq!((ids.len(), &ids[..2]), (4, &[records[6].id.as_str(), records[5].id.as_str()][..]));
}

#[test]
fn a_varied_key_is_a_column_of_the_runs() {
    let records = fabricated::varied(&["limit", "cubic"], &["walk"], &["33pkt", "65pkt"]);
    let table = runs_table(&records, TableFormat::Table, DEFAULT_WIDTH, &RunsOptions::default());
    let header = table.lines().next().unwrap();
    assert!(header.contains("path.queue") && header.contains("Trace") && !header.contains("Seed"), "{table}");
    assert!(table.contains("33pkt") && table.contains("65pkt"), "{table}");
}

#[test]
fn results_are_held_against_others_row_by_row_and_what_changed_beyond_the_intervals_is_named() {
    let old = records(12);
    let mut new = slower(old.clone(), "cubic", 1.5);
    new.retain(|run| run.scenario.scheme != "reminis");
    let report = Report::new("x", &new, "cubic").against_results(&old, "before");
    let table = report.table(TableFormat::Table, DEFAULT_WIDTH, &TableOptions::default());
    for text in ["Against before: geometric mean over traces", "Only in before: reminis.", "Unchanged: bbr."]
    {
        assert!(table.contains(text), "{text}: {table}");
    }
    assert!(!table.contains("Relative to cubic"), "{table}");
    // On every trace by the same factor: there is no spread to make an interval of.
    assert!(table.contains("Changed, the same on every trace: cubic (RTT mean +50.0 %)."), "{table}");
    let mut uneven = old.clone();
    for (at, run) in uneven.iter_mut().enumerate().filter(|(_, run)| run.scenario.scheme == "bbr") {
        run.total.throughput_mbit_s *= 0.8 + 0.01 * at as f64 / 48.0;
    }
    let report = Report::new("x", &uneven, "").against_results(&old, "before");
    let table = report.table(TableFormat::Table, DEFAULT_WIDTH, &TableOptions::default());
    // Between a fifth less and, on the last trace, a fifth less one hundredth.
    assert!(table.contains("Changed beyond the 95 % intervals: bbr (Throughput -19."), "{table}");
    assert!(table.contains(" to -19."), "the interval: {table}");
    let files = report.files();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["report-series.js", "report-against.html"], "the report stays");
    let page = &files[1];
    assert!(page.content.contains("Changed beyond the 95 % intervals: bbr"));
    assert!(page.content.contains("\"label\":\"bbr in before\",\"colour\":\"#8c949c\""), "no grey point");
    let few = Report::new("x", &uneven[..8], "").against_results(&old, "before");
    let table = few.table(TableFormat::Table, DEFAULT_WIDTH, &TableOptions::default());
    assert!(table.contains("Changed, on too few traces for an interval: bbr"), "{table}");
}

#[test]
fn a_terminal_has_the_best_in_bold_and_intervals_faint_and_a_file_has_neither() {
    let records = records(12);
    let report = Report::new("x", &records, "");
    let table = |highlights| {
        let options = TableOptions { highlights, ..TableOptions::default() };
        report.table(TableFormat::Table, DEFAULT_WIDTH, &options)
    };
    let (plain, colourful) = (table(false), highlighted(&table(true), true));
    assert!(plain.chars().all(|c| c != '\x1b' && !('\u{2061}'..='\u{2063}').contains(&c)));
    let without =
        ["\x1b[1m", "\x1b[2m", "\x1b[0m"].iter().fold(colourful.clone(), |text, mark| text.replace(mark, ""));
    assert_eq!(without, plain, "highlights take no room");
    let row = colourful.lines().find(|line| line.starts_with(" cubic")).unwrap();
    assert!(row.contains("\x1b[1m"), "it carries the most: {colourful}");
    let limit = colourful.lines().find(|line| line.starts_with(" (limit)")).unwrap();
    assert!(!limit.contains("\x1b[1m"), "the limit is no scheme: {colourful}");
}

#[test]
fn every_table_has_its_numbers_to_the_right() {
    let rows = [["a", "ok", "1.5"], ["b", "limited", "22.5"]].map(|row| row.map(String::from).to_vec());
    let table = plain_table(&["what", "state", "MB"], &rows, Some(80));
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[2].ends_with(" 1.5") && lines[3].ends_with("22.5"), "{table}");
    assert_eq!(lines[2].find("ok"), lines[3].find("limited"), "{table}");
    assert!(plain_table(&["a"], &[vec!["x|y".into()]], None).contains("x\\|y"));
}
