//! `cellcc assist` from outside: the service as a process of its own, and its clients.

#![allow(clippy::disallowed_methods, reason = "a socket to the service")]

use crate::common::{AssistService, cellcc};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const CONFIG: &str = r#"
listen = "127.0.0.1:0"
credentials = "keys/service-edge"
http = "127.0.0.1:0"
audit_log = "audit.jsonl"
live_flows = "assumed"

[[user]]
name = "alice"
addresses = ["10.45.0.2"]

[[source]]
kind = "trace"
user = "alice"
link = "rate=12Mbit/s"
knows = "causal"
network_rtt = "20ms"
"#;

/// Exit status, standard output and standard error.
fn ran(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = cellcc(folder).arg("assist").args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

struct Service {
    serve: AssistService,
    url: String,
    metrics: String,
}

impl Service {
    fn start(folder: &Path) -> Self {
        assert_eq!(ran(folder, &["certificates", "keys"]).0, Some(0));
        let mut serve = AssistService::start(folder, CONFIG);
        let url = serve.says("listening on ");
        serve.says("health http://");
        let metrics = serve.says("metrics http://");
        Self { serve, url, metrics }
    }

    /// The answer to a GET.
    fn get(&self, path: &str) -> String {
        let address = self.metrics.trim_end_matches("/metrics");
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

#[test]
fn a_service_is_watched_counted_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path());
    let watch = ["watch", &service.url, "--credentials", "keys/operator-desk", "--once", "--format", "json"];
    let (status, table, message) = ran(folder.path(), &watch);
    assert_eq!(status, Some(0), "{message}");
    let users: serde_json::Value = serde_json::from_str(&table).unwrap();
    assert_eq!(users[0]["user"], "10.45.0.2");
    assert_eq!(users[0]["downlink_mbit_per_s"], 12.0);

    let metrics = service.get("/metrics");
    let samples =
        metrics.lines().find_map(|line| line.strip_prefix("netassist_samples_total ")).expect("a counter");
    assert!(samples.parse::<u64>().unwrap() > 0, "{metrics}");
    assert!(!metrics.contains("alice") && !metrics.contains("10.45.0.2"), "metrics name nobody");
    assert!(service.get("/health").starts_with("HTTP/1.1 200"));
    let audit = fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    assert!(
        audit.contains(r#""client":"operator/desk""#) && audit.contains(r#""event":"subscribed-to-all""#),
        "{audit}"
    );

    service.serve.signal("TERM");
    assert!(service.serve.process.wait().unwrap().success());
}

/// After logrotate has renamed the file; a hang-up used to end the service.
#[test]
fn after_a_hang_up_the_audit_log_goes_on_under_its_own_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path());
    let at = |name: &str| folder.path().join(name);
    fs::rename(at("audit.jsonl"), at("audit.jsonl.1")).unwrap();
    service.serve.signal("HUP");
    while !at("audit.jsonl").exists() {
        assert!(service.serve.process.try_wait().unwrap().is_none(), "it goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
    let watch = ["watch", &service.url, "--credentials", "keys/operator-desk", "--once", "--format", "json"];
    assert_eq!(ran(folder.path(), &watch).0, Some(0));
    assert!(fs::read_to_string(at("audit.jsonl")).unwrap().contains("operator/desk"));
    assert_eq!(fs::read_to_string(at("audit.jsonl.1")).unwrap(), "");
}

/// It used to show an empty table for some seconds, without a word.
#[test]
fn who_watches_a_service_that_is_not_there_hears_at_once_what_is_tried_and_sees_no_empty_table() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(ran(folder.path(), &["certificates", "keys"]).0, Some(0));
    // Bound, so that no other program answers there.
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("quic://{}", nobody.local_addr().unwrap());
    let mut watch = std::process::Command::new(assert_cmd::cargo::cargo_bin!("cellcc"))
        .args(["assist", "watch", &url, "--credentials", "keys/operator-desk", "--every", "100ms"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(watch.stderr.take().unwrap()).read_line(&mut line).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    watch.kill().unwrap();
    let shown = watch.wait_with_output().unwrap().stdout;
    assert_eq!(line, format!("NetAssist: connecting with {url}\n"));
    assert_eq!(String::from_utf8_lossy(&shown), "");
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert_eq!(ran(at, &["certificates", "keys", "--server", "video-1", "--user", "alice"]).0, Some(0));
    fs::write(at.join("no-keys.toml"), CONFIG).unwrap();
    fs::write(at.join("colour.toml"), format!("colour = 1\n{CONFIG}")).unwrap();
    let server = ["--credentials", "keys/server-video-1"];
    assert_eq!(ran(at, &["certificates", "keys", "--service", "central"]).0, Some(0));
    let central = CONFIG.replace("service-edge", "service-central");
    let stranger = "servers = [{ name = \"video-1\", users = [\"mallory\"] }]";
    fs::write(at.join("stranger.toml"), format!("{central}{}{stranger}\n", broker("edge-1"))).unwrap();
    fs::write(at.join("site.toml"), format!("{central}{}", broker("a.b"))).unwrap();
    for (arguments, expected) in [
        (vec!["certificates", "keys", "--server", "video-1"], "is there already"),
        (vec!["certificates", "keys", "--user", "Alice"], "a-z"),
        (vec!["serve", "missing.toml"], "missing.toml"),
        (vec!["serve", "colour.toml"], "unknown field `colour`"),
        (vec!["serve", "no-keys.toml"], "keys/service-edge"),
        (vec!["watch", "quic://127.0.0.1:1", server[0], server[1]], "`operator`"),
        (vec!["watch", "127.0.0.1:x", server[0], server[1]], "quic://HOST:PORT"),
        (vec!["ue", "--credentials", "keys/user-alice", "--consent", "video-1", "--for", "999h"], "744h"),
        (vec!["ue", "--credentials", "keys/user-alice"], "<URL>"),
        (
            vec!["watch", "tls://me:secret@broker", server[0], server[1]],
            "the certificate identifies the client",
        ),
        (vec!["watch", "http://broker", server[0], server[1]], "tls://HOST:PORT"),
        (vec!["permissions", "no-keys.toml"], "no table [nats]"),
        (vec!["permissions", "stranger.toml"], "`mallory`, and no user has this name"),
        (vec!["serve", "site.toml"], "`a.b` is no name of a site"),
        (vec!["demo", "--schemes", "nonesuch"], "nonesuch"),
    ] {
        let (status, _, message) = ran(at, &arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn one_who_wants_the_page_reads_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert_eq!(ran(at, &["certificates", "keys"]).0, Some(0));
    // A folder with the operator's certificate, and this key.
    let with_key = |name: &str, key: &[u8]| {
        let holder = at.join(name);
        fs::create_dir(&holder).unwrap();
        for file in ["authority.pem", "certificate.pem"] {
            fs::copy(at.join("keys/operator-desk").join(file), holder.join(file)).unwrap();
        }
        fs::write(holder.join("key.pem"), key).unwrap();
    };
    with_key("another's-key", &fs::read(at.join("keys/server-video-1/key.pem")).unwrap());
    with_key("no-key", b"hello");
    let (page, desk) = ("https://edge:9465", "keys/operator-desk");
    for (url, credentials, lasts, expected) in [
        ("http://edge:9465", desk, "12h", "write https://HOST:PORT"),
        ("edge:9465", desk, "12h", "write https://HOST:PORT"),
        ("https://edge", desk, "12h", "write https://HOST:PORT"),
        ("https://:9465", desk, "12h", "write https://HOST:PORT"),
        ("https://edge:0", desk, "12h", "write https://HOST:PORT"),
        ("https://edge:65536", desk, "12h", "write https://HOST:PORT"),
        ("https://edge:9465/users", desk, "12h", "write https://HOST:PORT"),
        ("https://::1:9465", desk, "12h", "https://[::1]:9465"),
        ("https://[::1]:9465", desk, "12h", "--service"),
        (page, desk, "169h", "from 1s to 168h"),
        (page, desk, "0s", "from 1s to 168h"),
        (page, desk, "12", "`20ms`"),
        (page, "nowhere", "12h", "nowhere/authority.pem: cannot be read"),
        (page, "nowhere", "12h", "`cellcc assist certificates` makes"),
        (page, "keys/server-video-1", "12h", "`cellcc assist certificates FOLDER --operator NAME`"),
        (page, "another's-key", "12h", "another's-key/key.pem: is not the key of certificate.pem"),
        (page, "no-key", "12h", "no-key/key.pem: "),
    ] {
        let (status, link, message) = ran(at, &["page", url, "--credentials", credentials, "--for", lasts]);
        assert_eq!((status, link.as_str()), (Some(2), ""), "{url} {credentials} {lasts}: {message}");
        assert!(message.contains(expected), "{url} {credentials} {lasts}: {message}");
    }
}

#[test]
fn a_service_that_cannot_serve_its_page_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert_eq!(ran(at, &["certificates", "keys"]).0, Some(0));
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = other.local_addr().unwrap().to_string();
    let page_at = |address: &str| format!("https = \"{address}\"\n{CONFIG}");
    fs::create_dir(at.join("keys/no-key")).unwrap();
    for file in ["authority.pem", "certificate.pem"] {
        fs::copy(at.join("keys/service-edge").join(file), at.join("keys/no-key").join(file)).unwrap();
    }
    for (config, expected) in [
        (page_at(&busy), "choose another address or port"),
        (page_at("edge:9465"), "`edge:9465` is no address: write IP:PORT"),
        (page_at("127.0.0.1"), "`127.0.0.1` is no address: write IP:PORT"),
        (page_at("127.0.0.1:0").replace("service-edge", "no-key"), "keys/no-key/key.pem: cannot be read"),
        (page_at("127.0.0.1:0").replace("service-edge", "operator-desk"), "--service NAME"),
    ] {
        fs::write(at.join("page.toml"), config).unwrap();
        let (status, _, message) = ran(at, &["serve", "page.toml"]);
        assert_eq!(status, Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

/// A broker that is not there.
fn broker(site: &str) -> String {
    format!("[nats]\nurl = \"tls://localhost:1\"\nsite = \"{site}\"\nuser_keys = \"keys/user-keys\"\n")
}

#[test]
fn a_brokers_permissions_stay_the_same_and_name_no_user_but_its_device() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert_eq!(ran(at, &["certificates", "keys"]).0, Some(0));
    let servers = "servers = [{ name = \"server-1\", users = [\"alice\"] }]\n";
    fs::write(at.join("netassist.toml"), format!("{CONFIG}{}{servers}", broker("edge-1"))).unwrap();
    let (status, text, message) = ran(at, &["permissions", "netassist.toml"]);
    assert_eq!(status, Some(0), "{message}");
    assert_eq!(ran(at, &["permissions", "netassist.toml"]).1, text, "the secret is kept");
    let lines = |part: &str| text.lines().filter(|line| line.contains(part)).collect::<Vec<_>>();
    assert_eq!(lines("alice").len(), 1, "{text}");
    let server = lines("spiffe://netassist/server/server-1");
    assert!(server[0].contains("\"na.v1.*.*.") && !server[0].contains("na.v1.*.*.*"), "{server:?}");
}

#[test]
fn a_consent_is_one_line_of_text() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(ran(folder.path(), &["certificates", "keys", "--user", "alice"]).0, Some(0));
    let (status, text, message) =
        ran(folder.path(), &["ue", "--credentials", "keys/user-alice", "--consent", "video-1"]);
    assert_eq!((status, text.lines().count()), (Some(0), 1), "{message}");
}
