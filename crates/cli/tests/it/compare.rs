//! `cellcc compare` from flags to the folder it leaves.

#![allow(clippy::disallowed_methods, reason = "an interrupt comes at a moment of the real process")]

use crate::common::{cellcc, interruptible, signal};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PLAN: [&str; 11] = [
    "--schemes",
    "cubic,reminis",
    "--traces",
    "lte-static",
    "20Mbit/s",
    "--seeds",
    "1..2",
    "--duration",
    "4s",
    "--loss",
    "0.1%",
];

fn compare(folder: &Path, out: &str, more: &[&str]) {
    cellcc(folder).arg("compare").args(PLAN).args(["--out", out]).args(more).assert().success();
}

fn whole() -> (TempDir, Vec<(PathBuf, Vec<u8>)>) {
    let folder = tempfile::tempdir().unwrap();
    compare(folder.path(), "whole", &[]);
    let content = content(&folder.path().join("whole"));
    (folder, content)
}

/// Everything in an output folder that must not depend on how it came about.
pub(crate) fn content(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths = vec![out.join("runs.jsonl"), out.join("scenario.toml"), out.join("report.html")];
    paths.extend(fs::read_dir(out.join("series")).unwrap().map(|entry| entry.unwrap().path()));
    paths.sort();
    paths.iter().map(|path| (path.strip_prefix(out).unwrap().into(), fs::read(path).unwrap())).collect()
}

#[test]
fn the_number_of_jobs_and_merged_shares_change_no_byte() {
    let (folder, expected) = whole();
    let folder = folder.path();
    for jobs in ["1", "2"] {
        compare(folder, jobs, &["--jobs", jobs]);
        assert_eq!(content(&folder.join(jobs)), expected, "{jobs} jobs");
    }
    for shard in ["1/3", "2/3", "3/3"] {
        compare(folder, &format!("share-{}", &shard[..1]), &["--shard", shard]);
    }
    cellcc(folder).args(["merge", "share-2", "share-1", "share-3", "--out", "merged"]).assert().success();
    assert_eq!(content(&folder.join("merged")), expected);
    cellcc(folder).args(["merge", "share-2", "share-1", "--out", "some"]).assert().code(2);
}

/// A bare name may stand for another preset in a later build.
#[test]
fn a_table_says_which_preset_a_bare_name_stood_for_and_whom_the_network_informs() {
    let folder = tempfile::tempdir().unwrap();
    let notes = |schemes: &str, out: &str| {
        let arguments =
            ["compare", "--schemes", schemes, "--traces", "20Mbit/s", "--duration", "1s", "--out", out];
        let output = cellcc(folder.path()).args(arguments).assert().success().get_output().stdout.clone();
        String::from_utf8(output).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = notes("rbbr(alpha=0.5),natcp,reminis", "bare");
    assert!(
        text.contains("`rbbr` stands for profile=paced; the text of its paper is profile=paper"),
        "{text}"
    );
    assert!(text.contains("natcp: informed by the network, which tells the other rows nothing."), "{text}");
    assert_eq!(text.matches("stands for").count(), 1, "{text}");
    let text = notes("rbbr(profile=paced),cubic", "named");
    assert!(!text.contains("stands for") && !text.contains("informed"), "{text}");
    assert!(!notes("natcp,tg", "informed").contains("informed by"));
}

/// Sends SIGINT once this file of the output folder has content; gives the exit status and the messages.
#[cfg(unix)]
fn interrupted(folder: &Path, arguments: &[&str], awaited: &str) -> (Option<i32>, String) {
    signalled(interruptible(folder), arguments, awaited, "INT")
}

/// Sends `command` with these arguments this signal once there is something in this file of its output folder.
#[cfg(unix)]
fn signalled(
    mut command: std::process::Command,
    arguments: &[&str],
    awaited: &str,
    name: &str,
) -> (Option<i32>, String) {
    use std::time::{Duration, Instant};
    let awaited = command.get_current_dir().unwrap().join("out").join(awaited);
    let mut child = command.args(arguments).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while fs::metadata(&awaited).map_or(0, |metadata| metadata.len()) == 0 {
        assert!(Instant::now() < deadline, "nothing in {} in two minutes", awaited.display());
        std::thread::sleep(Duration::from_millis(2));
    }
    signal(&child, name);
    let deadline = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it goes on 20 s after an interrupt");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A terminal that was closed ended a program under `nohup`, and Ctrl-C one in a script's background.
#[cfg(unix)]
#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    for signal in ["INT", "HUP"] {
        let folder = tempfile::tempdir().unwrap();
        let some_seconds = ["--traces", "1Gbit/s", "--duration", "10s", "--jobs", "1", "--quiet"];
        let arguments = [&["compare", "--schemes", "cubic", "--out", "out"][..], &some_seconds].concat();
        let mut ignoring = std::process::Command::new("env");
        ignoring.arg(format!("--ignore-signal={signal}")).arg(assert_cmd::cargo::cargo_bin!("cellcc"));
        ignoring.current_dir(folder.path());
        let (status, message) = signalled(ignoring, &arguments, "run-info.json", signal);
        assert_eq!(status, Some(0), "{signal}: {message}");
        assert!(folder.path().join("out/report.html").exists(), "{signal}: {message}");
    }
}

/// Only a second interrupt ended it, and nothing showed how far it was.
#[cfg(unix)]
#[test]
fn a_run_that_would_take_days_ends_soon_after_one_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let fast = ["--traces", "10000Gbit/s", "--duration", "24h", "--series-bin", "60s"];
    let arguments = [&["compare", "--schemes", "cubic", "--jobs", "2", "--out", "out"][..], &fast].concat();
    let (status, message) = interrupted(folder.path(), &arguments, "run-info.json");
    assert_eq!(status, Some(130), "{message}");
    assert!(message.contains("0 of 2 runs are finished"), "{message}");
    let info = fs::read_to_string(folder.path().join("out/run-info.json")).unwrap();
    assert!(info.contains("\"failures\": []"), "an ended run has not failed: {info}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_plan_keeps_what_is_finished_and_resumes_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let arguments = [
        "compare",
        "--schemes",
        "cubic,reminis",
        "--traces",
        "100Mbit/s",
        "--seeds",
        "1..8",
        "--duration",
        "10s",
    ];
    let with = |more: &[&'static str]| [&arguments[..], more].concat();
    let (status, message) = interrupted(folder, &with(&["--jobs", "1", "--out", "out"]), "finished.jsonl");
    assert_eq!(status, Some(130), "{message}");
    // Nothing here runs in real time, and no line is wider than a terminal.
    assert!(
        message.contains("interrupted: no further run is begun\nonce more to leave at once\n"),
        "{message}"
    );
    assert!(
        message.contains(" are finished and kept\nto go on: cellcc compare --resume --out out\n"),
        "{message}"
    );
    assert!(!folder.join("out/runs.jsonl").exists());
    let before = fs::read_to_string(folder.join("out/finished.jsonl")).unwrap().lines().count();
    assert!((1..17).contains(&before));

    // As the message says: nothing but the folder need be named.
    cellcc(folder).args(["compare", "--resume", "--out", "out"]).assert().success();
    // A script that always gives the flag also begins.
    cellcc(folder).args(with(&["--out", "whole", "--resume"])).assert().success();
    assert_eq!(content(&folder.join("out")), content(&folder.join("whole")));
}

/// The folder had to be named, though it was the last one.
#[test]
fn what_is_resumed_is_the_last_of_the_folders_that_cellcc_named() {
    let folder = tempfile::tempdir().unwrap();
    let compare = |more: &[&str]| {
        let small = ["compare", "--schemes", "cubic", "--traces", "3g", "--duration", "1s"];
        cellcc(folder.path()).args([&small[..], more].concat()).assert().success();
    };
    compare(&[]);
    compare(&["--seeds", "2"]);
    let last = folder.path().join("cellcc-out/002");
    let whole = content(&last);
    fs::remove_file(last.join("runs.jsonl")).unwrap();
    cellcc(folder.path()).args(["compare", "--resume"]).assert().success();
    assert_eq!(content(&last), whole);
    assert!(!folder.path().join("cellcc-out/003").exists());
}

#[test]
fn harm_that_is_undecided_keeps_its_conditions() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let scenario = "schemes = ['bbr']\nharm = 'cubic'\ntraces = ['rate=5Mbit/s']\nduration = '7s'\n[vary]\n'path.queue' = ";
    fs::write(folder.join("two.toml"), format!("{scenario}['4pkt', '64pkt']\n")).unwrap();
    let output = cellcc(folder).args(["compare", "--scenario", "two.toml", "--out", "out"]).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("undecided") && table.contains("Found from"), "{table}");
    let kept = fs::read_to_string(folder.join("out/scenario.toml")).unwrap();
    assert!(kept.contains("\"4pkt\"") && !kept.contains("\"16pkt\""), "{kept}");
}

#[test]
fn a_file_of_delays_leaves_the_records_of_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("delays.txt"), "# one-way\n5ms@1s\n9ms@1s\n").unwrap();
    compare(folder, "file", &["--extra-delay", "@delays.txt", "--queue", "codel", "--jitter", "1ms"]);
    compare(folder, "text", &["--extra-delay", "5ms@1s,9ms@1s", "--queue", "codel()", "--jitter", "1ms"]);
    let runs = |out: &str| fs::read_to_string(folder.join(out).join("runs.jsonl")).unwrap();
    assert_eq!(runs("file"), runs("text"));
    assert!(runs("file").contains(r#""extra_delay":"5ms@1s,9ms@1s","jitter":"1ms""#));
}

#[test]
fn json_has_a_row_a_run_with_units_in_the_keys() {
    let folder = tempfile::tempdir().unwrap();
    let output = cellcc(folder.path()).arg("compare").args(PLAN).args(["--format", "json"]).output().unwrap();
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = rows.as_array().unwrap();
    // Two seeds begin in two places of a trace, and each place has its own limit.
    assert_eq!(rows.len(), 2 * 2 * (1 + 2));
    for key in ["utilisation", "throughput_mbit_s", "rtt_mean_ms", "queueing_delay_p95_ms", "loss_ratio"] {
        assert!(rows.iter().all(|row| row[key].is_number()), "{key}: {:#}", rows[0]);
    }
    assert_eq!((&rows[0]["scheme"], &rows[2]["scheme"]), (&"limit".into(), &"cubic".into()));

    // Without --out the folders are numbered, and none is written twice.
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("report: file://") && said.contains("cellcc-out/001/report.html"), "{said}");
    for name in ["runs.jsonl", "run-info.json", "scenario.toml", "report.html", "series"] {
        assert!(folder.path().join("cellcc-out/001").join(name).exists(), "{name}");
    }
    cellcc(folder.path())
        .args(["compare", "--schemes", "cubic", "--traces", "3g", "--duration", "1s", "-q"])
        .assert()
        .success()
        .stderr("");
    assert!(folder.path().join("cellcc-out/002/runs.jsonl").exists());
}

#[test]
fn flags_have_the_last_word_over_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "schemes = ['cubic', 'reminis']\ntraces = ['3g']\nduration = '9s'\nseeds = '4'\n";
    fs::write(folder.path().join("s.toml"), scenario).unwrap();
    let arguments =
        ["compare", "--scenario", "s.toml", "--schemes", "cubic", "--duration", "1s", "--out", "out"];
    cellcc(folder.path()).args(arguments).assert().success();
    let kept = fs::read_to_string(folder.path().join("out/scenario.toml")).unwrap();
    for line in ["schemes = [\"cubic\"]", "traces = [\"3g\"]", "duration = \"1s\"", "seeds = \"4\""] {
        assert!(kept.contains(line), "{kept}");
    }
}

#[test]
fn a_folder_of_traces_is_run_in_the_order_of_names() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    fs::create_dir(&traces).unwrap();
    fs::write(traces.join("b.mbps"), "0 5\n1 6\n").unwrap();
    fs::write(traces.join("a.down"), "1\n2\n3\n").unwrap();
    fs::write(traces.join("no-ending"), "1\n4\n").unwrap();
    fs::write(traces.join("README.md"), "# Traces\n").unwrap();
    let arguments =
        ["compare", "--schemes", "cubic", "--traces", "traces", "--duration", "1s", "--out", "out"];
    cellcc(folder.path()).args(arguments).assert().success();
    let kept = fs::read_to_string(folder.path().join("out/scenario.toml")).unwrap();
    assert!(kept.contains("[\"traces/a.down\", \"traces/b.mbps\", \"traces/no-ending\"]"), "{kept}");
}

#[test]
fn a_report_is_made_again_from_its_folder() {
    let (folder, expected) = whole();
    fs::remove_file(folder.path().join("whole/report.html")).unwrap();
    cellcc(folder.path()).args(["report", "whole", "--png"]).assert().success();
    assert_eq!(content(&folder.path().join("whole")), expected);
    let pngs = fs::read_dir(folder.path().join("whole")).unwrap().filter(|entry| {
        entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "png")
    });
    assert!(pngs.count() > 0);
}

#[test]
fn varied_conditions_and_braces_make_rows_and_a_flag_has_the_last_word_over_them() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "schemes = ['reminis(dtt={1.5x,2x})']\ntraces = ['3g']\nduration = '1s'\n[vary]\n\
                    path.queue = ['33pkt', '65pkt']\npath.rtt = ['20ms', '30ms', '40ms']\n";
    fs::write(folder.path().join("s.toml"), scenario).unwrap();
    let rows = |more: &[&str]| -> Vec<(String, String)> {
        let arguments = [&["compare", "--scenario", "s.toml", "--format", "json"], more].concat();
        let output = cellcc(folder.path()).args(arguments).output().unwrap();
        let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
        rows.as_array().unwrap().iter().map(|row| (text(row, "scheme"), text(row, "variation"))).collect()
    };
    assert_eq!(rows(&[]).len(), 2 * 3 * (1 + 2));
    let fewer = rows(&["--rtt", "25ms", "--schemes", "fixed-window(window={10pkt,20pkt}),cubic"]);
    assert_eq!(fewer.len(), 2 * (1 + 3));
    assert_eq!(fewer[5], ("fixed-window(window=10pkt)".into(), "path.queue=65pkt".into()));
}

#[test]
fn a_baseline_is_kept_with_the_results_and_another_may_be_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    compare(folder.path(), "out", &["--baseline", "cubic"]);
    let printed = |more: &[&str]| {
        let output = cellcc(folder.path()).args(["report", "out"]).args(more).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(printed(&[]).contains("Relative to cubic: geometric mean over traces"));
    assert!(printed(&["--baseline", "reminis"]).contains("Relative to reminis"));
    assert!(
        fs::read_to_string(folder.path().join("out/report.html")).unwrap().contains("Relative to reminis")
    );
}
