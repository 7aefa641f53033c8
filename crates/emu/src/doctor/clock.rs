//! The delay with which a thread wakes on this machine.

use hdrhistogram::Histogram;
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_getres};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

/// The time of a sleep: that of a typical wait for a release.
const SLEEP: Duration = Duration::from_millis(1);
const SLEEPS: u32 = 200;
/// Anything later counts as 10 s.
const LONGEST_NS: u64 = 10_000_000_000;

/// The delays of a thread's return from sleeps of 1 ms, with the least timer slack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wakes {
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    pub(super) max: Duration,
}

impl Wakes {
    /// Takes a fifth of a second.
    pub(super) fn measure() -> Self {
        std::thread::scope(|scope| {
            scope.spawn(measured).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

fn measured() -> Wakes {
    // Only the precision of later measurements depends on it.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let mut lateness_ns =
        Histogram::<u64>::new_with_max(LONGEST_NS, 3).expect("three digits are a valid precision");
    for _ in 0..SLEEPS {
        let begin = Instant::now();
        std::thread::sleep(SLEEP);
        let late = begin.elapsed().saturating_sub(SLEEP);
        lateness_ns.saturating_record(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
    }
    let quantile = |q| Duration::from_nanos(lateness_ns.value_at_quantile(q));
    Wakes { p50: quantile(0.5), p99: quantile(0.99), max: quantile(1.0) }
}

/// Resolution of the monotonic clock's timers: 1 ns with high-resolution timers, otherwise the length of a tick.
pub(super) fn timer_resolution() -> Duration {
    let resolution = clock_getres(ClockId::Monotonic);
    Duration::new(resolution.tv_sec.unsigned_abs(), resolution.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_wakes_exactly_on_time() {
        let wakes = Wakes::measure();
        assert!(Duration::ZERO < wakes.p50 && wakes.p50 <= wakes.p99 && wakes.p99 <= wakes.max, "{wakes:?}");
    }
}
