//! Propagation delay behind the queue.

use crate::schedule;
use cellcc_units::{ParseError, Span, Time};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The propagation delay: constant (`"10ms"`) or in steps (`"10ms@5s,40ms@5s,20ms@5s"`: each delay and how long it
/// lasts, from the beginning of the run; the last one stays). It never reorders: a packet that would overtake the
/// one before arrives with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay {
    /// Each delay with the time it lasts; at least one.
    steps: Arc<[(Span, Span)]>,
}

impl Delay {
    /// The same delay always.
    pub fn constant(delay: Span) -> Self {
        Self { steps: [(Span::MAX, delay)].into() }
    }

    /// Each delay (second) for a time (first), the last one for ever; `None` for an empty list.
    pub fn steps(steps: Vec<(Span, Span)>) -> Option<Self> {
        (!steps.is_empty()).then(|| Self { steps: steps.into() })
    }

    /// The same delay over time, longer by `more` throughout.
    pub fn plus(&self, more: Span) -> Self {
        Self { steps: self.steps.iter().map(|&(length, delay)| (length, delay + more)).collect() }
    }

    /// The delay of what leaves the queue at `time`.
    pub fn at(&self, time: Time) -> Span {
        DelayCursor::new(self).delay_at(self, time)
    }

    /// The shortest delay of all steps.
    pub fn min(&self) -> Span {
        self.steps.iter().map(|&(_, delay)| delay).min().unwrap_or(Span::ZERO)
    }
}

/// The step that holds now; moves forward only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DelayCursor {
    index: usize,
    delay: Span,
    until: Time,
}

impl DelayCursor {
    pub(crate) fn new(delay: &Delay) -> Self {
        let mut cursor = Self { index: 0, delay: delay.steps[0].1, until: Time::ZERO + delay.steps[0].0 };
        cursor.hold_last(delay);
        cursor
    }

    #[inline]
    pub(crate) fn delay_at(&mut self, delay: &Delay, time: Time) -> Span {
        while time >= self.until && self.until < Time::NEVER {
            self.index += 1;
            let (span, next) = delay.steps[self.index];
            self.delay = next;
            self.until += span;
            self.hold_last(delay);
        }
        self.delay
    }

    fn hold_last(&mut self, delay: &Delay) {
        if self.index + 1 == delay.steps.len() {
            self.until = Time::NEVER;
        }
    }
}

const EXPECTED: &str =
    "a delay such as `10ms`, or delays with how long each lasts, such as `10ms@5s,40ms@5s`";

impl FromStr for Delay {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if let Ok(delay) = text.parse() {
            return Ok(Self::constant(delay));
        }
        schedule::parse(text, EXPECTED).map(|steps| Self { steps: steps.into() })
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.steps {
            [(_, delay)] => delay.fmt(f),
            _ => f.pad(&schedule::format(&self.steps)),
        }
    }
}

impl serde::Serialize for Delay {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Delay {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_lasts_its_time_and_the_last_one_stays() {
        let delay: Delay = "10ms@5s,40ms@5s,20ms@1s".parse().unwrap();
        let at = |secs| delay.at(Time::ZERO + Span::from_secs(secs));
        assert_eq!(
            [at(0), at(4), at(5), at(9), at(10), at(1000)],
            [10, 10, 40, 40, 20, 20].map(Span::from_millis)
        );
        assert_eq!(delay.to_string(), "10ms@5s,40ms@5s,20ms@1s");
        assert_eq!(delay.min(), Span::from_millis(10));
    }

    #[test]
    fn a_delay_without_a_unit_or_a_step_without_a_length_is_refused() {
        for text in ["10", "10ms@5s,40ms@0s", "10ms,40ms", "10ms@,40ms@1s", "", "@"] {
            assert!(text.parse::<Delay>().is_err(), "{text}");
        }
    }
}
