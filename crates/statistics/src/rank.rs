//! Spearman's rank correlation.

use crate::mean;

/// Spearman's coefficient of the pairs: 1 where the second rises with the first, -1 where it falls. Equal values share the mean of
/// their ranks. `None` of fewer than two pairs, and where all values of one side are equal.
pub fn rank_correlation(first: &[f64], second: &[f64]) -> Option<f64> {
    let (first, second) = (ranks(first), ranks(second));
    let (centre_x, centre_y) = (mean(&first)?, mean(&second)?);
    let (mut both, mut x, mut y) = (0.0, 0.0, 0.0);
    for (a, b) in first.iter().zip(&second) {
        let (a, b) = (a - centre_x, b - centre_y);
        both += a * b;
        x += a * a;
        y += b * b;
    }
    (x > 0.0 && y > 0.0).then(|| both / (x * y).sqrt())
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let of = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rises_together_has_one_however_it_rises() {
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[1.0, 10.0, 1000.0]), Some(1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        // The ranks 1, 2, 3, 4 against 1, 3, 2, 4: 1 - 6 * 2 / (4 * 15).
        let some = rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]).unwrap();
        assert!((some - 0.8).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_vary_has_none() {
        assert_eq!(rank_correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(rank_correlation(&[], &[]), None);
    }
}
