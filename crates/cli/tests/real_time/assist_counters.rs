//! Lines of counters by the script in the how-to: from the page to a window in a server's flow.

use crate::HANG_TIMEOUT;
use crate::common::{AssistService, cellcc};
use crate::transfer::Server;
use cellcc_test_support::alone;
use serde_json::Value;
use std::fs;
use std::io::BufRead;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Instant;

/// The script of the page, which reports 6 Mbit/s and 30 ms; it runs until the test ends.
pub(crate) struct Feed(Child);

impl Feed {
    /// Counts a user with this address for a service at this port, as a program that `place` puts somewhere.
    pub(crate) fn start(folder: &Path, address: &str, port: u16, place: impl Fn(&mut Command)) -> Self {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/netassist-sources.md");
        let page = fs::read_to_string(page).unwrap();
        let (_, script) = page.split_once("```python counters\n").expect("a script");
        let (script, _) = script.split_once("```").expect("its end");
        let script = script.replace("10.45.0.2", address).replace("55556", &port.to_string());
        fs::write(folder.join("feed.py"), script).unwrap();
        let mut python = Command::new("python3");
        python.arg("feed.py").current_dir(folder);
        place(&mut python);
        Self(python.spawn().expect("python3, which `make setup` installs"))
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A table of the configuration for lines that arrive at this port.
pub(crate) fn source(port: u16) -> String {
    format!("[[source]]\nkind = \"counters\"\naddress = \"127.0.0.1:{port}\"\n")
}

/// A free port on loopback.
pub(crate) fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn the_lines_of_a_newcomers_script_end_as_a_window_in_a_servers_quic_flow() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    cellcc(folder.path()).args(["assist", "certificates", "keys"]).assert().success();
    let port = free_port();
    let config = format!(
        "listen = \"127.0.0.1:0\"\ncredentials = \"keys/service-edge\"\nlive_flows = \"assumed\"\n\
         [[user]]\nname = \"alice\"\naddresses = [\"127.0.0.1\"]\n{}",
        source(port)
    );
    let mut service = AssistService::start(folder.path(), &config);
    let url = service.says("listening on ");
    let _feed = Feed::start(folder.path(), "127.0.0.1", port, |_| {});
    let keys = folder.path().join("keys/server-video-1");
    let server = Server::start(&["--assist", &url, "--assist-credentials", keys.to_str().unwrap()]);
    // Over loopback more would arrive, and the guard would find the reports too low.
    let mut flow = server.receiving(&["--scheme", "natcp(guard=off)"]);
    let began = Instant::now();
    let followed = loop {
        let mut line = String::new();
        assert!(flow.says.read_line(&mut line).unwrap() > 0 && began.elapsed() < HANG_TIMEOUT, "no reports");
        let interval: Value = serde_json::from_str(&line).unwrap();
        let connection = &interval["connections"][0];
        if connection["internals"]["following"] == 1.0 {
            break connection.clone();
        }
    };
    let _ = flow.process.kill();
    let internals = &followed["internals"];
    assert_eq!(internals["advised_bandwidth_mbit_s"], 6.0, "{followed}");
    assert_eq!(internals["advised_min_rtt_ms"], 30.0, "{followed}");
    // Two BDPs, in whole packets of at most 1500 bytes.
    let window = followed["cwnd_bytes"].as_u64().unwrap();
    assert!((45_000 - 1500..=45_000 + 1500).contains(&window), "{followed}");
}
