//! One process at a time writes to an output folder, and leaves nothing half-written.

#![allow(clippy::disallowed_methods, reason = "processes are started and killed at moments of real time")]

use crate::common::cellcc;
use crate::compare::content;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PLAN: [&str; 9] =
    ["compare", "--schemes", "cubic,reminis", "--traces", "20Mbit/s", "--seeds", "1..3", "--duration", "1s"];

fn resume(folder: &Path) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("cellcc"))
        .args(PLAN)
        .args(["--resume", "--out", "out"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Two at once left `runs.jsonl` truncated or missing, most of the time.
#[test]
fn of_two_that_resume_at_once_one_does_it_and_the_other_hears_who() {
    let whole = tempfile::tempdir().unwrap();
    cellcc(whole.path()).args(PLAN).args(["--out", "out"]).assert().success();
    let expected = content(&whole.path().join("out"));
    for round in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("out")).unwrap();
        let both = [resume(folder.path()), resume(folder.path())];
        let ids = both.each_ref().map(|child| child.id());
        let outputs = both.map(|child| child.wait_with_output().unwrap());
        let message = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(outputs.iter().any(|output| output.status.success()), "round {round}: {outputs:?}");
        // Where the first had ended before the second began, both succeed.
        for (output, other) in outputs.iter().zip([ids[1], ids[0]]) {
            let refused = output.status.code() == Some(2)
                && message(output).contains(&format!("error: process {other} "))
                && message(output).contains("is writing to the output folder out");
            assert!(output.status.success() || refused, "round {round}: {}", message(output));
        }
        assert_eq!(content(&folder.path().join("out")), expected, "round {round}");
    }
}

#[cfg(unix)]
#[test]
fn a_killed_process_holds_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let long = ["--traces", "100Mbit/s", "--seeds", "1..40", "--duration", "60s", "--out", "out"];
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("cellcc"))
        .args([&PLAN[..3], &long].concat())
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !folder.path().join("out/scenario.toml").exists() {
        assert!(Instant::now() < deadline, "nothing was written in a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
    let refused = cellcc(folder.path()).args(PLAN).args(["--force", "--out", "out"]).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains(&format!("process {} ", child.id())), "{message}");
    assert!(message.contains("compare --schemes cubic,reminis --traces 100Mbit/s"), "{message}");
    child.kill().unwrap();
    child.wait().unwrap();
    cellcc(folder.path()).args(PLAN).args(["--force", "--out", "out"]).assert().success();
}

/// The report was cut off where the disk was full, and what a link led to was overwritten.
#[cfg(unix)]
#[test]
fn a_report_is_whole_or_as_it_was_and_is_not_written_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    cellcc(folder.path()).args(PLAN).args(["--out", "out"]).assert().success();
    let names = || -> Vec<_> {
        let entries = fs::read_dir(folder.path().join("out")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = (content(&folder.path().join("out")), names());
    // Enough blocks for the figures, and not for the report.
    let (status, message) = crate::bad_input::with_file_limit(&folder, 600, &["report", "out"]);
    assert_eq!(status, Some(1), "{message}");
    assert!((content(&folder.path().join("out")), names()) == before, "the report is not as it was");
    assert!(message.contains("cannot write out/report.html: "), "{message}");
    assert!(message.contains("`cellcc report out`"), "{message}");

    let report = folder.path().join("out/report.html");
    let elsewhere = folder.path().join("elsewhere.html");
    fs::write(&elsewhere, "precious").unwrap();
    fs::remove_file(&report).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &report).unwrap();
    cellcc(folder.path()).args(["report", "out"]).assert().success();
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
    assert_eq!((content(&folder.path().join("out")), names()), before);
}

#[test]
fn damaged_results_are_refused_by_report_and_made_again_by_resume() {
    let folder = tempfile::tempdir().unwrap();
    cellcc(folder.path()).args(PLAN).args(["--out", "out"]).assert().success();
    let before = content(&folder.path().join("out"));
    let runs = folder.path().join("out/runs.jsonl");
    let text = fs::read_to_string(&runs).unwrap();
    fs::write(&runs, text.replacen("\"schema\":1", "\"schema\": 1", 1)).unwrap();
    let output = cellcc(folder.path()).args(["report", "out"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    let problem = "out/runs.jsonl: line 1 was changed since it was written";
    assert!(message.contains(problem), "{message}");
    assert!(message.contains("`cellcc compare --resume --out out` repeats"), "{message}");

    let output = cellcc(folder.path()).args(["compare", "--resume", "--out", "out"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && message.contains(problem), "{message}");
    assert_eq!(content(&folder.path().join("out")), before);
}
