//! Folders with unexpected content: no runs are written into them, and nothing blocks on them.

use crate::bad_input::refused_in;
use crate::common::cellcc;
use std::fs;

/// The quick start ran into it: a script that kills and resumes ended with the results of another experiment.
#[test]
fn a_folder_that_does_not_say_what_to_finish_is_left_alone() {
    for theirs in [None, Some("my.txt"), Some(".cellcc-lock")] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        if let Some(name) = theirs {
            fs::write(out.join(name), "mine").unwrap();
        }
        let expected = ["out/scenario.toml", "repeat the interrupted command with its schemes"];
        refused_in(folder.path(), &["compare", "--resume", "--out", "out"], &expected);
        refused_in(folder.path(), &["compare", "--resume", "--out", "out", "--jobs", "1"], &expected);
        assert_eq!(fs::read_dir(&out).unwrap().count(), usize::from(theirs.is_some()), "{theirs:?}");
        // The whole command says by itself what to run.
        let whole = "compare --schemes cubic --traces 3g --duration 1s --resume --out out --quiet";
        cellcc(folder.path()).args(whole.split(' ')).assert().success();
        cellcc(folder.path()).args(["compare", "--resume", "--out", "out", "--quiet"]).assert().success();
    }
}

/// The whole machine was read without a word, and files of the kernel wait for ever for something to say.
#[cfg(unix)]
#[test]
fn a_search_for_traces_ends_and_enters_no_folder_of_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("home")).unwrap();
    for number in 0..2_001 {
        fs::write(folder.path().join(format!("home/{number}.txt")), "not a trace").unwrap();
    }
    let expected = ["--traces: the search has come to home/", "read 2000 files whose names do not say"];
    refused_in(folder.path(), &["compare", "--traces", "home"], &expected);
    refused_in(folder.path(), &["compare", "--traces", "/proc/self"], &["/proc/self", "hold no trace"]);
}

/// `report` and `--resume` waited for a writer.
#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_of_results_is_refused_and_not_waited_for() {
    let plan = "compare --schemes cubic --traces 3g --duration 1s --out out --quiet --force";
    let folder = tempfile::tempdir().unwrap();
    let with_pipe = |name: &str, command: &[&str]| {
        cellcc(folder.path()).args(plan.split(' ')).assert().success();
        let path = folder.path().join("out").join(name);
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        // In place of a hang, a failed test.
        let mut bounded = std::process::Command::new("timeout");
        let bounded = bounded.args(["-s", "KILL", "60"]).arg(assert_cmd::cargo::cargo_bin!("cellcc"));
        bounded.args(command).current_dir(folder.path()).output().unwrap()
    };
    let resume = ["compare", "--resume", "--out", "out", "--quiet"];
    for (name, command) in [
        ("run-info.json", &["report", "out"][..]),
        ("run-info.json", &["explain", "out"]),
        ("runs.jsonl", &["report", "out"]),
        ("runs.jsonl", &resume),
        ("scenario.toml", &resume),
    ] {
        let output = with_pipe(name, command);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{name}: {command:?}: {message}");
        assert!(message.contains("is a pipe, not a file"), "{name}: {command:?}: {message}");
    }
    let healed = with_pipe("run-info.json", &resume);
    assert!(healed.status.success(), "{}", String::from_utf8_lossy(&healed.stderr));
}
