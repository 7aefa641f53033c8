//! Non-deterministic exploration (paper, section 3.2): how far to raise the window in Zone 1.

use cellcc_fixed::reminis::Exploration;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// The variance is |mu| over this (paper, section 3.2).
const VARIANCE_DIVISOR: f64 = 4.0;

/// The Gaussian that exploration draws from; its mean follows the slope of the delay.
pub(super) struct Explorer {
    exploration: Exploration,
    rng: Pcg64Mcg,
    mu: f64,
}

impl Explorer {
    pub(super) fn new(exploration: Exploration, initial_mu: f64, seed: u64) -> Self {
        Self { exploration, rng: Pcg64Mcg::seed_from_u64(seed), mu: initial_mu }
    }

    pub(super) fn mu(&self) -> f64 {
        self.mu
    }

    /// Takes the delay's slope (seconds per second) of an interval: falling delay makes exploration bolder.
    pub(super) fn observe_slope(&mut self, slope: f64) {
        self.mu -= slope;
    }

    /// The factor 2^S(x) for the window, 1 to 2 (paper, Equation 2); none where exploration is off.
    pub(super) fn factor(&mut self) -> Option<f64> {
        let x = match self.exploration {
            Exploration::Off => return None,
            Exploration::Deterministic => self.mu,
            Exploration::Random => {
                let gaussian: f64 = StandardNormal.sample(&mut self.rng);
                self.mu + (self.mu.abs() / VARIANCE_DIVISOR).sqrt() * gaussian
            }
        };
        Some(libm::exp2(1.0 / (1.0 + libm::exp(-x))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_factor(mu: f64) -> f64 {
        let mut explorer = Explorer::new(Exploration::Random, mu, 7);
        (0..100_000).map(|_| explorer.factor().unwrap()).sum::<f64>() / 100_000.0
    }

    #[test]
    fn the_mean_factor_is_that_of_an_independent_integration() {
        // E[2^S(x)], x ~ N(mu, |mu|/4), by Monte Carlo of 400 000 draws elsewhere.
        for (mu, expected) in [(1.0, 1.651), (-1.0, 1.216), (-5.0, 1.008), (5.0, 1.983)] {
            assert!((mean_factor(mu) - expected).abs() < 0.003, "mu {mu}: {}", mean_factor(mu));
        }
    }

    #[test]
    fn falling_delay_makes_exploration_bolder() {
        let mut explorer = Explorer::new(Exploration::Deterministic, 0.0, 1);
        let before = explorer.factor();
        explorer.observe_slope(-0.5);
        assert!(explorer.factor() > before);
    }
}
