//! The servers of `--server`.

use super::{run, stderr, stdout};
use crate::can_emulate;
use cellcc_test_support::needs_punctuality;
use std::fs;

/// Python may need more than the 5 s that the shell waits for a server.
const CURL: &str = "curl -s --retry 100 --retry-connrefused --retry-delay 1";

#[test]
fn a_server_that_fails_is_reported() {
    if !can_emulate() {
        return;
    }
    // Before anything listens, after 5 s of waiting for it, the command used to run and its status to be all.
    let output = run(&["shell", "--server", "exit 7", "--", "echo", "ran"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the server ended with status 7 before the command"),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&output), "", "the command is not started");

    // While the command runs: the server ends with its one connection.
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let pid = pid.display();
    let server = format!(
        "echo $$ >{pid}; exec python3 -c 'import socket; socket.create_server((\"\", 8000)).accept(); exit(9)'"
    );
    let client = "python3 -c 'import os, socket; socket.create_connection((os.environ[\"MAHIMAHI_BASE\"], 8000)).recv(1)'";
    // Until the shell has seen the server's end, its number is taken.
    let client = format!(
        "until {client} 2>/dev/null; do sleep 0.1; done; while kill -0 $(cat {pid}) 2>/dev/null; do sleep 0.1; done"
    );
    for (more, expected) in [("", 1), ("; exit 4", 4)] {
        let output = run(&["shell", "--server", &server, "--", "sh", "-c", &format!("{client}{more}")]);
        assert_eq!(output.status.code(), Some(expected), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("the server ended before the command, with status 9"),
            "{}",
            stderr(&output)
        );
    }
}

/// A server's output used to be between the lines of the command.
#[test]
fn a_servers_output_is_distinguished_goes_to_a_file_or_nowhere() {
    if !can_emulate() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.log");
    let file = file.to_str().unwrap();
    let server = "echo out; echo error >&2; exec iperf3 -s 2>/dev/null >&2";
    let shell = |log: &[&str], users: &str| {
        let asked = ["shell", "--users", users, "--server", server];
        let output = run(&[&asked, log, &["--", "echo", "command"]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stdout(&output), "command\n".repeat(users.parse().unwrap()));
        stderr(&output)
    };
    assert_eq!(shell(&[], "1"), "server: out\nserver: error\n");
    assert_eq!(shell(&["--server-log", "off"], "1"), "");
    assert_eq!(shell(&["--server-log", file], "1"), "");
    assert_eq!(fs::read_to_string(file).unwrap(), "out\nerror\n");

    let both = shell(&[], "2");
    assert!(both.contains("server 0: out\n") && both.contains("server 1: error\n"), "{both}");
    assert_eq!(shell(&["--server-log", file], "2"), "");
    for user in ["0", "1"] {
        assert_eq!(fs::read_to_string(format!("{file}.{user}")).unwrap(), "out\nerror\n");
    }
}

/// All users used to share one server, and iperf3's refuses a second client.
#[test]
fn each_user_has_a_server_of_its_own_at_the_same_address_and_port() {
    if !can_emulate() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().display();
    let server = format!(
        "mkdir {folder}/$CELLCC_USER; echo $CELLCC_USER > {folder}/$CELLCC_USER/name; \
                          exec python3 -m http.server 8000 --directory {folder}/$CELLCC_USER"
    );
    let command = format!("echo $CELLCC_USER $MAHIMAHI_BASE $({CURL} http://$MAHIMAHI_BASE:8000/name)");
    let output = run(&[
        "shell",
        "--users",
        "3",
        "--server-log",
        "off",
        "--server",
        &server,
        "--",
        "sh",
        "-c",
        &command,
    ]);
    let text = stdout(&output);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let base = lines[0].split(' ').nth(1).unwrap();
    let expected: Vec<String> = (0..3).map(|user| format!("{user} {base} {user}")).collect();
    assert_eq!(lines, expected, "{}", stderr(&output));
}

mod punctual {
    use super::*;

    #[test]
    fn a_web_server_inside_is_reached_through_the_link_and_one_outside_too() {
        needs_punctuality(|| {
            if !can_emulate() {
                return;
            }
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("file"), vec![b'x'; 1_000_000]).unwrap();
            let server = format!("exec python3 -m http.server 8000 --directory {}", folder.path().display());
            let fetch = format!(
                "{CURL} -o /dev/null -w '%{{http_code}} %{{size_download}} %{{time_total}}' http://$MAHIMAHI_BASE:8000/file"
            );
            let output = run(&[
                "shell", "--down", "20Mbit/s", "--rtt", "20ms", "--server", &server, "--", "sh", "-c", &fetch,
            ]);
            let text = stdout(&output);
            let words: Vec<_> = text.split(' ').collect();
            assert_eq!(words[..2], ["200", "1000000"], "{text}{}", stderr(&output));
            let seconds: f64 = words[2].parse().unwrap();
            assert!((0.4..1.5).contains(&seconds), "1 MB at 20 Mbit/s took {seconds} s");
        });
    }
}
