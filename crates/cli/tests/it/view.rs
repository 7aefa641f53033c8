//! `cellcc view`: a page that follows runs, and who does not get it.

#![allow(clippy::disallowed_methods, reason = "a page is asked for over sockets, in real time")]

use crate::common::{cellcc, interruptible, signal};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder of results: two schemes and the limit on two links.
fn results() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let plan = ["--schemes", "cubic,bbr", "--traces", "lte-static", "3g", "--duration", "2s", "--out", "out"];
    cellcc(folder.path()).arg("compare").args(plan).assert().success();
    folder
}

/// `cellcc view out`; killed where the test ends.
struct View {
    process: Child,
    port: u16,
    secret: String,
}

impl View {
    fn start(folder: &Path) -> Self {
        let mut process =
            interruptible(folder).args(["view", "out", "--quiet"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim_end().strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix('/'));
        let (port, secret) = rest.and_then(|rest| rest.split_once('/')).unwrap();
        Self { process, port: port.parse().unwrap(), secret: secret.into() }
    }

    /// Its answer to a head.
    fn answer(&self, head: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "{head}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(&self, name: &str) -> String {
        let Self { port, secret, .. } = self;
        self.answer(&format!("GET /{secret}/{name} HTTP/1.1\r\nHost: 127.0.0.1:{port}"))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_page_is_shown_only_to_who_has_its_address_and_reads_it() {
    let folder = results();
    let view = View::start(folder.path());
    let View { port, secret, .. } = &view;
    let page = view.get("");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("text/html; charset=utf-8"), "{page}");
    for text in ["6 of 6 runs are finished</p>", "cubic", "cache-control: no-store", "frame-ancestors 'none'"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert!(view.get("run-info.js").contains("\r\n\r\ncellccPart({\"info\":"));
    assert!(view.get("progress.js").contains("\"is_running\":false"));
    assert_eq!(secret.len(), 32);
    let own = format!("Host: 127.0.0.1:{port}");
    let status = |head: String| view.answer(&head)[..13].trim_start_matches("HTTP/1.").to_owned();
    let head = format!("HEAD /{secret}/ HTTP/1.1\r\n{own}");
    assert!(view.answer(&head).ends_with("\r\n\r\n"), "a head has no page");
    for (expected, head) in [
        // A name that an attacker points at 127.0.0.1, and none at all.
        ("1 403", format!("GET /{secret}/ HTTP/1.1\r\nHost: example.org:{port}")),
        ("1 403", format!("GET /{secret}/ HTTP/1.1\r\nHost: 127.0.0.1")),
        ("0 403", format!("GET /{secret}/ HTTP/1.0\r\nAccept: */*")),
        ("1 404", format!("GET / HTTP/1.1\r\n{own}")),
        ("1 404", format!("GET /{} HTTP/1.1\r\n{own}", secret)),
        ("1 404", format!("GET /{}/ HTTP/1.1\r\n{own}", &secret[..31])),
        ("1 404", format!("GET /{}/ HTTP/1.1\r\n{own}", "0".repeat(32))),
        ("1 404", format!("GET //{secret}/ HTTP/1.1\r\n{own}")),
        ("1 404", format!("GET /{secret}/runs.jsonl HTTP/1.1\r\n{own}")),
        ("1 404", format!("GET /{secret}/../out/runs.jsonl HTTP/1.1\r\n{own}")),
        ("1 404", format!("GET /{secret}/%2e%2e/out/scenario.toml HTTP/1.1\r\n{own}")),
        ("1 404", format!("GET /{secret}//etc/passwd HTTP/1.1\r\n{own}")),
        ("1 405", format!("POST /{secret}/ HTTP/1.1\r\n{own}\r\nContent-Length: 0")),
        ("1 405", format!("DELETE /{secret}/ HTTP/1.1\r\n{own}")),
    ] {
        assert!(status(head.clone()).starts_with(expected), "{head}: {}", view.answer(&head));
    }
    assert!(TcpStream::connect(("127.0.0.2", *port)).is_err(), "it listens on 127.0.0.1 alone");
}

#[test]
fn a_page_shows_more_when_more_runs_are_finished() {
    let folder = results();
    let out = folder.path().join("out");
    let [runs, finished, info] = ["runs.jsonl", "finished.jsonl", "run-info.json"].map(|name| out.join(name));
    let (all, complete) = (fs::read_to_string(&runs).unwrap(), fs::read_to_string(&info).unwrap());
    // As it was after two runs, while a line of a third was being written.
    let running = complete.replace("\"state\": \"complete\"", "\"state\": \"running\"");
    assert_ne!(running, complete);
    fs::write(&info, running).unwrap();
    fs::remove_file(&runs).unwrap();
    let two: usize = all.lines().take(2).map(|line| line.len() + 1).sum();
    fs::write(&finished, &all[..two + 100]).unwrap();
    let view = View::start(folder.path());
    let page = view.get("");
    assert!(page.contains("2 of 6 runs are finished; the page shows more when there is more</p>"), "{page}");
    assert!(view.get("progress.js").contains("\"is_running\":true"));
    let wait_for = |words: &str| {
        let begun = Instant::now();
        while !view.get("progress.js").contains(words) {
            assert!(begun.elapsed() < Duration::from_secs(60), "no {words}: {}", view.get("progress.js"));
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    fs::write(&finished, &all).unwrap();
    wait_for("6 of 6 runs are finished;");
    fs::rename(&finished, &runs).unwrap();
    fs::write(&info, complete).unwrap();
    wait_for("\"is_running\":false");
    assert!(view.get("").contains("6 of 6 runs are finished</p>"));
}

#[test]
fn ctrl_c_ends_it() {
    let folder = results();
    let mut view = View::start(folder.path());
    signal(&view.process, "INT");
    assert_eq!(view.process.wait().unwrap().code(), Some(0));
    assert!(TcpStream::connect(("127.0.0.1", view.port)).is_err());
}

#[test]
fn what_cannot_be_shown_is_refused_in_a_line_that_says_what_to_do() {
    let folder = results();
    let refused = |args: &[&str]| {
        let refused = cellcc(folder.path()).arg("view").args(args).assert().code(2);
        let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    let said = refused(&["elsewhere"]);
    assert!(
        said.contains("elsewhere holds no results") && said.contains("`cellcc compare --out elsewhere`"),
        "{said}"
    );
    assert!(refused(&["."]).contains(". holds no results of `cellcc compare`"));
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = refused(&["out", "--port", &port]);
    assert!(
        said.contains(&format!("--port {port}: Address")) && said.contains("choose another one"),
        "{said}"
    );
}
