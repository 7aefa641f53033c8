//! Filters that make one rate of many samples. All work in bytes per second.

mod adaptive;
mod ewma;
mod kalman;
mod kalman_literal;

use adaptive::Adaptive;
use ewma::Ewma;
use kalman::Kalman;
use kalman_literal::KalmanLiteral;

/// A filter over the receiver's rate samples.
pub(super) trait RateFilter: Send {
    /// Takes a sample, in bytes per second and above zero, and gives the estimate after it.
    fn update(&mut self, sample: f64) -> f64;

    /// The share of the last innovation that went into the estimate.
    fn gain(&self) -> f64;
}

/// The filter of this name; `alpha` means to each what its source means by it.
pub(super) fn named(name: &str, alpha: f64) -> Box<dyn RateFilter> {
    match name {
        "kalman-literal" => Box::new(KalmanLiteral::new(alpha)),
        "adaptive" => Box::new(Adaptive::default()),
        "ewma" => Box::new(Ewma::new(alpha)),
        "none" => Box::new(Unfiltered),
        _ => Box::new(Kalman::new(alpha)),
    }
}

/// No filter: the last sample is the estimate (paper, Figure 11, "RBBR-nofilter").
#[derive(Debug, Clone)]
struct Unfiltered;

impl RateFilter for Unfiltered {
    fn update(&mut self, sample: f64) -> f64 {
        sample
    }

    fn gain(&self) -> f64 {
        1.0
    }
}

/// The covariances of a Kalman filter with a scalar state: of the state, the process noise and the measurement noise.
#[derive(Debug, Clone)]
struct Covariances {
    state: f64,
    process: f64,
    measurement: f64,
}

impl Covariances {
    /// Standard deviations to begin with, as shares of the first sample. No source gives any; the innovations take
    /// their place within a few samples.
    const STATE: f64 = 0.5;
    const PROCESS: f64 = 0.1;
    const MEASUREMENT: f64 = 0.25;

    fn begin(sample: f64) -> Self {
        let square = |share: f64| (share * sample) * (share * sample);
        Self {
            state: square(Self::STATE),
            process: square(Self::PROCESS),
            measurement: square(Self::MEASUREMENT),
        }
    }
}

#[cfg(test)]
mod tests;
