//! What every filter does.

/// A filter over the receiver's rate samples, in bytes per second.
pub(crate) trait RateFilter: Send {
    /// Takes a sample, in bytes per second and above zero, and gives the estimate after it.
    fn update(&mut self, sample: f64) -> f64;

    /// The share of the last innovation that went into the estimate.
    fn gain(&self) -> f64;
}
