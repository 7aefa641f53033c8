//! A filter whose gain follows the channel. The innovations of an optimal filter are white (Mehra 1970): where one
//! follows another in sign the gain is too low, where they alternate it is too high. The gain moves by their correlation
//! until there is none.

use super::rate_filter::RateFilter;

/// The gain to begin with: that of the paper's filter at alpha 0.6.
const FIRST_GAIN: f64 = 0.26;
/// A gain below would take seconds to see a change, and one of 1 is no filter.
const GAINS: (f64, f64) = (0.02, 0.9);
/// The share of the old correlations that stays with a sample: 20 samples are remembered, 0.2 s of 10-ms intervals.
/// Fewer make the gain a random number, more make it late; chosen by the table of mean square errors in the tests.
const MEMORY: f64 = 0.95;
/// By how much of itself, at most, the gain moves with a sample; chosen by the same table.
const STEP: f64 = 0.05;

#[derive(Debug, Clone)]
pub(super) struct Adaptive {
    estimate: Option<f64>,
    gain: f64,
    last_innovation: f64,
    /// Of the squared innovation, and of the product of two in a row.
    variance: f64,
    covariance: f64,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self { estimate: None, gain: FIRST_GAIN, last_innovation: 0.0, variance: 0.0, covariance: 0.0 }
    }
}

impl RateFilter for Adaptive {
    fn update(&mut self, sample: f64) -> f64 {
        let Some(old) = self.estimate else { return *self.estimate.insert(sample) };
        let innovation = sample - old;
        self.variance = MEMORY * self.variance + (1.0 - MEMORY) * innovation * innovation;
        self.covariance = MEMORY * self.covariance + (1.0 - MEMORY) * innovation * self.last_innovation;
        self.last_innovation = innovation;
        if self.variance > 0.0 {
            let correlation = self.covariance / self.variance;
            self.gain = (self.gain * (1.0 + STEP * correlation)).clamp(GAINS.0, GAINS.1);
        }
        *self.estimate.insert(old + self.gain * innovation)
    }

    fn gain(&self) -> f64 {
        self.gain
    }
}
