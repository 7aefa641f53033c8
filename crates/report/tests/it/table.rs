//! Tables of fabricated Records.

use crate::fabricated;
use cellcc_experiment::Record;
use cellcc_report::{DEFAULT_WIDTH, Report, TableColumn, TableFormat, TableOptions, table};
use cellcc_units::Span;

const SCHEMES: [&str; 4] = ["limit", "cubic", "bbr", "reminis(dtt=1x)"];

fn small() -> Vec<Record> {
    fabricated::records(&SCHEMES, &["a/walk.mbps", "a/drive.mbps"], &[1, 2, 3], Span::from_secs(20))
}

#[test]
fn the_terminals_table_has_a_row_a_scheme_then_the_traces_then_the_notes() {
    insta::assert_snapshot!(table(&small(), TableFormat::Table, None, DEFAULT_WIDTH));
}

#[test]
fn markdown_says_the_same() {
    insta::assert_snapshot!(table(&small(), TableFormat::Markdown, None, DEFAULT_WIDTH));
}

#[test]
fn the_terminals_table_fits_100_columns_whatever_the_names() {
    let long = "reminis(dtt=40ms, nde=deterministic, aimd=cubic, slow_start=off)";
    let schemes: Vec<_> = SCHEMES.into_iter().chain([long, "vegas", "newreno", "verus"]).collect();
    let mut records = fabricated::records(&schemes, &["walk", "drive"], &[1, 2], Span::from_secs(5));
    for record in &mut records {
        record.jain_index = Some(0.987);
        record.total.d3 = Some(1.23);
        record.total.completion_time_s = Some(12.3);
        record.total.deadline_miss_ratio = Some(0.1);
    }
    for line in table(&records, TableFormat::Table, Some("cubic"), DEFAULT_WIDTH).lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

/// `cubic` used to be in a column of one letter's width, where the table fitted except for the spaces between its columns.
#[test]
fn at_any_width_the_table_fits_and_no_name_is_cut_within_a_part() {
    let traces: Vec<String> = fabricated::trace_names(16);
    let traces: Vec<&str> = traces.iter().map(String::as_str).collect();
    let schemes = [SCHEMES.as_slice(), &["verus(profile=reference, r=2)"]].concat();
    let records = fabricated::records(&schemes, &traces, &[1], Span::from_secs(5));
    for width in 50..200 {
        let text = table(&records, TableFormat::Table, Some("cubic"), width);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        let (_headline, text) = text.split_once("\n\n").unwrap();
        let (text, _notes) = text.split_once("Power disadvantage:").unwrap();
        // A row of each of the tables.
        let rows = text.lines().filter(|line| line.starts_with(" bbr ")).count();
        for part in ["reminis(", "dtt=1x)", "profile=reference,", "r=2)"] {
            assert_eq!(text.matches(part).count(), rows, "{width}: {part}\n{text}");
        }
    }
}

#[test]
fn json_has_an_object_a_run_with_units_in_the_keys() {
    let records = small();
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(&table(&records, TableFormat::Json, None, DEFAULT_WIDTH)).unwrap();
    assert_eq!(rows.len(), records.len());
    let row = &rows[1];
    assert_eq!((row["scheme"].as_str(), row["trace"].as_str()), (Some("cubic"), Some("walk")));
    assert_eq!(row["rtt_p95_ms"].as_f64(), records[1].total.rtt_p95_ms);
    assert!(row["flows"].is_null());
}

#[test]
fn json_tells_several_flows_apart() {
    let mut records = small();
    let second = records[1].flows[0].clone();
    records[1].flows.push(second);
    let rows: serde_json::Value =
        serde_json::from_str(&table(&records, TableFormat::Json, None, DEFAULT_WIDTH)).unwrap();
    assert_eq!(rows[1]["flows"][1]["scheme"], "cubic");
    assert!(rows[1]["flows"][1]["utilisation"].is_number());
}

#[test]
fn csv_has_the_flat_columns_of_json() {
    let records = small();
    let rows: Vec<serde_json::Map<_, _>> =
        serde_json::from_str(&table(&records, TableFormat::Json, None, DEFAULT_WIDTH)).unwrap();
    let csv = table(&records, TableFormat::Csv, None, DEFAULT_WIDTH);
    let mut header: Vec<_> = csv.lines().next().unwrap().split(',').collect();
    let mut keys: Vec<_> = rows[0].keys().map(String::as_str).collect();
    header.sort_unstable();
    keys.sort_unstable();
    assert_eq!(header, keys);
    assert_eq!(csv.lines().count(), 1 + records.len());
}

#[test]
fn without_a_run_there_is_still_a_table() {
    assert_eq!(table(&[], TableFormat::Json, None, DEFAULT_WIDTH).trim(), "[]");
    assert!(table(&[], TableFormat::Table, None, DEFAULT_WIDTH).contains("Scheme"));
}

#[test]
fn names_cannot_break_a_markdown_table() {
    let records = fabricated::records(&["a|b"], &["t"], &[1], Span::from_secs(1));
    assert!(table(&records, TableFormat::Markdown, None, DEFAULT_WIDTH).contains("a\\|b"));
}

#[test]
fn a_format_is_named_or_refused() {
    assert_eq!("csv".parse(), Ok(TableFormat::Csv));
    let error = "xml".parse::<TableFormat>().unwrap_err().to_string();
    assert!(error.contains("`xml`") && error.contains("markdown"), "{error}");
}

#[test]
fn a_row_is_a_scheme_under_one_variation_and_the_limit_is_said_once_where_it_does_not_change() {
    let mut records = fabricated::varied(&["limit", "cubic"], &["walk"], &["33pkt", "65pkt"]);
    let names = |records: &[Record]| -> Vec<String> {
        let text = table(records, TableFormat::Markdown, None, DEFAULT_WIDTH);
        let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
        let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        rows.map(|row| cells(row)[1..3].join(" ")).collect()
    };
    assert_eq!(names(&records), ["cubic 33pkt", "cubic 65pkt", "(limit) –"]);
    let limit = records.iter_mut().find(|record| record.scenario.scheme == "limit").unwrap();
    limit.total.rtt_mean_ms = Some(40.0);
    assert_eq!(names(&records)[2..], ["(limit) 33pkt", "(limit) 65pkt"]);
    let rows: serde_json::Value =
        serde_json::from_str(&table(&records, TableFormat::Json, None, DEFAULT_WIDTH)).unwrap();
    assert_eq!((&rows[1]["scheme"], &rows[1]["variation"]), (&"cubic".into(), &"path.queue=33pkt".into()));
    assert!(table(&records, TableFormat::Csv, None, DEFAULT_WIDTH).starts_with("scheme,variation,trace,"));
}

#[test]
fn programs_have_the_id_the_path_and_each_varied_condition_of_a_run_in_columns() {
    let records = fabricated::varied(&["cubic"], &["walk"], &["33pkt", "65pkt"]);
    let rows: serde_json::Value =
        serde_json::from_str(&table(&records, TableFormat::Json, None, DEFAULT_WIDTH)).unwrap();
    assert_eq!((&rows[1]["path.queue"], &rows[1]["id"]), (&"65pkt".into(), &records[1].id.as_str().into()));
    assert_eq!((rows[1]["duration_s"].as_f64(), rows[1]["path_rtt_ms"].as_f64()), (Some(5.0), Some(20.0)));
    let csv = table(&records, TableFormat::Csv, None, DEFAULT_WIDTH);
    let cell = |line: usize, name: &str| {
        let cells: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        cells[line][cells[0].iter().position(|title| *title == name).unwrap()].to_owned()
    };
    assert_eq!((cell(2, "path.queue"), cell(2, "duration_s")), ("65pkt".into(), "5.0".into()));
    // Texts sort 100pkt, 1600pkt, 400pkt.
    assert_eq!(
        (cell(1, "path_queue_packets"), rows[1]["path_queue_packets"].as_f64()),
        ("33.0".into(), Some(65.0))
    );
}

#[test]
fn a_table_has_the_columns_and_the_order_that_are_asked_for() {
    let records = small();
    let options = TableOptions {
        columns: vec!["rtt-p95".parse().unwrap(), "power".parse().unwrap()],
        sort: Some("rtt-p95".parse().unwrap()),
        no_intervals: true,
        highlights: false,
    };
    let text = Report::new("", &records, "").table(TableFormat::Markdown, DEFAULT_WIDTH, &options);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| "))
        .take(5)
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows[0][1..4], ["Scheme", "RTT, p95, ms", "Power, Mbit/s/ms, geometric"]);
    let delays: Vec<f64> = rows[1..4].iter().map(|row| row[2].parse().unwrap()).collect();
    assert!(delays.is_sorted() && rows[4][1] == "(limit)", "{text}");
    let error = "speed".parse::<TableColumn>().unwrap_err().to_string();
    assert!(error.contains("`speed`") && error.contains("rtt-p95"), "{error}");
}

/// A sweep of two keys printed 430 lines of one-column tables.
#[test]
fn the_terminal_has_no_table_by_trace_that_does_not_fit() {
    let queues: Vec<String> = (1..=20).map(|count| format!("{count}pkt")).collect();
    let queues: Vec<&str> = queues.iter().map(String::as_str).collect();
    let records = fabricated::varied(&["limit", "cubic", "bbr"], &["walk", "drive", "train"], &queues);
    assert!(!table(&records, TableFormat::Table, None, DEFAULT_WIDTH).contains("By trace"));
    assert!(table(&small(), TableFormat::Table, None, DEFAULT_WIDTH).contains("By trace"));
}

/// Two traces with one seed each, and only these values in them: mean RTT, throughput, retransmissions.
fn set(record: &mut Record, rtt_ms: f64, throughput_mbit_s: f64, retransmitted: u64) {
    record.total.rtt_mean_ms = Some(rtt_ms);
    record.total.throughput_mbit_s = throughput_mbit_s;
    record.total.retransmitted_packets = retransmitted;
    record.total.queueing_delay_mean_ms = Some(rtt_ms - 20.0);
    record.total.power = Some(throughput_mbit_s / (rtt_ms - 20.0));
    record.total.power95 = None;
}

#[test]
fn ratios_to_a_baseline_are_taken_on_each_trace_and_then_averaged() {
    let mut records =
        fabricated::records(&["limit", "cubic", "bbr"], &["walk", "drive"], &[1], Span::from_secs(5));
    set(&mut records[1], 120.0, 10.0, 8);
    set(&mut records[2], 60.0, 9.0, 2);
    set(&mut records[4], 420.0, 20.0, 0);
    set(&mut records[5], 40.0, 10.0, 2);
    insta::assert_snapshot!(table(&records, TableFormat::Markdown, Some("cubic"), DEFAULT_WIDTH));
    // Under a variation, against the baseline in the same one.
    let varied = fabricated::varied(&["cubic", "bbr"], &["walk"], &["33pkt", "65pkt"]);
    let text = table(&varied, TableFormat::Table, Some("bbr"), 200);
    let (_, relative) = text.split_once("Relative to bbr\n").unwrap();
    let (relative, _notes) = relative.split_once("Power disadvantage").unwrap();
    for value in ["33pkt", "65pkt"] {
        let row = relative.lines().find(|line| line.contains(value)).unwrap();
        assert!(row.trim().starts_with("cubic"), "{text}");
    }
    assert!(!relative.contains("bbr"));
}

#[test]
fn a_scheme_has_a_row_for_each_driver_and_the_simulator_is_held_against_the_other() {
    let mut records = fabricated::records(&["cubic", "bbr"], &["walk", "drive"], &[1], Span::from_secs(5));
    set(&mut records[0], 55.0, 9.0, 0);
    set(&mut records[2], 40.0, 22.0, 0);
    for (simulated, rtt_ms, throughput_mbit_s) in [(0, 50.0, 10.0), (2, 50.0, 20.0)] {
        let mut real = records[simulated].clone();
        real.driver = "kernel".into();
        real.scenario.driver = "kernel".into();
        real.notes = vec!["in real time".into()];
        set(&mut real, rtt_ms, throughput_mbit_s, 0);
        records.push(real);
    }
    let text = table(&records, TableFormat::Table, Some("bbr"), DEFAULT_WIDTH);
    let (relative, fidelity) =
        text.split_once("cubic: by how much the results of the driver `sim` lie above").unwrap();
    for (name, values) in [
        ("walk", ["-10.0", "10.0"]),
        ("drive", ["10.0", "-20.0"]),
        ("mean, signs aside", ["10.0", "15.0"]),
        ("largest, signs aside", ["10.0", "20.0"]),
    ] {
        let row = fidelity.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap();
        assert_eq!(row.split_whitespace().take(2).collect::<Vec<_>>(), values, "{name}: {fidelity}");
    }
    assert!(text.contains("cubic [kernel]: in real time (2 runs)"), "{text}");
    // BBR was not run by the kernel: the kernel's CUBIC has nothing to be held against.
    let (_, relative) = relative.split_once("Relative to bbr").unwrap();
    assert!(relative.contains(" cubic ") && !relative.contains("cubic [kernel]"), "{relative}");
}
