//! Signals end a shell that waits for its server.

use crate::can_emulate;
use crate::common::{interruptible, signal};
use cellcc_test_support::not_judged;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The server survives the signal: the shell waited on for 5 s, said that nothing listens, and started the command.
#[test]
fn a_signal_while_the_server_starts_ends_the_shell_and_the_command_is_not_started() {
    if !can_emulate() {
        return;
    }
    for (name, status) in [("INT", 130), ("TERM", 143), ("HUP", 129), ("QUIT", 131)] {
        match (0..5).find_map(|_| status_after_a_signal_while_waiting(name)) {
            Some(code) => assert_eq!(code, Some(status), "{name}"),
            None => return not_judged("the shell took 2 s to start a server, five times"),
        }
    }
}

/// Starts a shell with a server, signals it once that runs, and gives its exit status; none where so much of the shell's 5 s of
/// waiting passed that it may have given up before it saw the signal.
fn status_after_a_signal_while_waiting(name: &str) -> Option<Option<i32>> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let server = format!("trap '' INT TERM HUP QUIT; touch {}; sleep 61", path("server").display());
    let mut shell = interruptible(folder.path())
        .args(["shell", "--server", &server, "--", "touch", "command"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !path("server").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the server starts");
        sleep(Duration::from_millis(5));
    }
    signal(&shell, name);
    let is_in_time = begun.elapsed() < Duration::from_secs(2);
    let code = shell.wait().unwrap().code();
    assert!(!is_in_time || !path("command").exists(), "{name}");
    is_in_time.then_some(code)
}
