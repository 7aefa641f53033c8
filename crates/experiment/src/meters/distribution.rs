//! A distribution of times in memory that does not grow with their number: a mergeable histogram with an exact mean.

use crate::meters::levels::Levels;
use crate::meters::stored;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use cellcc_units::Span;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A distribution of time spans in microseconds, each within 0.1 % (three significant digits) or 1 us, whichever is
/// more; the mean is exact. Values above one hour count as one hour.
#[derive(Debug, Clone, Default)]
pub struct Distribution {
    micros: Levels,
    sum_ns: u128,
    /// Values besides these as a Record holds them, which was read: a tenth of the memory.
    #[allow(clippy::box_collection, reason = "a meter's distributions take a line of the cache each")]
    read: Option<Box<Vec<u8>>>,
}

/// The figures of a distribution, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Exact arithmetic mean.
    pub mean_ms: f64,
    /// Percentiles by nearest rank.
    pub p50_ms: f64,
    /// 95th.
    pub p95_ms: f64,
    /// 99th.
    pub p99_ms: f64,
    /// The largest.
    pub max_ms: f64,
}

const HIGHEST_US: u64 = 3_600_000_000;

impl Distribution {
    /// Adds a value.
    pub fn add(&mut self, span: Span) {
        self.sum_ns += span.as_nanos() as u128;
        self.micros.count(((span.as_nanos() + 500) / 1_000).min(HIGHEST_US));
    }

    /// Adds all values of another distribution.
    pub fn merge(&mut self, other: &Self) {
        self.sum_ns += other.sum_ns;
        self.micros.merge(&other.levels());
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.levels().total()
    }

    /// All values.
    fn levels(&self) -> Cow<'_, Levels> {
        let Some(read) = &self.read else { return Cow::Borrowed(&self.micros) };
        // They could be read when they were taken over.
        let mut levels = stored::decode(read, HIGHEST_US).unwrap_or_default();
        levels.merge(&self.micros);
        Cow::Owned(levels)
    }

    /// The average of several cumulative distributions, each with the same weight however many values it has: levels in ms
    /// and these rising `shares` of values up to them. Distributions without values do not count.
    pub fn mean_cumulative(
        all: impl Iterator<Item = Self>,
        shares: impl Iterator<Item = f64>,
    ) -> Vec<(f64, f64)> {
        let mut weights: BTreeMap<u64, f64> = BTreeMap::new();
        let mut counted = 0.0;
        for one in all {
            let levels = one.levels();
            let whole = levels.total() as f64;
            levels
                .iter()
                .for_each(|(micros, count)| *weights.entry(micros).or_default() += count as f64 / whole);
            counted += if whole > 0.0 { 1.0 } else { 0.0 };
        }
        let Some((&first, _)) = weights.first_key_value() else { return Vec::new() };
        // Sums of many parts miss a whole number by this much.
        const NOISE: f64 = 1e-9;
        let (mut level, mut share, mut weights) = (first, 0.0, weights.into_iter());
        shares
            .map(|wanted| {
                while share < wanted - NOISE
                    && let Some((next, weight)) = weights.next()
                {
                    share += weight / counted;
                    level = next;
                }
                (level as f64 / 1e3, wanted)
            })
            .collect()
    }

    /// The figures; `None` where there are no values.
    pub fn summary(&self) -> Option<Summary> {
        let levels = self.levels();
        let count = levels.total();
        let at = |quantile: f64| {
            let rank = (quantile * count as f64).ceil() as u64;
            Some(levels.at_rank(rank.max(1))? as f64 / 1e3)
        };
        Some(Summary {
            mean_ms: self.sum_ns as f64 / count as f64 / 1e6,
            p50_ms: at(0.5)?,
            p95_ms: at(0.95)?,
            p99_ms: at(0.99)?,
            max_ms: levels.iter().last()?.0 as f64 / 1e3,
        })
    }
}

impl PartialEq for Distribution {
    fn eq(&self, other: &Self) -> bool {
        self.sum_ns == other.sum_ns && self.levels() == other.levels()
    }
}

/// In a Record: the exact sum, and the histogram in HdrHistogram's own compressed form.
#[derive(Serialize, Deserialize)]
struct Stored {
    sum_ns: u128,
    hdr_v2_us: String,
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = stored::encode(&self.levels()).map_err(serde::ser::Error::custom)?;
        Stored { sum_ns: self.sum_ns, hdr_v2_us: BASE64.encode(bytes) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let bytes = BASE64.decode(stored.hdr_v2_us).map_err(serde::de::Error::custom)?;
        stored::decode(&bytes, HIGHEST_US).map_err(serde::de::Error::custom)?;
        Ok(Self { micros: Levels::default(), sum_ns: stored.sum_ns, read: Some(Box::new(bytes)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(millis: impl IntoIterator<Item = u64>) -> Distribution {
        let mut distribution = Distribution::default();
        millis.into_iter().for_each(|ms| distribution.add(Span::from_millis(ms)));
        distribution
    }

    #[test]
    fn percentiles_are_by_nearest_rank_within_a_thousandth() {
        let summary = of(1..=100).summary().unwrap();
        assert_eq!(summary.mean_ms, 50.5);
        assert!((summary.p50_ms / 50.0 - 1.0).abs() < 1e-3);
        assert!((summary.p95_ms / 95.0 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn merged_parts_equal_the_whole() {
        let mut merged = of(1..=40);
        merged.merge(&of(41..=100));
        assert_eq!(merged, of(1..=100));
    }

    /// A fast link's many packets hid a slow link's delays.
    #[test]
    fn a_mean_of_distributions_weighs_each_of_them_the_same() {
        let fast = of(std::iter::repeat_n(10, 9_900));
        let slow = of(std::iter::repeat_n(1_000, 100));
        let mut pooled = fast.clone();
        pooled.merge(&slow);
        let at = |points: &[(f64, f64)], percent: usize| points[percent].0.round();
        let percent = || (0..=100).map(|percent| f64::from(percent) / 100.0);
        let mean = Distribution::mean_cumulative([fast.clone(), slow, of([])].into_iter(), percent());
        assert_eq!((at(&mean, 50), at(&mean, 51), at(&mean, 95)), (10.0, 1_000.0, 1_000.0));
        assert_eq!(at(&Distribution::mean_cumulative([pooled].into_iter(), percent()), 95), 10.0);
        assert_eq!(Distribution::mean_cumulative([fast].into_iter(), percent()).len(), 101);
        assert!(Distribution::mean_cumulative(std::iter::empty(), percent()).is_empty());
    }

    #[test]
    fn what_is_stored_reads_back() {
        let distribution = of([1, 5, 5, 3_000_000]);
        let text = serde_json::to_string(&distribution).unwrap();
        assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), distribution);
    }
}
