//! Compensation for small buffers. A buffer that overflows holds too little to show a rate that rises again, so that
//! samples are too low (paper, section V.A.2, "compensate for the underestimation"). What was lost would have
//! arrived had there been room: the estimate grows by the share of it.

use super::sampling::Sample;

/// The share of the old loss rate that stays with a sample: ten samples, three round trips of 30 ms, are remembered.
const MEMORY: f64 = 0.9;
/// More loss than this is not a buffer that is a little too small, and sending more would only lose more.
const LARGEST_LOSS: f64 = 0.05;

#[derive(Debug, Clone, Default)]
pub(super) struct Bias {
    loss: f64,
}

impl Bias {
    pub(super) fn on_sample(&mut self, sample: &Sample) {
        let lost = sample.lost as f64 / (sample.lost + u64::from(sample.packets)).max(1) as f64;
        self.loss = MEMORY * self.loss + (1.0 - MEMORY) * lost;
    }

    /// What to multiply the estimate by.
    pub(super) fn factor(&self) -> f64 {
        1.0 / (1.0 - self.loss.min(LARGEST_LOSS))
    }
}
