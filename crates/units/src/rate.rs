//! Data rates.

use crate::text::{exact, scaled, split_number, text_form};
use crate::{Bytes, Span};
use core::ops::Add;

/// A data rate in whole bytes per second: 8 bit/s to 148 Ebit/s, and zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

const NANOS_PER_SEC: u128 = 1_000_000_000;

impl Rate {
    /// A link that delivers nothing.
    pub const ZERO: Self = Self(0);
    /// Faster than anything; stands for "no bound".
    pub const MAX: Self = Self(u64::MAX);

    /// The rate that a text of another spelling means, as it is written here: `100Mbit/s` for `100mbps`.
    pub fn meant_by(text: &str) -> Option<String> {
        let (number, unit) = split_number(text)?;
        let unit = match unit.to_ascii_lowercase().as_str() {
            "kbps" | "kbit" | "kbit/s" => "kbit/s",
            "mbps" | "mbit" | "mbit/s" => "Mbit/s",
            "gbps" | "gbit" | "gbit/s" => "Gbit/s",
            _ => return None,
        };
        Some(format!("{number}{unit}"))
    }

    /// `count` bytes per second.
    pub const fn from_bytes_per_sec(count: u64) -> Self {
        Self(count)
    }

    /// `mbit` Mbit/s (10^6 bit/s), rounded to a byte per second; negative and NaN give zero.
    pub fn from_mbit_per_sec(mbit: f64) -> Self {
        Self((mbit * 125_000.0).round() as u64)
    }

    /// The rate at which `bytes` arrive within `span`; [`Rate::MAX`] for an empty span.
    pub fn from_transfer(bytes: Bytes, span: Span) -> Self {
        match (span.as_nanos(), bytes.get().checked_mul(NANOS_PER_SEC as u64)) {
            (0, _) => Self::MAX,
            // 64 bits suffice up to 18 GB, and divide several times faster than 128 bits.
            (nanos, Some(product)) => Self(product / nanos),
            (nanos, None) => {
                Self(u64::try_from(bytes.get() as u128 * NANOS_PER_SEC / nanos as u128).unwrap_or(u64::MAX))
            }
        }
    }

    /// Bytes per second.
    pub const fn as_bytes_per_sec(self) -> u64 {
        self.0
    }

    /// Mbit/s.
    pub fn as_mbit_per_sec(self) -> f64 {
        self.0 as f64 / 125_000.0
    }

    /// True for a rate of zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The bytes this rate carries within `span`, rounded down.
    pub fn bytes_in(self, span: Span) -> Bytes {
        match self.0.checked_mul(span.as_nanos()) {
            Some(product) => Bytes::new(product / NANOS_PER_SEC as u64),
            None => {
                let bytes = self.0 as u128 * span.as_nanos() as u128 / NANOS_PER_SEC;
                Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
            }
        }
    }

    /// How long `bytes` take at this rate, rounded up to a nanosecond; [`Span::MAX`] at rate zero.
    pub fn time_for(self, bytes: Bytes) -> Span {
        match (self.0, bytes.get().checked_mul(NANOS_PER_SEC as u64)) {
            (0, _) => Span::MAX,
            (rate, Some(product)) => Span::from_nanos(product.div_ceil(rate)),
            (rate, None) => {
                let nanos = (bytes.get() as u128 * NANOS_PER_SEC).div_ceil(rate as u128);
                Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }

    /// This rate times `factor`; a negative or NaN factor gives zero.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor + 0.5) as u64)
    }
}

impl Add for Rate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

fn parse(text: &str) -> Option<Rate> {
    scaled(
        text,
        &[
            ("bit/s", 0.125),
            ("kbit/s", 125.0),
            ("Mbit/s", 125e3),
            ("Gbit/s", 125e6),
            ("B/s", 1.0),
            ("kB/s", 1e3),
            ("MB/s", 1e6),
            ("GB/s", 1e9),
        ],
    )
    .map(Rate)
}

fn format(rate: Rate) -> String {
    match rate.0 {
        0 => "0bit/s".into(),
        // Every rate here is a whole number of bytes: "B/s" is exact where the larger units are not.
        count => exact(count, &[("Gbit/s", 125_000_000), ("Mbit/s", 125_000), ("kbit/s", 125), ("B/s", 1)]),
    }
}

text_form!(Rate, parse, format, "a rate with its unit, such as `12Mbit/s` or `1.5Gbit/s`", exact 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gigabit_is_a_thousand_million_bits() {
        let gigabit: Rate = "1Gbit/s".parse().unwrap();
        assert_eq!(gigabit.bytes_in(Span::from_secs(1)), Bytes::new(125_000_000));
        assert_eq!(gigabit.time_for(Bytes::new(1500)), Span::from_micros(12));
        assert_eq!(gigabit.to_string(), "1Gbit/s");
    }

    #[test]
    fn other_spellings_of_a_rate_are_understood_as_suggestions() {
        for (text, meant) in [("100mbps", "100Mbit/s"), ("1.5 Gbps", "1.5Gbit/s"), ("64KBit", "64kbit/s")] {
            assert_eq!(Rate::meant_by(text).as_deref(), Some(meant));
            assert!(text.parse::<Rate>().is_err() && meant.parse::<Rate>().is_ok());
        }
        assert_eq!(Rate::meant_by("lte-drive").or(Rate::meant_by("100")), None);
    }

    #[test]
    fn the_largest_amounts_do_not_overflow() {
        assert_eq!(Rate::MAX.bytes_in(Span::MAX), Bytes::MAX);
        assert_eq!(Rate::from_bytes_per_sec(1).time_for(Bytes::MAX), Span::MAX);
        assert_eq!(Rate::from_transfer(Bytes::MAX, Span::from_nanos(1)), Rate::MAX);
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_back(count in 0u64..1_000_000_000_000) {
            let rate = Rate::from_bytes_per_sec(count);
            proptest::prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }

        #[test]
        fn the_time_for_some_bytes_carries_them(rate in 1u64..10_000_000_000, bytes in 0u64..100_000_000) {
            let (rate, bytes) = (Rate::from_bytes_per_sec(rate), Bytes::new(bytes));
            proptest::prop_assert!(rate.bytes_in(rate.time_for(bytes)) >= bytes);
        }
    }
}
