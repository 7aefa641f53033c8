//! The covariances that both Kalman filters begin with.

/// The covariances of a Kalman filter with a scalar state: of the state, the process noise and the measurement noise.
#[derive(Debug, Clone)]
pub(super) struct Covariances {
    pub(super) state: f64,
    pub(super) process: f64,
    pub(super) measurement: f64,
}

impl Covariances {
    /// Standard deviations to begin with, as shares of the first sample. No source gives any; the innovations take
    /// their place within a few samples.
    const STATE: f64 = 0.5;
    const PROCESS: f64 = 0.1;
    const MEASUREMENT: f64 = 0.25;

    pub(super) fn begin(sample: f64) -> Self {
        let square = |share: f64| (share * sample) * (share * sample);
        Self {
            state: square(Self::STATE),
            process: square(Self::PROCESS),
            measurement: square(Self::MEASUREMENT),
        }
    }
}
