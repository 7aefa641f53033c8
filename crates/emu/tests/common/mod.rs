//! What the privileged tests share.

use cellcc_emu::device::{Backend, Device};
use cellcc_emu::namespace::Namespace;
use cellcc_emu::topology::{Topology, TopologySpec};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) const BACKENDS: [Backend; 2] = [Backend::Tun, Backend::Packet];

/// Whether this machine lets us build topologies; says why not.
pub(crate) fn can_run() -> bool {
    match Namespace::create() {
        Ok(_) => true,
        Err(error) => {
            println!("SKIPPED: {error}");
            false
        }
    }
}

/// A topology that is cut off from the machine, so that tests do not see each other.
pub(crate) fn isolated(users: usize, backend: Backend) -> Topology {
    let spec = TopologySpec { users, isolated: true, backend: Some(backend), mtu: 1500 };
    Topology::build(&spec).expect("an isolated topology builds")
}

/// The next packet with its header for which `wanted` holds, within 5 seconds.
pub(crate) fn next_packet(device: &Device, wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut buffer = vec![0; 10 + 65_535];
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(5) {
        let tick = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        poll(&mut [PollFd::from_borrowed_fd(device.fd(), PollFlags::IN)], Some(&tick)).expect("poll works");
        while let Some(length) = device.receive(&mut buffer).expect("the device is there") {
            if wanted(&buffer[10..length]) {
                return buffer[..length].to_vec();
            }
        }
    }
    panic!("no such packet came");
}

/// What a command in a namespace writes on standard output.
pub(crate) fn output_in(namespace: &Namespace, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments);
    namespace.command(&mut command);
    let output = command.output().expect("the program starts");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
