//! `cellcc assist join` between a service and the kernel: who is in the map of the kernel's schemes, and when. Needs root and
//! nftables; elsewhere the test says so and passes.

use crate::assist_counters::{Feed, free_port, source};
use crate::cell::Cell;
use crate::common::cellcc;
use crate::{HANG_TIMEOUT, can_emulate};
use cellcc_kernel::{Machine, Scheme};
use cellcc_test_support::{alone, alone_in_the_kernel, skip};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv6Addr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `join` looks at connections each second, the service at conntrack likewise; a second more of both.
const LOOKS: Duration = Duration::from_secs(4);

/// The tests' needs of this machine; `None` where it lacks something, which is said.
fn kernel() -> Option<fs::File> {
    if let Err(refusal) = Machine::current().permits(Scheme::named("cellcc_natcp").expect("a scheme of ours"))
    {
        skip(refusal);
        return None;
    }
    if Command::new("nft").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip("nft is missing: apt-get install nftables");
        return None;
    }
    can_emulate().then(alone_in_the_kernel)
}

/// NATCP in the kernel, pinned in a file system of its own.
struct Loaded {
    folder: tempfile::TempDir,
}

impl Loaded {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        run(Command::new("mount").args(["-t", "bpf", "bpf"]).arg(folder.path()));
        let loaded = Self { folder };
        cellcc(&std::env::temp_dir())
            .args(["tcp", "load", "cellcc_natcp", "--pins"])
            .arg(loaded.pins())
            .assert()
            .success();
        loaded
    }

    fn pins(&self) -> PathBuf {
        self.folder.path().join("cellcc")
    }

    /// The bandwidth of the path to a peer in bytes per second, and when it was measured, in microseconds; `None` without advice.
    fn advice(&self, peer: IpAddr) -> Option<[u64; 2]> {
        let map = MapHandle::from_pinned_path(self.pins().join("advice_1")).unwrap();
        let value = map.lookup(&key(peer), MapFlags::ANY).unwrap()?;
        // `AdviceValue` begins with these.
        Some([0, 8].map(|at| u64::from_ne_bytes(value[at..at + 8].try_into().unwrap())))
    }

    fn measured_at(&self, peer: IpAddr) -> Option<u64> {
        self.advice(peer).map(|[_, measured_at]| measured_at)
    }

    /// All peers with advice.
    fn peers(&self) -> Vec<Vec<u8>> {
        MapHandle::from_pinned_path(self.pins().join("advice_1")).unwrap().keys().collect()
    }

    /// Waits until there is newer advice on a peer than now.
    fn wait_for_newer(&self, peer: IpAddr) {
        let (before, began) = (self.measured_at(peer), Instant::now());
        while self.measured_at(peer) <= before {
            assert!(began.elapsed() < HANG_TIMEOUT, "no newer advice on {peer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until nothing newer has come for half a second: ten periods.
    fn wait_for_silence(&self, peer: IpAddr) {
        let began = Instant::now();
        loop {
            let before = self.measured_at(peer);
            std::thread::sleep(Duration::from_millis(500));
            if self.measured_at(peer) == before {
                return;
            }
            assert!(began.elapsed() < HANG_TIMEOUT, "advice on {peer} goes on");
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let _ = cellcc(&std::env::temp_dir())
            .args(["tcp", "unload", "cellcc_natcp", "--pins"])
            .arg(self.pins())
            .output();
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}

fn key(peer: IpAddr) -> [u8; 16] {
    match peer {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => Ipv6Addr::octets(&address),
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A process on the server's side, killed where a test fails.
struct Running(Child);

impl Running {
    fn start(cell: &Cell, folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("cellcc"));
        command
            .arg("assist")
            .args(arguments)
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        cell.outside().command(&mut command);
        Self(command.spawn().unwrap())
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A service on the server's host that knows two users and is informed of flows by conntrack.
fn service(cell: &Cell, folder: &Path) -> Running {
    let mut service = Running::start(cell, folder, &["serve", "netassist.toml"]);
    let listens = BufReader::new(service.0.stdout.as_mut().unwrap()).lines().next();
    assert!(listens.is_some_and(|line| line.unwrap().starts_with("listening on")));
    service
}

/// Configures a service that knows two users by these sources, and gives its URL.
fn configure(cell: &Cell, folder: &Path, sources: &str) -> String {
    cellcc(folder).args(["assist", "certificates", "keys"]).assert().success();
    let free =
        cell.outside().run(|| UdpSocket::bind((cell.server(), 0)).unwrap().local_addr().unwrap()).unwrap();
    let user =
        |name: &str, address: IpAddr| format!("[[user]]\nname = \"{name}\"\naddresses = [\"{address}\"]\n");
    let text = format!(
        "listen = \"{free}\"\ncredentials = \"keys/service-edge\"\naudit_log = \"audit.jsonl\"\nlive_flows = \"conntrack\"\n{}{}{sources}",
        user("alice", cell.user(0)),
        user("bob", cell.user(1)),
    );
    fs::write(folder.join("netassist.toml"), text).unwrap();
    format!("quic://{free}")
}

/// A source that knows a user's link.
fn trace(user: &str) -> String {
    format!(
        "[[source]]\nkind = \"trace\"\nuser = \"{user}\"\nlink = \"rate=12Mbit/s\"\nknows = \"causal\"\nnetwork_rtt = \"20ms\"\n"
    )
}

/// Connection tracking follows a namespace's flows once a rule asks for it.
fn track_connections(cell: &Cell) {
    let rules = "table inet t {\nchain c {\ntype filter hook input priority 0\nct state new accept\n}\n}\n";
    let follow = || {
        let mut nft = Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).spawn().unwrap();
        nft.stdin.take().unwrap().write_all(rules.as_bytes()).unwrap();
        assert!(nft.wait().unwrap().success());
    };
    cell.outside().run(follow).unwrap();
}

fn send(stream: &mut TcpStream) {
    stream.write_all(&[7; 1000]).unwrap();
}

#[test]
fn the_kernel_hears_of_users_with_live_flows_only_and_again_after_the_service_was_killed() {
    let _alone = alone();
    let Some(_kernel) = kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cell = Cell::start(2, 20.0);
    track_connections(&cell);
    let url = configure(&cell, folder.path(), &(trace("alice") + &trace("bob")));
    let [alice, bob] = [0, 1].map(|user| cell.user(user));
    let loaded = Loaded::new();
    let pins = loaded.pins();
    let edge = service(&cell, folder.path());
    let mut to_alice = cell.connect(0, "cellcc_natcp");
    send(&mut to_alice);
    let join = ["join", &url, "--credentials", "keys/server-video-1", "--pins", pins.to_str().unwrap()];
    let _joined = Running::start(&cell, folder.path(), &join);
    loaded.wait_for_newer(alice);
    assert_eq!(loaded.peers(), [key(alice).to_vec()], "Bob has no flow");

    // A request for Bob without a flow or consent gets no report.
    let name = bob.to_string();
    let about_bob = [&join[..], &["--user", &name]].concat();
    let asking = Running::start(&cell, folder.path(), &about_bob);
    let began = Instant::now();
    let audit = || fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    while !audit().contains("\"refused\"") {
        assert!(began.elapsed() < HANG_TIMEOUT, "{}", audit());
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(LOOKS);
    assert_eq!(loaded.measured_at(bob), None);
    asking.kill();

    let mut to_bob = cell.connect(1, "cellcc_natcp");
    send(&mut to_bob);
    loaded.wait_for_newer(bob);
    drop(to_bob);
    loaded.wait_for_silence(bob);
    loaded.wait_for_newer(alice);

    edge.kill();
    loaded.wait_for_silence(alice);
    let _again = service(&cell, folder.path());
    loaded.wait_for_newer(alice);
}

#[test]
fn the_lines_of_a_newcomers_script_end_in_the_kernels_map() {
    let _alone = alone();
    let Some(_kernel) = kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cell = Cell::start(2, 20.0);
    track_connections(&cell);
    let port = cell.outside().run(free_port).unwrap();
    let url = configure(&cell, folder.path(), &source(port));
    let alice = cell.user(0);
    let loaded = Loaded::new();
    let pins = loaded.pins();
    let _edge = service(&cell, folder.path());
    let within = |command: &mut Command| cell.outside().command(command);
    let _feed = Feed::start(folder.path(), &alice.to_string(), port, within);
    let mut to_alice = cell.connect(0, "cellcc_natcp");
    send(&mut to_alice);
    let join = ["join", &url, "--credentials", "keys/server-video-1", "--pins", pins.to_str().unwrap()];
    let _joined = Running::start(&cell, folder.path(), &join);
    loaded.wait_for_newer(alice);
    let bandwidth = loaded.advice(alice).map(|[bandwidth, _]| bandwidth);
    assert_eq!(bandwidth, Some(750_000), "6 Mbit/s, in bytes per second");
}
