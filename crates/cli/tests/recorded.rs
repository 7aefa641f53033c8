//! A trace recorded across the emulator. By itself in a program, so that no other test runs beside it.
#![cfg(target_os = "linux")]

mod common;

use common::cellcc;
use std::io::{self, Write};
use std::time::Duration;

/// The machine may be late by more than a millisecond for once, and a burst of Mahimahi's traces then differs by more than
/// is allowed: a recording has five tries.
const TRIES: usize = 5;

/// Records `down` of a link across the emulator, and gives what `trace diff` says of it and of the original.
fn recorded(down: &str) -> (bool, String) {
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
    shell.args(["--server", &server, "--", "sh", "-c", &record]).timeout(Duration::from_secs(60));
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(folder.path().join("x.down.mahi").exists(), "{down}: {said}");
    let original =
        if down.parse::<cellcc_units::Rate>().is_ok() { format!("rate={down}") } else { down.into() };
    let diff = cellcc(folder.path()).args(["trace", "diff", &original, "x.down.mahi"]).output().unwrap();
    (diff.status.success(), String::from_utf8_lossy(&diff.stdout).into_owned())
}

#[test]
fn a_trace_recorded_across_the_emulator_is_that_of_its_link() {
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
        let mut tries = Vec::new();
        while tries.len() < TRIES {
            let (agrees, agreement) = recorded(&link);
            tries.push(agreement);
            if agrees {
                break;
            }
            assert!(tries.len() < TRIES, "{link}: {tries:?}");
        }
    }
}
