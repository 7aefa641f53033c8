//! Results of an earlier version, two shards in the folder `earlier`: three flows behind DualPI2, one of them a video, and a transfer
//! of a size. They were made by commit a6630367d74d.

use crate::common::cellcc;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const EARLIER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/earlier");

fn printed(folder: &Path, args: &[&str]) -> String {
    let output = cellcc(folder).args(args).assert().success();
    String::from_utf8_lossy(&output.get_output().stdout).into_owned()
}

/// Both shards in the folder `out`.
fn merged() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let shards = [1, 2].map(|shard| format!("{EARLIER}/{shard}"));
    let table = printed(folder.path(), &["merge", &shards[0], &shards[1], "--out", "out"]);
    assert!(table.contains("99.9 % of the link at a mean RTT of 61.7"), "{table}");
    folder
}

#[test]
fn every_metric_of_an_earlier_record_is_exported_as_it_stands_there() {
    let folder = merged();
    printed(folder.path(), &["export", "out", "--out", "tables", "--csv"]);
    let mut csv = csv::Reader::from_path(folder.path().join("tables/runs.csv")).unwrap();
    let rows: Vec<BTreeMap<String, String>> = csv.deserialize().map(Result::unwrap).collect();
    let records = fs::read_to_string(folder.path().join("out/runs.jsonl")).unwrap();
    assert_eq!((rows.len(), records.lines().count()), (4, 4));
    let mut compared = 0;
    for record in records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let row = rows.iter().find(|row| row["id"] == record["id"]).unwrap();
        let flows = record["flows"].as_array().unwrap();
        let flows = flows.iter().map(|flow| &flow["metrics"]).enumerate().filter(|_| flows.len() > 1);
        let of_flows = flows.map(|(at, metrics)| (format!("flow{at}."), metrics));
        for (prefix, metrics) in [(String::new(), &record["total"])].into_iter().chain(of_flows) {
            for (key, value) in metrics.as_object().unwrap() {
                let text = if value.is_null() { String::new() } else { value.to_string() };
                assert_eq!(row[&format!("{prefix}{key}")], text, "{prefix}{key}");
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn earlier_results_are_reported_held_against_others_drawn_and_explained() {
    let folder = merged();
    let folder = folder.path();
    let table =
        printed(folder, &["report", "out", "--against", "out", "--columns", "p_base_mean,freezes,jain"]);
    for shown in ["Base probability", "Freezes", "0.658", "Unchanged: cubic+prague+gcc"] {
        assert!(table.contains(shown), "{shown}: {table}");
    }
    printed(folder, &["plot", "out", "--x", "rtt", "--y", "throughput,power"]);
    assert!(fs::read_to_string(folder.join("out/plot.svg")).unwrap().contains("reminis"));
    let explained = printed(folder, &["explain", "out", "--format", "json"]);
    let explained: Value = serde_json::from_str(&explained).unwrap();
    assert_eq!(explained[0]["queueing_mean_ms"].as_f64().map(f64::round), Some(22.0), "{explained}");
}
