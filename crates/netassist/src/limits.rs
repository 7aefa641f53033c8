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

/// Registrations a second: more than our own clients make.
const REQUESTS_PER_SECOND: NonZeroU32 = NonZeroU32::new(2000).unwrap();
/// Registrations at once.
const REQUESTS_AT_ONCE: NonZeroU32 = NonZeroU32::new(5000).unwrap();
/// Registrations that our clients make a second and at once. A client of [`MAX_SUBSCRIPTIONS`] users has asked for all of them
/// in five seconds, and through a broker it asks again for a tenth of them each second.
const OWN_REQUESTS_PER_SECOND: NonZeroU32 = NonZeroU32::new(1200).unwrap();
const OWN_REQUESTS_AT_ONCE: NonZeroU32 = NonZeroU32::new(4000).unwrap();
/// Requests above that rate after which a client is disconnected: it does not wait as it is told to.
pub(crate) const MAX_TOO_FAST: u32 = 1000;
/// Refusals of one name that are written down in a second, and at once; the others are counted.
const REFUSALS_LOGGED_PER_SECOND: NonZeroU32 = NonZeroU32::new(10).unwrap();
const REFUSALS_LOGGED_AT_ONCE: NonZeroU32 = NonZeroU32::new(100).unwrap();
/// Messages of a source on a connection, pings among them: some ten times those of a base station that tells of all of its layers
/// a hundred times a second.
const SOURCE_MESSAGES_PER_SECOND: NonZeroU32 = NonZeroU32::new(5000).unwrap();
/// What one name may begin that is written down when it begins and when it ends: all users of all its clients at once, and then
/// as many in a second as come and go at a busy server. That is at most 26 kB a second.
const BEGINNINGS_PER_SECOND: NonZeroU32 = NonZeroU32::new(100).unwrap();
const BEGINNINGS_AT_ONCE: NonZeroU32 =
    NonZeroU32::new((MAX_CLIENTS_OF_ONE_NAME * MAX_SUBSCRIPTIONS) as u32).unwrap();
/// Users of one client.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 10_000;
/// Clients at once; each takes up to 100 kB of the QUIC implementation's memory, so 25 MB.
pub(crate) const MAX_CLIENTS: usize = 256;
/// Of these, clients of one name: a server's processes, and connections that were lost and not yet noticed. So that one
/// certificate does not take the places of all.
pub(crate) const MAX_CLIENTS_OF_ONE_NAME: usize = 16;

/// How fast one client may do something. It has no clock: time comes in.
#[derive(Debug)]
pub struct Allowance {
    clock: GivenTime,
    limiter: RateLimiter<NotKeyed, InMemoryState, GivenTime, NoOpMiddleware<GivenInstant>>,
}

impl Allowance {
    /// For the requests of one client at a service.
    pub fn of_requests(now: Time) -> Self {
        Self::new(now, REQUESTS_PER_SECOND, REQUESTS_AT_ONCE)
    }

    /// For a client's own requests: fewer than a service allows, so that it is refused none.
    pub fn of_own_requests(now: Time) -> Self {
        Self::new(now, OWN_REQUESTS_PER_SECOND, OWN_REQUESTS_AT_ONCE)
    }

    /// For the messages of a source on one connection.
    pub(crate) fn of_source_messages(now: Time) -> Self {
        Self::new(now, SOURCE_MESSAGES_PER_SECOND, SOURCE_MESSAGES_PER_SECOND)
    }

    /// For refusals in the audit log.
    /// For refusals of one name in the audit log.
    pub(crate) fn of_logged_refusals(now: Time) -> Self {
        Self::new(now, REFUSALS_LOGGED_PER_SECOND, REFUSALS_LOGGED_AT_ONCE)
    }

    /// For what one name begins and the audit log has to have: connections, subscriptions, pages.
    pub(crate) fn of_beginnings(now: Time) -> Self {
        Self::new(now, BEGINNINGS_PER_SECOND, BEGINNINGS_AT_ONCE)
    }

    fn new(now: Time, per_second: NonZeroU32, at_once: NonZeroU32) -> Self {
        let clock = GivenTime::at(now);
        let quota = Quota::per_second(per_second).allow_burst(at_once);
        Self { limiter: RateLimiter::direct_with_clock(quota, clock.clone()), clock }
    }

    /// Whether it may do it once more, and has done so then. Time does not go back from call to call.
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
    fn a_client_may_ask_five_thousand_times_at_once_and_then_two_thousand_times_a_second() {
        let rate = Allowance::of_requests(Time::ZERO);
        assert_eq!((0..100_000).filter(|_| rate.allows(Time::ZERO)).count(), 5000);
        let later = Time::ZERO + Span::from_secs(1);
        assert_eq!((0..100_000).filter(|_| rate.allows(later)).count(), 2000);
    }

    #[test]
    fn what_our_clients_ask_for_is_never_too_fast_for_a_service() {
        let (own, service) = (Allowance::of_own_requests(Time::ZERO), Allowance::of_requests(Time::ZERO));
        let mut asked = 0;
        for ms in 0..10_000 {
            let now = Time::ZERO + Span::from_millis(ms);
            while own.allows(now) {
                assert!(service.allows(now), "{ms} ms");
                asked += 1;
            }
        }
        assert!(asked > MAX_SUBSCRIPTIONS, "{asked}");
    }
}
