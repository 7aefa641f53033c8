//! Tests that judge a machine's punctuality before their own result.

use crate::machine::{Load, Watchdog};
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most runs of one test.
const MAX_ATTEMPTS: u32 = 4;
/// How long the machine is looked at while no test runs.
const LOOK: Duration = Duration::from_secs(2);
/// How long a test waits for a punctual machine in all its attempts together.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// Characters of a failure's message in the line that says why it did not count.
const SHOWN: usize = 300;

/// Runs a test that only a punctual machine passes, [`alone`].
///
/// A failure counts if the machine was punctual: no stall, nothing taken by the host, and other programs either took next to
/// nothing or delayed nothing. Otherwise the test runs again, once the machine is punctual or after some time, up to four
/// times; then it is [`not_judged`]. The test's result has no part in that decision, nor has the load that the test makes.
///
/// # Panics
/// As the test does on a punctual machine.
#[track_caller]
pub fn needs_punctuality(test: impl Fn()) {
    let _alone = alone();
    let mut left = MAX_WAIT;
    for attempt in 1.. {
        let watchdog = Watchdog::start();
        let result = catch_unwind(AssertUnwindSafe(&test));
        let during = watchdog.stop();
        let Err(panic) = result else { return };
        match judge(attempt, during, || Load::without_us(LOOK)) {
            Verdict::Counts => resume_unwind(panic),
            Verdict::Again(load) => {
                crate::say(&format!("retried: {load}"));
                left = wait_until_punctual(left);
            }
            Verdict::NotJudged(load) => {
                return not_judged(format!("{load}; the failure: {}", message(&*panic)));
            }
        }
    }
}

/// Decision after a failure.
#[derive(Debug)]
enum Verdict {
    Counts,
    /// By this load's fault the test runs again.
    Again(Load),
    NotJudged(Load),
}

/// Judges a failure in this attempt. `without_us` looks at the machine now that the test is over: where a host does not say what
/// it takes, its load shows then.
fn judge(attempt: u32, during: Load, without_us: impl FnOnce() -> Load) -> Verdict {
    let load = if during.is_late_by_others() { during } else { without_us() };
    match load.is_late() {
        false => Verdict::Counts,
        true if attempt < MAX_ATTEMPTS => Verdict::Again(load),
        true => Verdict::NotJudged(load),
    }
}

/// Reports that a test ran and this machine did not let it judge. The test must return then. `tools/test` counts these lines, and
/// CI allows three.
#[track_caller]
pub fn not_judged(reason: impl fmt::Display) {
    crate::say(&format!("NOT JUDGED: {}: {reason}", Location::caller()));
}

/// The machine for one test of this program at a time: for those that need punctuality, and for those that take it from others.
/// A thread that has it already may ask again.
pub fn alone() -> Alone {
    HELD.set(HELD.get() + 1);
    let lock = (HELD.get() == 1).then(|| ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner));
    Alone { _lock: lock }
}

/// The machine, as long as this value lives.
#[derive(Debug)]
#[must_use = "another test may run as soon as this is dropped"]
pub struct Alone {
    /// `None` where this thread had it already.
    _lock: Option<MutexGuard<'static, ()>>,
}

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

thread_local! {
    /// Number of guards that this thread holds.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

impl Drop for Alone {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
    }
}

/// Waits, at most for so long. Returns the rest of that time.
fn wait_until_punctual(most: Duration) -> Duration {
    let began = Instant::now();
    while began.elapsed() < most && Load::without_us(LOOK).is_late() {}
    most.saturating_sub(began.elapsed())
}

/// The beginning of a panic's message, in one line.
fn message(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let words: Vec<&str> = text.unwrap_or("without a message").split_whitespace().collect();
    words.join(" ").chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_passes_runs_once() {
        let runs = Cell::new(0);
        needs_punctuality(|| runs.set(runs.get() + 1));
        assert_eq!(runs.get(), 1);
    }

    #[test]
    fn a_failure_counts_on_a_punctual_machine_also_where_the_tests_own_load_made_it_late() {
        let late = Load { late: 0.5, ..Load::default() };
        for during in [Load::default(), late] {
            assert!(matches!(judge(1, during, Load::default), Verdict::Counts));
            assert!(matches!(judge(MAX_ATTEMPTS, during, Load::default), Verdict::Counts));
        }
        let by_others = Load { others: 0.5, ..late };
        for (during, afterwards) in [(by_others, Load::default()), (late, late)] {
            assert!(matches!(judge(MAX_ATTEMPTS - 1, during, || afterwards), Verdict::Again(_)));
            assert!(matches!(judge(MAX_ATTEMPTS, during, || afterwards), Verdict::NotJudged(_)));
        }
    }

    #[test]
    fn a_thread_that_has_the_machine_may_ask_again_and_others_wait_for_it() {
        let (first, second) = (alone(), alone());
        assert!(first._lock.is_some() && second._lock.is_none());
        drop(second);
        assert!(ONE_AT_A_TIME.try_lock().is_err(), "it is still held");
        drop(first);
        std::thread::scope(|scope| scope.spawn(|| assert!(alone()._lock.is_some())).join().unwrap());
    }

    #[test]
    fn a_failures_message_is_one_line() {
        let result = catch_unwind(|| assert_eq!(1, 2, "{}", "x".repeat(400)));
        let message = message(&*result.unwrap_err());
        assert!(message.starts_with("assertion `left == right` failed: xxx"), "{message}");
        assert_eq!((message.len(), message.contains('\n')), (SHOWN, false));
    }
}
