//! `cellcc serve`, `get` and `put` over loopback, as people use them.

use crate::HANG_TIMEOUT;
use crate::common::{cellcc, interruptible, signal};
use cellcc_test_support::{alone, needs_punctuality};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Duration of a transfer that something else has to end: far longer than that takes.
const TIME: &str = "100s";
/// The idle time-out of connections.
const IDLE: Duration = Duration::from_secs(10);

/// A server on a free port, with a folder of its own.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) stdout: BufReader<ChildStdout>,
    address: String,
    pin: String,
    pub(crate) folder: TempDir,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = interruptible(folder.path())
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .env("XDG_STATE_HOME", folder.path().join("state"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut word_after = |before: &str| {
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            line.strip_prefix(before).unwrap_or_else(|| panic!("{line}")).trim().to_owned()
        };
        let (address, pin) = (word_after("listening on "), word_after("certificate "));
        Self { process, stdout, address, pin, folder }
    }

    fn url(&self, path: &str) -> String {
        format!("quic://{}{path}", self.address)
    }

    /// A client's command that trusts this server.
    pub(crate) fn client(&self, command: &str, path: &str, arguments: &[&str]) -> Output {
        let mut client = cellcc(self.folder.path());
        client.args([command, &self.url(path), "--pin", &self.pin]).args(arguments);
        client.timeout(HANG_TIMEOUT).output().unwrap()
    }

    /// A client that receives for [`TIME`], once it does so.
    pub(crate) fn receiving(&self, arguments: &[&str]) -> Receiving {
        let mut process = interruptible(self.folder.path())
            .args(["get", &self.url(""), "--pin", &self.pin, "--time", TIME, "--json", "--interval", "200ms"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut says = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("\"interval\"") {
            line.clear();
            assert!(says.read_line(&mut line).unwrap() > 0, "it ended before it received anything");
        }
        Receiving { process, says }
    }

    fn signal(&self, name: &str) {
        signal(&self.process, name);
    }

    /// Ends it, and gives its messages about transfers.
    pub(crate) fn end(mut self) -> String {
        self.signal("INT");
        let mut log = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(self.process.wait().unwrap().success(), "{log}");
        log
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client that goes on by itself.
pub(crate) struct Receiving {
    pub(crate) process: Child,
    pub(crate) says: BufReader<ChildStdout>,
}

impl Receiving {
    /// Waits for its end: its output since the start, without the first lines.
    fn end(mut self) -> Output {
        let mut stdout = Vec::new();
        self.says.read_to_end(&mut stdout).unwrap();
        let output = self.process.wait_with_output().unwrap();
        Output { stdout, ..output }
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}{}", stdout(output), stderr(output));
}

#[track_caller]
fn refused(output: &Output, status: i32, words: &str) {
    assert_eq!(output.status.code(), Some(status), "{}{}", stdout(output), stderr(output));
    assert!(stderr(output).contains(words), "{}", stderr(output));
}

fn json_lines(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_command_that_a_server_prints_works() {
    let _alone = alone();
    let mut server = Server::start(&[]);
    let mut line = String::new();
    server.stdout.read_line(&mut line).unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(words[..2], ["try:", "cellcc"]);
    let mut client = cellcc(server.folder.path());
    let output = client.args(&words[2..]).args(["--time", "1s"]).timeout(HANG_TIMEOUT).output().unwrap();
    succeeded(&output);
    assert!(stdout(&output).contains("Time, s") && stdout(&output).contains("goodput"), "{output:?}");
    assert!(server.end().contains("complete"));
}

#[test]
fn sized_transfers_carry_just_that_in_both_directions_over_several_connections() {
    let _alone = alone();
    let server = Server::start(&[]);
    for command in ["get", "put"] {
        let arguments =
            ["--bytes", "5MB", "--connections", "3", "--streams", "4", "--scheme", "bbr", "--json"];
        let output = server.client(command, "", &arguments);
        succeeded(&output);
        let lines = json_lines(&output);
        assert_eq!((&lines[0]["event"], &lines[0]["scheme"]), (&"start".into(), &"bbr".into()));
        let end = lines.last().unwrap();
        assert_eq!((&end["event"], &end["received_bytes"]), (&"end".into(), &5_000_000.into()), "{command}");
        let interval = lines.iter().find(|line| line["event"] == "interval").unwrap();
        assert_eq!(interval["connections"].as_array().unwrap().len(), 3, "{command}");
    }
}

#[test]
fn a_file_goes_up_and_comes_back_byte_for_byte() {
    let server = Server::start(&["--root", ".", "--writable"]);
    let folder = server.folder.path();
    let content: Vec<u8> = (0..3_000_007_u64).map(|i| ((i * i) >> 7) as u8).collect();
    fs::write(folder.join("own"), &content).unwrap();
    succeeded(&server.client("put", "/there", &["--file", "own", "--connections", "2"]));
    assert!(fs::read(folder.join("there")).unwrap() == content);
    succeeded(&server.client("get", "/there", &["-o", "back"]));
    assert!(fs::read(folder.join("back")).unwrap() == content);
    fs::write(folder.join("empty"), "").unwrap();
    succeeded(&server.client("get", "/empty", &["-o", "empty-back"]));
    assert_eq!(fs::read(folder.join("empty-back")).unwrap().len(), 0);

    refused(&server.client("put", "/there", &["--file", "own"]), 1, "there already");
    refused(&server.client("get", "/../secret", &[]), 1, "without `..`");
    refused(&server.client("get", "/nothing", &[]), 1, "No such file");
    refused(&server.client("put", "/x", &["--file", "missing"]), 2, "missing");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<_> = names.filter(|name| name == "nothing" || name.ends_with(".part")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_server_gives_and_takes_no_files_unless_it_is_asked_to() {
    let server = Server::start(&[]);
    refused(&server.client("get", "/file", &[]), 1, "--root");
    let server = Server::start(&["--root", "."]);
    fs::write(server.folder.path().join("own"), "x").unwrap();
    refused(&server.client("put", "/there", &["--file", "own"]), 1, "--writable");
}

#[test]
fn a_server_of_another_certificate_is_refused() {
    let server = Server::start(&[]);
    let mut client = cellcc(server.folder.path());
    let pin = format!("sha256:{}", "ab".repeat(32));
    let output = client.args(["get", &server.url(""), "--pin", &pin]).timeout(HANG_TIMEOUT).output().unwrap();
    refused(&output, 1, &server.pin);
    let mut client = cellcc(server.folder.path());
    let output = client.args(["get", &server.url("")]).timeout(HANG_TIMEOUT).output().unwrap();
    refused(&output, 2, "--pin");
    let mut client = cellcc(server.folder.path());
    let arguments = ["get", &server.url(""), "--insecure", "--bytes", "1MB"];
    succeeded(&client.args(arguments).timeout(HANG_TIMEOUT).output().unwrap());
}

/// An authority's certificate, and one that it signed with its key, as PEM files.
fn certificates(folder: &Path) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = rcgen::CertifiedIssuer::self_signed(parameters, key).unwrap();
    let own_key = rcgen::KeyPair::generate().unwrap();
    let parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let own = parameters.signed_by(&own_key, &authority).unwrap();
    fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
    fs::write(folder.join("own.pem"), own.pem()).unwrap();
    fs::write(folder.join("own-key.pem"), own_key.serialize_pem()).unwrap();
}

#[test]
fn certificates_of_an_authority_serve_at_both_ends() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (ca, own, key) = (path("ca.pem"), path("own.pem"), path("own-key.pem"));
    let server = Server::start(&["--cert", &own, "--key", &key, "--client-ca", &ca]);
    refused(&server.client("get", "", &["--bytes", "1MB"]), 2, "--cert");
    let port = server.address.rsplit(':').next().unwrap();
    let url = format!("quic://localhost:{port}");
    let mut client = cellcc(folder.path());
    let arguments = ["get", &url, "--ca", &ca, "--cert", &own, "--key", &key, "--bytes", "1MB"];
    succeeded(&client.args(arguments).timeout(HANG_TIMEOUT).output().unwrap());
}

#[test]
fn limits_are_named_when_they_are_reached() {
    let _alone = alone();
    let server = Server::start(&[
        "--max-connections",
        "2",
        "--max-bytes",
        "20MB",
        "--max-time",
        TIME,
        "--allow",
        "cubic,bbr",
    ]);
    refused(&server.client("get", "", &["--connections", "3"]), 1, "2 data connections at once");
    refused(&server.client("get", "", &["--bytes", "21MB"]), 1, "20MB of data");
    refused(&server.client("get", "", &["--time", "101s"]), 1, "100s of transfers");
    refused(&server.client("get", "", &["--scheme", "vegas"]), 1, "cubic, bbr");
    // It runs into the limit on its way.
    refused(&server.client("get", "", &["--time", TIME]), 1, "20MB of data");
}

#[test]
fn a_server_that_is_interrupted_lets_transfers_end_or_says_why_it_does_not() {
    let server = Server::start(&[]);
    let client = server.receiving(&["--rate", "1Mbit/s"]);
    let asked_at = Instant::now();
    server.signal("TERM");
    let output = client.end();
    let waited = asked_at.elapsed();
    refused(&output, 1, "shuts down");
    // It lets transfers go on for 5 s, and this one would for far longer.
    assert!((4.0..40.0).contains(&waited.as_secs_f64()), "{waited:?}");
}

#[test]
fn an_interrupted_client_still_says_how_it_went() {
    let _alone = alone();
    let server = Server::start(&[]);
    let client = server.receiving(&[]);
    signal(&client.process, "INT");
    let output = client.end();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let lines = json_lines(&output);
    assert_eq!(lines.last().unwrap()["interrupted"], true, "{lines:?}");
    assert!(server.end().contains("complete"));
}

#[test]
fn what_a_killed_client_held_is_free_again() {
    let server = Server::start(&["--max-connections", "1"]);
    let mut client = server.receiving(&["--rate", "1Mbit/s"]);
    refused(&server.client("get", "", &["--bytes", "1MB"]), 1, "1 are in use");
    client.process.kill().unwrap();
    client.process.wait().unwrap();
    let killed_at = Instant::now();
    while !server.client("get", "", &["--bytes", "1MB"]).status.success() {
        assert!(killed_at.elapsed() < 4 * IDLE, "still in use");
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn a_server_that_dies_is_missed_within_the_idle_time_out() {
    let mut server = Server::start(&[]);
    let client = server.receiving(&["--rate", "1Mbit/s"]);
    server.process.kill().unwrap();
    let killed_at = Instant::now();
    let output = client.end();
    assert!(killed_at.elapsed() < 4 * IDLE);
    refused(&output, 1, "connection is lost");
}

#[test]
fn qlog_files_are_written_at_both_ends() {
    let server = Server::start(&["--qlog", "server-logs"]);
    succeeded(&server.client("get", "", &["--bytes", "1MB", "--qlog", "client-logs"]));
    for folder in ["server-logs", "client-logs"] {
        let files = fs::read_dir(server.folder.path().join(folder)).unwrap();
        assert_eq!(files.count(), 1, "{folder}: one data connection");
    }
}

#[test]
fn bad_input_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let run =
        |arguments: &[&str]| cellcc(folder.path()).args(arguments).timeout(HANG_TIMEOUT).output().unwrap();
    let get = |arguments: &[&str]| run(&[&["get", "quic://127.0.0.1:1", "--insecure"], arguments].concat());
    refused(&run(&["get", "http://x", "--insecure"]), 2, "quic://HOST:PORT");
    refused(&run(&["get", "quic://nowhere.invalid", "--insecure"]), 2, "nowhere.invalid");
    refused(&get(&["--time", "0s"]), 2, "--duration");
    refused(&get(&["--time", "10"]), 2, "10");
    refused(&get(&["--rate", "1Mbit/s", "--bytes", "1MB"]), 2, "--bytes");
    refused(&get(&["--frames", "20Mbit/s"]), 2, "frames(20Mbit/s,40ms)");
    refused(&get(&["--scheme", "cubik"]), 2, "cubik");
    refused(&get(&["--interval", "1ms"]), 2, "--interval");
    refused(&get(&["--cert", "missing.pem", "--key", "missing.pem"]), 2, "missing.pem");
    refused(&get(&["--record", "no/such/folder.json"]), 2, "--record");
    refused(&run(&["serve", "--scheme", "cubik"]), 2, "--scheme");
    refused(&run(&["serve", "--root", "missing"]), 2, "--root");
    refused(&run(&["serve", "--listen", "192.0.2.1:4433"]), 2, "--listen");
    refused(&run(&["put", "quic://127.0.0.1:1/x", "--insecure"]), 2, "--file");
}

#[test]
fn a_client_that_nobody_answers_says_so_within_the_idle_time_out() {
    let folder = tempfile::tempdir().unwrap();
    let begin = Instant::now();
    let mut client = cellcc(folder.path());
    let output =
        client.args(["get", "quic://127.0.0.1:1", "--insecure"]).timeout(HANG_TIMEOUT).output().unwrap();
    refused(&output, 1, "cellcc serve");
    assert!(begin.elapsed() < 4 * IDLE);
}

mod punctual {
    use super::*;

    #[test]
    fn a_get_shows_what_the_server_knows_of_its_sending_and_leaves_a_record() {
        needs_punctuality(|| {
            let server = Server::start(&[]);
            let arguments = [
                "--time",
                "1s",
                "--interval",
                "200ms",
                "--scheme",
                "bbr",
                "--json",
                "--record",
                "record.json",
            ];
            let output = server.client("get", "", &arguments);
            succeeded(&output);
            let lines = json_lines(&output);
            let intervals: Vec<_> = lines.iter().filter(|line| line["event"] == "interval").collect();
            assert!((4..=6).contains(&intervals.len()), "{lines:#?}");
            let sender = &intervals[2]["connections"][0];
            assert!(
                sender["cwnd_bytes"].as_u64() > Some(0) && sender["rtt_ms"].as_f64() > Some(0.0),
                "{sender}"
            );
            assert!(sender["internals"]["btl_bw_mbit_s"].as_f64() > Some(0.0), "{sender}");
            let text = fs::read_to_string(server.folder.path().join("record.json")).unwrap();
            let record: cellcc_experiment::Record = serde_json::from_str(&text).unwrap();
            assert_eq!((record.scenario.scheme.as_str(), record.flows.len()), ("bbr", 1));
            assert!(record.total.throughput_mbit_s > 1.0 && record.total.rtt_p95_ms.is_some(), "{record:?}");
            assert!(record.total.utilisation.is_nan() && record.total.queueing_delay_mean_ms.is_none());
            let series = fs::read_to_string(server.folder.path().join("record.json.series.csv")).unwrap();
            assert!(series.starts_with("time_s,flow0.throughput_mbit_s,flow0.rtt_ms"), "{series}");
            assert_eq!(series.lines().count(), intervals.len() + 1);
        });
    }

    #[test]
    fn a_constant_rate_and_frames_arrive_as_they_are_made() {
        needs_punctuality(|| {
            let server = Server::start(&[]);
            for command in ["get", "put"] {
                let output = server.client(command, "", &["--rate", "4Mbit/s", "--time", "2s", "--json"]);
                succeeded(&output);
                let rate = json_lines(&output).last().unwrap()["goodput_mbit_s"].as_f64().unwrap();
                assert!((3.6..4.1).contains(&rate), "{command}: {rate}");
                let output =
                    server.client(command, "", &["--frames", "4Mbit/s,2s", "--time", "1s", "--json"]);
                succeeded(&output);
                let lines = json_lines(&output);
                let end = lines.last().unwrap();
                let frames = end["frames"].as_u64().unwrap();
                assert!((59..=61).contains(&frames), "{command}: {end}");
                assert_eq!(end["deadline_miss_ratio"], 0.0, "{command}: {end}");
            }
        });
    }
}
