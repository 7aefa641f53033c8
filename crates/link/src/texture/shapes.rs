//! Seconds as they were recorded elsewhere: the shape of a second that was alike.
//!
//! 1. A library holds the seconds of recordings of every 100 ms: each as ten shares of its mean.
//! 2. The similarity of two seconds: the level (over the recording's peak), the slope (from the second before to the one after)
//!    and the curvature, each over the mean.
//! 3. For each second one of the eight nearest is drawn, rather one that begins where the last one ended.
//!
//! Source: research for this project. On mmWave uplink the even runs of a campaign predicted the odd ones: variation of 100 ms
//! while driving, mean / median / 90th percentile 0.32 / 0.26 / 0.69 for 0.30 / 0.23 / 0.62; walking 0.23 / 0.17 / 0.52 for
//! 0.21 / 0.17 / 0.48 (the same routes, so that they are not independent).

use super::{Random, TextureError, process};
use crate::capacity::{Capacity, Shape};
use crate::trace;
use cellcc_units::{Rate, Span, Time};
use std::path::Path;

/// Ours: far more than a campaign records; the largest that we know has sixty.
const MAX_FILES: usize = 2_000;
const TENTHS: usize = 10;
const TENTH: Span = Span::from_millis(100);
/// One of this many nearest seconds is drawn.
const NEAREST: usize = 8;
/// Slower seconds are mostly pauses, and have no shape.
const LEAST_MEAN: Rate = Rate::from_bytes_per_sec(625_000);
/// A begin that is off by a quarter of the mean, and by a Mbit/s on top, is e times less likely.
const JUMP_SHARE: f64 = 0.25;
const JUMP: f64 = 125_000.0;
/// The weights of level, slope and curvature, and the limits beyond which they are equal.
const LEAST_LEVEL: f64 = 0.02;
const MOST_CHANGE: f64 = 3.0;
const CHANGE_SCALE: f64 = 5.0;
const CURVATURE_WEIGHT: f64 = 0.7;

/// Recorded seconds.
pub(super) struct Library {
    seconds: Vec<Second>,
}

struct Second {
    features: [f64; 3],
    /// Each tenth over the mean.
    shares: [f64; TENTHS],
}

impl Library {
    /// The seconds of all traces in a folder.
    pub(super) fn read(folder: &Path) -> Result<Self, TextureError> {
        let refused =
            |problem: String| TextureError::Shapes { folder: folder.display().to_string(), problem };
        let files = std::fs::read_dir(folder).map_err(|error| refused(error.to_string()))?;
        let mut paths = Vec::new();
        for file in files {
            paths.push(file.map_err(|error| refused(error.to_string()))?.path());
            if paths.len() > MAX_FILES {
                return Err(refused(format!("holds more than {MAX_FILES} files")));
            }
        }
        // The order of a folder is not the same everywhere.
        paths.sort();
        let mut seconds = Vec::new();
        for path in paths.iter().filter(|path| path.is_file()) {
            if let Ok(trace) = trace::read(path) {
                add_seconds(&trace.capacity, &mut seconds);
            }
        }
        if seconds.len() < NEAREST {
            return Err(refused(format!("holds {} seconds of recordings of every 100 ms", seconds.len())));
        }
        Ok(Self { seconds })
    }

    /// The rates of each 5 ms, with the means of the seconds.
    pub(super) fn rates(&self, means: &[f64], random: &mut Random) -> Vec<f64> {
        let mut last = None;
        let per_tenth = process::STEPS_PER_SECOND / TENTHS;
        let mut rates = Vec::with_capacity(means.len() * process::STEPS_PER_SECOND);
        for (mean, features) in means.iter().zip(features(means)) {
            let shares = &self.draw(*mean, features, last, random).shares;
            rates.extend(shares.iter().flat_map(|share| std::iter::repeat_n(share * mean, per_tenth)));
            last = Some(shares[TENTHS - 1] * mean);
        }
        rates
    }

    fn draw(&self, mean: f64, features: [f64; 3], last: Option<f64>, random: &mut Random) -> &Second {
        let distance = |second: &Second| -> f64 {
            second.features.iter().zip(features).map(|(one, other)| (one - other) * (one - other)).sum()
        };
        let mut nearest: Vec<(f64, &Second)> =
            self.seconds.iter().map(|second| (distance(second), second)).collect();
        nearest.select_nth_unstable_by(NEAREST - 1, |one, other| one.0.total_cmp(&other.0));
        nearest.truncate(NEAREST);
        let likelihood = |second: &Second| match last {
            Some(last) => libm::exp(-(second.shares[0] * mean - last).abs() / (JUMP_SHARE * mean + JUMP))
                .max(f64::MIN_POSITIVE),
            None => 1.0,
        };
        let mut left = random.uniform() * nearest.iter().map(|(_, second)| likelihood(second)).sum::<f64>();
        let drawn = nearest.iter().find(|(_, second)| {
            left -= likelihood(second);
            left <= 0.0
        });
        drawn.unwrap_or(&nearest[NEAREST - 1]).1
    }
}

/// Adds the seconds of a trace, except for its first and its last, whose slope is not known. Those of another grain are left out.
fn add_seconds(capacity: &Capacity, seconds: &mut Vec<Second>) {
    let Shape::Steps(steps) = &capacity.shape else { return };
    let is_tenths = |span: Span| span.as_nanos().is_multiple_of(TENTH.as_nanos());
    if steps.steps().any(|(length, _)| !is_tenths(length)) || steps.steps().all(|(length, _)| length > TENTH)
    {
        return;
    }
    let count = steps.length / (TENTH * 10).as_nanos();
    let tenth = |place: u64| {
        let from = Time::ZERO + TENTH * place;
        capacity.rate_in(from, from + TENTH).as_bytes_per_sec() as f64
    };
    let tenths = |second: u64| std::array::from_fn(|place| tenth(second * TENTHS as u64 + place as u64));
    let recorded: Vec<[f64; TENTHS]> = (0..count).map(tenths).collect();
    let means: Vec<f64> = recorded.iter().map(|tenths| tenths.iter().sum::<f64>() / TENTHS as f64).collect();
    let all = recorded.iter().zip(features(&means)).zip(&means);
    let inner = all.skip(1).take((count as usize).saturating_sub(2));
    let fast = inner.filter(|(_, mean)| **mean >= LEAST_MEAN.as_bytes_per_sec() as f64);
    seconds.extend(
        fast.map(|((tenths, features), mean)| Second { features, shares: tenths.map(|rate| rate / mean) }),
    );
}

/// The features of seconds: level, slope, curvature.
fn features(means: &[f64]) -> Vec<[f64; 3]> {
    let peak = process::percentile_99(means);
    let of = |second: usize| {
        let mean = means[second].max(f64::MIN_POSITIVE);
        let before = means[second.saturating_sub(1)];
        let after = means[(second + 1).min(means.len() - 1)];
        let scaled = |change: f64| libm::asinh(change.clamp(-MOST_CHANGE, MOST_CHANGE) * CHANGE_SCALE);
        [
            libm::log((mean / peak).clamp(LEAST_LEVEL, 1.0)),
            scaled((after - before) / (2.0 * mean)),
            CURVATURE_WEIGHT * scaled((after + before - 2.0 * mean) / (2.0 * mean)),
        ]
    };
    (0..means.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_too_many_files_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MAX_FILES {
            std::fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        let refused = Library::read(folder.path()).err().expect("too many").to_string();
        assert!(refused.contains("more than 2000 files"), "{refused}");
    }
}
