//! The bootstrap: resampled measurements.

use crate::FEWEST;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Resamples: so many that a percentile with one decimal is one of them (Davison and Hinkley, Bootstrap Methods and their
/// Application, section 2.5.2).
pub const RESAMPLES: usize = 1999;

/// The resample at either end of an interval: percentiles 2.5 and 97.5.
const TAIL: usize = 50;

/// The resamples of groups of things, as many of each as its `count`: by group, that many indices. They are the same for every
/// quantity of these things, so that the interval of a ratio excludes the common variation of two quantities. There are none where
/// a group has fewer than [`FEWEST`].
pub fn resamples(counts: &[usize]) -> impl Iterator<Item = Vec<Vec<usize>>> + use<> {
    let are_enough = !counts.is_empty() && counts.iter().all(|count| *count >= FEWEST);
    let mut groups: Vec<_> = counts.iter().map(|count| (*count, Pcg64Mcg::seed_from_u64(1))).collect();
    let how_many = if are_enough { RESAMPLES } else { 0 };
    (0..how_many).map(move |_| groups.iter_mut().map(|(count, random)| resample(*count, random)).collect())
}

fn resample(count: usize, random: &mut Pcg64Mcg) -> Vec<usize> {
    // The upper half of the product is an index, all equally likely except for one part in 2^32 / count.
    let mut index = || (((random.next_u64() >> 32) * count as u64) >> 32) as usize;
    (0..count).map(|_| index()).collect()
}

/// The 95 % interval of a quantity that is no plain average, such as a ratio of two, from its values on all [`RESAMPLES`]: percentiles
/// 2.5 and 97.5 (Efron and Tibshirani, An Introduction to the Bootstrap, section 13.3). A plain average has
/// [`Certainty`](crate::Certainty). `None` where a resample has none, or there are none.
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
        let drawn: Vec<_> = resamples(&[12, 16]).collect();
        assert_eq!(drawn.len(), RESAMPLES);
        for (group, count) in [12, 16].into_iter().enumerate() {
            assert!(drawn.iter().all(|resample| resample[group].len() == count));
            assert!((0..count).all(|index| drawn.iter().any(|resample| resample[group].contains(&index))));
        }
        let alone: Vec<_> = resamples(&[12]).map(|mut groups| groups.remove(0)).collect();
        assert!(drawn.iter().map(|groups| &groups[0]).eq(&alone), "the same draws for every quantity");
    }

    #[test]
    fn below_ten_things_in_a_group_there_is_no_interval() {
        assert_eq!(resamples(&[12, 9]).count(), 0);
        assert_eq!(resamples(&[]).count(), 0);
        assert_eq!(percentile_interval(Vec::new()), None);
    }

    #[test]
    fn an_interval_leaves_a_fortieth_out_at_either_end() {
        let values: Vec<f64> = (1..=RESAMPLES).rev().map(|value| value as f64).collect();
        assert_eq!(percentile_interval(values), Some((50.0, 1950.0)));
        assert_eq!(percentile_interval(vec![f64::NAN; RESAMPLES]), None);
    }
}
