//! The scenarios of docs/evidence/l4s.md, shorter and on an embedded link.

use crate::common::cellcc;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The Records of a scenario of this repository, without the limit's.
fn records(name: &str) -> Vec<Value> {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).with_extension("toml");
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--traces", "5g-mmwave-walk", "--duration", "3s", "--series", "off", "--out", "out"];
    cellcc(folder.path()).args(["compare", "--scenario"]).arg(file).args(flags).assert().success();
    let runs = fs::read_to_string(folder.path().join("out/runs.jsonl")).unwrap();
    let records = runs.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["flows"][0]["scheme"] != "limit").collect()
}

#[test]
fn prague_is_marked_behind_each_queue_but_drop_tail_and_cubic_and_tide_never() {
    for name in ["l4s/5g", "l4s/lte"] {
        let records = records(name);
        assert_eq!(records.len(), 24, "{name}");
        for record in records {
            let (scheme, queue) = (&record["flows"][0]["scheme"], &record["scenario"]["path"]["queue"]);
            let drops = queue == "3200pkt" || queue == "unlimited";
            let marked = record["flows"][0]["metrics"]["marking_ratio"].as_f64();
            assert_eq!(marked.is_some(), scheme == "prague" && !drops, "{name}: {scheme} behind {queue}");
            assert!(marked.is_none_or(|ratio| 0.0 < ratio && ratio < 1.0), "{name}: {marked:?}");
        }
    }
}

#[test]
fn frames_arrive_by_every_scheme_behind_every_queue() {
    for name in ["l4s/media-5g", "l4s/media-lte"] {
        let records = records(name);
        assert_eq!(records.len(), 32, "{name}");
        for record in records {
            let frames = &record["flows"][0];
            assert!(
                frames["metrics"]["frame_delay_p95_ms"].as_f64().is_some_and(|delay| delay > 0.0),
                "{frames}"
            );
        }
    }
}
