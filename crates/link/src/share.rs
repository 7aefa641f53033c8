//! A share of packets that is struck at random.

use crate::capacity::schedule::{self, Schedule, StepsError};
use cellcc_units::{ParseError, Ratio, Span, deserialize_text};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use std::fmt;
use std::str::FromStr;

/// The share of packets that is lost, or held back, at random: constant (`"1%"`) or in steps (`"0%@5s,1%@5s"`: each share and how
/// long it holds, from the beginning of the run; the last one stays).
#[derive(Debug, Clone, PartialEq)]
pub struct ShareOverTime(pub(crate) Schedule<Ratio>);

impl ShareOverTime {
    /// A constant share.
    pub fn constant(share: Ratio) -> Self {
        Self(Schedule::constant(share))
    }

    /// `constant`, plus the addition of the text `extra` over time, which may be empty.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_extra(constant: Ratio, extra: &str) -> Result<Self, StepsError> {
        if extra.is_empty() { Ok(Self::constant(constant)) } else { Ok(Self::open(extra)?.plus(constant)) }
    }

    /// Each share (second) for a time (first), the last one for ever; `None` for an empty list.
    pub fn steps(steps: Vec<(Span, Ratio)>) -> Option<Self> {
        Schedule::new(steps).map(Self)
    }

    /// Reads the text form, or where the text is `@FILE`, the file: as [`crate::Delay::open`].
    ///
    /// # Errors
    /// What is wrong, with the file and the line.
    pub fn open(text: &str) -> Result<Self, StepsError> {
        schedule::open(text)
    }

    /// Replaces a file's name by the file's content, as [`crate::Delay::spell_out`].
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn spell_out(text: &mut String) -> Result<(), StepsError> {
        if text.starts_with('@') {
            *text = Self::open(text)?.to_string();
        }
        Ok(())
    }

    /// True if no packet is ever struck.
    pub fn is_never(&self) -> bool {
        self.0.values().all(|share| share.is_zero())
    }

    /// Raises each share by `more`.
    pub fn plus(&self, more: Ratio) -> Self {
        Self(self.0.map(|share| Ratio::new(share.get() + more.get())))
    }
}

const EXPECTED: &str = "a share such as `1%`, or shares with how long each holds, such as `0%@5s,1%@5s`";

impl FromStr for ShareOverTime {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::new(text, EXPECTED);
        let rate = match text.parse() {
            Ok(share) => Self::constant(share),
            Err(_) => schedule::parse(text, EXPECTED)
                .and_then(|steps: Vec<(Span, Ratio)>| Schedule::new(steps).ok_or_else(refused))
                .map(Self)?,
        };
        // A share of 100 % is an outage; a larger share has no meaning.
        if rate.0.values().any(|share| share.get() > 1.0) { Err(refused()) } else { Ok(rate) }
    }
}

impl fmt::Display for ShareOverTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl serde::Serialize for ShareOverTime {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for ShareOverTime {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, EXPECTED)
    }
}

/// Independent loss with one probability, from a seeded generator.
#[derive(Debug, Clone)]
pub struct Loss {
    /// The probability in units of 2^-53, the resolution of a double below 1.
    threshold: u64,
    generator: Pcg64Mcg,
}

const GRAIN_BITS: u32 = 53;

impl Loss {
    /// Losses with this probability; `seed` decides which.
    pub fn new(probability: Ratio, seed: u64) -> Self {
        let mut loss = Self { threshold: 0, generator: Pcg64Mcg::seed_from_u64(seed) };
        loss.set(probability);
        loss
    }

    /// Another probability from now on.
    #[inline]
    pub(crate) fn set(&mut self, probability: Ratio) {
        self.threshold = (probability.get() * (1u64 << GRAIN_BITS) as f64) as u64;
    }

    /// True if the next packet is lost.
    #[inline]
    pub fn strikes(&mut self) -> bool {
        self.threshold > 0 && self.generator.next_u64() >> (64 - GRAIN_BITS) < self.threshold
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn losses(probability: f64, seed: u64) -> Vec<bool> {
        let mut loss = Loss::new(Ratio::new(probability), seed);
        (0..100_000).map(|_| loss.strikes()).collect()
    }

    #[test]
    fn the_share_of_lost_packets_is_the_probability() {
        let lost = losses(0.01, 1).iter().filter(|&&lost| lost).count();
        // Binomial: standard deviation 31 packets.
        assert!((1000 - 4 * 31..=1000 + 4 * 31).contains(&lost), "{lost}");
        assert!(losses(1.0, 1).iter().all(|&lost| lost));
        assert!(!losses(0.0, 1).iter().any(|&lost| lost));
    }

    #[test]
    fn a_share_above_one_or_without_its_sign_is_refused() {
        for text in ["101%", "0.5", "1%@5s,200%@5s", "1%@", ""] {
            assert!(text.parse::<ShareOverTime>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_seed_decides_which_packets_are_lost() {
        assert_eq!(losses(0.1, 7), losses(0.1, 7));
        assert_ne!(losses(0.1, 7), losses(0.1, 8));
    }
}
