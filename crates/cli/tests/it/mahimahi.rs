//! Mahimahi's names, and the reading of its logs.

use crate::common::cellcc;
use assert_cmd::Command;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;

/// A second of a 12 Mbit/s link whose queue holds ten packets: 20 come and 10 leave every 10 ms.
fn log_with_drops() -> String {
    let mut log = String::from(
        "# mahimahi mm-link (Uplink) [12.up] > up.log\n# queue: droptail [packets=10]\n# base timestamp: 3\n",
    );
    for milli in 3..1003 {
        writeln!(log, "{milli} # 1504").unwrap();
        if milli > 13 {
            writeln!(log, "{milli} - 1504 10").unwrap();
        }
        writeln!(log, "{milli} + 1504\n{milli} + 1504").unwrap();
        if milli > 13 {
            writeln!(log, "{milli} d 1 1504").unwrap();
        }
    }
    log
}

const FOUR_LINES: &str = "Average capacity: 12.04 Mbits/s\nAverage throughput: 11.91 Mbits/s (98.9% utilization)\n\
                          95th percentile per-packet queueing delay: 10 ms\n95th percentile signal delay: 10 ms\n\
                          Dropped: 989 packets (49.45% of those that came)\n";

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn graph_draws_a_log_with_drops_and_says_mahimahis_four_lines() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("up.log"), log_with_drops()).unwrap();
    let output = cellcc(folder.path()).args(["graph", "up.log", "--out", "pictures"]).output().unwrap();
    assert!(output.status.success(), "{}", text(output.stderr));
    assert_eq!(text(output.stdout), FOUR_LINES);
    for name in ["up-throughput.svg", "up-delay.svg"] {
        let svg = fs::read_to_string(folder.path().join("pictures").join(name)).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{name}");
    }
    let bins = fs::read_to_string(folder.path().join("pictures/up-bins.csv")).unwrap();
    assert_eq!(bins.lines().count(), 3, "a header and two bins of 500 ms: {bins}");
    assert!(bins.lines().nth(2).unwrap().starts_with("0.5,12.032,24.064,12.032,12.032,500,10,10"), "{bins}");
}

#[test]
fn graph_reads_a_compressed_log_and_writes_numbers_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(log_with_drops().as_bytes()).unwrap();
    fs::write(folder.path().join("up.log.gz"), encoder.finish().unwrap()).unwrap();
    let output = cellcc(folder.path()).args(["graph", "up.log.gz", "--format", "json"]).output().unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary[0]["dropped_packets"], 989);
    assert_eq!(summary[0]["queueing_delay_p95_ms"], 10);
    assert!(folder.path().join("up-delay.svg").exists());
}

#[test]
fn what_cannot_be_drawn_is_refused_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    for (content, expected) in [
        ("12\n13\n", "x.log:1: "),
        ("# base timestamp: 0\n", "x.log: covers no time"),
        ("# base timestamp: 0\n1 + 52\nhello\n", "x.log:3: `hello`"),
        ("# base timestamp: 0\n1 + 52\n9999999999 + 52\n", "x.log:3: 9999999999 ms makes more than"),
    ] {
        fs::write(folder.path().join("x.log"), content).unwrap();
        let output = cellcc(folder.path()).args(["graph", "x.log"]).output().unwrap();
        let message = text(output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.starts_with(&format!("error: {expected}")), "{message}");
    }
    let output = cellcc(folder.path()).args(["graph", "x.log", "--bin", "1.5ms"]).output().unwrap();
    assert!(text(output.stderr).contains("--bin 1.5ms: a log counts whole milliseconds"));
}

/// The command through a link of this name, as Mahimahi's users have it in their path.
fn by_name(folder: &Path, name: &str) -> Command {
    let link = folder.join(name);
    std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin!("cellcc"), &link).unwrap();
    let mut command = Command::new(link);
    command.current_dir(folder);
    command
}

#[test]
fn mm_throughput_graph_draws_on_standard_output_and_says_the_numbers_on_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let output = by_name(folder.path(), "mm-throughput-graph")
        .arg("500")
        .write_stdin(log_with_drops())
        .output()
        .unwrap();
    assert_eq!(text(output.stderr), FOUR_LINES);
    assert!(text(output.stdout).starts_with("<svg"));
}

#[test]
fn mm_delay_graph_does_likewise() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("up.log"), log_with_drops()).unwrap();
    let output = by_name(folder.path(), "mm-delay-graph").arg("up.log").output().unwrap();
    assert_eq!(text(output.stderr), "95th percentile per-packet queueing delay: 10 ms\n");
    assert!(text(output.stdout).starts_with("<svg"));
}

#[test]
fn a_shell_is_called_by_its_name_and_refuses_what_mahimahi_would_not_know() {
    let folder = tempfile::tempdir().unwrap();
    for (name, arguments, expected) in [
        ("mm-delay", &[][..], "mm-delay: the delay is missing"),
        ("mm-link", &["12Mbit/s", "lte-drive", "--uplink-lgo=x"], "there is no option `--uplink-lgo`"),
        ("mm-loss", &["uplink", "0.1", "mm-link", "up", "down"], "mm-link: there is no link named `up`"),
        ("mm-onoff", &["both", "1", "1"], "mm-onoff: `both`: write uplink or downlink"),
    ] {
        let output = by_name(folder.path(), name).args(arguments).output().unwrap();
        let message = text(output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.starts_with("error: ") && message.contains(expected), "{message}");
    }
}
