//! Filters that make one rate of many samples. All work in bytes per second.

#[cfg(test)]
mod tests;

/// A filter over the receiver's samples.
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

    /// A fresh filter. `alpha` has the meaning that the filter's source gives it.
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

// The interface of all filters.

/// A filter over the receiver's rate samples, in bytes per second.
pub(super) trait RateFilter: Send {
    /// Takes a sample, in bytes per second and above zero, and gives the estimate after it.
    fn update(&mut self, sample: f64) -> f64;

    /// Takes a sample that is a lower bound and above the estimate. Such samples do not scatter around the rate, so a filter that
    /// learns from the samples' spread does not learn from them.
    fn raise(&mut self, sample: f64) -> f64 {
        self.update(sample)
    }

    /// The share of the last innovation that went into the estimate.
    fn gain(&self) -> f64;
}

// The covariances that both Kalman filters begin with.

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

// The adaptive Kalman filter of the paper, with its equations put right: a scalar state that walks at random, and
// both covariances taken from the innovations and residuals (paper, section III.A; Akhlaghi et al. 2017).
//
// Differences from the printed equations: equation 6 applies the state transition twice and equation 7 has a plus for
// a minus (`kalman-literal` keeps it). The printed recursion of R uses the covariance before the update, and so does
// this: with it the steady gain is about 0.26 at alpha 0.6 whatever the noise, since Q and R both scale with the squared
// innovation. `adaptive` is the filter whose gain really follows the channel.

/// Noise below this share of the estimate is not believed: a covariance of zero would stop the filter for ever.
const LEAST_NOISE_SHARE: f64 = 1e-3;

#[derive(Debug, Clone)]
struct Kalman {
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
    fn new(alpha: f64) -> Self {
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

// The Kalman filter as the paper prints it: equation 7 adds the term that it should subtract, so the covariance grows
// by more than half with every sample, without bound, and ends as "not a number". Kept to show this; the sender gets
// the last finite estimate.

#[derive(Debug, Clone)]
struct KalmanLiteral {
    alpha: f64,
    state: Option<LiteralState>,
}

#[derive(Debug, Clone)]
struct LiteralState {
    estimate: f64,
    gain: f64,
    covariances: Covariances,
    /// The estimate and the gain while they were numbers.
    finite: (f64, f64),
}

impl KalmanLiteral {
    /// `alpha` is the share of the old covariances that stays (paper, equations 8 and 9).
    fn new(alpha: f64) -> Self {
        Self { alpha, state: None }
    }

    #[cfg(test)]
    fn covariance(&self) -> f64 {
        self.state.as_ref().map_or(0.0, |state| state.covariances.state)
    }
}

impl LiteralState {
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
            none => none.insert(LiteralState::begin(sample)),
        };
        state.finite.0
    }

    fn gain(&self) -> f64 {
        self.state.as_ref().map_or(1.0, |state| state.finite.1)
    }
}

// A filter whose gain follows the channel. The innovations of an optimal filter are white (Mehra 1970): where one
// follows another in sign the gain is too low, where they alternate it is too high. The gain moves by their correlation
// until there is none.

/// The gain to begin with: that of the paper's filter at alpha 0.6.
const FIRST_GAIN: f64 = 0.26;
/// A gain below would take seconds to see a change, and one of 1 is no filter.
const GAINS: (f64, f64) = (0.02, 0.9);
/// The share of the old correlations that stays with a sample: 20 samples are remembered, 0.2 s of 10-ms intervals.
/// Fewer make the gain a random number, more make it late; chosen by the table of mean square errors in the tests.
const MEMORY: f64 = 0.95;
/// Largest relative change of the gain per sample; chosen by the same table.
const STEP: f64 = 0.05;

#[derive(Debug, Clone)]
struct Adaptive {
    estimate: Option<f64>,
    gain: f64,
    last_innovation: f64,
    /// Moving averages of the squared innovation and (`covariance`) of the product of two successive ones.
    variance: f64,
    covariance: f64,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self { estimate: None, gain: FIRST_GAIN, last_innovation: 0.0, variance: 0.0, covariance: 0.0 }
    }
}

impl RateFilter for Adaptive {
    fn update(&mut self, sample: f64) -> f64 {
        let Some(old) = self.estimate else { return *self.estimate.insert(sample) };
        let innovation = sample - old;
        self.variance = MEMORY * self.variance + (1.0 - MEMORY) * innovation * innovation;
        self.covariance = MEMORY * self.covariance + (1.0 - MEMORY) * innovation * self.last_innovation;
        self.last_innovation = innovation;
        if self.variance > 0.0 {
            let correlation = self.covariance / self.variance;
            self.gain = (self.gain * (1.0 + STEP * correlation)).clamp(GAINS.0, GAINS.1);
        }
        *self.estimate.insert(old + self.gain * innovation)
    }

    fn gain(&self) -> f64 {
        self.gain
    }
}

// The exponentially weighted moving average (paper, equation 12).

#[derive(Debug, Clone)]
struct Ewma {
    alpha: f64,
    estimate: Option<f64>,
}

impl Ewma {
    /// `alpha` is the share of the new sample.
    fn new(alpha: f64) -> Self {
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
