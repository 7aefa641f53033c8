//! Traces recorded across the emulator.

use crate::common::cellcc;
use crate::{HANG_TIMEOUT, can_emulate};
use cellcc_link::Capacity;
use cellcc_test_support::needs_punctuality;
use cellcc_units::Rate;
use std::io::{self, Write};

/// Latest release of a punctual emulator: the largest distance of the curves.
const PUNCTUAL_US: f64 = 1000.0;

/// The outcome of a recording.
struct Outcome {
    agrees: bool,
    /// The output of `trace diff`.
    agreement: serde_json::Value,
    /// How late releases towards the recorder were: one in a hundred, and the latest.
    late_p99_us: f64,
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
        .timeout(HANG_TIMEOUT);
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(folder.path().join("x.down.mahi").exists(), "{down}: {said}");
    let original = if down.parse::<Rate>().is_ok() { format!("rate={down}") } else { down.into() };
    let diff = cellcc(folder.path())
        .args(["trace", "diff", &original, "x.down.mahi", "--format", "json"])
        .output()
        .unwrap();
    let report = std::fs::read(folder.path().join("report")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    Outcome {
        agrees: diff.status.success(),
        agreement: serde_json::from_slice(&diff.stdout).unwrap(),
        late_p99_us: report["down"]["late_p99_us"].as_f64().unwrap(),
        late_max_us: report["down"]["late_max_us"].as_f64().unwrap(),
    }
}

mod punctual {
    use super::*;

    #[test]
    fn every_second_of_a_recording_carries_what_its_link_does() {
        if !can_emulate() {
            return;
        }
        let mut links = vec!["12Mbit/s".to_owned(), "lte-static".to_owned()];
        match std::env::var("CELLCC_TRACES") {
            Ok(traces) => links.push(format!("{traces}/lte-mahimahi/Verizon-LTE-short.down")),
            Err(_) => {
                let _ = writeln!(io::stderr(), "left out: CELLCC_TRACES names no folder of real traces");
            }
        }
        for link in links {
            needs_punctuality(|| {
                let worst_second = recorded(&link).agreement["worst_1s_bin"].as_f64().unwrap();
                assert!(worst_second <= 0.02, "{link}: {worst_second}");
            });
        }
    }

    /// On a link of one rate: the file's whole milliseconds alone use up the tolerance for a link that changes
    /// (docs/evidence/emulator.md).
    #[test]
    fn the_curve_of_a_recording_is_that_of_its_link() {
        if !can_emulate() {
            return;
        }
        needs_punctuality(|| {
            let Outcome { agrees, agreement, late_p99_us, late_max_us } = recorded("12Mbit/s");
            assert!(late_p99_us <= PUNCTUAL_US, "one release in a hundred is {late_p99_us} us late or more");
            // If the machine once paused for some milliseconds, packets are missing for that time, and at most two more.
            let difference = agreement["max_cumulative_difference_bytes"].as_u64().unwrap();
            let passes_meanwhile = 12.0 / 8.0 * late_max_us;
            let explained = 2 * Capacity::OPPORTUNITY.get() + passes_meanwhile as u64;
            assert!(difference <= explained, "at most {late_max_us} us late: {agreement}");
            assert!(agrees || late_max_us > PUNCTUAL_US, "at most {late_max_us} us late: {agreement}");
        });
    }
}
