//! The service's clock: the time since 1970 when it began, and steadily on from there, so that records of a service that was
//! started again are later than those before.

use cellcc_quic::{Clock, span};
use cellcc_units::{Span, Time};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The service's clock.
#[derive(Debug, Clone, Copy)]
pub struct ServiceClock {
    steady: Clock,
    unix_at_start: Span,
}

impl ServiceClock {
    /// A clock that begins now.
    pub fn start() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { steady: Clock::new(Instant::now()), unix_at_start: span(unix) }
    }

    /// Now: since 1970, as far as the machine knows.
    pub fn now(self) -> Time {
        self.steady.now() + self.unix_at_start
    }

    /// The time of an instant after the start.
    pub fn time(self, instant: Instant) -> Time {
        self.steady.time(instant) + self.unix_at_start
    }

    /// When it is this time.
    pub fn instant(self, time: Time) -> Instant {
        self.steady.instant(time - self.unix_at_start)
    }
}
