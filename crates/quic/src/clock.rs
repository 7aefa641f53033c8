//! A flow's time, on the operating system's clock that noq and tokio use.

use cellcc_units::{Span, Time};
use std::time::{Duration, Instant};

/// A clock with an epoch.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// A clock whose [`Time::ZERO`] is `epoch`.
    pub fn new(epoch: Instant) -> Self {
        Self { epoch }
    }

    /// The instant of [`Time::ZERO`].
    pub fn epoch(self) -> Instant {
        self.epoch
    }

    /// The time of an instant; [`Time::ZERO`] for earlier ones.
    #[inline]
    pub fn time(self, instant: Instant) -> Time {
        Time::ZERO + span(instant.saturating_duration_since(self.epoch))
    }

    /// The instant of a time.
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
    #[cfg(feature = "sockets")]
    pub async fn sleep_until(self, time: Time) {
        tokio::time::sleep_until(self.instant(time).into()).await;
    }
}

/// A duration in cellcc's units; longer ones become the longest span.
#[inline]
pub fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
