//! `cellcc explain` over links and over results.

use crate::common::cellcc;
use std::fs;
use std::path::Path;

fn explained(folder: &Path, args: &[&str]) -> serde_json::Value {
    let output = cellcc(folder).arg("explain").args(args).args(["--format", "json"]).assert().success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

/// Mahimahi's opportunities: eight packets at once every 20 ms, 4.8 Mbit/s.
fn bursts(folder: &Path) {
    let lines: String = (1..=50).flat_map(|burst| vec![format!("{}\n", burst * 20); 8]).collect();
    fs::write(folder.join("bursts.mahi"), lines).unwrap();
}

#[test]
fn a_link_in_bursts_has_delay_of_its_own_and_a_steady_one_has_none() {
    let folder = tempfile::tempdir().unwrap();
    bursts(folder.path());
    let rows = explained(folder.path(), &["bursts.mahi", "12Mbit/s", "--duration", "4s"]);
    // Sent evenly, packets wait 9.5 ms for the next burst on average, at any utilisation.
    for bound in rows[0]["bounds"].as_array().unwrap() {
        let mean = bound["queueing_mean_ms"].as_f64().unwrap();
        assert!((9.0..10.0).contains(&mean), "{rows}");
    }
    assert_eq!(rows[0]["alone_mean_ms"].as_f64().unwrap().round(), 10.0, "{rows}");
    assert!(rows[1]["bounds"][2]["queueing_mean_ms"].as_f64().unwrap() < 0.1, "{rows}");
}

#[test]
fn a_schemes_delay_is_the_links_and_its_own() {
    let folder = tempfile::tempdir().unwrap();
    bursts(folder.path());
    let plan = ["--schemes", "cubic,reminis", "--traces", "bursts.mahi", "lte-static", "--rtt", "40ms"];
    cellcc(folder.path())
        .arg("compare")
        .args(plan)
        .args(["--duration", "4s", "--out", "out"])
        .assert()
        .success();
    let rows = explained(folder.path(), &["out", "--figure", "out/least.svg"]);
    assert_eq!(rows.as_array().unwrap().len(), 2, "{rows}");
    for row in rows.as_array().unwrap() {
        let number = |key: &str| row[key].as_f64().unwrap();
        assert!(
            number("least_mean_ms") > 1.0 && number("least_mean_ms") < number("queueing_mean_ms"),
            "{row}"
        );
        assert_eq!(number("runs"), 2.0);
    }
    assert!(fs::read_to_string(folder.path().join("out/least.svg")).unwrap().contains("reminis"));
    // A trace that has changed since does not belong to the results.
    fs::write(folder.path().join("bursts.mahi"), "1\n2\n3\n").unwrap();
    let refused = cellcc(folder.path()).args(["explain", "out"]).assert().code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("bursts.mahi: is not the trace of these results"), "{said}");
}

#[test]
fn schemes_stand_next_to_the_line_that_a_knob_draws() {
    let folder = tempfile::tempdir().unwrap();
    // With a queue of `window` packets the delay rises with the window, and the link is fully used from 33 packets on.
    let schemes = "fixed-window(window={20pkt,40pkt,60pkt}),fixed-rate(rate=9Mbit/s),cubic";
    cellcc(folder.path())
        .args([
            "compare",
            "--schemes",
            schemes,
            "--traces",
            "12Mbit/s",
            "--rtt",
            "33ms",
            "--duration",
            "4s",
            "--out",
            "out",
        ])
        .assert()
        .success();
    let rows = explained(folder.path(), &["out", "--against", "fixed-window", "--figure", "out/line.svg"]);
    let [slow, cubic] = rows.as_array().unwrap().as_slice() else { panic!("{rows}") };
    assert_eq!(slow["scheme"], "fixed-rate(rate=9Mbit/s)");
    // At three quarters of the link nothing waits behind either except for a packet's own service.
    let ratio = slow["mean"]["ratio"].as_f64().unwrap();
    assert!((0.2..1.1).contains(&ratio), "{rows}");
    assert!(cubic["mean"]["ratio"].as_f64().unwrap() > 1.0, "{rows}");
    let figure = fs::read_to_string(folder.path().join("out/line.svg")).unwrap();
    assert!(
        figure.contains("fixed-window(window=…)") && !figure.contains("window=20pkt"),
        "one entry for the line"
    );
    for (scheme, reason) in [("cubic", "hold 1 of it"), ("tide", "hold 0 of it")] {
        let refused = cellcc(folder.path()).args(["explain", "out", "--against", scheme]).assert().code(2);
        let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (args, reason) in [
        (vec!["nothing.mahi"], "nothing.mahi"),
        (vec!["12Mbit/s", "--duration", "10ms"], "shorter than the RTT"),
        (vec!["12Mbit/s", "--rtt", "0ms"], "--rtt"),
        (vec!["12Mbit/s", "--against", "tide"], "not a folder that `cellcc compare` left"),
        (vec!["."], "hold no trace"),
    ] {
        let refused = cellcc(folder.path()).arg("explain").args(&args).assert().code(2);
        let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(said.contains(reason), "{args:?}: {said}");
    }
}
