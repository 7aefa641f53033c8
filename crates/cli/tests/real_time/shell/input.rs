//! Refused input, and logs.

use super::{run, stderr, stdout};
use crate::can_emulate;
use cellcc_test_support::needs_punctuality;
use std::fs;
use std::process::Command;

#[test]
fn bad_input_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.up");
    fs::write(&empty, "").unwrap();
    let empty = empty.to_str().unwrap();
    let crowd = format!("round-robin:{}", vec!["lte-drive"; 64].join(","));
    for (arguments, expected) in [
        (vec!["mm-link", empty, empty], "empty.up"),
        (vec!["mm-link", "12Mbit/s", "12Mbit/s", "--uplink-que=infinite"], "--uplink-que"),
        (vec!["mm-delay", "-3", "true"], "-3"),
        (vec!["shell", "--down", "no-such-link", "--", "true"], "no-such-link"),
        (vec!["shell", "--users", "2"], "several users need a command"),
        (vec!["shell", "--rtt", "40", "--", "true"], "40"),
        (vec!["shell", "--users", "3", "--cell", "round-robin:lte-drive", "--", "true"], "--users 3"),
        (vec!["shell", "--users", "2", "--down-log", "/tmp/x", "--", "true"], "--down-log"),
        // 64 commands used to run before the 65th was refused.
        (vec!["shell", "--users", "65", "--", "true"], "64"),
        (vec!["shell", "--cell", &crowd, "--", "true"], "65 users: at most 64"),
        // A packet of these used to arrive after weeks, or never.
        (vec!["shell", "--rtt", "1000h", "--", "true"], "0s to 60s"),
        (vec!["shell", "--jitter", "1000h", "--", "true"], "0s to 60s"),
        (vec!["shell", "--extra-delay", "1ms@1s,1000h@5s", "--", "true"], "at most 60s"),
        (vec!["shell", "--reordered", "1%", "--reordered-by", "1000h", "--", "true"], "0s to 60s"),
        (vec!["shell", "--up-queue", "1000h", "--", "true"], "at most"),
        // It used to be taken, and to lose everything.
        (vec!["shell", "--loss", "200%", "--", "true"], "0% to 100%"),
        (vec!["shell", "--up-loss", "100.1%", "--", "true"], "0% to 100%"),
        (vec!["shell", "--reordered", "200%", "--reordered-by", "1ms", "--", "true"], "a share such as `1%`"),
        (vec!["shell", "--server-log", "off", "--", "true"], "--server"),
        (vec!["shell", "--server", "true", "--server-log", "/no/such/folder", "--", "true"], "--server-log"),
        (vec!["shell", "--granularity", "1000h", "--", "true"], "100ms or less"),
        (vec!["mm-delay", "4000000000", "true"], "60000 ms"),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_full_disk_ends_the_log_with_an_error_that_names_it_and_the_command_goes_on() {
    if !can_emulate() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (disk, program) = (folder.path().display(), assert_cmd::cargo::cargo_bin("cellcc"));
    let line = format!(
        "mount -t tmpfs -o size=8k none {disk} && {} shell --up 12Mbit/s --up-log {disk}/up.log -- \
         sh -c 'ping -c 20 -i 0.1 $MAHIMAHI_BASE >&2; echo through'",
        program.display()
    );
    // The small disk is mounted for this one program only.
    let output = Command::new("unshare").args(["-m", "sh", "-c", &line]).output().unwrap();
    assert_eq!(stdout(&output), "through\n", "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("up.log") && stderr(&output).contains("No space left"),
        "{}",
        stderr(&output)
    );
    let at_once = run(&["shell", "--up", "12Mbit/s", "--up-log", "/dev/full", "--", "true"]);
    assert_eq!(at_once.status.code(), Some(1), "{}", stderr(&at_once));
}

mod punctual {
    use super::*;

    #[test]
    fn the_emulator_reports_what_it_measured_of_itself() {
        needs_punctuality(|| {
            if !can_emulate() {
                return;
            }
            let folder = tempfile::tempdir().unwrap();
            let report = folder.path().join("report.json");
            let output = run(&[
                "shell",
                "--rtt",
                "4ms",
                "--self-report",
                report.to_str().unwrap(),
                "--",
                "sh",
                "-c",
                "ping -c 5 -i 0.05 $MAHIMAHI_BASE",
            ]);
            assert!(output.status.success(), "{}", stderr(&output));
            let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
            for direction in ["up", "down"] {
                assert!(report[direction]["packets"].as_u64().unwrap() >= 5, "{report}");
                assert_eq!(report[direction]["device_drops"], 0, "{report}");
                assert!(report[direction]["late_max_us"].as_f64().unwrap() > 0.0, "{report}");
            }
        });
    }
}
