//! The emulation's clock: monotonic, so that a step of the time of day moves no trace.

use cellcc_units::{Span, Time};
use std::time::Instant;

/// Time since the emulation began.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Time zero is now.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.at(Instant::now())
    }

    /// An instant on this clock; one before time zero is time zero.
    pub fn at(&self, instant: Instant) -> Time {
        let nanos = instant.saturating_duration_since(self.start).as_nanos();
        Time::ZERO + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Time zero as an instant.
    pub fn zero(&self) -> Instant {
        self.start
    }
}
