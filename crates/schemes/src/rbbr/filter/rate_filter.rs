//! What every filter does.

/// A filter over the receiver's rate samples, in bytes per second.
pub(crate) trait RateFilter: Send {
    /// Takes a sample, in bytes per second and above zero, and gives the estimate after it.
    fn update(&mut self, sample: f64) -> f64;

    /// Takes a sample that is a lower bound, and above the estimate. Such samples do not scatter around the rate, so that a filter which
    /// learns from how far samples lie apart does not learn from them.
    fn raise(&mut self, sample: f64) -> f64 {
        self.update(sample)
    }

    /// The share of the last innovation that went into the estimate.
    fn gain(&self) -> f64;
}
