//! The bootstrap: resampled measurements.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Resamples: so many that a percentile with one decimal is one of them (Davison and Hinkley, Bootstrap Methods and their
/// Application, section 2.5.2).
pub const RESAMPLES: usize = 1999;

/// The resample at either end of an interval: percentiles 2.5 and 97.5.
const TAIL: usize = 50;

/// The resamples of `count` things, each as `count` indices; they are the same for every quantity of these things, so that the
/// interval of a ratio excludes the common variation of two quantities. There are none for fewer than two.
pub fn resamples(count: usize) -> impl Iterator<Item = Vec<usize>> {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    // The upper half of the product is an index, all equally likely except for one part in 2^32 / count.
    let mut index = move || (((random.next_u64() >> 32) * count as u64) >> 32) as usize;
    let how_many = if count < 2 { 0 } else { RESAMPLES };
    (0..how_many).map(move |_| (0..count).map(|_| index()).collect())
}

/// The 95 % interval of a quantity from its values on all [`RESAMPLES`]: percentiles 2.5 and 97.5 (Efron and Tibshirani, An
/// Introduction to the Bootstrap, section 13.3). `None` where a resample has none, or there are none.
pub fn percentile_interval(mut values: Vec<f64>) -> Option<(f64, f64)> {
    if values.len() != RESAMPLES || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    Some((values[TAIL - 1], values[RESAMPLES - TAIL]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resample_has_as_many_as_there_are_and_all_of_them_turn_up() {
        let drawn: Vec<_> = resamples(12).collect();
        assert_eq!(drawn.len(), RESAMPLES);
        assert!(drawn.iter().all(|resample| resample.len() == 12));
        assert!((0..12).all(|index| drawn.iter().flatten().any(|&other| other == index)));
        assert_eq!(resamples(12).collect::<Vec<_>>(), drawn, "the same each time");
    }

    #[test]
    fn of_one_thing_there_is_no_interval() {
        assert_eq!(resamples(1).count(), 0);
        assert_eq!(percentile_interval(Vec::new()), None);
    }

    #[test]
    fn an_interval_leaves_a_fortieth_out_at_either_end() {
        let values: Vec<f64> = (1..=RESAMPLES).rev().map(|value| value as f64).collect();
        assert_eq!(percentile_interval(values), Some((50.0, 1950.0)));
        assert_eq!(percentile_interval(vec![f64::NAN; RESAMPLES]), None);
    }
}
