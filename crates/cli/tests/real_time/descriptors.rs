//! Servers whose process can open no more files: their messages, their survival, and no spinning.

use crate::common::{cellcc, interruptible};
use crate::http::opened;
use crate::transfer::Server;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// The number that the next file of a process gets: the limit is one of numbers (getrlimit(2)).
fn next_number(process: &Child) -> u64 {
    let is_taken = |number: &u64| fs::symlink_metadata(format!("/proc/{}/fd/{number}", process.id())).is_ok();
    (0..).find(|number| !is_taken(number)).expect("a process has few files open")
}

/// Lets a process have no more open than it has, or as much as this one.
fn limit(process: &Child, is_tight: bool) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = if is_tight { Some(next_number(process)) } else { maximum };
    prlimit(Some(Pid::from_child(process)), Resource::Nofile, Rlimit { current, maximum }).unwrap();
}

/// The soft and the hard limit of a process.
fn limits(process: &Child) -> [String; 2] {
    let limits = fs::read_to_string(format!("/proc/{}/limits", process.id())).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let mut words = line.split_whitespace().map(str::to_owned);
    [words.next().unwrap(), words.next().unwrap()]
}

/// The processor's time that a process has taken, in ticks of 10 ms (proc_pid_stat(5)).
fn ticks(process: &Child) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
    let (_, after) = stat.rsplit_once(") ").unwrap();
    after.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// Shells and service managers begin programs with 1,024, which one client could take.
#[test]
fn servers_may_have_as_much_open_as_the_system_lets_them() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in ["serve --listen 127.0.0.1:0", "trace record --serve 127.0.0.1:0"] {
        // A recorder says on standard error that it listens.
        let line = format!("ulimit -Sn 256; exec \"$@\" {arguments} 2>&1");
        let mut process = std::process::Command::new("sh")
            .args(["-c", &line, "sh"])
            .arg(assert_cmd::cargo::cargo_bin!("cellcc"))
            .current_dir(folder.path())
            .env("XDG_STATE_HOME", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap()).lines().next();
        let [soft, hard] = limits(&process);
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!(soft, hard, "{arguments}: {said:?}");
    }
}

#[test]
fn a_file_that_cannot_be_opened_for_want_of_descriptors_is_refused_for_now_and_handed_out_later() {
    let mut server = Server::start(&["--http", ".", "--root", "."]);
    let write = |name: &str, text: &str| fs::write(server.folder.path().join(name), text).unwrap();
    write("index.html", "<!doctype html><title>there</title>");
    write("a.txt", "hello");
    let get = |server: &Server| server.client("get", "/a.txt", &["-o", "got.txt"]);
    limit(&server.process, true);
    let output = get(&server);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("too many open files at the server") && text.contains("try again"), "{text}");
    limit(&server.process, false);
    assert!(get(&server).status.success());

    let Some(mut browser) = opened(&mut server) else { return };
    let mut fetched = || {
        browser.value(
            "fetch('a.txt', {cache: 'no-store'}).then((answer) => [answer.status, answer.headers.get('retry-after')])",
        )
    };
    limit(&server.process, true);
    assert_eq!([fetched(), fetched()], [json!([503, "10"]), json!([503, "10"])]);
    limit(&server.process, false);
    assert_eq!(fetched(), json!([200, null]));
    drop(browser);
    let log = server.end();
    assert_eq!(log.matches("answered 503").count(), 1, "one line in ten seconds: {log}");
    assert!(log.contains("raise `ulimit -Hn`"), "{log}");
}

#[test]
fn a_page_waits_while_there_are_no_descriptors_and_its_server_neither_spins_nor_ends() {
    let folder = tempfile::tempdir().unwrap();
    let plan = ["--schemes", "cubic", "--traces", "lte-static", "--duration", "1s", "--out", "out"];
    cellcc(folder.path()).arg("compare").args(plan).assert().success();
    let mut process = interruptible(folder.path())
        .args(["view", "out"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (host, path) = line.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    limit(&process, true);
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let (before, begun) = (ticks(&process), Instant::now());
    let mut answer = String::new();
    let waits = stream.read_to_string(&mut answer).unwrap_err();
    assert_eq!(waits.kind(), ErrorKind::WouldBlock, "{answer}");
    let (took, share) = (ticks(&process) - before, begun.elapsed().as_millis() as u64 / 10 / 4);
    assert!(took < share, "{took} ticks: an accept that fails is not tried again at once");
    limit(&process, false);
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    process.kill().unwrap();
    let mut log = String::new();
    process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    process.wait().unwrap();
    assert!(log.contains("connections wait: Too many open files"), "{log}");
}
