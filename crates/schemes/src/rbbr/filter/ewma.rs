//! The exponentially weighted moving average (paper, equation 12).

use super::rate_filter::RateFilter;

#[derive(Debug, Clone)]
pub(super) struct Ewma {
    alpha: f64,
    estimate: Option<f64>,
}

impl Ewma {
    /// `alpha` is the share of the new sample.
    pub(super) fn new(alpha: f64) -> Self {
        Self { alpha, estimate: None }
    }
}

impl RateFilter for Ewma {
    fn update(&mut self, sample: f64) -> f64 {
        let old = self.estimate.unwrap_or(sample);
        *self.estimate.insert(self.alpha * sample + (1.0 - self.alpha) * old)
    }

    fn gain(&self) -> f64 {
        self.alpha
    }
}
