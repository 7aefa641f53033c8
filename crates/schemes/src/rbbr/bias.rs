//! Compensation for small buffers. A buffer that overflows holds too little to show a rate that rises again: samples
//! are cut off from above, and the estimate is too low (paper, section V.A.2). What is cut off is part of the samples'
//! spread, so where packets are lost a share of the spread is added, "to compensate for the underestimation".

use super::sampling::Sample;

/// The share of the old loss rate and spread that stays with a sample: ten samples, three round trips of 30 ms, are
/// remembered.
const MEMORY: f64 = 0.9;
/// The loss at which a whole standard deviation is added: about what a buffer of one bandwidth-delay product loses on
/// an LTE link. Losing more than this is no reason to send more.
const FULL_LOSS: f64 = 0.02;

#[derive(Debug, Clone, Default)]
pub(super) struct Bias {
    loss: f64,
    /// The mean squared distance of samples from the estimate.
    spread: f64,
}

impl Bias {
    /// A sample of `rate`, where `estimate` was expected (bytes per second).
    pub(super) fn on_sample(&mut self, sample: &Sample, rate: f64, estimate: f64) {
        let lost = sample.lost as f64 / (sample.lost + u64::from(sample.packets)).max(1) as f64;
        let mix = |old: f64, new: f64| MEMORY * old + (1.0 - MEMORY) * new;
        self.loss = mix(self.loss, lost);
        self.spread = mix(self.spread, (rate - estimate) * (rate - estimate));
    }

    /// What to add to the estimate.
    pub(super) fn correction(&self) -> f64 {
        libm::sqrt(self.spread) * (self.loss / FULL_LOSS).min(1.0)
    }
}
