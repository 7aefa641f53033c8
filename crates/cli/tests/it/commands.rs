//! The commands as a user calls them.

use crate::common::cellcc;
use std::fs;
use std::path::Path;
use std::process::Stdio;

fn printed(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = cellcc(folder.path()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_says_what_there_is() {
    insta::assert_snapshot!(printed(&["--help"]));
    insta::assert_snapshot!(printed(&["compare", "--help"]));
}

#[test]
fn the_version_says_what_was_built() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(printed(&["-V"]), format!("cellcc {version}\n"));
    let long = printed(&["--version"]);
    let sources = cellcc_version::VERSION;
    assert!(long.starts_with(&format!("cellcc {sources} (")) && long.contains("rustc 1."), "{long}");
}

#[test]
fn schemes_are_listed_in_short_and_described_one_by_one_with_every_parameter() {
    let text = printed(&["schemes"]);
    assert!(text.lines().any(|line| line.starts_with("cubic ")) && !text.contains("dtt="), "{text}");
    assert!(text.lines().count() < 50 && text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let one = printed(&["schemes", "reminis"]);
    assert!(one.starts_with("reminis\n") && one.contains("\n  dtt=1.5x\n") && !one.contains("\ncubic\n"));
    for format in ["json", "csv", "markdown"] {
        let text = printed(&["schemes", "--format", format]);
        assert!(text.contains("reminis") && text.contains("dtt"), "{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&printed(&["schemes", "--format", "json"])).unwrap();
    assert!(json.as_array().unwrap().iter().all(|scheme| scheme["source"].is_string()));
}

#[test]
fn presets_are_listed_with_their_values() {
    let text = printed(&["schemes", "verus"]);
    let lines = |start: &str| text.lines().filter(|line| line.trim_start().starts_with(start)).count();
    assert_eq!(lines("- preset="), 5, "{text}");
    assert!(
        text.contains("\n  r=4\n") && text.contains("2 with preset=paper, 6 with preset=authors"),
        "{text}"
    );
    assert!(text.contains("; sets nothing. ") && text.contains("; sets fit=penalised, "), "{text}");
    assert!(
        text.contains(
            "  preset=paper is the paper's text, preset=authors the authors' program, and the default, preset=robust, the one to run.\n"
        ),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&printed(&["schemes", "verus", "--format", "json"])).unwrap();
    let authors = &json[0]["presets"][2];
    assert_eq!((&authors["preset"], &authors["sets"]["r"]), (&"preset=authors".into(), &"6".into()));
    let csv = printed(&["schemes", "rbbr", "--format", "csv"]);
    assert!(csv.contains("rbbr,profile=paced,") && csv.contains("sets soft-limit=on"), "{csv}");
}

#[test]
#[cfg(target_os = "linux")]
fn the_doctor_says_what_this_machine_can_do() {
    let folder = tempfile::tempdir().unwrap();
    let output = cellcc(folder.path()).args(["doctor", "--format", "json"]).output().unwrap();
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let state = |what: &str| {
        let finding = findings.as_array().unwrap().iter().find(|finding| finding["what"] == what).unwrap();
        finding["state"].as_str().unwrap().to_owned()
    };
    assert!(["ok", "limited"].contains(&state("clock").as_str()));
    let missing = |what: &str| state(what) == "missing";
    let runs = !(missing("network namespaces") || missing("TUN devices") && missing("veth and AF_PACKET"));
    assert_eq!(output.status.code(), Some(if runs { 0 } else { 1 }));
}

#[test]
fn a_trace_is_described_in_numbers() {
    let json: serde_json::Value =
        serde_json::from_str(&printed(&["trace", "info", "3g", "5g-mmwave-walk", "--format", "json"]))
            .unwrap();
    assert_eq!((&json[0]["trace"], &json[1]["duration_s"]), (&"3g".into(), &180.0.into()));
    assert!(printed(&["trace", "info", "3g"]).contains("Mbit/s"));
    let csv = printed(&["trace", "info", "3g", "--format", "csv"]);
    let columns = |line: &str| line.split(',').count();
    assert_eq!(csv.lines().map(columns).collect::<Vec<_>>(), [21, 21]);
}

#[test]
fn the_analysis_of_radio_recordings_is_named_where_it_is_now() {
    for arguments in [&["ping 1.txt", "--format", "json"][..], &["--help"], &[]] {
        let refused = cellcc(Path::new(".")).args(["trace", "radio"]).args(arguments).output().unwrap();
        let error = String::from_utf8(refused.stderr).unwrap();
        let expected = format!(
            "python -m cellcc.radio{}",
            arguments.iter().map(|word| format!(" {word}")).collect::<String>()
        );
        let expected = expected.replace("ping 1.txt", "'ping 1.txt'");
        assert!(refused.status.code() == Some(2) && error.trim_end().ends_with(&expected), "{error}");
    }
}

#[test]
fn a_converted_trace_carries_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let convert = |from: &str, to: &str| {
        cellcc(folder.path()).args(["trace", "convert", from, to]).assert().success();
    };
    convert("lte-static", "a.mbps");
    convert("a.mbps", "b.mahi.gz");
    convert("b.mahi.gz", "c.csv.xz");
    let output = cellcc(folder.path())
        .args(["trace", "info", "--format", "json", "lte-static", "a.mbps", "b.mahi.gz", "c.csv.xz"])
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mean = |index: usize| json[index]["mean_mbit_s"].as_f64().unwrap();
    // A Mahimahi trace has whole packets only: 12 kbit more or less in 180 s.
    (1..4).for_each(|index| assert!((mean(index) / mean(0) - 1.0).abs() < 1e-3, "{json:#}"));
}

const SABRE: &str = r#"[{"duration_ms": 1000, "bandwidth_kbps": 4000, "latency_ms": 100},
    {"duration_ms": 1000, "bandwidth_kbps": 8000, "latency_ms": 40}]"#;

#[test]
fn a_file_of_another_program_is_a_link_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sabre.json"), SABRE).unwrap();
    let output = |arguments: &[&str]| {
        let output = cellcc(folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let delays = "round-trip times of 40ms to 100ms; --extra-delay @sabre.json applies them";
    let (table, _) = output(&["trace", "info", "sabre.json"]);
    assert!(table.contains("6.00") && table.contains(delays), "{table}");
    let (_, told) = output(&["trace", "convert", "sabre.json", "sabre.mbps", "--bin", "1s"]);
    assert!(told.contains(delays), "{told}");
    assert_eq!(fs::read_to_string(folder.path().join("sabre.mbps")).unwrap(), "0\t4\n1\t8\n");
    let compared = ["compare", "--schemes", "cubic", "--traces", "sabre.json", "--duration", "2s"];
    let both = ["--extra-delay", "@sabre.json", "--reverse-extra-delay", "@sabre.json", "--out", "out"];
    let (table, _) = output(&[&compared[..], &both].concat());
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(delays), "{table}");
    let records = fs::read_to_string(folder.path().join("out/runs.jsonl")).unwrap();
    assert_eq!(records.matches(r#""extra_delay":"50ms@1s,20ms@1s""#).count(), 4, "{records}");
}

#[test]
fn bare_numbers_are_read_as_the_user_says() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("flat.txt"), "20000\n".repeat(20)).unwrap();
    let mean = |arguments: &[&str]| {
        let all = [&["trace", "info", "--format", "json"], arguments].concat();
        let output = cellcc(folder.path()).args(all).output().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        json[0]["mean_mbit_s"].as_f64().unwrap()
    };
    assert_eq!(mean(&["flat.txt", "--as", "kbit/s@100ms"]), 20.0);
    assert_eq!(mean(&["flat.txt,as=Mbit/s@1s"]), 20_000.0);
    assert_eq!(mean(&["flat.txt", "--as", "mahimahi"]), 0.012);
    let converted = ["trace", "convert", "flat.txt", "flat.mbps", "--as", "kbit/s@100ms", "--bin", "1s"];
    cellcc(folder.path()).args(converted).assert().success();
    assert_eq!(fs::read_to_string(folder.path().join("flat.mbps")).unwrap(), "0\t20\n1\t20\n");
}

/// All of them were 0.0.
#[test]
fn a_slow_trace_is_described_with_three_digits() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("slow.mbps"), "0 0.01234\n2 0.01234\n").unwrap();
    let output = cellcc(folder.path()).args(["trace", "info", "slow.mbps"]).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(table.matches(" 0.0123 ").count(), 4, "{table}");
}

#[test]
fn completions_and_man_pages_are_made() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(printed(&["completions", shell]).contains("cellcc"));
    }
    assert!(printed(&["man"]).contains(".TH cellcc"));
    let folder = tempfile::tempdir().unwrap();
    cellcc(folder.path()).args(["man", "--out", "pages"]).assert().success();
    assert!(fs::read_to_string(folder.path().join("pages/cellcc-compare.1")).unwrap().contains("seeds"));
}

#[test]
fn a_closed_standard_output_is_no_error() {
    let command = assert_cmd::cargo::cargo_bin!("cellcc");
    let mut child = std::process::Command::new(command)
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_one() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let command = assert_cmd::cargo::cargo_bin!("cellcc");
    let output = std::process::Command::new(command).arg("schemes").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: cannot write to standard output"));
}

/// It printed numbers only, and left the verdict to the reader.
#[cfg(target_os = "linux")]
#[test]
fn the_difference_of_two_traces_is_said_in_a_sentence() {
    let same = printed(&["trace", "diff", "12Mbit/s", "12Mbit/s"]);
    assert!(same.starts_with("the traces agree over ") && same.lines().count() == 1, "{same}");
    let json: serde_json::Value =
        serde_json::from_str(&printed(&["trace", "diff", "12Mbit/s", "12Mbit/s", "--format", "json"]))
            .unwrap();
    assert_eq!(json["worst_1s_bin"], 0.0);
    let folder = tempfile::tempdir().unwrap();
    let differ = cellcc(folder.path()).args(["trace", "diff", "12Mbit/s", "6Mbit/s"]).output().unwrap();
    assert_eq!(differ.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&differ.stdout).starts_with("the traces do not agree over "),
        "{differ:?}"
    );
}
