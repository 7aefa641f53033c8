//! Programs as they are, and load and unload under their traffic.

use crate::kernel::{Kernel, SetAtEnd, connect, ours, transfer, wait_until, wait_until_freed};
use cellcc_kernel::{KernelError, Scheme, Settings};
use std::io::{ErrorKind, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The user `nobody` of most systems.
const NOBODY: u32 = 65534;

#[test]
fn iperf3_of_an_ordinary_user_chooses_a_scheme() {
    let Some(kernel) = Kernel::take() else { return };
    if Command::new("iperf3").arg("--version").stdout(Stdio::null()).status().is_err() {
        cellcc_test_support::skip("iperf3 is missing: apt-get install iperf3");
        return;
    }
    for scheme in Scheme::ALL {
        kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    }
    let allowed =
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").expect("a list");
    assert!(
        Scheme::ALL.into_iter().all(|scheme| allowed.split_whitespace().any(|name| name == scheme.name()))
    );
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let port = port.to_string();
    for scheme in Scheme::ALL {
        let mut server = Command::new("iperf3");
        server.args(["-s", "-1", "-B", "127.0.0.1", "-p", &port]).stdout(Stdio::piped());
        let mut server = server.spawn().expect("a server");
        let mut client = Command::new("iperf3");
        client.args(["-c", "127.0.0.1", "-p", &port, "-C", scheme.name(), "-n", "10M", "-J"]);
        client.uid(NOBODY).gid(NOBODY);
        // The server may not listen yet.
        let text = (0..3000)
            .find_map(|_| {
                let output = client.output().expect("a client");
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let waits = text.contains("onnection refused");
                if waits {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                (!waits).then_some(text)
            })
            .expect("a server that listens");
        server.wait().expect("the server's end");
        assert!(text.contains(&format!("\"sender_tcp_congestion\":\t\"{}\"", scheme.name())), "{text}");
    }
}

#[test]
fn schemes_come_and_go_under_traffic() {
    const TIMES: usize = 10;
    let Some(kernel) = Kernel::take() else { return };
    let scheme = ours("cellcc_vegas");
    let is_over = AtomicBool::new(false);
    let used = [const { AtomicUsize::new(0) }; 2];
    std::thread::scope(|scope| {
        let _over = SetAtEnd(&is_over);
        for used in &used {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    match transfer(scheme.name(), 1_000_000) {
                        Ok(_) => drop(used.fetch_add(1, Ordering::Relaxed)),
                        // It is not there just now.
                        Err(error) if error.kind() == ErrorKind::NotFound => std::thread::yield_now(),
                        Err(error) => panic!("a connection failed: {error}"),
                    }
                }
            });
        }
        // A socket chooses a loaded scheme, and keeps it when it goes.
        for _ in 0..TIMES {
            let so_far = || used.each_ref().map(|used| used.load(Ordering::Relaxed));
            kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
            let before = so_far();
            wait_until("both use it", || so_far().iter().zip(before).all(|(used, before)| *used > before));
            kernel.pins.unload(scheme).expect("unloaded");
        }
    });
    wait_until_freed("vegas_");
}

#[test]
fn thousands_of_short_connections_leave_nothing() {
    const CONNECTIONS: usize = 10_000;
    let Some(kernel) = Kernel::take() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    // Both keep a state next to the socket, Tide the largest.
    for (scheme, programs) in [(ours("cellcc_nacubic"), "nacubic_"), (ours("cellcc_tide"), "tide_")] {
        kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
        for _ in 0..CONNECTIONS {
            let mut own = connect(scheme.name(), address).expect("connected");
            let (peer, _) = listener.accept().expect("accepted");
            own.write_all(&[7]).expect("sent");
            // Without TIME_WAIT, whose number is limited.
            own.set_linger(Some(std::time::Duration::ZERO)).expect("set");
            drop((own, peer));
        }
        kernel.pins.unload(scheme).expect("unloaded");
        wait_until_freed(programs);
    }
}

#[test]
fn upgrades_under_traffic_fail_no_connection_and_keep_live_sockets() {
    const TIMES: usize = 5;
    let Some(kernel) = Kernel::take() else { return };
    let scheme = ours("cellcc_vegas");
    let upgrade = || kernel.pins.upgrade(scheme, &kernel.machine);
    assert!(matches!(upgrade(), Err(KernelError::NotLoaded(_))));
    kernel.pins.load(scheme, &Settings::default_of(scheme), &kernel.machine).expect("loaded");
    let programs = || kernel.pins.programs(scheme).expect("programs");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = SetAtEnd(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                transfer(scheme.name(), 100_000).expect("a connection");
            }
        });
        let long = scope.spawn(|| transfer(scheme.name(), 1_000_000_000).expect("a connection"));
        let mut seen = vec![programs()];
        for _ in 0..TIMES {
            upgrade().expect("upgraded");
            seen.push(programs());
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), TIMES + 1, "each upgrade brings other programs");
        assert_eq!(long.join().expect("a transfer"), scheme.name());
    });
    assert_eq!(kernel.pins.settings(scheme).expect("settings"), Settings::default_of(scheme));
    kernel.pins.unload(scheme).expect("unloaded");
}
