//! Numbers as people read them.

/// The text for a missing value in tables.
pub const NONE: &str = "–";

/// `value` with three significant digits and no exponent: `0.812`, `45.3`, `1230`.
pub fn three_digits(value: f64) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    // Rounding first: 9.996 has one digit before the point, its three-digit form 10.0 has two.
    let scientific = format!("{value:.2e}");
    let decimals = (2 - exponent(&scientific)).clamp(0, 9) as usize;
    let rounded: f64 = scientific.parse().unwrap_or(value);
    if rounded == 0.0 { "0".into() } else { format!("{rounded:.decimals$}") }
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
    // The value of one in the third digit; read as text it is the nearest number to the power of ten.
    let one: f64 = format!("1e{}", exponent(&format!("{value:e}")) - 2).parse().unwrap_or(1.0);
    // Sums in another order differ by this share of a digit; a whole number stays one.
    const NOISE: f64 = 1e-9;
    let digits = if up { (value / one - NOISE).ceil() } else { (value / one + NOISE).floor() };
    three_digits(digits * one)
}

fn exponent(scientific: &str) -> i32 {
    scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
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
