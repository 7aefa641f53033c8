//! Signals end a shell that waits for its server.

use crate::can_emulate;
use crate::common::{interruptible, signal};
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
            assert!(begun.elapsed() < Duration::from_secs(20), "the server starts");
            sleep(Duration::from_millis(5));
        }
        signal(&shell, name);
        assert_eq!(shell.wait().unwrap().code(), Some(status), "{name}");
        assert!(!path("command").exists(), "{name}");
    }
}
