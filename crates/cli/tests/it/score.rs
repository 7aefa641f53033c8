//! `cellcc score`: one number per scheme.

use crate::common::cellcc;
use serde_json::Value;

fn score(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output =
        cellcc(&std::env::temp_dir()).arg("score").args(arguments).arg("--quiet").output().expect("cellcc");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_best_is_first_and_the_parts_are_shares() {
    let (status, json, _) = score(&["fixed-rate", "vegas", "--format", "json"]);
    let rows: Vec<Value> = serde_json::from_str(&json).expect("an array");
    let schemes: Vec<_> = rows.iter().map(|row| row["scheme"].as_str()).collect();
    assert_eq!((status, schemes), (Some(0), vec![Some("vegas"), Some("fixed-rate")]), "{json}");
    assert_eq!((&rows[0]["rank"], &rows[0]["best_place"]), (&Value::from(1), &Value::from(1)));
    for row in &rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        assert!(number("low") <= number("score") && number("score") <= number("high"), "{row}");
        for part in ["throughput", "delay", "loss", "harm", "faults"] {
            assert!((0.0..=1.0).contains(&number(part)), "{part}: {row}");
        }
    }
}

#[test]
fn several_flows_are_no_scheme() {
    let (status, _, error) = score(&["cubic+bbr"]);
    assert_eq!(status, Some(2), "{error}");
    assert!(error.contains("`cubic+bbr` is not one scheme: write NAME"), "{error}");
}
