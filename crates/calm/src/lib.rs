//! For tests in real time on a machine that others share.
//!
//! A virtual machine may stand still for a tenth of a second, and then the emulator is late, a queue overflows, an RTT is
//! long: the test fails, and nothing is wrong. Whether that was so does not depend on what the test finds: a thread beside
//! it sleeps for a millisecond again and again, and sees how late it wakes; and the kernel counts what the host took. A test
//! that fails without either has failed.

// Clocks and threads are what this is about.
#![allow(clippy::disallowed_methods)]

use std::fmt;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// So late no thread wakes on two processors that only the tests beside it use.
const STALL: Duration = Duration::from_millis(15);
/// Where the host takes this share of the processors' time, many short stalls come together: one thread that wakes once
/// a millisecond on two processors is late by a millisecond each hundredth time, which is more than the emulator allows itself.
const TAKEN: f64 = 0.005;
/// A test that fails is begun so many times at most.
const ATTEMPTS: u32 = 4;
/// Calm is so long without a wake-up later than [`UNEASY`], and without [`TAKEN`].
const CALM: Duration = Duration::from_secs(2);
const UNEASY: Duration = Duration::from_millis(5);
/// Calm is waited for so long at most.
const PATIENCE: Duration = Duration::from_secs(45);

const NAP: Duration = Duration::from_millis(1);

/// Runs a test; again where it fails and the machine stood still meanwhile, or too little of it was there.
///
/// # Panics
/// As the test does: in a calm machine, or for the fourth time.
pub fn in_real_time(test: impl Fn()) {
    for attempt in 1.. {
        let watch = Watch::start();
        let result = catch_unwind(AssertUnwindSafe(&test));
        let seen = watch.stop();
        match result {
            Ok(()) => return,
            Err(_) if seen.excuses(attempt) => {
                let _ = writeln!(std::io::stderr(), "begun again: {seen}");
                wait_for_calm();
            }
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// Waits until the machine has been calm for two seconds, but not longer than 45 s.
pub fn wait_for_calm() {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let watch = Watch::start();
        std::thread::sleep(CALM);
        let seen = watch.stop();
        if seen.longest < UNEASY && seen.taken < TAKEN {
            return;
        }
    }
}

/// What a machine did beside a test.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// How late a thread woke at most.
    longest: Duration,
    /// The share of the processors' time that the host took.
    taken: f64,
}

impl Seen {
    /// Whether a failure beside it does not count, in this attempt.
    fn excuses(self, attempt: u32) -> bool {
        (self.longest >= STALL || self.taken >= TAKEN) && attempt < ATTEMPTS
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (late, taken) = (self.longest.as_secs_f64() * 1e3, self.taken * 100.0);
        write!(f, "a thread woke {late:.1} ms late, and the host took {taken:.1} % of the processors' time")
    }
}

/// Sleeps, and says how much longer that took than it was to.
fn nap() -> Duration {
    let began = Instant::now();
    std::thread::sleep(NAP);
    began.elapsed().saturating_sub(NAP)
}

/// A thread that looks for stalls.
struct Watch {
    before: ProcessorTime,
    is_over: Arc<AtomicBool>,
    longest_ns: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Watch {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let longest_ns = Arc::new(AtomicU64::new(0));
        let (over, longest) = (Arc::clone(&is_over), Arc::clone(&longest_ns));
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                longest.fetch_max(nap().as_nanos() as u64, Ordering::Relaxed);
            }
        });
        Self { before: ProcessorTime::now(), is_over, longest_ns, thread }
    }

    /// What it has seen since the start.
    fn stop(self) -> Seen {
        self.is_over.store(true, Ordering::Relaxed);
        // It cannot have panicked.
        let _ = self.thread.join();
        Seen {
            longest: Duration::from_nanos(self.longest_ns.load(Ordering::Relaxed)),
            taken: ProcessorTime::now().taken_since(self.before),
        }
    }
}

/// What the kernel has counted of all processors' time since it began, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ProcessorTime {
    all: u64,
    /// Something wanted to run, and the host ran something else.
    taken: u64,
}

impl ProcessorTime {
    /// Nothing is known, and so nothing was taken, where there is no `/proc/stat`.
    fn now() -> Self {
        std::fs::read_to_string("/proc/stat").ok().and_then(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// proc_stat(5): `cpu`, user, nice, system, idle, iowait, irq, softirq, steal; what follows is in user and nice.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<u64> = text
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .take(8)
            .map(|field| field.parse().ok())
            .collect::<Option<_>>()?;
        Some(Self { all: fields.iter().sum(), taken: *fields.get(7)? })
    }

    fn taken_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all);
        self.taken.saturating_sub(before.taken) as f64 / all.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn what_succeeds_is_done_once() {
        let times = Cell::new(0);
        in_real_time(|| times.set(times.get() + 1));
        assert_eq!(times.get(), 1);
    }

    #[test]
    fn a_failure_counts_on_a_calm_machine_and_in_the_end_on_any() {
        let excuses = |longest_ms, taken, attempt| {
            let seen = Seen { longest: Duration::from_millis(longest_ms), taken };
            seen.excuses(attempt)
        };
        assert!(!excuses(14, 0.0049, 1));
        assert!(excuses(15, 0.0, 1) && excuses(0, 0.005, ATTEMPTS - 1));
        assert!(!excuses(1000, 0.5, ATTEMPTS));
    }

    #[test]
    fn what_the_host_took_is_the_eighth_of_the_kernels_counts() {
        let parse = |text| ProcessorTime::parse(text);
        let before = parse("cpu  10 20 30 40 50 60 70 80 999 999\ncpu0 1\n").unwrap();
        assert_eq!(before, ProcessorTime { all: 360, taken: 80 });
        let after = parse("cpu  10 20 30 130 50 60 70 90 999 999\n").unwrap();
        assert_eq!(after.taken_since(before), 0.1);
        assert_eq!((parse(""), parse("cpu  1 2 3"), parse("cpu  1 x")), (None, None, None));
    }

    #[test]
    fn a_failure_is_passed_on_as_it_was() {
        let result = catch_unwind(|| in_real_time(|| panic!("as it was")));
        assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"as it was"));
    }
}
