//! One process at a time writes to an output folder, and leaves nothing half-written; unwritable files are refused.

#![allow(clippy::disallowed_methods, reason = "processes are started and killed at moments of real time")]

use crate::bad_input::refused_in;
use crate::common::cellcc;
use crate::compare::content;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

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

/// The report was cut off on a full disk, and the target of a link was overwritten.
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
    let (status, message) = with_file_limit(&folder, 600, &["report", "out"]);
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

const SMALL: [&str; 7] = ["compare", "--schemes", "cubic", "--traces", "10Mbit/s", "--duration", "1s"];

fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SMALL[..], more].concat()
}

#[test]
fn an_output_folder_that_cannot_be_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    refused_in(folder.path(), &small(&["--out", "file/out"]), &["cannot write to file/out", "--out"]);
    refused_in(folder.path(), &small(&["--out", "file"]), &["cannot write to file", "--out"]);
    // No user creates folders there, not even root.
    #[cfg(target_os = "linux")]
    refused_in(folder.path(), &small(&["--out", "/proc/cellcc"]), &["/proc/cellcc", "--out"]);
}

/// A process whose files may not grow beyond some blocks of 512 or 1024 bytes fails to write as on a full disk.
#[cfg(unix)]
fn with_file_limit(folder: &TempDir, blocks: u32, arguments: &[&str]) -> (Option<i32>, String) {
    let command = assert_cmd::cargo::cargo_bin!("cellcc");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .arg(command)
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[cfg(unix)]
#[test]
fn a_full_output_folder_is_refused_before_the_runs_and_reported_within_them() {
    let folder = tempfile::tempdir().unwrap();
    let (status, message) = with_file_limit(&folder, 0, &small(&["--out", "full"]));
    assert_eq!(status, Some(2), "{message}");
    assert!(message.contains("cannot write to full"), "{message}");

    let many_bins = ["--duration", "600s", "--series-bin", "1ms", "--out", "filling"];
    let arguments = [&SMALL[..5], &many_bins].concat();
    let (status, message) = with_file_limit(&folder, 64, &arguments);
    assert_eq!(status, Some(1), "{message}");
    assert!(message.contains("cannot write filling/series/") && message.contains("--resume"), "{message}");

    cellcc(folder.path())
        .args([&arguments[..7], &["--out", "share", "--shard", "1/1"]].concat())
        .assert()
        .success();
    let (status, message) = with_file_limit(&folder, 64, &["merge", "share", "--out", "merged"]);
    assert_eq!(status, Some(1), "{message}");
    assert!(message.contains("cannot write merged/") && message.contains("with --replace"), "{message}");
    assert!(!message.contains("--resume"), "`merge` has none: {message}");
    cellcc(folder.path()).args(["merge", "share", "--out", "merged", "--force"]).assert().success();
}

#[test]
fn results_are_not_overwritten_silently() {
    let folder = tempfile::tempdir().unwrap();
    cellcc(folder.path()).args(small(&["--out", "out"])).assert().success();
    refused_in(
        folder.path(),
        &small(&["--out", "out"]),
        &["out holds results", "--resume", "--replace", "--out"],
    );
    cellcc(folder.path()).args(small(&["--out", "out", "--force"])).assert().success();
    refused_in(folder.path(), &["compare", "--resume"], &["--out"]);
    refused_in(
        folder.path(),
        &["report", "out", "--baseline", "bbr"],
        &["--baseline bbr", "there are cubic"],
    );
}

#[test]
fn folders_without_results_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    refused_in(folder.path(), &["report", "nothing"], &["nothing holds no results"]);
    refused_in(folder.path(), &["merge", "nothing", "--out", "x"], &["nothing holds no results"]);
    fs::write(folder.path().join("run-info.json"), "{\n\"title\": 3}").unwrap();
    refused_in(folder.path(), &["report", "."], &["run-info.json:2"]);
}
