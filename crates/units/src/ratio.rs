//! Dimensionless shares and factors.

use crate::text::{split_number, text_form};

/// A share or a factor, zero or more: written `"10%"` as a share, `"1.5x"` as a factor.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Ratio(f64);

impl Ratio {
    /// Zero.
    pub const ZERO: Self = Self(0.0);
    /// One: the whole.
    pub const ONE: Self = Self(1.0);

    /// The ratio `value`; negative and NaN give zero.
    pub const fn new(value: f64) -> Self {
        Self(if value > 0.0 { value } else { 0.0 })
    }

    /// The value: 0.1 for 10 %.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// True for a ratio of zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }
}

fn parse(text: &str) -> Option<Ratio> {
    let (number, unit) = split_number(text)?;
    match unit {
        "%" => Some(Ratio(number / 100.0)),
        "x" => Some(Ratio(number)),
        _ => None,
    }
}

fn format(ratio: Ratio) -> String {
    format!("{}x", ratio.0)
}

text_form!(Ratio, parse, format, "a share such as `10%` or a factor such as `1.5x`");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_percent_cannot_be_mistaken_for_a_factor_of_one() {
        assert_eq!("1%".parse(), Ok(Ratio::new(0.01)));
        assert_eq!("1x".parse(), Ok(Ratio::ONE));
        assert!("1".parse::<Ratio>().is_err());
    }

    #[test]
    fn what_is_written_reads_back() {
        let ratio = Ratio::new(0.1);
        assert_eq!(ratio.to_string().parse(), Ok(ratio));
    }
}
