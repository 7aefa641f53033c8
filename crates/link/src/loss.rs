//! Random loss.

use cellcc_units::Ratio;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Independent loss with one probability, from a seeded generator.
#[derive(Debug, Clone)]
pub struct Loss {
    /// The probability in units of 2^-53, the grain of a double.
    threshold: u64,
    generator: Pcg64Mcg,
}

const GRAIN_BITS: u32 = 53;

impl Loss {
    /// Losses with this probability; `seed` decides which.
    pub fn new(probability: Ratio, seed: u64) -> Self {
        let threshold = (probability.get() * (1u64 << GRAIN_BITS) as f64) as u64;
        Self { threshold, generator: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn strikes(&mut self) -> bool {
        self.threshold > 0 && self.generator.next_u64() >> (64 - GRAIN_BITS) < self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(probability: f64, seed: u64) -> Vec<bool> {
        let mut loss = Loss::new(Ratio::new(probability), seed);
        (0..100_000).map(|_| loss.strikes()).collect()
    }

    #[test]
    fn the_share_of_lost_packets_is_the_probability() {
        let lost = losses(0.01, 1).iter().filter(|&&lost| lost).count();
        // Binomial: standard deviation 31 packets.
        assert!((1000 - 4 * 31..=1000 + 4 * 31).contains(&lost), "{lost}");
        assert!(losses(1.0, 1).iter().all(|&lost| lost));
        assert!(!losses(0.0, 1).iter().any(|&lost| lost));
    }

    #[test]
    fn the_seed_decides_which_packets_are_lost() {
        assert_eq!(losses(0.1, 7), losses(0.1, 7));
        assert_ne!(losses(0.1, 7), losses(0.1, 8));
    }
}
