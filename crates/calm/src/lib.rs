//! For tests in real time on a machine that others share.
//!
//! A virtual machine may stand still for a tenth of a second, and then the emulator is late, a queue overflows, an RTT is
//! long: the test fails, and nothing is wrong. Whether that was so does not depend on what the test finds: a thread beside
//! it sleeps for a millisecond again and again, and sees how late it wakes. A test that fails without a stall has failed.

// Clocks and threads are what this is about.
#![allow(clippy::disallowed_methods)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// So late no thread wakes on two processors that only the tests beside it use.
const STALL: Duration = Duration::from_millis(15);
/// A test that fails is begun so many times at most.
const ATTEMPTS: u32 = 4;
/// Calm is so long without a wake-up later than [`UNEASY`].
const CALM: Duration = Duration::from_secs(2);
const UNEASY: Duration = Duration::from_millis(5);
/// Calm is waited for so long at most.
const PATIENCE: Duration = Duration::from_secs(45);

const NAP: Duration = Duration::from_millis(1);

/// Runs a test; again where it fails and the machine stood still meanwhile.
///
/// # Panics
/// As the test does: in a calm machine, or for the fourth time.
pub fn in_real_time(test: impl Fn()) {
    for attempt in 1.. {
        let watch = Watch::start();
        let result = catch_unwind(AssertUnwindSafe(&test));
        let stall = watch.stop();
        match result {
            Ok(()) => return,
            Err(_) if is_excused(stall, attempt) => wait_for_calm(),
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// Whether a failure beside such a stall does not count, in this attempt.
fn is_excused(stall: Duration, attempt: u32) -> bool {
    stall >= STALL && attempt < ATTEMPTS
}

/// Waits until the machine has not stood still for two seconds, but not longer than 45 s.
pub fn wait_for_calm() {
    let began = Instant::now();
    let mut calm_since = began;
    while calm_since.elapsed() < CALM && began.elapsed() < PATIENCE {
        if nap() > UNEASY {
            calm_since = Instant::now();
        }
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
        Self { is_over, longest_ns, thread }
    }

    /// The longest stall since the start.
    fn stop(self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        // It cannot have panicked.
        let _ = self.thread.join();
        Duration::from_nanos(self.longest_ns.load(Ordering::Relaxed))
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
        assert!(!is_excused(STALL - Duration::from_nanos(1), 1));
        assert!(is_excused(STALL, 1));
        assert!(!is_excused(Duration::from_secs(1), ATTEMPTS));
    }

    #[test]
    fn a_failure_is_passed_on_as_it_was() {
        let result = catch_unwind(|| in_real_time(|| panic!("as it was")));
        assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"as it was"));
    }
}
