//! How fast a client asks.

use crate::limits::Allowance;
use cellcc_quic::Clock;
use std::time::{Duration, Instant};

/// How often it is looked whether one more request may be made.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// The requests of one connection, which come no faster than a service allows: it disconnects clients that do not keep to that.
#[derive(Debug)]
pub(super) struct Pace {
    clock: Clock,
    allowance: Allowance,
}

impl Pace {
    pub(super) fn start() -> Self {
        let clock = Clock::new(Instant::now());
        Self { clock, allowance: Allowance::of_own_requests(clock.now()) }
    }

    /// Waits until one more request may be made. Cancel-safe.
    pub(super) async fn turn(&self) {
        while !self.allowance.allows(self.clock.now()) {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}
