//! The Kalman filter as the paper prints it: equation 7 adds what it should take away, so that the covariance grows by
//! more than half with every sample, beyond all bounds, and ends as "not a number". Kept to show it; what reaches the
//! sender is the last finite estimate.

use super::covariances::Covariances;
use super::rate_filter::RateFilter;

#[derive(Debug, Clone)]
pub(super) struct KalmanLiteral {
    alpha: f64,
    state: Option<State>,
}

#[derive(Debug, Clone)]
struct State {
    estimate: f64,
    gain: f64,
    covariances: Covariances,
    /// The estimate and the gain while they were numbers.
    finite: (f64, f64),
}

impl KalmanLiteral {
    /// `alpha` is the share of the old covariances that stays (paper, equations 8 and 9).
    pub(super) fn new(alpha: f64) -> Self {
        Self { alpha, state: None }
    }

    #[cfg(test)]
    pub(super) fn covariance(&self) -> f64 {
        self.state.as_ref().map_or(0.0, |state| state.covariances.state)
    }
}

impl State {
    fn begin(sample: f64) -> Self {
        Self { estimate: sample, gain: 1.0, covariances: Covariances::begin(sample), finite: (sample, 1.0) }
    }

    /// Equations 3 to 9 with A = C = 1 and B = 0.
    fn update(&mut self, sample: f64, alpha: f64) {
        let Covariances { state, process, measurement } = &mut self.covariances;
        let predicted = *state + *process;
        self.gain = predicted / (predicted + *measurement);
        let innovation = sample - self.estimate;
        let correction = self.gain * innovation;
        self.estimate += correction;
        *state = predicted + self.gain * predicted;
        let residual = sample - self.estimate;
        *measurement = alpha * *measurement + (1.0 - alpha) * (residual * residual + predicted);
        *process = alpha * *process + (1.0 - alpha) * correction * correction;
        if self.estimate.is_finite() {
            self.finite = (self.estimate, self.gain);
        }
    }
}

impl RateFilter for KalmanLiteral {
    fn update(&mut self, sample: f64) -> f64 {
        let alpha = self.alpha;
        let state = match &mut self.state {
            Some(state) => {
                state.update(sample, alpha);
                state
            }
            none => none.insert(State::begin(sample)),
        };
        state.finite.0
    }

    fn gain(&self) -> f64 {
        self.state.as_ref().map_or(1.0, |state| state.finite.1)
    }
}
