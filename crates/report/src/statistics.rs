//! Means, and how sure they are.

/// A mean, and half the width of its 95 % confidence interval where there are several observations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) half_width: Option<f64>,
}

/// The mean; `None` of nothing.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Half the width of the 95 % confidence interval of the mean of independent observations, by Student's t;
/// `None` of fewer than two.
pub(crate) fn half_width_95(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let freedom = values.len().checked_sub(2)? + 1;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let variance = squares / freedom as f64;
    Some(student_t_975(freedom) * (variance / values.len() as f64).sqrt())
}

/// The 97.5 % quantile of Student's t distribution. The table is that of every textbook; above it, the expansion of
/// Abramowitz and Stegun 26.7.5, exact to four digits there.
fn student_t_975(freedom: usize) -> f64 {
    const TABLE: [f64; 10] =
        [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];
    if let Some(quantile) = freedom.checked_sub(1).and_then(|index| TABLE.get(index)) {
        return *quantile;
    }
    // The normal distribution's quantile.
    const Z: f64 = 1.959_964;
    let n = freedom as f64;
    let (z3, z5) = (Z * Z * Z, Z * Z * Z * Z * Z);
    let z7 = z5 * Z * Z;
    Z + (z3 + Z) / (4.0 * n)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * n * n)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / (384.0 * n * n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_are_those_of_printed_tables() {
        for (freedom, quantile) in
            [(1, 12.706), (5, 2.571), (10, 2.228), (11, 2.201), (20, 2.086), (30, 2.042), (120, 1.980)]
        {
            assert!((student_t_975(freedom) - quantile).abs() < 6e-4, "{freedom}");
        }
    }

    #[test]
    fn the_interval_is_students() {
        // Mean 2, standard deviation 1, three observations: 4.3027 / sqrt(3).
        assert!((half_width_95(&[1.0, 2.0, 3.0]).unwrap() - 2.4842).abs() < 1e-4);
    }

    #[test]
    fn one_observation_has_no_interval() {
        assert_eq!(half_width_95(&[1.0]), None);
        assert_eq!(half_width_95(&[]), None);
        assert_eq!(mean(&[]), None);
    }
}
