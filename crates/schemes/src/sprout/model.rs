//! The model of the link: the likelihood of each rate, given the arrivals, and the amount that will arrive with 95 % certainty.
//!
//! Rates are in units per second, and there are 1000 of these at the grid's end: a unit is a packet where the highest rate is the
//! authors' 12 Mbit/s, and more where it is higher. So the model is the same for every highest rate.

use cellcc_control::{Feedback, SchemeMessage, Signal};
use cellcc_units::{Bytes, Span};
use std::sync::OnceLock;

/// Time between updates of the model, in seconds (paper, section 3.2; `TICK_LENGTH`).
pub(super) const TICK_S: f64 = 0.02;
/// Number of ticks in a forecast (section 3.3; `NUM_TICKS`).
pub(super) const TICKS: usize = 8;
/// The grid's end, in units per second (section 3.1; `MAX_ARRIVAL_RATE`).
pub(super) const MAX_RATE: f64 = 1000.0;
/// 256 bins (section 3.1; `NUM_BINS`), and one for the rates above. The first is the outage.
const BINS: usize = 257;
const BIN_WIDTH: f64 = MAX_RATE / 256.0;
/// Standard deviation of a rate's change in a second, in units per second (section 3.1; `BROWNIAN_MOTION_RATE`).
const SIGMA: f64 = 200.0;
/// Rate at which outages end, per second (section 3.1; `OUTAGE_ESCAPE_RATE`).
const ESCAPE_RATE: f64 = 1.0;
/// A rate wanders no farther than so many standard deviations (`Process::evolve`).
const REACH: f64 = 5.0;
/// A forecast counts with fewer units than this in a tick (`MAX_ARRIVALS_PER_TICK`).
const COUNTS: usize = 30;
/// The forecast is met with 95 % certainty (section 3.3).
const QUANTILE: f64 = 0.05;

/// Probability of each rate.
#[derive(Debug, Clone)]
pub(super) struct Model(Vec<f64>);

impl Model {
    /// Nothing is known: all rates are alike.
    pub(super) fn new() -> Self {
        Self(vec![1.0 / BINS as f64; BINS])
    }

    /// The mean rate, in units per second.
    pub(super) fn mean_rate(&self) -> f64 {
        self.0.iter().enumerate().map(|(bin, probability)| rate(bin) * probability).sum()
    }

    /// A tick passes: rates wander, and outages last or end.
    pub(super) fn evolve(&mut self) {
        let wandering = Wandering::shared();
        self.0 = wandering.evolve(&self.0);
        self.normalize();
    }

    /// `count` units have arrived in the last tick.
    pub(super) fn observe(&mut self, count: u32) {
        let likelihood = |bin| log_poisson(rate(bin) * TICK_S, count);
        // Relative to the likeliest, so that something stays however unlikely all are.
        let seen = self.0.iter().enumerate().filter(|(_, probability)| **probability > 0.0);
        let best = seen.map(|(bin, _)| likelihood(bin)).fold(f64::NEG_INFINITY, f64::max);
        for (bin, probability) in self.0.iter_mut().enumerate() {
            *probability *= libm::exp(likelihood(bin) - best);
        }
        self.normalize();
    }

    fn normalize(&mut self) {
        let sum: f64 = self.0.iter().sum();
        self.0.iter_mut().for_each(|probability| *probability /= sum);
    }

    /// For each of the next ticks, how many units will have arrived by its end at least, with 95 % certainty.
    pub(super) fn forecast(&self) -> [u32; TICKS] {
        let table = Forecasts::shared();
        std::array::from_fn(|tick| {
            let mut sum = 0.0;
            let reached = table.0[tick].iter().position(|of_bins| {
                sum += self.0.iter().zip(of_bins).map(|(bin, count)| bin * count).sum::<f64>();
                sum >= QUANTILE
            });
            reached.unwrap_or(table.0[tick].len()) as u32
        })
    }
}

/// The rate in the middle of a bin, in units per second.
fn rate(bin: usize) -> f64 {
    (bin as f64 + 0.5) * BIN_WIDTH
}

/// The logarithm of the probability that `count` arrive where `mean` are expected (Poisson).
fn log_poisson(mean: f64, count: u32) -> f64 {
    f64::from(count) * libm::log(mean) - mean - libm::lgamma(f64::from(count) + 1.0)
}

/// Probability of a rate's change within a tick, by bins.
struct Wandering {
    /// By 0, 1, 2, ... bins to one side.
    by: Vec<f64>,
    /// Tails by distance to one side: rates that would leave the grid stay in the bin at its end.
    beyond: Vec<f64>,
    /// An outage ends within a tick.
    escape: f64,
}

impl Wandering {
    fn shared() -> &'static Self {
        static SHARED: OnceLock<Wandering> = OnceLock::new();
        SHARED.get_or_init(|| {
            let sigma = SIGMA * TICK_S.sqrt() / BIN_WIDTH;
            let below = |bins: f64| 0.5 * libm::erfc(-bins / (sigma * std::f64::consts::SQRT_2));
            let reach = (REACH * sigma) as usize;
            let by = (0..=reach).map(|bins| below(bins as f64 + 0.5) - below(bins as f64 - 0.5)).collect();
            let beyond = (0..=reach).map(|bins| 1.0 - below(bins as f64 - 0.5)).collect();
            Self { by, beyond, escape: 1.0 - libm::exp(-ESCAPE_RATE * TICK_S) }
        })
    }

    fn evolve(&self, from: &[f64]) -> Vec<f64> {
        let mut to = vec![0.0; BINS];
        for (bin, &probability) in from.iter().enumerate().filter(|(_, probability)| **probability > 0.0) {
            let reach = self.by.len() - 1;
            for next in bin.saturating_sub(reach)..=(bin + reach).min(BINS - 1) {
                let factor = match (bin, next) {
                    (0, 0) => 1.0 - self.escape,
                    (0, _) => self.escape,
                    _ => 1.0,
                };
                let shares = if next == 0 || next == BINS - 1 { &self.beyond } else { &self.by };
                to[next] += factor * probability * shares[bin.abs_diff(next)];
            }
        }
        to
    }
}

/// For each tick, and each number of units that may have arrived by its end: how likely it is from each bin.
struct Forecasts(Vec<Vec<Vec<f64>>>);

impl Forecasts {
    fn shared() -> &'static Self {
        static SHARED: OnceLock<Forecasts> = OnceLock::new();
        SHARED.get_or_init(Self::compute)
    }

    fn compute() -> Self {
        let in_a_tick: Vec<Vec<f64>> = (0..BINS)
            .map(|bin| {
                let likelihood = |count| libm::exp(log_poisson(rate(bin) * TICK_S, count));
                (0..COUNTS as u32).map(likelihood).collect()
            })
            .collect();
        let mut ticks: Vec<Vec<Vec<f64>>> =
            (1..=TICKS).map(|tick| vec![vec![0.0; BINS]; tick * (COUNTS - 1) + 1]).collect();
        for bin in 0..BINS {
            let mut model = Model(vec![0.0; BINS]);
            model.0[bin] = 1.0;
            let mut arrived = vec![1.0];
            for tick in &mut ticks {
                arrived = convolved(&arrived, &mixed(&model.0, &in_a_tick));
                tick.iter_mut().zip(&arrived).for_each(|(of_bins, probability)| of_bins[bin] = *probability);
                model.evolve();
            }
        }
        Self(ticks)
    }
}

/// Distribution of the units that arrive in a tick, over all rates.
fn mixed(rates: &[f64], in_a_tick: &[Vec<f64>]) -> Vec<f64> {
    let mut mixed = vec![0.0; COUNTS];
    for (probability, counts) in rates.iter().zip(in_a_tick).filter(|(probability, _)| **probability > 0.0) {
        mixed.iter_mut().zip(counts).for_each(|(sum, count)| *sum += probability * count);
    }
    mixed
}

/// Distribution of the sum of two numbers.
fn convolved(first: &[f64], second: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; first.len() + second.len() - 1];
    for (offset, probability) in first.iter().enumerate() {
        sums[offset..].iter_mut().zip(second).for_each(|(sum, other)| *sum += probability * other);
    }
    sums
}

// The messages between the receiver and the sender, as bytes.
//
// ```text
// forecast  'S' | sequence u32 | newest packet u64 | eight amounts, bytes u32
// silence   's' | milliseconds until the next packet u8
// ```
// Integers are big-endian.

const FORECAST: u8 = b'S';
const SILENCE: u8 = b's';

/// The forecast of arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forecast {
    /// Counts forecasts, so that the newest is known.
    pub(super) sequence: u32,
    /// The number of the newest packet that has arrived.
    pub(super) newest: u64,
    /// The arrivals by the end of each of the next ticks.
    pub(super) amounts: [Bytes; TICKS],
}

impl Forecast {
    pub(super) fn encode(&self) -> Option<Feedback> {
        let mut bytes = vec![FORECAST];
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.newest.to_be_bytes());
        for amount in self.amounts {
            bytes.extend(u32::try_from(amount.get()).unwrap_or(u32::MAX).to_be_bytes());
        }
        SchemeMessage::new(&bytes)
    }

    /// `None` where the bytes are no forecast.
    pub(super) fn decode(feedback: &Feedback) -> Option<Self> {
        let (&FORECAST, rest) = feedback.as_bytes().split_first()? else { return None };
        let (sequence, rest) = rest.split_first_chunk()?;
        let (newest, rest) = rest.split_first_chunk()?;
        let (amounts, []) = rest.as_chunks::<4>() else { return None };
        let amounts: Vec<Bytes> =
            amounts.iter().map(|amount| Bytes::new(u32::from_be_bytes(*amount).into())).collect();
        Some(Self {
            sequence: u32::from_be_bytes(*sequence),
            newest: u64::from_be_bytes(*newest),
            amounts: amounts.try_into().ok()?,
        })
    }
}

/// After this packet nothing follows for so long.
pub(super) fn encode_silence(silence: Span) -> Option<Signal> {
    let millis = u8::try_from(silence.as_nanos() / Span::from_millis(1).as_nanos()).unwrap_or(u8::MAX);
    SchemeMessage::new(&[SILENCE, millis])
}

/// `None` where the bytes tell of no silence.
pub(super) fn decode_silence(signal: &Signal) -> Option<Span> {
    match signal.as_bytes() {
        [SILENCE, millis] => Some(Span::from_millis(u64::from(*millis))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(counts: &[u32]) -> Model {
        let mut model = Model::new();
        for &count in counts {
            model.evolve();
            model.observe(count);
        }
        model
    }

    #[test]
    fn a_steady_rate_is_found_and_forecast_with_caution_that_grows_with_time() {
        // 10 in each tick: 500 a second.
        let model = after(&[10; 200]);
        assert!((model.mean_rate() - 500.0).abs() < 25.0, "{}", model.mean_rate());
        let forecast = model.forecast();
        assert!(forecast.is_sorted() && forecast[0] >= 3 && forecast[7] <= 70, "{forecast:?}");
        // The fifth percentile of a Poisson number of mean 10 is 5; not knowing the rate lowers it.
        assert!(forecast[0] <= 5, "{forecast:?}");
    }

    #[test]
    fn silence_means_an_outage_which_lasts_about_a_second() {
        let model = after(&[0; 100]);
        assert_eq!(model.forecast(), [0; TICKS]);
        assert!(model.0[0] > 0.9, "{}", model.0[0]);
        // One in fifty ticks ends it: with half of a zero rate's wander, 0.0198 * 0.47 of 0.98 * 0.53 in each.
        let mut later = Model(vec![0.0; BINS]);
        later.0[0] = 1.0;
        later.evolve();
        assert!((later.0[0] - 0.982).abs() < 0.001, "{}", later.0[0]);
    }

    #[test]
    fn what_no_rate_explains_leaves_a_model_that_goes_on() {
        let mut model = after(&[10; 20]);
        model.observe(u32::MAX);
        assert!((model.0.iter().sum::<f64>() - 1.0).abs() < 1e-9 && model.mean_rate() > 900.0);
    }

    #[test]
    fn what_is_sent_is_read_and_other_bytes_are_not() {
        let amounts = std::array::from_fn(|tick| Bytes::new(1500 * tick as u64));
        let forecast = Forecast { sequence: 7, newest: 123_456_789, amounts };
        let feedback = forecast.encode().expect("it fits");
        assert_eq!(Forecast::decode(&feedback), Some(forecast));
        for length in 1..feedback.as_bytes().len() {
            let cut = SchemeMessage::new(&feedback.as_bytes()[..length]).expect("bytes");
            assert_eq!(Forecast::decode(&cut), None);
        }
        let silence = encode_silence(Span::from_millis(50)).expect("it fits");
        assert_eq!(decode_silence(&silence), Some(Span::from_millis(50)));
        assert_eq!(decode_silence(&SchemeMessage::new(b"x2").expect("bytes")), None);
    }
}
