//! A rate limit.

use cellcc_quic::Clock;
use cellcc_units::Time;
use governor::clock::{self, Reference};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The rate limit of one client or peer. It has no clock: time comes in.
#[derive(Debug)]
pub struct Allowance {
    clock: GivenTime,
    limiter: RateLimiter<NotKeyed, InMemoryState, GivenTime, NoOpMiddleware<GivenInstant>>,
}

impl Allowance {
    /// So often a second, and so often at once.
    pub fn new(now: Time, per_second: NonZeroU32, at_once: NonZeroU32) -> Self {
        let clock = GivenTime::at(now);
        let quota = Quota::per_second(per_second).allow_burst(at_once);
        Self { limiter: RateLimiter::direct_with_clock(quota, clock.clone()), clock }
    }

    /// True if it may do it once more, which then counts as done. Time does not go back from call to call.
    pub fn allows(&self, now: Time) -> bool {
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

impl clock::Clock for GivenTime {
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

// How fast a client asks.

/// Registrations that our clients make a second and at once. A client of 10,000 users, the most, requests all of them in five
/// seconds, and through a broker it repeats a tenth of them each second.
const OWN_REQUESTS_PER_SECOND: NonZeroU32 = NonZeroU32::new(1200).unwrap();
const OWN_REQUESTS_AT_ONCE: NonZeroU32 = NonZeroU32::new(4000).unwrap();
/// How often it is looked whether one more request may be made.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// For a client's own requests: fewer than a service allows, so that it is refused none.
pub fn own_requests(now: Time) -> Allowance {
    Allowance::new(now, OWN_REQUESTS_PER_SECOND, OWN_REQUESTS_AT_ONCE)
}

/// The requests of one connection, which come no faster than a service allows: it disconnects clients that do not keep to that.
#[derive(Debug)]
pub(crate) struct Pace {
    clock: Clock,
    allowance: Allowance,
}

impl Pace {
    pub(crate) fn start() -> Self {
        let clock = Clock::new(Instant::now());
        Self { clock, allowance: own_requests(clock.now()) }
    }

    /// Waits until one more request may be made. Cancel-safe.
    pub(crate) async fn turn(&self) {
        while !self.allowance.allows(self.clock.now()) {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}
