//! The adaptive Kalman filter of the paper, with its equations put right: a scalar state that walks at random, and
//! both covariances taken from the innovations and residuals (paper, section III.A; Akhlaghi et al. 2017).
//!
//! Differences from the printed equations: equation 6 applies the state transition twice and equation 7 has a plus for
//! a minus (`kalman-literal` keeps it). The printed recursion of R uses the covariance before the update, and so does
//! this: with it the steady gain is about 0.26 at alpha 0.6 whatever the noise, since Q and R both scale with the squared
//! innovation. `adaptive` is the filter whose gain really follows the channel.

use super::covariances::Covariances;
use super::rate_filter::RateFilter;

/// Noise below this share of the estimate is not believed: a covariance of zero would stop the filter for ever.
const LEAST_NOISE_SHARE: f64 = 1e-3;

#[derive(Debug, Clone)]
pub(super) struct Kalman {
    alpha: f64,
    state: Option<State>,
}

#[derive(Debug, Clone)]
struct State {
    estimate: f64,
    gain: f64,
    covariances: Covariances,
}

impl Kalman {
    /// `alpha` is the share of the old covariances that stays (paper, equations 8 and 9).
    pub(super) fn new(alpha: f64) -> Self {
        Self { alpha, state: None }
    }
}

impl State {
    fn begin(sample: f64) -> Self {
        Self { estimate: sample, gain: 1.0, covariances: Covariances::begin(sample) }
    }

    fn update(&mut self, sample: f64, alpha: f64) {
        let Covariances { state, process, measurement } = &mut self.covariances;
        let predicted = *state + *process;
        self.gain = predicted / (predicted + *measurement);
        let innovation = sample - self.estimate;
        let correction = self.gain * innovation;
        self.estimate += correction;
        *state = (1.0 - self.gain) * predicted;
        let residual = sample - self.estimate;
        let least = LEAST_NOISE_SHARE * self.estimate;
        let mix = |old: f64, new: f64| (alpha * old + (1.0 - alpha) * new).max(least * least);
        *measurement = mix(*measurement, residual * residual + predicted);
        *process = mix(*process, correction * correction);
    }
}

impl RateFilter for Kalman {
    /// Only the estimate moves, by the gain as it is. Lower bounds above the estimate are innovations of one sign: of those that are
    /// all alike, equations 8 and 9 make a gain that goes to zero (g = g / (g + (1 - g)^2 + g) has no other solution).
    fn raise(&mut self, sample: f64) -> f64 {
        match &mut self.state {
            Some(state) => {
                state.estimate += state.gain * (sample - state.estimate);
                state.estimate
            }
            None => self.update(sample),
        }
    }

    fn update(&mut self, sample: f64) -> f64 {
        let alpha = self.alpha;
        let state = match &mut self.state {
            Some(state) => {
                state.update(sample, alpha);
                state
            }
            none => none.insert(State::begin(sample)),
        };
        state.estimate
    }

    fn gain(&self) -> f64 {
        self.state.as_ref().map_or(1.0, |state| state.gain)
    }
}
