//! Propagation delay behind the queue.

pub(crate) mod floor;
pub(crate) mod line;
pub(crate) mod repeating;

use crate::capacity::schedule::{self, MAX_TEXT_BYTES, Schedule, StepsError};
use crate::trace::{self, Choice, Problem, TraceError};
use cellcc_units::{ParseError, Span, Time};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The propagation delay: constant (`"10ms"`) or in steps (`"10ms@5s,40ms@5s,20ms@5s"`: each delay and how long it
/// lasts, from the beginning of the run; the last one stays). It never reorders: a packet that would overtake the one
/// before it arrives together with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay(pub(crate) Schedule<Span>);

impl Delay {
    /// A constant delay.
    pub fn constant(delay: Span) -> Self {
        Self(Schedule::constant(delay))
    }

    /// Each delay (second) for a time (first), the last one for ever; `None` for an empty list.
    pub fn steps(steps: Vec<(Span, Span)>) -> Option<Self> {
        Schedule::new(steps).map(Self)
    }

    /// `constant`, plus the addition of the text `extra` over time, which may be empty.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_extra(constant: Span, extra: &str) -> Result<Self, StepsError> {
        if extra.is_empty() { Ok(Self::constant(constant)) } else { Ok(Self::open(extra)?.plus(constant)) }
    }

    /// Reads the text form, or where the text is `@FILE`, the file: the same form on any number of lines (empty ones and those
    /// that begin with `#` are skipped), or a recording of delays ([`trace::FORMS`]). `@FILE,as=ms@20ms` states the meaning of bare
    /// numbers, `@FILE,column=rtt_ms` the column of a table.
    ///
    /// # Errors
    /// What is wrong, with the file and the line.
    pub fn open(text: &str) -> Result<Self, StepsError> {
        let Some(file) = text.trim().strip_prefix('@') else {
            let meant = || Path::new(text).is_file().then(|| format!("@{text}"));
            return Ok(text.parse().map_err(|error: ParseError| error.meaning(meant()))?);
        };
        let (name, choice) = if let Some((name, reading)) = file.rsplit_once(",as=") {
            (name, Choice { reading: Some(reading.parse()?), ..Choice::default() })
        } else if let Some((name, column)) = file.rsplit_once(",column=") {
            (name, Choice { column: Some(column), ..Choice::default() })
        } else {
            (file, Choice::default())
        };
        let content = trace::content(Path::new(name))?;
        let too_large = || StepsError::TooLarge { file: name.into() };
        if let Some(text) = steps_in(&content) {
            let is_small = content.len() as u64 <= MAX_TEXT_BYTES;
            return if is_small { schedule::in_file(name, text) } else { Err(too_large()) };
        }
        let steps = trace::delays(name, &content, choice)?.one_way();
        let none = || TraceError::whole(name, Problem::NoDelays);
        let delay = Self::steps(steps).ok_or_else(none)?;
        if delay.to_string().len() as u64 > MAX_TEXT_BYTES { Err(too_large()) } else { Ok(delay) }
    }

    /// Replaces a file's name by the file's content, so that a Record is complete.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn spell_out(text: &mut String) -> Result<(), StepsError> {
        if text.starts_with('@') {
            *text = Self::open(text)?.to_string();
        }
        Ok(())
    }

    /// Lengthens the delay by `more` throughout.
    pub fn plus(&self, more: Span) -> Self {
        Self(self.0.map(|delay| delay + more))
    }

    /// This delay and `other` one after the other.
    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.joined(&other.0, |one, other| one + other))
    }

    /// The delays of packets that leave the queue at these times, which never go back.
    pub fn in_order(&self) -> impl FnMut(Time) -> Span + '_ {
        let mut cursor = self.0.start();
        move |time| cursor.value_at(&self.0, time)
    }

    /// The delay of a packet that leaves the queue at `time`.
    pub fn at(&self, time: Time) -> Span {
        self.0.start().value_at(&self.0, time)
    }

    /// The shortest delay of all steps.
    pub fn min(&self) -> Span {
        self.0.values().min().unwrap_or(Span::ZERO)
    }

    /// The longest delay of all steps.
    pub fn max(&self) -> Span {
        self.0.values().max().unwrap_or(Span::ZERO)
    }
}

/// The text of a file whose first line begins in the text form.
fn steps_in(content: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(content).ok()?;
    let has_form = |(_, first): (u64, &str)| first.contains('@') || first.parse::<Span>().is_ok();
    trace::data_lines(text).next().is_none_or(has_form).then_some(text)
}

const EXPECTED: &str =
    "a delay such as `10ms`, or delays with how long each lasts, such as `10ms@5s,40ms@5s`";

impl FromStr for Delay {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if let Ok(delay) = text.parse() {
            return Ok(Self::constant(delay));
        }
        let steps = schedule::parse(text, EXPECTED)?;
        Self::steps(steps).ok_or_else(|| ParseError::new(text, EXPECTED))
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl serde::Serialize for Delay {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Delay {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        cellcc_units::deserialize_text(deserializer, EXPECTED)
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
    fn delays_one_after_the_other_change_at_the_steps_of_both() {
        let (one, other): (Delay, Delay) =
            ("10ms@5s,40ms@5s,20ms@1s".parse().unwrap(), "1ms@7s,2ms@1s".parse().unwrap());
        assert_eq!(one.and(&other).to_string(), "11ms@5s,41ms@2s,42ms@3s,22ms@1s");
        assert_eq!(other.and(&one), one.and(&other));
        assert_eq!(one.and(&Delay::constant(Span::from_millis(3))), one.plus(Span::from_millis(3)));
        let both = one.and(&other);
        let mut in_order = both.in_order();
        for secs in 0..20 {
            let at = Time::ZERO + Span::from_secs(secs);
            assert_eq!(in_order(at), one.at(at) + other.at(at), "{secs} s");
        }
    }

    #[test]
    fn a_delay_without_a_unit_or_a_step_without_a_length_is_refused() {
        for text in ["10", "10ms@5s,40ms@0s", "10ms,40ms", "10ms@,40ms@1s", "", "@"] {
            assert!(text.parse::<Delay>().is_err(), "{text}");
        }
    }
}
