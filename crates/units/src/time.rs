//! Points in time and spans of time, in whole nanoseconds.

use crate::text::{exact, scaled, text_form};
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// A point in time: nanoseconds since the run began. Range 0 to 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A span of time in nanoseconds: an RTT, a delay, a period. Range 0 to 584 years.
///
/// It is not the standard library's `Duration`, because that is twice the size and panics on overflow: a `Span`
/// saturates (docs/decisions/0003).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The beginning of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens: "never" where a wake-up time is compared.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the beginning.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the beginning.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the beginning.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span from `earlier` to this point; zero where `earlier` is the later one.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span; stands for "no bound".
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// A span of `secs` seconds, rounded to a nanosecond; negative and NaN give zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Milliseconds, with the fraction.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds, with the fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// True for a span of zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This span minus `other`; zero where `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This span times `factor`; a negative or NaN factor gives zero.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor + 0.5) as u64)
    }

    /// The difference to `other`, whichever is longer.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    /// The point `span` earlier, or the beginning of the run.
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Span {
    type Output = Self;
    /// # Panics
    /// On a divisor of zero.
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

fn parse(text: &str) -> Option<u64> {
    scaled(
        text,
        &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)],
    )
}

fn format(nanos: u64) -> String {
    match nanos {
        0 => "0s".into(),
        nanos => exact(nanos, &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)]),
    }
}

text_form!(
    Span,
    |t| parse(t).map(Span),
    |s: Span| format(s.0),
    "a time with its unit, such as `20ms` or `1.5s`",
    exact 0
);
text_form!(
    Time,
    |t| parse(t).map(Time),
    |t: Time| if t == Time::NEVER { "never".into() } else { format(t.0) },
    "a time with its unit, such as `20ms` or `1.5s`",
    exact 0
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_number_is_refused_because_its_unit_is_a_guess() {
        assert_eq!(
            "20".parse::<Span>().unwrap_err().to_string(),
            "`20` is not a time with its unit, such as `20ms` or `1.5s`"
        );
    }

    #[test]
    fn the_text_form_is_the_largest_unit_that_stays_exact() {
        for (nanos, text) in [
            (0, "0s"),
            (20_000_000, "20ms"),
            (1_500_000_000, "1.5s"),
            (1_500, "1.5us"),
            (1_000_000_001, "1000000.001us"),
        ] {
            assert_eq!(Span::from_nanos(nanos).to_string(), text);
            assert_eq!(text.parse(), Ok(Span::from_nanos(nanos)));
        }
    }

    #[test]
    fn arithmetic_stops_at_the_ends_of_the_range() {
        assert_eq!(Time::NEVER + Span::from_secs(1), Time::NEVER);
        assert_eq!(Time::ZERO - Span::from_secs(1), Time::ZERO);
        assert_eq!(Time::ZERO.since(Time::from_nanos(5)), Span::ZERO);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = text.parse::<Span>();
        }

        #[test]
        fn what_is_written_reads_back(nanos in 0u64..1_000_000_000_000_000) {
            proptest::prop_assert_eq!(Span::from_nanos(nanos).to_string().parse(), Ok(Span::from_nanos(nanos)));
        }
    }
}
