//! How a rate wanders within a second.
//!
//! 1. A straight line between the means of the seconds, so that a second in which the level changes is not flat.
//! 2. Around it a lognormal process that forgets within 80 to 180 ms (Ornstein and Uhlenbeck). Its size is drawn for each
//!    second so that the variation of the second's ten means of 100 ms is the measured one at that level and that change of the
//!    level.
//! 3. Around that another, small one, that forgets within 20 ms.
//! 4. Dips to at most 15 % for some 150 ms: blockage, where the level is low.
//! 5. Each second then carries its own bytes.

use super::{Radio, Random};
use cellcc_units::Span;

/// The grain of the process.
pub(super) const STEP: Span = Span::from_millis(5);
pub(super) const STEPS_PER_SECOND: usize = 200;
const STEP_S: f64 = 0.005;
/// The means whose variation was measured: a tenth of a second.
const MEAN_S: f64 = 0.1;
const STEPS_PER_MEAN: usize = 20;

/// The fit to recordings of every 100 ms: with `c` half the change from the second before to the one after over the mean, and
/// `l` the second's level over the recording's 99th percentile, `ln CV = a + b ln c + d ln l + N(0, e)`.
pub(super) struct Fit {
    a: f64,
    b: f64,
    d: f64,
    e: f64,
    /// How long the process remembers, in seconds.
    memory_s: f64,
    /// Dips per second at level zero.
    dips: f64,
}

impl Fit {
    /// mmWave: uplink while walking and driving, 35 recordings (R2 0.61); mid-band: downlink, 4 recordings (0.43); LTE: 0.52.
    pub(super) fn of(radio: Radio) -> Self {
        match radio {
            Radio::MmWave => Self { a: -2.04, b: 0.31, d: -0.79, e: 0.78, memory_s: 0.18, dips: 0.10 },
            Radio::MidBand => Self { a: -2.49, b: 0.10, d: -1.19, e: 0.59, memory_s: 0.08, dips: 0.05 },
            Radio::Lte => Self { a: -2.25, b: 0.37, d: -0.94, e: 0.73, memory_s: 0.10, dips: 0.0 },
        }
    }
}

/// The second, small process: it forgets within 20 ms, and is 0.9 of the variation of 100 ms, but 0.1 at most.
const FAST_MEMORY_S: f64 = 0.02;
const FAST_SHARE: f64 = 0.9;
const MOST_FAST: f64 = 0.1;
/// Bounds of the measurements.
const LEAST_CHANGE: f64 = 0.005;
const LEAST_LEVEL: f64 = 0.02;
const VARIATION: (f64, f64) = (0.01, 1.5);
/// A dip leaves at most this share, for a time of this mean in seconds.
const DEEPEST_DIP: f64 = 0.15;
const DIP_S: f64 = 0.15;

/// The rates of each 5 ms, with the means of the seconds.
pub(super) fn rates(means: &[f64], fit: &Fit, random: &mut Random) -> Vec<f64> {
    let peak = percentile_99(means);
    let mut slow = Process::new(fit.memory_s, random);
    let mut fast = Process::new(FAST_MEMORY_S, random);
    let mut rates = Vec::with_capacity(means.len() * STEPS_PER_SECOND);
    for (second, &mean) in means.iter().enumerate() {
        let before = means[second.saturating_sub(1)];
        let after = means[(second + 1).min(means.len() - 1)];
        if mean <= 0.0 {
            rates.extend([0.0; STEPS_PER_SECOND]);
            continue;
        }
        let level = (mean / peak).clamp(LEAST_LEVEL, 1.0);
        let change = ((after - before).abs() / (2.0 * mean)).max(LEAST_CHANGE);
        let ln = fit.a + fit.b * libm::log(change) + fit.d * libm::log(level) + fit.e * random.normal();
        let variation = libm::exp(ln).clamp(VARIATION.0, VARIATION.1);
        let mut steps = line(before, mean, after);
        let fast_size = (FAST_SHARE * variation).min(MOST_FAST);
        let size = slow_size(fit, variation, of_tenths(&steps), fast_size);
        for rate in &mut steps {
            let wanders = size * slow.next(random) - size * size / 2.0 + fast_size * fast.next(random);
            *rate *= libm::exp(wanders);
        }
        if random.uniform() < fit.dips * (1.0 - level) * (1.0 - level) {
            dip(&mut steps, random);
        }
        scale_to(&mut steps, mean);
        rates.extend(steps);
    }
    rates
}

/// Straight from the middle of a second to that of the next.
fn line(before: f64, mean: f64, after: f64) -> Vec<f64> {
    let at = |step: usize| {
        let from_middle = (step as f64 + 0.5) / STEPS_PER_SECOND as f64 - 0.5;
        let other = if from_middle < 0.0 { before } else { after };
        mean + (other - mean) * from_middle.abs()
    };
    let mut steps: Vec<f64> = (0..STEPS_PER_SECOND).map(at).collect();
    scale_to(&mut steps, mean);
    steps
}

fn scale_to(steps: &mut [f64], mean: f64) {
    let now = steps.iter().sum::<f64>() / steps.len() as f64;
    if now > 0.0 {
        steps.iter_mut().for_each(|rate| *rate *= mean / now);
    }
}

/// The coefficient of variation of a second's ten means of 100 ms.
pub(super) fn of_tenths(steps: &[f64]) -> f64 {
    let means: Vec<f64> =
        steps.chunks(STEPS_PER_MEAN).map(|tenth| tenth.iter().sum::<f64>() / tenth.len() as f64).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let variance = means.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / means.len() as f64;
    if mean > 0.0 { libm::sqrt(variance) / mean } else { 0.0 }
}

/// How large the slow process must be in the logarithm, so that with the line and the fast one the tenths vary as much as they
/// should.
fn slow_size(fit: &Fit, variation: f64, of_line: f64, fast_size: f64) -> f64 {
    /// The least remainder of the line and the fast process, and the least part of the process in the means of tenths.
    const LEAST_VARIANCE: f64 = 1e-5;
    const LEAST_KEPT: f64 = 0.05;
    // Within a second: the variation of the means of tenths minus that of the seconds' own.
    let kept = (kept_by_means(MEAN_S, fit.memory_s) - kept_by_means(1.0, fit.memory_s)).max(LEAST_KEPT);
    let fast = fast_size * fast_size * kept_by_means(MEAN_S, FAST_MEMORY_S);
    let left = (variation * variation - of_line * of_line - fast).max(LEAST_VARIANCE);
    libm::sqrt(libm::log1p(left / kept))
}

/// The share of its variance that the means over `time` of such a process have.
fn kept_by_means(time: f64, memory: f64) -> f64 {
    2.0 * memory / time * (1.0 - memory / time * (1.0 - libm::exp(-time / memory)))
}

fn dip(steps: &mut [f64], random: &mut Random) {
    let from = (random.uniform() * steps.len() as f64) as usize;
    let length = 1 + (random.exponential() * DIP_S / STEP_S) as usize;
    let left = random.uniform() * DEEPEST_DIP;
    let end = (from + length).min(steps.len());
    steps[from.min(end)..end].iter_mut().for_each(|rate| *rate *= left);
}

/// The peak of a recording.
pub(super) fn percentile_99(means: &[f64]) -> f64 {
    let mut sorted = means.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (0.99 * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1].max(f64::MIN_POSITIVE)
}

/// A process of mean zero and variance one, with a memory.
struct Process {
    kept: f64,
    value: f64,
}

impl Process {
    fn new(memory_s: f64, random: &mut Random) -> Self {
        Self { kept: libm::exp(-STEP_S / memory_s), value: random.normal() }
    }

    fn next(&mut self, random: &mut Random) -> f64 {
        self.value = self.kept * self.value + libm::sqrt(1.0 - self.kept * self.kept) * random.normal();
        self.value
    }
}
