//! Support for tests in real time on a machine that others share.
//!
//! A virtual machine may stall for a tenth of a second. Then the emulator is late, a queue overflows or an RTT is long,
//! and a test fails although nothing is wrong. So a failed test is retried, but only if the machine stalled meanwhile.
//! The test's result has no part in that decision: a watchdog thread sleeps for a millisecond again and again and
//! measures how late it wakes, and the kernel counts the processor time that the host took.

#![allow(clippy::disallowed_methods, reason = "a watchdog has a clock and a thread")]

pub mod benchmark;
mod schemes;

pub use schemes::{KINDS, schemes_without};

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A wake-up this late is a stall: with only the tests on two processors, no thread wakes so late.
const STALL: Duration = Duration::from_millis(15);
/// The host stalls the machine where it takes this share of the processors' time. At this share a thread that wakes once
/// a millisecond on two processors is late by a millisecond each hundredth time: more than the emulator allows itself.
const STEAL: f64 = 0.005;
/// How many times a test runs at most.
const MAX_ATTEMPTS: u32 = 4;
/// How long the machine must be free of stalls before a retry.
const QUIET_PERIOD: Duration = Duration::from_secs(2);
/// The latest wake-up in a quiet period. Its share of stolen time is below [`STEAL`].
const QUIET_WAKE_UP: Duration = Duration::from_millis(5);
/// Maximum wait for a quiet period.
const MAX_WAIT: Duration = Duration::from_secs(45);
/// How often the watchdog wakes up.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Runs a test, and retries it where it fails while the machine stalled.
///
/// # Panics
/// As the test does: without a stall, or at the fourth attempt.
pub fn retry_on_stall(test: impl Fn()) {
    for attempt in 1.. {
        let watchdog = Watchdog::start();
        let result = catch_unwind(AssertUnwindSafe(&test));
        let stalls = watchdog.stop();
        match result {
            Ok(()) => return,
            Err(_) if stalls.allow_retry(attempt) => {
                let _ = writeln!(std::io::stderr(), "retried: {stalls}");
                wait_until_quiet();
            }
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// What a folder's name begins with in which a test mounts a BPF file system: such a mount without a test is left over.
pub const BPF_FOLDER_PREFIX: &str = "cellcc-kernel-test-";
/// How long schemes of ours may stay in the kernel that are no test's: as long as another program's short run.
const FOREIGN_SCHEMES: Duration = Duration::from_secs(60);

/// The kernel's TCP for one test at a time, in whatever process, while the file is open: names of its schemes are global. What
/// a killed test has left is removed.
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
        std::thread::sleep(QUIET_PERIOD / 20);
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
    // Not `eprintln!`: cargo hides what that writes in a test that passes.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
}

/// Waits for a quiet period, at most for [`MAX_WAIT`].
fn wait_until_quiet() {
    let began = Instant::now();
    while began.elapsed() < MAX_WAIT {
        let watchdog = Watchdog::start();
        std::thread::sleep(QUIET_PERIOD);
        let stalls = watchdog.stop();
        if stalls.latest_wake_up < QUIET_WAKE_UP && stalls.stolen < STEAL {
            return;
        }
    }
}

/// How much a machine stalled.
#[derive(Debug, Clone, Copy)]
struct Stalls {
    /// How late a thread woke at most.
    latest_wake_up: Duration,
    /// The share of the processors' time that the host took.
    stolen: f64,
}

impl Stalls {
    /// Whether a test that failed in this attempt runs again.
    fn allow_retry(self, attempt: u32) -> bool {
        (self.latest_wake_up >= STALL || self.stolen >= STEAL) && attempt < MAX_ATTEMPTS
    }
}

impl fmt::Display for Stalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (late, stolen) = (self.latest_wake_up.as_secs_f64() * 1e3, self.stolen * 100.0);
        write!(f, "a thread woke {late:.1} ms late, and the host took {stolen:.1} % of the processors' time")
    }
}

/// A thread that looks for stalls.
struct Watchdog {
    before: ProcessorTime,
    is_over: Arc<AtomicBool>,
    latest_ns: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Watchdog {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let latest_ns = Arc::new(AtomicU64::new(0));
        let (over, latest) = (Arc::clone(&is_over), Arc::clone(&latest_ns));
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                latest.fetch_max(oversleep().as_nanos() as u64, Ordering::Relaxed);
            }
        });
        Self { before: ProcessorTime::now(), is_over, latest_ns, thread }
    }

    /// The stalls since the start.
    fn stop(self) -> Stalls {
        self.is_over.store(true, Ordering::Relaxed);
        // It cannot have panicked.
        let _ = self.thread.join();
        Stalls {
            latest_wake_up: Duration::from_nanos(self.latest_ns.load(Ordering::Relaxed)),
            stolen: ProcessorTime::now().stolen_since(self.before),
        }
    }
}

/// Sleeps for [`POLL_INTERVAL`], and returns how much longer it took.
fn oversleep() -> Duration {
    let began = Instant::now();
    std::thread::sleep(POLL_INTERVAL);
    began.elapsed().saturating_sub(POLL_INTERVAL)
}

/// The time of all processors since the kernel began, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ProcessorTime {
    all: u64,
    /// A thread was ready to run, but the host ran something else.
    stolen: u64,
}

impl ProcessorTime {
    /// Zero where there is no `/proc/stat`: then no time counts as stolen.
    fn now() -> Self {
        std::fs::read_to_string("/proc/stat").ok().and_then(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// proc_stat(5): `cpu`, user, nice, system, idle, iowait, irq, softirq, steal. The fields after them are parts of user
    /// and nice.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<u64> = text
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .take(8)
            .map(|field| field.parse().ok())
            .collect::<Option<_>>()?;
        Some(Self { all: fields.iter().sum(), stolen: *fields.get(7)? })
    }

    fn stolen_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all);
        self.stolen.saturating_sub(before.stolen) as f64 / all.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_test_that_passes_runs_once() {
        let runs = Cell::new(0);
        retry_on_stall(|| runs.set(runs.get() + 1));
        assert_eq!(runs.get(), 1);
    }

    #[test]
    fn a_failure_counts_without_a_stall_and_at_the_last_attempt() {
        let allow_retry = |late_ms, stolen, attempt| {
            let stalls = Stalls { latest_wake_up: Duration::from_millis(late_ms), stolen };
            stalls.allow_retry(attempt)
        };
        assert!(!allow_retry(14, 0.0049, 1));
        assert!(allow_retry(15, 0.0, 1) && allow_retry(0, 0.005, MAX_ATTEMPTS - 1));
        assert!(!allow_retry(1000, 0.5, MAX_ATTEMPTS));
    }

    #[test]
    fn stolen_time_is_the_eighth_of_the_kernels_counts() {
        let parse = |text| ProcessorTime::parse(text);
        let before = parse("cpu  10 20 30 40 50 60 70 80 999 999\ncpu0 1\n").unwrap();
        assert_eq!(before, ProcessorTime { all: 360, stolen: 80 });
        let after = parse("cpu  10 20 30 130 50 60 70 90 999 999\n").unwrap();
        assert_eq!(after.stolen_since(before), 0.1);
        assert_eq!((parse(""), parse("cpu  1 2 3"), parse("cpu  1 x")), (None, None, None));
    }

    #[test]
    fn a_failure_is_passed_on_unchanged() {
        let result = catch_unwind(|| retry_on_stall(|| panic!("unchanged")));
        assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"unchanged"));
    }
}
