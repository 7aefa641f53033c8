//! `cellcc compare --events` and `cellcc replay`.

use crate::common::cellcc;
use crate::compare::content;
use cellcc_control::SchemeInfo;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Runs `cellcc compare` with `arguments` in `folder`.
fn compare(folder: &Path, arguments: &[&str]) {
    let common = ["compare", "-q", "--traces", "lte-drive", "--duration", "3s"];
    cellcc(folder).args(common).args(arguments).assert().success();
}

/// The event logs in `folder`/events.
fn event_logs(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(folder.join("events")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// One flow of `scheme`, recorded; the folder, and the file's name in it.
fn recorded(scheme: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    compare(folder.path(), &["--schemes", scheme, "--out", "out", "--events", "events"]);
    let [path] = &event_logs(folder.path())[..] else { panic!("one flow, one file") };
    let name = path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
    (folder, name)
}

/// Exit status, standard output and standard error of `cellcc replay`.
fn replay(folder: &TempDir, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = cellcc(folder.path()).arg("replay").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Runs `schemes` with each of `drivers`, without event logs and with them, and replays these.
fn replays_exactly(schemes: &[String], drivers: &str) {
    let folder = tempfile::tempdir().unwrap();
    let list = schemes.join(",");
    let run = ["--schemes", &list, "--driver", drivers];
    compare(folder.path(), &[&run[..], &["--out", "plain"]].concat());
    compare(folder.path(), &[&run[..], &["--out", "recorded", "--events", "events"]].concat());
    assert!(content(&folder.path().join("plain")) == content(&folder.path().join("recorded")));

    let logs = event_logs(folder.path());
    assert_eq!(logs.len(), drivers.split(',').count() * schemes.len());
    for path in logs {
        let output = cellcc(folder.path()).args(["replay", "--json"]).arg(&path).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &answer["identical"]), (Some(0), &true.into()), "{answer:#}");
        assert!(answer["events"].as_u64().unwrap() > 100, "{answer:#}");
    }
}

#[test]
fn every_scheme_in_both_virtual_drivers_replays_exactly_and_its_records_are_as_without() {
    let registry = cellcc_schemes::registry();
    let (in_sim_alone, in_both): (Vec<_>, Vec<_>) = registry
        .schemes()
        .iter()
        .partition(|info| info.needs.ecn_counts || info.needs.arrivals || info.needs.packet_signals);
    let names = |infos: Vec<&Arc<SchemeInfo>>| -> Vec<String> {
        infos.into_iter().map(|info| info.name.to_string()).collect()
    };
    replays_exactly(&names(in_both), "sim,quic-virtual");
    replays_exactly(&names(in_sim_alone), "sim");
}

/// A policy whose window grows by 2^(1/8) every 20 ms, and shrinks as far as the queueing delay is in RTTs.
fn policy() -> tempfile::NamedTempFile {
    let numbers = [0.0_f32, 0.0, 0.0, -1.0, 0.0, 0.0, 0.125].map(f32::to_le_bytes).concat();
    let header = serde_json::json!({
        "__metadata__": {
            "cellcc": "1", "agent": "plain", "interval": "20ms", "layers": "dense out", "data": "none", "seed": "1"
        },
        "out.w": { "dtype": "F32", "shape": [6, 1], "data_offsets": [0, 24] },
        "out.b": { "dtype": "F32", "shape": [1], "data_offsets": [24, 28] },
    })
    .to_string();
    let file = tempfile::NamedTempFile::new().unwrap();
    let length = (header.len() as u64).to_le_bytes();
    fs::write(file.path(), [&length[..], header.as_bytes(), &numbers].concat()).unwrap();
    file
}

#[test]
fn a_policy_from_a_file_decides_in_the_simulator_and_in_quic_as_it_does_replayed() {
    let policy = policy();
    let trained = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/training/policy.safetensors");
    let schemes = [policy.path().to_str().unwrap(), trained].map(|file| format!("learned(model={file})"));
    replays_exactly(&schemes, "sim,quic-virtual");
}

#[test]
fn every_flow_of_a_run_has_a_file() {
    let folder = tempfile::tempdir().unwrap();
    compare(folder.path(), &["--schemes", "cubic+2*bbr", "--out", "out", "--events", "events"]);
    let names: Vec<_> = event_logs(folder.path())
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().split_once('.').unwrap().1.to_owned())
        .collect();
    assert_eq!(names, ["flow0.events", "flow1.events", "flow2.events"]);
}

#[test]
fn several_files_are_replayed_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    compare(folder.path(), &["--schemes", "cubic,reminis", "--out", "out", "--events", "events"]);
    let logs = event_logs(folder.path());
    let files: Vec<_> = logs.iter().map(|path| path.to_str().unwrap()).collect();
    let (status, text, _) = replay(&folder, &files);
    assert_eq!((status, text.matches("identical: ").count()), (Some(0), 2), "{text}");
    let (status, json, _) = replay(&folder, &[&files[..], &["--json", "--scheme", "cubic"]].concat());
    let identical: Vec<bool> = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["identical"].as_bool().unwrap())
        .collect();
    assert_eq!((status, identical.iter().filter(|is| **is).count()), (Some(1), 1), "{json}");
    let (status, _, message) = replay(&folder, &[files[0], "missing"]);
    assert!(status == Some(2) && message.contains("missing: cannot be read"), "{message}");
}

#[test]
fn a_changed_parameter_is_named_with_the_event_that_shows_it() {
    let (folder, file) = recorded("reminis");
    let (status, text, _) = replay(&folder, &[&file]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("identical: ") && text.contains(" events in "), "{text}");

    let (status, text, _) = replay(&folder, &[&file, "--scheme", "reminis(dtt=40ms)"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("replayed: reminis(dtt=40ms)\ndifferent: event "), "{text}");
    assert!(text.lines().any(|line| line.starts_with("! window ")), "{text}");

    let (status, json, _) = replay(&folder, &[&file, "--scheme", "reminis(dtt=40ms)", "--json"]);
    let answer: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, &answer["identical"]), (Some(1), &false.into()), "{answer:#}");
    let difference = &answer["difference"];
    assert_ne!(difference["recorded"], difference["replayed"], "{answer:#}");

    // The event that is named stands in that line of the dump, with the recorded decision.
    let (status, dump, _) = replay(&folder, &[&file, "--dump"]);
    let event = difference["event"].as_u64().unwrap();
    let line = dump.lines().nth(event as usize).unwrap();
    let begins = format!("{event} ");
    let window = difference["recorded"]["window_bytes"].as_u64().unwrap();
    assert_eq!(status, Some(0));
    assert!(line.starts_with(&begins) && line.contains("-> window="), "{line}");
    assert!(line.contains(&format!("window={} ", cellcc_units::Bytes::new(window))), "{line}");
}

#[test]
fn bad_input_is_refused_by_file_or_flag() {
    let (folder, file) = recorded("cubic");
    let whole = fs::read(folder.path().join(&file)).unwrap();
    let with = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    with("cut.events", &whole[..whole.len() - 20]);
    // The head, and the block of no bytes that ends a log.
    let head = 9 + 8 + usize::from(whole[9]);
    with("empty.events", &[&whole[..head], &[0; 8]].concat());
    let mut damaged = whole;
    damaged[300] ^= 1;
    with("damaged.events", &damaged);
    with("trace.mahi", b"1\n2\n");
    for (arguments, expected) in [
        (&["no.events"][..], &["no.events", "cannot be read"][..]),
        (&["."], &[".: is a folder; name an event log in it"]),
        (&["trace.mahi"], &["trace.mahi", "not a recorded event log"]),
        (&["cut.events"], &["cut.events", "cut off at byte", "after event", "again"]),
        (&["cut.events", "--dump"], &["cut.events", "cut off at byte"]),
        (&["damaged.events"], &["damaged.events", "damaged at byte", "checksum"]),
        (&["empty.events"], &["empty.events", "no decision to judge"]),
        (&[&file, "--scheme", "cubicle"], &["--scheme", "unknown scheme `cubicle`", "cubic"]),
    ] {
        let (status, _, message) = replay(&folder, arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {message}");
        for part in expected {
            assert!(message.contains(part), "{arguments:?}: `{part}` is not in: {message}");
        }
    }
}

#[test]
fn what_cannot_be_recorded_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (arguments, expected) in [
        (&["--events", "file"][..], &["--events", "file"][..]),
        (&["--events", "events", "--driver", "kernel"], &["--events", "--driver kernel"]),
    ] {
        let output = cellcc(folder.path()).arg("compare").args(arguments).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(expected.iter().all(|part| message.contains(part)), "{arguments:?}: {message}");
        assert!(!folder.path().join("cellcc-out").exists(), "{arguments:?}");
    }
}

/// The page shows what the commands print.
#[test]
fn the_page_on_replay_shows_what_its_commands_print() {
    let folder = tempfile::tempdir().unwrap();
    let run = [
        "compare",
        "-q",
        "--schemes",
        "reminis",
        "--traces",
        "lte-drive",
        "--duration",
        "10s",
        "--events",
        "events",
    ];
    cellcc(folder.path()).args(run).assert().success();
    let log = event_logs(folder.path()).remove(0);
    let page = include_str!("../../../../docs/how-to/replay.md");
    let printed = |arguments: &[&str]| {
        let output = cellcc(folder.path()).arg("replay").arg(&log).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for text in [printed(&[]), printed(&["--scheme", "reminis(dtt=40ms)"])] {
        let lines: Vec<_> = text.lines().map(str::trim_end).collect();
        assert!(page.contains(&lines.join("\n")), "docs/how-to/replay.md does not show:\n{text}");
    }
}
