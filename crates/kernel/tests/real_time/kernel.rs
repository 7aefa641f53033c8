//! The needs of a test of the kernel: the right to load, the schemes' names for itself, its own pins, traffic.

use cellcc_kernel::{Machine, Pins, Scheme};
use libbpf_rs::query::ProgInfoIter;
use socket2::{Domain, SockRef, Socket, Type};
use std::fs::File;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The scheme that the kernel knows by this name.
pub(crate) fn ours(name: &str) -> Scheme {
    Scheme::named(name).expect("a scheme of ours")
}

/// The kernel, for one test at a time: names of schemes are global.
pub(crate) struct Kernel {
    pub(crate) pins: Pins,
    pub(crate) machine: Machine,
    folder: TempDir,
    scratch: TempDir,
    _lock: File,
}

impl Kernel {
    /// `None` where this machine or this user cannot load schemes; that is said.
    pub(crate) fn take() -> Option<Self> {
        let machine = Machine::current();
        if let Some(refusal) = Scheme::ALL.into_iter().find_map(|scheme| machine.permits(scheme).err()) {
            cellcc_test_support::skip(refusal);
            return None;
        }
        let lock = cellcc_test_support::alone_in_the_kernel();
        let folder = tempfile::Builder::new().prefix(cellcc_test_support::BPF_FOLDER_PREFIX).tempdir();
        let folder = folder.expect("a folder");
        run("mount", &["-t", "bpf", "bpf", path(folder.path())]);
        let pins = Pins::new(folder.path().join("cellcc"));
        let scratch = tempfile::tempdir().expect("a folder");
        Some(Self { pins, machine, folder, scratch, _lock: lock })
    }

    /// A folder for files.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The folder of the pins.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // A test that failed has left its schemes.
        for scheme in self.pins.loaded() {
            let _ = self.pins.unload(scheme);
        }
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// Runs a program that must succeed; gives its output.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect(program);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A socket that uses a scheme, connected to a listener over loopback.
pub(crate) fn connect(scheme: &str, to: SocketAddr) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    socket.set_tcp_congestion(scheme.as_bytes())?;
    socket.connect(&to.into())?;
    Ok(socket)
}

/// The receiver's buffer: no acknowledgement covers more, however fast the machine is, so that a transfer's bytes imply a least
/// number of acknowledgements at a scheme.
pub(crate) const RECEIVE_BUFFER: usize = 128 * 1024;

/// Sends `bytes` over loopback with a scheme; returns the scheme that the socket had in the end.
///
/// # Errors
/// `NotFound`: the kernel does not have it.
pub(crate) fn transfer(scheme: &str, bytes: usize) -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    SockRef::from(&listener).set_recv_buffer_size(RECEIVE_BUFFER / 2)?; // The kernel doubles it; a connection inherits it.
    let mut socket = connect(scheme, listener.local_addr()?)?;
    let (mut stream, _) = listener.accept()?;
    std::thread::scope(|scope| {
        let received = scope.spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
        socket.write_all(&vec![7; bytes])?;
        let used = socket.tcp_congestion()?;
        drop(socket);
        assert_eq!(received.join().expect("a receiver")?, bytes as u64);
        Ok(String::from_utf8_lossy(&used).trim_end_matches('\0').to_owned())
    })
}

/// Ends a hang: longer than anything here takes on a slow machine.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until this is so.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < HANG_TIMEOUT, "within {HANG_TIMEOUT:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// True when this is dropped, whether a test passes or not: the threads that look at it end.
pub(crate) struct SetAtEnd<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until the kernel has no program whose name begins so: the last socket with one is closed.
pub(crate) fn wait_until_freed(beginning: &str) {
    wait_until(&format!("no {beginning} is left"), || {
        let mut names = ProgInfoIter::default().map(|program| program.name.to_string_lossy().into_owned());
        !names.any(|name| name.starts_with(beginning))
    });
}

/// The schemes that the kernel has.
pub(crate) fn available() -> Vec<String> {
    let text =
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("a list");
    text.split_whitespace().map(str::to_owned).collect()
}
