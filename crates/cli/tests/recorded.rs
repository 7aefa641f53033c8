//! Traces recorded across the emulator. In a program of their own, so that only they run beside each other.
#![cfg(target_os = "linux")]

mod common;

use cellcc_calm::{in_real_time, wait_for_calm};
use common::cellcc;
use std::io::{self, Write};
use std::time::Duration;

/// A disagreement counts where the emulator kept its schedule. Where the machine let it be late by more than this, which is
/// what the curves may be apart, the recording is made again.
const PUNCTUAL_US: f64 = 1000.0;

/// How often the machine may be late before that is the failure.
const TRIES: usize = 5;

/// What came of a recording.
struct Outcome {
    agrees: bool,
    /// What `trace diff` says.
    agreement: serde_json::Value,
    /// The latest release towards the recorder.
    late_max_us: f64,
}

/// Records `down` of a link across the emulator, and holds it against the original.
fn recorded(down: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin("cellcc");
    let program = program.display();
    let record = format!(
        "{program} trace record $MAHIMAHI_BASE --duration 4s --name x --out {} --quiet >&2",
        folder.path().display()
    );
    let server = format!("{program} trace record --serve");
    let mut shell = cellcc(folder.path());
    shell.args(["shell", "--down", down, "--up", "20Mbit/s", "--rtt", "30ms", "--queue", "unlimited"]);
    shell
        .args(["--self-report", "report", "--server", &server, "--", "sh", "-c", &record])
        .timeout(Duration::from_secs(60));
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(folder.path().join("x.down.mahi").exists(), "{down}: {said}");
    let original =
        if down.parse::<cellcc_units::Rate>().is_ok() { format!("rate={down}") } else { down.into() };
    let diff = cellcc(folder.path()).args(["trace", "diff", &original, "x.down.mahi"]).output().unwrap();
    let report = std::fs::read(folder.path().join("report")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    Outcome {
        agrees: diff.status.success(),
        agreement: serde_json::from_slice(&diff.stdout).unwrap(),
        late_max_us: report["down"]["late_max_us"].as_f64().unwrap(),
    }
}

#[test]
fn every_second_of_a_recording_carries_what_its_link_does() {
    if let Err(error) = cellcc_emu::namespace::Namespace::create() {
        let _ = writeln!(io::stdout(), "SKIPPED: {error}");
        return;
    }
    let mut links = vec!["12Mbit/s".to_owned(), "lte-static".to_owned()];
    match std::env::var("CELLCC_TRACES") {
        Ok(traces) => links.push(format!("{traces}/lte-mahimahi/Verizon-LTE-short.down")),
        Err(_) => {
            let _ = writeln!(io::stdout(), "SKIPPED: CELLCC_TRACES names no folder of recorded traces");
        }
    }
    for link in links {
        in_real_time(|| {
            let worst_second = recorded(&link).agreement["worst_1s_bin"].as_f64().unwrap();
            assert!(worst_second <= 0.02, "{link}: {worst_second}");
        });
    }
}

/// On a link of one rate. The file's whole milliseconds alone use up what a link that changes may differ by: how far such
/// recordings agree is in docs/fidelity/emulator.md.
#[test]
fn the_curve_of_a_recording_is_that_of_its_link() {
    if let Err(error) = cellcc_emu::namespace::Namespace::create() {
        let _ = writeln!(io::stdout(), "SKIPPED: {error}");
        return;
    }
    for attempt in 1.. {
        let Outcome { agrees, agreement, late_max_us } = recorded("12Mbit/s");
        if agrees {
            break;
        }
        let is_excused = late_max_us > PUNCTUAL_US && attempt < TRIES;
        assert!(is_excused, "at most {late_max_us} us late: {agreement}");
        wait_for_calm();
    }
}
