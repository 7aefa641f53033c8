//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! Support for tests in real time on a machine that others share.
//!
//! Where other programs want the processors or the host takes them, the emulator is late, a queue overflows or an RTT is long,
//! and a test fails although nothing is wrong. [`needs_punctuality`] runs such a test, and decides by the machine alone whether
//! a failure counts.

#![allow(clippy::disallowed_methods, reason = "a watchdog has a clock and a thread")]

pub mod benchmark;
mod machine;
pub mod nats_server;
mod punctuality;
mod schemes;

pub use punctuality::{alone, needs_punctuality, not_judged};
pub use schemes::{KINDS, schemes_without};

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// The prefix of a folder in which a test mounts a BPF file system: such a mount without a test is left over.
pub const BPF_FOLDER_PREFIX: &str = "cellcc-kernel-test-";
/// How long schemes of ours may stay in the kernel that are no test's: as long as another program's short run.
const FOREIGN_SCHEMES: Duration = Duration::from_secs(60);

/// The kernel's TCP for one test at a time, in whatever process, while the file is open: names of its schemes are global.
/// Leftovers of a killed test are removed.
///
/// # Panics
/// Where no lock file can be made, or schemes of ours stay in the kernel that are no test's.
pub fn alone_in_the_kernel() -> File {
    // Not only in the folder of temporary files, which two runs of the tests may have each of their own. As an ordinary user,
    // who loads nothing, there.
    let folders = [PathBuf::from("/run"), std::env::temp_dir()];
    let mut locks = folders.iter().map(|folder| File::create(folder.join("cellcc-kernel-test.lock")));
    let lock = locks.find_map(Result::ok).expect("a lock file");
    lock.lock().expect("a lock");
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let folders = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    for left in folders.filter(|folder| folder.contains(BPF_FOLDER_PREFIX)) {
        // Its pins, and with them the schemes, go with it.
        let _ = Command::new("umount").arg(left).status();
    }
    let began = Instant::now();
    while let Some(names) = schemes_of_ours() {
        assert!(
            began.elapsed() < FOREIGN_SCHEMES,
            "the kernel has {names}, which no test has loaded, and its names are global: `cellcc tcp unload`, then test again"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    lock
}

fn schemes_of_ours() -> Option<String> {
    let all = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let all = all.unwrap_or_default();
    let is_ours = |name: &&str| name.starts_with("cellcc_") || *name == "reminis_cubic";
    let names: Vec<_> = all.split_whitespace().filter(is_ours).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Reports that a test cannot run on this machine. The test must return then.
///
/// # Panics
/// Where `CI` is set: there no test may be skipped.
pub fn skip(reason: impl fmt::Display) {
    assert!(std::env::var_os("CI").is_none(), "this test cannot run: {reason}");
    say(&format!("SKIPPED: {reason}"));
}

/// The memory of a process in KiB by the line of proc_pid_status(5) with this name: `VmRSS` is resident now, `VmHWM` was at the
/// peak. `process` is a number, or `self`.
///
/// # Errors
/// There is no such process, or no such line.
pub fn memory_kib(process: impl fmt::Display, name: &str) -> io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kib.ok_or_else(|| io::Error::other(format!("no {name} of the process {process}")))
}

/// A line on standard error, in one piece. Not `eprintln!`: cargo hides its output in a test that passes.
fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
