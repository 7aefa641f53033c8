//! The commands of cellcc with the scheme in them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn own(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_own-scheme"));
    command.current_dir(folder).args(arguments.split(' ')).output().expect("the program runs")
}

fn printed(folder: &Path, arguments: &str) -> String {
    let Output { status, stdout, stderr } = own(folder, arguments);
    assert!(status.success(), "{arguments}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("text")
}

#[test]
fn the_scheme_is_listed_compared_reported_and_plotted() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    assert!(printed(folder, "schemes own").contains("gain"));
    fs::write(folder.join("link.mbps"), "0\t12\n1\t6\n").expect("a trace");
    let compare =
        "compare --schemes own,own(gain=4),cubic --traces link.mbps --duration 4s --out first --quiet";
    let table = printed(folder, compare);
    assert!(["own", "own(gain=4)", "cubic"].iter().all(|row| table.contains(row)), "{table}");
    assert!(fs::read_to_string(folder.join("first/report.html")).expect("a report").contains("own(gain=4)"));
    printed(folder, "plot first --x queueing-p95 --y throughput --out figure.svg");
    assert!(fs::read_to_string(folder.join("figure.svg")).expect("a figure").contains("own"));
}

#[test]
fn results_name_the_build_of_the_scheme_and_are_resumed_by_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let command = "compare --schemes own --traces 12Mbit/s --duration 1s --out first --quiet";
    printed(folder, command);
    let lines = fs::read_to_string(folder.join("first/runs.jsonl")).expect("Records");
    let record: serde_json::Value = serde_json::from_str(lines.lines().last().expect("a run")).expect("JSON");
    let version = record["version"].as_str().expect("a text");
    let (_, word) = version.split_once(", own ").unwrap_or_else(|| panic!("{version}"));
    assert!(word.len() == 12 && word.chars().all(|digit| digit.is_ascii_hexdigit()), "{version}");
    printed(folder, &format!("{command} --resume"));
}

#[test]
fn the_scheme_is_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = printed(folder.path(), "check own --case rfc9743/drop-tail --quiet");
    assert!(text.contains("PASS  rfc9743/drop-tail"), "{text}");
}

/// The manifest once took its edition from the workspace, so that no copy of it could be built.
#[test]
fn a_copy_of_the_manifest_needs_no_workspace() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::create_dir(folder.path().join("src")).expect("a folder");
    for name in ["Cargo.toml", "src/lib.rs", "src/main.rs"] {
        fs::copy(here.join(name), folder.path().join(name)).expect("a file of the example");
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(folder.path());
    let Output { status, stderr, .. } = cargo.output().expect("cargo runs");
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
}
