//! The service's two clocks.
//!
//! Records, limits and lateness use a steady clock: the time since 1970 when it began, and steadily on from there, so that
//! records of a restarted service are later than those before. Signatures until a date, and logs for later readers, use the
//! machine's clock as it is now: that is set when the network's time comes, and it has gone on when a machine wakes from sleep.

use cellcc_quic::{Clock, span};
use cellcc_units::{Span, Time};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The service's clocks.
#[derive(Debug, Clone, Copy)]
pub struct ServiceClock {
    steady: Clock,
    unix_at_start: Span,
    machine: fn() -> SystemTime,
}

impl ServiceClock {
    /// Clocks that begin now.
    pub fn start() -> Self {
        Self::of(SystemTime::now)
    }

    /// A clock for a machine with this time: for tests of clocks that are set.
    pub fn of(machine: fn() -> SystemTime) -> Self {
        Self { steady: Clock::new(Instant::now()), unix_at_start: since_1970(machine()), machine }
    }

    /// Now, on the steady clock: since 1970, as far as the machine knew at the start.
    pub fn now(self) -> Time {
        self.steady.now() + self.unix_at_start
    }

    /// Now, since 1970, by the machine's clock, which can be set forwards and backwards.
    pub fn unix(self) -> Time {
        Time::ZERO + since_1970((self.machine)())
    }

    /// The time of an instant after the start, on the steady clock.
    pub fn time(self, instant: Instant) -> Time {
        self.steady.time(instant) + self.unix_at_start
    }

    /// When it is this time on the steady clock.
    pub fn instant(self, time: Time) -> Instant {
        self.steady.instant(time - self.unix_at_start)
    }
}

fn since_1970(time: SystemTime) -> Span {
    span(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}
