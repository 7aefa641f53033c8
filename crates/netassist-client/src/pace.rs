//! How fast a client asks.

use crate::allowance::Allowance;
use cellcc_quic::Clock;
use cellcc_units::Time;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// Registrations that our clients make a second and at once. A client of 10,000 users, the most, has asked for all of them
/// in five seconds, and through a broker it asks again for a tenth of them each second.
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
