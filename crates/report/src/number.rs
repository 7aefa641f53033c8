//! Numbers as people read them.

/// What stands where a value does not exist.
pub(crate) const NONE: &str = "–";

/// `value` with this many significant digits and no exponent: `0.812`, `45.3`, `1230`.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    // Rounding first: 9.996 has one digit before the point, its three-digit form 10.0 has two.
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let Some((_, exponent)) = scientific.split_once('e') else { return NONE.into() };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let rounded: f64 = scientific.parse().unwrap_or(value);
    if rounded == 0.0 {
        return "0".into();
    }
    let decimals = (digits as i32 - 1 - exponent).clamp(0, 9) as usize;
    format!("{rounded:.decimals$}")
}

/// Three significant digits, as tables have them.
pub(crate) fn three_digits(value: f64) -> String {
    significant(value, 3)
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
    fn what_is_not_a_number_is_a_dash() {
        assert_eq!(three_digits(f64::NAN), NONE);
        assert_eq!(three_digits(f64::INFINITY), NONE);
    }
}
