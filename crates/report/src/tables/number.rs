//! Numbers as people read them.

/// What stands in tables where a value does not exist.
pub const NONE: &str = "–";

/// `value` with three significant digits and no exponent: `0.812`, `45.3`, `1230`.
pub(crate) fn three_digits(value: f64) -> String {
    match rounded(value) {
        None => NONE.into(),
        Some((0.0, _)) => "0".into(),
        Some((rounded, decimals)) => format!("{rounded:.decimals$}"),
    }
}

/// A number without digits that say nothing: at most four behind the point.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// An interval, each bound with three significant digits and rounded outwards: `84.1–119`, `-0.3 to 1.2`.
pub(crate) fn interval(low: f64, high: f64) -> String {
    let between = if low < 0.0 { " to " } else { "–" };
    format!("{}{between}{}", outwards(low, false), outwards(high, true))
}

/// `value` with three significant digits, never below it (or, where not `up`, never above it).
fn outwards(value: f64, up: bool) -> String {
    if value == 0.0 || !value.is_finite() {
        return three_digits(value);
    }
    let one = unit(value);
    // Sums in another order differ by this share of a digit; a whole number stays one.
    const NOISE: f64 = 1e-9;
    let digits = if up { (value / one - NOISE).ceil() } else { (value / one + NOISE).floor() };
    three_digits(digits * one)
}

/// What one in the third significant digit is worth.
fn unit(value: f64) -> f64 {
    let scientific = format!("{value:e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, it)| it.parse().ok()).unwrap_or(0);
    format!("1e{}", exponent - 2).parse().unwrap_or(1.0)
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
    fn an_interval_is_never_shown_narrower_than_it_is() {
        assert_eq!(interval(0.812_34, 0.812_34), "0.812–0.813");
        assert_eq!(interval(84.11, 119.3), "84.1–120");
        assert_eq!(interval(2936.0, 3001.0), "2930–3010");
        assert_eq!(interval(0.0, 1.0), "0–1.00");
        assert_eq!(interval(0.999_6, 9.996), "0.999–10.0");
        assert_eq!(interval(-0.301, 1.201), "-0.301 to 1.21");
    }

    #[test]
    fn what_is_not_a_number_is_a_dash() {
        assert_eq!(three_digits(f64::NAN), NONE);
        assert_eq!(three_digits(f64::INFINITY), NONE);
    }
}
