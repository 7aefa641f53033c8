//! How much one client, and all together, may ask for.

use cellcc_units::Time;
use governor::clock::{Clock, Reference};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Registrations a second. Ours: a server whose thousand users all come at once is served in a second.
const REQUESTS_PER_SECOND: NonZeroU32 = NonZeroU32::new(1000).unwrap();
/// Registrations at once: the 5,000 users of the largest measurement (`make bench-netassist`).
const REQUESTS_AT_ONCE: NonZeroU32 = NonZeroU32::new(5000).unwrap();
/// Requests above that rate after which a client is disconnected: it does not wait as it is told to.
pub(crate) const MAX_TOO_FAST: u32 = 1000;
/// Refusals of one client that are written down in a second, and at once; the others are counted.
const REFUSALS_LOGGED_PER_SECOND: NonZeroU32 = NonZeroU32::new(10).unwrap();
const REFUSALS_LOGGED_AT_ONCE: NonZeroU32 = NonZeroU32::new(100).unwrap();
/// Users of one client.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 10_000;
/// Clients at once; each takes up to 100 kB of the QUIC implementation's memory, so 25 MB.
pub(crate) const MAX_CLIENTS: usize = 256;
/// Of these, clients of one name: a server's processes, and connections that were lost and not yet noticed. So that one
/// certificate does not take the places of all.
pub(crate) const MAX_CLIENTS_OF_ONE_NAME: usize = 16;

/// How fast one client may do something. It has no clock: time comes in.
#[derive(Debug)]
pub(crate) struct Allowance {
    clock: GivenTime,
    limiter: RateLimiter<NotKeyed, InMemoryState, GivenTime, NoOpMiddleware<GivenInstant>>,
}

impl Allowance {
    /// For requests.
    pub(crate) fn of_requests(now: Time) -> Self {
        Self::new(now, REQUESTS_PER_SECOND, REQUESTS_AT_ONCE)
    }

    /// For refusals in the audit log.
    pub(crate) fn of_logged_refusals(now: Time) -> Self {
        Self::new(now, REFUSALS_LOGGED_PER_SECOND, REFUSALS_LOGGED_AT_ONCE)
    }

    fn new(now: Time, per_second: NonZeroU32, at_once: NonZeroU32) -> Self {
        let clock = GivenTime::at(now);
        let quota = Quota::per_second(per_second).allow_burst(at_once);
        Self { limiter: RateLimiter::direct_with_clock(quota, clock.clone()), clock }
    }

    /// Whether it may do it once more.
    pub(crate) fn allows(&self, now: Time) -> bool {
        self.clock.0.store(now.as_nanos(), Ordering::Relaxed);
        self.limiter.check().is_ok()
    }
}

/// The time that was given last, as governor wants it.
#[derive(Debug, Clone)]
struct GivenTime(Arc<AtomicU64>);

impl GivenTime {
    fn at(now: Time) -> Self {
        Self(Arc::new(AtomicU64::new(now.as_nanos())))
    }
}

impl Clock for GivenTime {
    type Instant = GivenInstant;

    fn now(&self) -> GivenInstant {
        GivenInstant(self.0.load(Ordering::Relaxed))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct GivenInstant(u64);

impl Reference for GivenInstant {
    fn duration_since(&self, earlier: Self) -> Nanos {
        self.0.saturating_sub(earlier.0).into()
    }

    fn saturating_sub(&self, duration: Nanos) -> Self {
        Self(self.0.saturating_sub(duration.into()))
    }
}

impl std::ops::Add<Nanos> for GivenInstant {
    type Output = Self;

    fn add(self, duration: Nanos) -> Self {
        Self(self.0.saturating_add(duration.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Span;

    #[test]
    fn a_client_may_ask_five_thousand_times_at_once_and_then_a_thousand_times_a_second() {
        let rate = Allowance::of_requests(Time::ZERO);
        assert_eq!((0..100_000).filter(|_| rate.allows(Time::ZERO)).count(), 5000);
        let later = Time::ZERO + Span::from_secs(1);
        assert_eq!((0..100_000).filter(|_| rate.allows(later)).count(), 1000);
    }
}
