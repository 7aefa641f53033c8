//! A flow's time on the clock of the operating system, which noq and tokio go by.

use cellcc_units::{Span, Time};
use std::time::{Duration, Instant};

/// A clock of which only differences count.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// [`Time::ZERO`] is `epoch`.
    pub fn new(epoch: Instant) -> Self {
        Self { epoch }
    }

    /// [`Time::ZERO`].
    pub fn epoch(self) -> Instant {
        self.epoch
    }

    /// [`Time::ZERO`] for what was before it.
    #[inline]
    pub fn time(self, instant: Instant) -> Time {
        Time::ZERO + span(instant.saturating_duration_since(self.epoch))
    }

    /// The moment of the system's clock.
    #[inline]
    pub fn instant(self, time: Time) -> Instant {
        self.epoch + Duration::from_nanos(time.as_nanos())
    }

    /// Now.
    pub fn now(self) -> Time {
        self.time(Instant::now())
    }

    /// Waits until `time`.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn sleep_until(self, time: Time) {
        tokio::time::sleep_until(self.instant(time).into()).await;
    }
}

/// A duration in the core's units; the longest there is for one that is longer.
#[inline]
pub fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
