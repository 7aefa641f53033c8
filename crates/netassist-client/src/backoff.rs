//! Waits between two attempts to connect.

use crate::certificates::provider;
use std::time::Duration;

/// The longest wait before the first attempt, and before any.
const FIRST: Duration = Duration::from_millis(200);
const LAST: Duration = Duration::from_secs(5);

/// The wait before each attempt: from nothing to a longest one, which doubles from 200 ms to 5 s. Those who lose a service together
/// come back one by one ("full jitter": M. Brooker, Exponential Backoff And Jitter, 2015). Pure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { longest: FIRST }
    }
}

impl Backoff {
    /// The wait before the next attempt. `share`, 0 to 1: the fraction of the longest one; each client draws its own.
    pub fn wait(&mut self, share: f64) -> Duration {
        let wait = self.longest.mul_f64(share.clamp(0.0, 1.0));
        self.longest = (self.longest * 2).min(LAST);
        wait
    }
}

/// A number from 0 to 1, another one for each client.
pub fn drawn_share() -> f64 {
    let mut random = [0; 4];
    // Without randomness, the wait is the longest.
    match provider().secure_random.fill(&mut random) {
        Ok(()) => f64::from(u32::from_le_bytes(random)) / f64::from(u32::MAX),
        Err(_) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_doubles_up_to_five_seconds() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..7).map(|_| backoff.wait(1.0).as_millis()).collect();
        assert_eq!(waits, [200, 400, 800, 1600, 3200, 5000, 5000]);
    }

    #[test]
    fn each_draws_a_share_of_it() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.wait(0.25), Duration::from_millis(50));
        assert_eq!(backoff.wait(0.25), Duration::from_millis(100));
        let draws = [drawn_share(), drawn_share(), drawn_share()];
        assert!(draws.iter().all(|share| (0.0..=1.0).contains(share)), "{draws:?}");
        assert!(draws[0] != draws[1] || draws[1] != draws[2], "{draws:?}");
    }
}
