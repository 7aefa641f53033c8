//! Amounts of data.

use crate::text::{exact, scaled, text_form};
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// An amount of data in bytes. Decimal prefixes: 1 kB = 1000 B, 1 MB = 10^6 B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The largest amount; stands for "no bound".
    pub const MAX: Self = Self(u64::MAX);

    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The count.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The count as a float, exact up to 2^53 bytes (9 PB).
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// True for no bytes.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This amount minus `other`; zero where `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This amount times `factor`, rounded down; a negative or NaN factor gives zero.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor) as u64)
    }

    /// How many packets of `packet` bytes this amount is, with the fraction.
    pub fn in_packets(self, packet: Self) -> f64 {
        self.0 as f64 / packet.0 as f64
    }

    /// The bytes of `packets` (with a fraction) packets of `packet` bytes each, rounded down.
    pub fn from_packets(packets: f64, packet: Self) -> Self {
        packet.mul_f64(packets)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    /// # Panics
    /// In debug builds where `other` is larger: an accounting error. Release builds stop at zero.
    fn sub(self, other: Self) -> Self {
        debug_assert!(self.0 >= other.0, "{self} - {other}");
        self.saturating_sub(other)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

fn parse(text: &str) -> Option<Bytes> {
    scaled(
        text,
        &[
            ("B", 1.0),
            ("kB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
        ],
    )
    .map(Bytes)
}

fn format(bytes: Bytes) -> String {
    match bytes.0 {
        0 => "0B".into(),
        count => exact(count, &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)]),
    }
}

text_form!(Bytes, parse, format, "an amount of data with its unit, such as `1500B` or `1.5MB`", exact 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_decimal_and_binary_ones_are_spelled_out() {
        assert_eq!("1.5MB".parse(), Ok(Bytes::new(1_500_000)));
        assert_eq!("1MiB".parse(), Ok(Bytes::new(1_048_576)));
        assert_eq!(Bytes::new(1500).to_string(), "1.5kB");
    }

    #[test]
    fn a_negative_factor_leaves_nothing() {
        assert_eq!(Bytes::new(10).mul_f64(-1.0), Bytes::ZERO);
        assert_eq!(Bytes::new(10).mul_f64(f64::NAN), Bytes::ZERO);
    }
}
