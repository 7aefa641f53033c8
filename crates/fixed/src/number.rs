//! Fixed-point numbers, and the functions of them that the schemes compute, by linear interpolation of tables.

use crate::tables::{EXP2, NORMAL, SIGMOID, SQRT};

/// A signed number in units of 2^-16. Range -32768 to 32768, where it saturates.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Q16(pub i32);

/// Number of fractional bits.
const BITS: u32 = 16;

impl Q16 {
    /// 0.
    pub const ZERO: Self = Self(0);
    /// 1.
    pub const ONE: Self = Self(1 << BITS);

    /// `numerator / denominator`, rounded towards zero; saturates, also where the denominator is zero.
    #[inline(always)]
    pub fn ratio(numerator: i64, denominator: u32) -> Self {
        let magnitude = product(numerator.unsigned_abs(), 1 << BITS);
        let quotient = saturated(magnitude.checked_div(denominator as u64).unwrap_or(u64::MAX));
        Self(if numerator < 0 { -quotient } else { quotient })
    }

    /// The sum; saturates.
    #[inline(always)]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference; saturates.
    #[inline(always)]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The product, rounded towards minus infinity; saturates.
    #[inline(always)]
    pub const fn times(self, other: Self) -> Self {
        let product = (self.0 as i64 * other.0 as i64) >> BITS;
        Self(if product > i32::MAX as i64 {
            i32::MAX
        } else if product < -(i32::MAX as i64) {
            -i32::MAX
        } else {
            product as i32
        })
    }

    /// `count` times this number, rounded towards zero; zero for a negative number.
    #[inline(always)]
    pub const fn of(self, count: u64) -> u64 {
        if self.0 < 0 { 0 } else { product(count, self.0 as u32) >> BITS }
    }

    /// 2^x. Error: at most 1.5e-5 of the value plus one unit (2^-16). Saturates from x = 15 on.
    #[inline(always)]
    pub fn exp2(self) -> Self {
        let behind_the_point = self.0 as u32 & 0xffff;
        let mantissa = interpolate(&EXP2, behind_the_point >> 10, behind_the_point << 6);
        let shift = 14 - (self.0 >> BITS);
        match shift {
            ..0 => Self(i32::MAX),
            0..=31 => Self((mantissa >> shift) as i32),
            _ => Self::ZERO,
        }
    }

    /// 1 / (1 + e^-x). Error: at most 7.1e-5.
    #[inline(always)]
    pub fn sigmoid(self) -> Self {
        let distance = self.0.unsigned_abs();
        let above = Self(interpolate(&SIGMOID, distance >> 12, distance << 4) as i32);
        if self.0 < 0 { Self::ONE.minus(above) } else { above }
    }

    /// The square root; 0 for a negative number. Error: at most 1.3e-4 of the value plus one unit.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        if self.0 <= 0 {
            return Self::ZERO;
        }
        let value = self.0 as u32;
        let even = value.leading_zeros() & 30;
        let normal = value << even; // 2^30 to 2^32: 16 to 64 cells of 2^26.
        let root = interpolate(&SQRT, (normal >> 26).saturating_sub(16), normal >> 10);
        Self((root >> (even >> 1)) as i32)
    }

    /// Maps a uniform word to a standard normal number. Error: at most 2.4e-4; the largest magnitude is below 6.4.
    #[inline(always)]
    pub fn normal(word: u32) -> Self {
        // The top bit is the sign. The other bits are a tail probability, odd / 2^33, which is never zero. Cells halve
        // with it, so the far tail is as exact as the middle.
        let odd = (word << 1) | 1;
        let octave = odd.leading_zeros() & 31;
        let place = (odd << octave) & 0x7fff_ffff;
        let cell = ((31 - octave) << 4) | (place >> 27);
        let distance = Self(interpolate(&NORMAL, cell, place >> 11) as i32);
        if word >> 31 == 0 { distance } else { Self::ZERO.minus(distance) }
    }
}

/// The product; `u64::MAX` where it overflows. The standard library's takes 128 bits, which BPF lacks.
#[inline(always)]
pub(crate) const fn product(count: u64, times: u32) -> u64 {
    let high = (count >> 32) * times as u64;
    let low = (count & 0xffff_ffff) * times as u64;
    if high >> 32 == 0 { (high << 32).saturating_add(low) } else { u64::MAX }
}

/// Interpolates in `cell` at the lower 16 bits of `place`; a cell beyond the table counts as the last one.
#[inline(always)]
fn interpolate<const ENDS: usize>(table: &[u32; ENDS], cell: u32, place: u32) -> u32 {
    // The kernel's verifier must see this bound; the compiler would drop it where it knows a tighter one.
    let cell = core::hint::black_box(cell as usize).min(const { ENDS - 2 });
    let from = table.get(cell).copied().unwrap_or(0);
    let to = table.get(cell + 1).copied().unwrap_or(0);
    let part = (to as i64 - from as i64) * (place & 0xffff) as i64;
    (from as i64 + (part >> 16)) as u32
}

#[inline(always)]
fn saturated(magnitude: u64) -> i32 {
    if magnitude > i32::MAX as u64 { i32::MAX } else { magnitude as i32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Each bound is that of linear interpolation, h^2 / 8 times the largest second derivative over cells of width h,
    // plus the rounding errors: half a unit of a table's value and one unit of the truncated bits.

    const UNIT: f64 = 1.0 / 65536.0;

    fn real(number: Q16) -> f64 {
        f64::from(number.0) * UNIT
    }

    /// The probability of a normal number beyond `distance`.
    fn tail(distance: f64) -> f64 {
        libm::erfc(distance / core::f64::consts::SQRT_2) / 2.0
    }

    #[test]
    fn a_power_of_two_is_off_by_no_more_than_stated() {
        for x in (-20 << 16..15 << 16).step_by(5) {
            let exact = libm::exp2(real(Q16(x)));
            assert!((real(Q16(x).exp2()) - exact).abs() <= 1.5e-5 * exact + UNIT, "{x}");
        }
    }

    #[test]
    fn a_sigmoid_is_off_by_no_more_than_stated() {
        for x in (-20 << 16..20 << 16).step_by(7).chain([i32::MIN, i32::MAX]) {
            let exact = 1.0 / (1.0 + libm::exp(-real(Q16(x))));
            assert!((real(Q16(x).sigmoid()) - exact).abs() <= 7.1e-5, "{x}");
        }
    }

    #[test]
    fn a_root_is_off_by_no_more_than_stated() {
        for x in (0..1 << 17).chain((0..i32::MAX).step_by(4001)) {
            let exact = real(Q16(x)).sqrt();
            assert!((real(Q16(x).sqrt()) - exact).abs() <= 1.23e-4 * exact + UNIT, "{x}");
        }
        assert_eq!(Q16(-1).sqrt(), Q16::ZERO);
    }

    #[test]
    fn a_normal_number_is_off_by_no_more_than_stated() {
        // Evenly spread words, and words far out in the tails, which an even spread hardly contains.
        let even = (0..=u32::MAX).step_by(16_411);
        let far =
            (0..31).flat_map(|shift| (0..=0x7fff_ffff_u32).step_by(2_000_003).map(move |word| word >> shift));
        for word in even.chain(far) {
            let distance = real(Q16::normal(word)) * if word >> 31 == 0 { 1.0 } else { -1.0 };
            let probability = f64::from(word << 1 | 1) / 8_589_934_592.0;
            // The tail falls with distance, so the exact distance is within the bound.
            let within = tail(distance + 2.4e-4) <= probability && probability <= tail(distance - 2.4e-4);
            assert!((0.0..6.4).contains(&distance) && within, "{word}");
        }
    }

    #[test]
    fn all_draws_together_are_normal() {
        // A million words, evenly spaced: their mean and variance are those of the table, without noise.
        let count = 1 << 20;
        let draws = (0..count).map(|number: u32| real(Q16::normal(number << 12 | 0x800)));
        let (sum, squares) = draws.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        let (mean, variance) = (sum / f64::from(count), squares / f64::from(count));
        assert!(mean.abs() < 2.4e-4 && (variance - 1.0).abs() < 1e-3, "mean {mean}, variance {variance}");
    }

    #[test]
    fn a_ratio_is_the_quotient_towards_zero() {
        for (numerator, denominator, ratio) in
            [(3, 2, 3 << 15), (-3, 2, -3 << 15), (1, 3, 21845), (-1, 3, -21845)]
        {
            assert_eq!(Q16::ratio(numerator, denominator), Q16(ratio));
        }
    }

    #[test]
    fn a_product_without_128_bits_is_that_of_the_standard_library() {
        let counts =
            (0..64).flat_map(|shift| [1u64 << shift, u64::MAX >> shift, 0x1234_5678_9abc_def1 >> shift]);
        for count in counts {
            for times in (0..32).map(|shift| u32::MAX >> shift).chain([0, 10, 65537]) {
                assert_eq!(product(count, times), count.saturating_mul(times.into()), "{count} x {times}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_saturates() {
        assert_eq!(Q16::ratio(1, 0), Q16(i32::MAX));
        assert_eq!(Q16::ratio(i64::MIN, 1), Q16(-i32::MAX));
        assert_eq!(Q16(i32::MAX).exp2(), Q16(i32::MAX));
        assert_eq!(Q16(i32::MIN).exp2(), Q16::ZERO);
        assert_eq!(Q16(i32::MAX).times(Q16(i32::MIN)), Q16(-i32::MAX));
        assert_eq!(Q16(i32::MAX).of(u64::MAX), u64::MAX >> 16);
    }
}
