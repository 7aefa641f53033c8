//! The clock of an end.

use cellcc_units::{Span, Time};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Now, on `CLOCK_MONOTONIC`.
pub(crate) fn now() -> Time {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// Converts the kernel's wall-clock stamps to `CLOCK_MONOTONIC`, which no time server steps. Make it soon after the
/// arrival: a step of the wall clock in between shifts the result.
pub(crate) struct Stamps {
    wall: Time,
    monotonic: Time,
}

impl Stamps {
    pub(crate) fn now() -> Self {
        Self { wall: nanos(clock_gettime(ClockId::Realtime)), monotonic: now() }
    }

    pub(crate) fn monotonic(&self, seconds: i64, nanoseconds: i64) -> Time {
        let stamp = nanos(Timespec { tv_sec: seconds, tv_nsec: nanoseconds });
        // After a step of the wall clock an arrival could seem hours old, but no socket keeps a datagram that long.
        let age = self.wall.since(stamp).min(Span::from_secs(10));
        self.monotonic - age
    }
}

fn nanos(time: Timespec) -> Time {
    let nanos = time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec);
    Time::from_nanos(u64::try_from(nanos).unwrap_or(0))
}
