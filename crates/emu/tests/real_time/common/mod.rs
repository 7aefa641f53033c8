//! The common part of the privileged tests.

#![allow(dead_code, reason = "the test of an ordinary user, a program of its own, needs less")]

use cellcc_emu::device::{Backend, Device};
use cellcc_emu::namespace::Namespace;
use cellcc_emu::topology::{Servers, Topology, TopologySpec};
use cellcc_test_support::skip;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::net::{IpAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(crate) const BACKENDS: [Backend; 2] = [Backend::Tun, Backend::Packet];

/// True if this machine can build topologies. Otherwise the test is skipped.
pub(crate) fn can_run() -> bool {
    Namespace::create().map_err(skip).is_ok()
}

pub(crate) fn spec(users: usize, backend: Backend) -> TopologySpec {
    TopologySpec { users, servers: Servers::Here, backend: Some(backend), mtu: 1500 }
}

/// A topology whose outside is this namespace.
pub(crate) fn build_in(outside: &Namespace, users: usize, backend: Backend) -> Topology {
    outside.run(|| Topology::build(&spec(users, backend))).unwrap().expect("a topology builds")
}

/// One that other tests do not see.
pub(crate) fn build(users: usize, backend: Backend) -> Topology {
    build_in(&Namespace::create().unwrap(), users, backend)
}

/// Waits until a packet waits, at most 50 ms.
fn wait(devices: &[&Device]) {
    let tick = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    let mut waiting: Vec<_> =
        devices.iter().map(|device| PollFd::from_borrowed_fd(device.fd(), PollFlags::IN)).collect();
    poll(&mut waiting, Some(&tick)).expect("poll works");
}

/// The next packet with its header for which `wanted` holds, within `limit`.
pub(crate) fn next_packet(
    device: &Device,
    limit: Duration,
    wanted: impl Fn(&[u8]) -> bool,
) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 10 + 65_535];
    let begin = Instant::now();
    while begin.elapsed() < limit {
        wait(&[device]);
        while let Some(length) = device.receive(&mut buffer).expect("the device is there") {
            if wanted(&buffer[10..length]) {
                buffer.truncate(length);
                return Some(buffer);
            }
        }
    }
    None
}

/// Carries packets both ways at once, as the emulator without an emulated link would, while `work` runs. Gives the length
/// of the longest super-packet too.
pub(crate) fn carrying<T>(topology: &Topology, work: impl FnOnce() -> T) -> (T, usize) {
    let (stop, longest) = (AtomicBool::new(false), AtomicUsize::new(0));
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = vec![0; 10 + 65_535];
            let users: Vec<&Device> = topology.users.iter().map(|user| &user.device).collect();
            let outside = &topology.outside().device;
            let all: Vec<&Device> = users.iter().copied().chain([outside]).collect();
            while !stop.load(Ordering::Relaxed) {
                wait(&all);
                for from in &all {
                    while let Some(length) = from.receive(&mut buffer).unwrap() {
                        longest.fetch_max(length - 10, Ordering::Relaxed);
                        let (header, packet) = buffer[..length].split_first_chunk::<10>().unwrap();
                        let inside = topology.directory.user_of_packet(packet).map(|user| users[user]);
                        let to = if std::ptr::eq(*from, outside) { inside } else { Some(outside) };
                        let (headers, payload) = packet.split_at(20);
                        if let Some(to) = to {
                            to.send(header, headers, payload).unwrap();
                        }
                    }
                }
            }
        });
        // Also where a test fails, or it would wait for the thread for ever.
        let _stop = StopAtEnd(&stop);
        work()
    });
    (done, longest.into_inner())
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A UDP socket in a namespace, which waits for 20 s at most: there to end a hang.
pub(crate) fn socket_in(namespace: &Namespace, address: impl Into<IpAddr>) -> UdpSocket {
    let address = address.into();
    let socket = namespace.run(|| UdpSocket::bind((address, 0))).unwrap().expect("the address works at once");
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

/// Sends a datagram, and checks that it comes with the sender's address.
pub(crate) fn exchange(from: &UdpSocket, to: &UdpSocket) {
    from.send_to(b"a datagram", to.local_addr().unwrap()).unwrap();
    let mut buffer = [0; 100];
    let (length, sender) = to.recv_from(&mut buffer).expect("the datagram comes");
    assert_eq!(&buffer[..length], b"a datagram");
    assert_eq!(sender, from.local_addr().unwrap());
}

/// The output of a command in a namespace.
pub(crate) fn output_in(namespace: &Namespace, command: &str) -> String {
    let mut words = command.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    namespace.command(&mut command);
    let output = command.output().expect("the program starts; tools/setup test installs it");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
