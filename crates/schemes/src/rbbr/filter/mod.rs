//! Filters that make one rate of many samples. All work in bytes per second.

mod adaptive;
mod covariances;
mod ewma;
mod kalman;
mod kalman_literal;
mod rate_filter;

pub(super) use rate_filter::RateFilter;

use adaptive::Adaptive;
use ewma::Ewma;
use kalman::Kalman;
use kalman_literal::KalmanLiteral;

/// Which filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    Kalman,
    KalmanLiteral,
    Adaptive,
    Ewma,
    None,
}

impl Filter {
    /// Every filter with its name.
    pub(super) const NAMED: &[(&'static str, Self)] = &[
        ("kalman", Self::Kalman),
        ("kalman-literal", Self::KalmanLiteral),
        ("adaptive", Self::Adaptive),
        ("ewma", Self::Ewma),
        ("none", Self::None),
    ];

    /// A fresh filter; `alpha` means to each what its source means by it.
    pub(super) fn build(self, alpha: f64) -> Box<dyn RateFilter> {
        match self {
            Self::Kalman => Box::new(Kalman::new(alpha)),
            Self::KalmanLiteral => Box::new(KalmanLiteral::new(alpha)),
            Self::Adaptive => Box::new(Adaptive::default()),
            Self::Ewma => Box::new(Ewma::new(alpha)),
            Self::None => Box::new(Unfiltered),
        }
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

#[cfg(test)]
mod tests;
