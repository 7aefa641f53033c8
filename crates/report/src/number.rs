//! Numbers as people read them.

/// What stands where a value does not exist.
pub(crate) const NONE: &str = "–";

/// `value` with three significant digits and no exponent: `0.812`, `45.3`, `1230`.
pub(crate) fn three_digits(value: f64) -> String {
    match rounded(value) {
        None => NONE.into(),
        Some((0.0, _)) => "0".into(),
        Some((rounded, decimals)) => format!("{rounded:.decimals$}"),
    }
}

/// Half the width of an interval round `mean`, rounded up to the last digit that [`three_digits`] shows of the mean.
pub(crate) fn half_width(mean: f64, half: f64) -> String {
    // Sums in another order differ by this much; it is no spread.
    const NOISE: f64 = 1e-12;
    let Some((_, decimals)) = rounded(mean) else { return NONE.into() };
    if half <= mean.abs() * NOISE {
        return "0".into();
    }
    let unit = (0..decimals).fold(1.0, |unit, _| unit / 10.0);
    format!("{:.decimals$}", (half / unit).ceil() * unit)
}

/// Rounded to three significant digits, and how many of them stand behind the point.
fn rounded(value: f64) -> Option<(f64, usize)> {
    if !value.is_finite() {
        return None;
    }
    // Rounding first: 9.996 has one digit before the point, its three-digit form 10.0 has two.
    let scientific = format!("{value:.2e}");
    let (_, exponent) = scientific.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    Some((scientific.parse().ok()?, (2 - exponent).clamp(0, 9) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.000_123_4, "0.000123"),
            (0.8123, "0.812"),
            (1.0, "1.00"),
            (9.996, "10.0"),
            (45.32, "45.3"),
            (123.4, "123"),
            (1234.0, "1230"),
            (-2.5, "-2.50"),
        ] {
            assert_eq!(three_digits(value), text);
        }
    }

    #[test]
    fn an_interval_has_the_digits_of_its_mean_and_is_never_too_narrow() {
        assert_eq!(half_width(0.8123, 0.000_01), "0.001");
        assert_eq!(half_width(45.32, 1.23), "1.3");
        assert_eq!(half_width(2930.0, 6.2), "7");
        assert_eq!(half_width(2930.0, 1e-10), "0");
    }

    #[test]
    fn what_is_not_a_number_is_a_dash() {
        assert_eq!(three_digits(f64::NAN), NONE);
        assert_eq!(three_digits(f64::INFINITY), NONE);
    }
}
