//! Averages over traces or seeds, and how sure they are. docs/metrics.md says why they are as they are.

use crate::RESAMPLES;
use libm::{exp, log};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Which average a quantity asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The arithmetic mean: of amounts, times and shares.
    Mean,
    /// The geometric mean: of ratios and of power, where twice and half are equally far from one.
    Geometric,
}

/// An average, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Average {
    /// The average.
    pub value: f64,
    /// How many values it is over.
    pub count: usize,
    /// How many more values there are that have no logarithm: they are left out of a geometric mean.
    pub not_positive: usize,
    /// How sure it is.
    pub certainty: Certainty,
}

/// How sure an average is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Certainty {
    /// The 95 % confidence interval.
    Interval {
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
    },
    /// A few values far out decide the average: its interval, from `low` to `high`, reaches further beyond them than they are
    /// apart, and says less than where the middle ones lie.
    Skewed {
        /// The lower end of the 95 % confidence interval.
        low: f64,
        /// Its upper end.
        high: f64,
        /// The first quartile, the median and the third quartile of the values (nearest ranks).
        quartiles: [f64; 3],
    },
    /// One value: there is nothing to compare it with.
    Single,
    /// Several values and all the same: nothing is known of their spread.
    NoSpread,
    /// So few values that an interval would miss the truth too often.
    TooFew,
    /// Nearly all values are the same: a resample may well have no spread, so that the interval has no end.
    Unbounded,
}

/// Values below which there is no interval: too few to know a skew by (docs/metrics.md, the snapshot of the test below).
pub const FEWEST: usize = 10;

/// The resample that the bound on the side of the shorter tail comes from: percentile 2.5.
const SHORTER_TAIL: usize = 50;

/// Percentile 1, for the longer tail. Samples often lack the values far out, and an interval lies too near to the shorter
/// tail. With percentile 2.5 for both, that of the mean of 16 lognormal values holds the truth in 91 of 100 cases; with 1 for
/// the longer tail in 94.2, and that of 60 normal values in 96.2 (6,000 draws of each). A choice of level by its coverage is
/// calibration (Efron and Tibshirani, section 18.2).
const LONGER_TAIL: usize = 20;

/// Standard errors that an interval reaches to a side, averaged over both: the quantiles of the standard normal distribution at
/// 97.5 % for the shorter tail and at 99 % for the longer one.
const INTERVAL_ERRORS: f64 = (1.960 + 2.326) / 2.0;

/// The quantile at 80 %, the usual power of a test (Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988,
/// section 2.4).
const POWER_ERRORS: f64 = 0.8416;

/// Relative differences up to this come from summing in another order.
const NOISE: f64 = 1e-12;

impl Average {
    /// The average of `values`; `None` of nothing. The interval does not reach out of `range`, in which every value of
    /// the quantity lies.
    pub fn of(kind: Kind, values: &[f64], range: (f64, f64)) -> Option<Self> {
        match kind {
            Kind::Mean => {
                let (value, certainty) = mean_with_certainty(values)?;
                let certainty = certainty.map(|bound| bound.clamp(range.0, range.1));
                Some(Self { value, count: values.len(), not_positive: 0, certainty })
            }
            Kind::Geometric => {
                let logarithms: Vec<f64> =
                    values.iter().filter(|value| **value > 0.0).map(|value| log(*value)).collect();
                let (value, certainty) = mean_with_certainty(&logarithms)?;
                Some(Self {
                    value: exp(value),
                    count: logarithms.len(),
                    not_positive: values.len() - logarithms.len(),
                    certainty: certainty.map(exp),
                })
            }
        }
    }

    /// The least distance of the true mean from a bound that samples with this spread find in four of five cases: their whole
    /// interval lies on its side of the bound. None without an interval.
    pub fn detectable(&self) -> Option<f64> {
        let (low, high) = self.certainty.interval()?;
        Some((high - low) / 2.0 * (1.0 + POWER_ERRORS / INTERVAL_ERRORS))
    }
}

impl Certainty {
    /// The 95 % confidence interval, where there is one.
    pub fn interval(self) -> Option<(f64, f64)> {
        match self {
            Self::Interval { low, high } | Self::Skewed { low, high, .. } => Some((low, high)),
            Self::Single | Self::NoSpread | Self::TooFew | Self::Unbounded => None,
        }
    }

    fn map(self, change: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Interval { low, high } => Self::Interval { low: change(low), high: change(high) },
            Self::Skewed { low, high, quartiles } => {
                Self::Skewed { low: change(low), high: change(high), quartiles: quartiles.map(change) }
            }
            other => other,
        }
    }
}

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn mean_with_certainty(values: &[f64]) -> Option<(f64, Certainty)> {
    let mean = mean(values)?;
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let certainty = if values.len() == 1 {
        Certainty::Single
    } else if values.iter().all(|value| (value - values[0]).abs() <= largest * NOISE) {
        Certainty::NoSpread
    } else if values.len() < FEWEST {
        Certainty::TooFew
    } else {
        bootstrap_t(values, mean)
    };
    Some((mean, certainty))
}

/// The bootstrap-t interval of the mean (Efron and Tibshirani, An Introduction to the Bootstrap, section 12.5). It follows
/// the skew of the values, which Student's t does not. Seeded by nothing: the same values give the same interval.
fn bootstrap_t(values: &[f64], mean: f64) -> Certainty {
    let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut statistics: Vec<f64> = (0..RESAMPLES).map(|_| studentised(&centred, &mut random)).collect();
    let skew: f64 = centred.iter().map(|value| value * value * value).sum();
    let (below, above) = if skew > 0.0 { (SHORTER_TAIL, LONGER_TAIL) } else { (LONGER_TAIL, SHORTER_TAIL) };
    // The largest statistics decide the lower bound, and the smallest the upper one.
    let largest = *statistics.select_nth_unstable_by(RESAMPLES - below, f64::total_cmp).1;
    let smallest = *statistics.select_nth_unstable_by(above - 1, f64::total_cmp).1;
    let count = values.len() as f64;
    let squares: f64 = centred.iter().map(|value| value * value).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let (low, high) = (mean - largest * error, mean - smallest * error);
    if !low.is_finite() || !high.is_finite() {
        return Certainty::Unbounded;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
    // On the side of the longer tail, as the other end is near the values.
    let beyond = if skew > 0.0 { high - most } else { least - low };
    if beyond > most - least {
        let at = |quarter: usize| sorted[(sorted.len() * quarter).div_ceil(4) - 1];
        return Certainty::Skewed { low, high, quartiles: [1, 2, 3].map(at) };
    }
    Certainty::Interval { low, high }
}

/// Student's t of one resample of values whose mean is zero; infinite where the resample has no spread.
fn studentised(centred: &[f64], random: &mut Pcg64Mcg) -> f64 {
    let count = centred.len() as u64;
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut add = |bits: u64| {
        // The upper half of the product is an index, all equally likely except for one part in 2^32 / count.
        let value = centred[((bits * count) >> 32) as usize];
        sum += value;
        squares += value * value;
    };
    for drawn in 0..centred.len().div_ceil(2) {
        let bits = random.next_u64();
        add(bits >> 32);
        if 2 * drawn + 1 < centred.len() {
            add(bits & u64::from(u32::MAX));
        }
    }
    let mean = sum / count as f64;
    let deviations = squares - sum * mean;
    if deviations <= squares * NOISE {
        return if mean == 0.0 { 0.0 } else { f64::INFINITY.copysign(mean) };
    }
    mean / (deviations / (count - 1) as f64 / count as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use libm::{cos, sqrt};

    const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    fn certainty(values: &[f64]) -> Certainty {
        Average::of(Kind::Mean, values, ANY).unwrap().certainty
    }

    /// A standard normal number (Box and Muller 1958).
    fn normal(random: &mut Pcg64Mcg) -> f64 {
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        let (radius, angle) = (sqrt(-2.0 * log(uniform())), uniform());
        radius * cos(std::f64::consts::TAU * angle)
    }

    /// A spread of values, the kind of average, and its true value.
    struct Spread {
        name: &'static str,
        kind: Kind,
        truth: f64,
        draw: fn(f64) -> f64,
    }

    fn spreads() -> [Spread; 5] {
        let of = |name, kind, truth, draw| Spread { name, kind, truth, draw };
        // The mean of log(1 + z / 10) by its series: -s^2 / 2 - 3 s^4 / 4 - 15 s^6 / 6.
        let near_one = exp(-0.005 - 0.75e-4 - 2.5e-6);
        [
            of("normal, mean", Kind::Mean, 50.0, |z| 50.0 + 15.0 * z),
            // The mean of a lognormal spread is exp(s^2 / 2).
            of("lognormal 0.5, mean", Kind::Mean, exp(0.125), |z| exp(0.5 * z)),
            of("lognormal 1, mean", Kind::Mean, exp(0.5), exp),
            of("normal 0.1, geometric mean", Kind::Geometric, near_one, |z| 1.0 + 0.1 * z),
            of("lognormal 1.5, geometric mean", Kind::Geometric, 1.0, |z| exp(1.5 * z)),
        ]
    }

    /// The share of 2,000 draws of `count` values whose interval holds the truth.
    fn coverage(spread: &Spread, count: usize, seed: u64) -> f64 {
        const DRAWS: usize = 2_000;
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut values = vec![0.0; count];
        let is_logarithmic = spread.kind == Kind::Geometric;
        let scaled = |value: f64| if is_logarithmic { log(value) } else { value };
        let truth = scaled(spread.truth);
        let held = (0..DRAWS).filter(|_| {
            values.iter_mut().for_each(|value| *value = scaled((spread.draw)(normal(&mut random))));
            let mean = mean(&values).unwrap_or(0.0);
            // Without the lower bound on the number of values, which this is the reason for.
            bootstrap_t(&values, mean).interval().is_some_and(|(low, high)| low <= truth && truth <= high)
        });
        held.count() as f64 / DRAWS as f64
    }

    const COUNTS: [usize; 5] = [6, 8, 10, 16, 60];

    /// A row of the table in docs/metrics.md.
    fn row(spread: &Spread, shares: &[f64]) -> String {
        let cells: Vec<String> = shares.iter().map(|share| format!("{:.1}", share * 100.0)).collect();
        format!("| {} | {} |\n", spread.name, cells.join(" | "))
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let mut table = String::new();
        for (spread, seed) in spreads().into_iter().zip(1..) {
            let shares = COUNTS.map(|count| coverage(&spread, count, seed));
            for (count, share) in COUNTS.into_iter().zip(shares).filter(|(count, _)| *count >= FEWEST) {
                assert!((0.93..=0.97).contains(&share), "{}, {count} values: {share}", spread.name);
            }
            table.push_str(&row(&spread, &shares));
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn a_mean_as_far_from_a_bound_as_is_detectable_is_found_in_four_of_five_samples() {
        const DRAWS: usize = 1_000;
        const COUNT: usize = 36;
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let mut averages = |truth: f64| -> Vec<Average> {
            let mut values = || (0..COUNT).map(|_| truth + normal(&mut random)).collect::<Vec<_>>();
            (0..DRAWS).map(|_| Average::of(Kind::Mean, &values(), ANY).unwrap()).collect()
        };
        let distances: Vec<f64> = averages(0.0).iter().filter_map(Average::detectable).collect();
        let distance = mean(&distances).unwrap();
        // Student's t of 35 is 3 to 5 % wider than the normal distribution at these quantiles.
        let normally = (INTERVAL_ERRORS + POWER_ERRORS) / sqrt(COUNT as f64);
        assert!((1.0..=1.1).contains(&(distance / normally)), "{distance}");
        let is_found = |one: &Average| matches!(one.certainty, Certainty::Interval { low, .. } if low > 0.0);
        let found = averages(distance).iter().filter(|one| is_found(one)).count();
        // Three standard errors of a share of 0.8 are 0.038.
        assert!((762..=838).contains(&found), "{found}");
        assert_eq!(Average::of(Kind::Mean, &[1.0; 3], ANY).unwrap().detectable(), None);
    }

    /// How far it goes: no method knows of values so far out that most samples lack them.
    #[test]
    fn intervals_of_means_decided_by_rare_values_hold_the_truth_less_often() {
        let spread = Spread {
            name: "lognormal 1.5, mean",
            kind: Kind::Mean,
            truth: exp(1.125),
            draw: |z| exp(1.5 * z),
        };
        insta::assert_snapshot!(row(&spread, &COUNTS.map(|count| coverage(&spread, count, 6))));
    }

    #[test]
    fn below_ten_values_there_is_a_count_and_no_interval() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let few = Average::of(Kind::Mean, &values[..9], ANY).unwrap();
        assert_eq!((few.count, few.certainty), (9, Certainty::TooFew));
        assert!(matches!(certainty(&values), Certainty::Interval { low, high } if low < 5.5 && 5.5 < high));
    }

    #[test]
    fn values_that_are_all_the_same_have_no_interval() {
        assert_eq!(certainty(&[0.1 + 0.2, 0.3, 0.3]), Certainty::NoSpread);
        assert_eq!(certainty(&[0.3]), Certainty::Single);
    }

    #[test]
    fn one_value_that_differs_tells_nothing_about_the_tail() {
        let mut values = [0.0; 16];
        values[3] = 1.0;
        assert_eq!(certainty(&values), Certainty::Unbounded);
    }

    /// A mean of 1670 ms stood above the interval 0 to 77600.
    #[test]
    fn an_interval_far_beyond_all_values_comes_with_their_quartiles() {
        let mut values: Vec<f64> = (1..=15).map(|index| 20.0 + f64::from(index)).collect();
        values.push(25_000.0);
        let Certainty::Skewed { low, high, quartiles } = certainty(&values) else {
            panic!("{:?}", certainty(&values))
        };
        assert!(high > 25_000.0 && low < 1_600.0, "{low} to {high}");
        assert_eq!(quartiles, [24.0, 28.0, 32.0]);
        let geometric =
            Average::of(Kind::Geometric, &[1.0, 1.1, 1.2, 1.0, 1.1, 1.2, 1.0, 1.1, 1.2, 1e9], ANY).unwrap();
        assert!(
            matches!(geometric.certainty, Certainty::Skewed { quartiles, .. } if (quartiles[1] - 1.1).abs() < 1e-9)
        );
    }

    #[test]
    fn the_geometric_mean_leaves_out_what_has_no_logarithm_and_counts_it() {
        let average = Average::of(Kind::Geometric, &[4.0, 0.0, 9.0], ANY).unwrap();
        assert!((average.value - 6.0).abs() < 1e-12);
        assert_eq!((average.count, average.not_positive), (2, 1));
        assert_eq!(Average::of(Kind::Geometric, &[0.0], ANY), None);
        assert_eq!(Average::of(Kind::Mean, &[], ANY), None);
    }

    #[test]
    fn an_interval_stays_where_the_quantity_can_be() {
        let utilisations: Vec<f64> = (0..20).map(|index| if index < 6 { 0.9 } else { 1.0 }).collect();
        let within = |range| Average::of(Kind::Mean, &utilisations, range).unwrap().certainty;
        assert!(matches!(within((0.0, 1.0)), Certainty::Interval { high, .. } if high <= 1.0));
    }
}
