//! Values that change in steps over time, and their text form: `300Mbit/s@10s,600Mbit/s@20s`.

use crate::trace::{self, TraceError};
use cellcc_units::input::{self, InputError};
use cellcc_units::{Bytes, ParseError, Span, Time};
use std::fmt::{Display, Write};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;

/// A value that changes in steps; the last one stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schedule<V> {
    /// Each step: how long it lasts, and its value. At least one.
    steps: Arc<[(Span, V)]>,
}

impl<V: Copy> Schedule<V> {
    pub(crate) fn constant(value: V) -> Self {
        Self { steps: [(Span::MAX, value)].into() }
    }

    /// `None` for an empty list.
    pub(crate) fn new(steps: Vec<(Span, V)>) -> Option<Self> {
        (!steps.is_empty()).then(|| Self { steps: steps.into() })
    }

    pub(crate) fn map(&self, change: impl Fn(V) -> V) -> Self {
        Self { steps: self.steps.iter().map(|&(length, value)| (length, change(value))).collect() }
    }

    /// The values of both schedules, joined, from each time at which one of them changes.
    pub(crate) fn joined(&self, other: &Self, join: impl Fn(V, V) -> V) -> Self {
        let mut times: Vec<Time> = self.changes().chain(other.changes()).collect();
        times.sort_unstable();
        times.dedup();
        // The last value stays, so that its length says nothing.
        let last = self.steps[self.steps.len() - 1].0.min(other.steps[other.steps.len() - 1].0);
        let lengths = times.windows(2).map(|pair| pair[1].since(pair[0])).chain([last]);
        let (mut one, mut two) = (self.start(), other.start());
        let value = |&time: &Time| join(one.value_at(self, time), two.value_at(other, time));
        Self { steps: lengths.zip(times.iter().map(value)).collect() }
    }

    /// The beginning of each step.
    fn changes(&self) -> impl Iterator<Item = Time> + '_ {
        self.steps.iter().scan(Time::ZERO, |begin, &(length, _)| {
            let this = *begin;
            *begin += length;
            Some(this)
        })
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = V> + '_ {
        self.steps.iter().map(|&(_, value)| value)
    }

    pub(crate) fn start(&self) -> StepCursor<V> {
        let mut cursor = StepCursor { index: 0, value: self.steps[0].1, until: Time::ZERO + self.steps[0].0 };
        cursor.hold_last(self);
        cursor
    }
}

impl<V: Copy + Display> Display for Schedule<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self.steps {
            [(_, value)] => value.fmt(f),
            _ => f.pad(&format(&self.steps)),
        }
    }
}

/// The current step of a [`Schedule`]. It moves forward only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepCursor<V> {
    index: usize,
    value: V,
    until: Time,
}

impl<V: Copy> StepCursor<V> {
    /// True where a later step holds at `time`.
    #[inline]
    pub(crate) fn is_over(&self, time: Time) -> bool {
        time >= self.until && self.until < Time::NEVER
    }

    #[inline]
    pub(crate) fn value_at(&mut self, schedule: &Schedule<V>, time: Time) -> V {
        while self.is_over(time) {
            self.index += 1;
            let (span, next) = schedule.steps[self.index];
            self.value = next;
            self.until += span;
            self.hold_last(schedule);
        }
        self.value
    }

    fn hold_last(&mut self, schedule: &Schedule<V>) {
        if self.index + 1 == schedule.steps.len() {
            self.until = Time::NEVER;
        }
    }
}

/// Why a text, or the file that it names, is no schedule of delays or shares.
#[derive(Debug, Error)]
pub enum StepsError {
    /// The text itself.
    #[error(transparent)]
    Text(#[from] ParseError),
    /// The file cannot be read.
    #[error("{file}: {cause}")]
    Input {
        /// The file as it was named.
        file: String,
        /// Why.
        cause: InputError,
    },
    /// The file is too large.
    #[error("{file}: holds more than {} kB of text, and every result would have to carry it: write fewer and longer steps", MAX_TEXT_BYTES / 1000)]
    TooLarge {
        /// The file as it was named.
        file: String,
    },
    /// A recording of delays that cannot be read.
    #[error(transparent)]
    Recording(#[from] TraceError),
    /// A line, or the file as a whole.
    #[error("{file}{}: {cause}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
    Content {
        /// The file as it was named.
        file: String,
        /// The line, counted from 1, where one is to blame.
        line: Option<u64>,
        /// What is wrong.
        cause: ParseError,
    },
}

/// The largest file of steps: some 70,000 of them.
pub(crate) const MAX_TEXT_BYTES: u64 = 1_000_000;

/// Reads a text, or where it is `@FILE`, the file: the same text, on any number of lines. Empty lines and lines that begin
/// with `#` are skipped.
pub(crate) fn open<T: FromStr<Err = ParseError>>(text: &str) -> Result<T, StepsError> {
    let Some(path) = text.trim().strip_prefix('@') else { return Ok(text.parse()?) };
    let file = || path.to_owned();
    let content =
        input::read_text(Path::new(path), Bytes::new(MAX_TEXT_BYTES)).map_err(|cause| match cause {
            InputError::TooLarge(_) => StepsError::TooLarge { file: file() },
            cause => StepsError::Input { file: file(), cause },
        })?;
    in_file(path, &content)
}

/// Reads the text form in the content of a file.
pub(crate) fn in_file<T: FromStr<Err = ParseError>>(path: &str, content: &str) -> Result<T, StepsError> {
    let file = || path.to_owned();
    let lines: Vec<_> =
        trace::data_lines(content).map(|(line, text)| (line, text.trim_end_matches(','))).collect();
    for &(line, text) in &lines {
        text.parse::<T>().map_err(|cause| StepsError::Content { file: file(), line: Some(line), cause })?;
    }
    let whole = lines.iter().map(|&(_, text)| text).collect::<Vec<_>>().join(",");
    whole.parse().map_err(|cause| StepsError::Content { file: file(), line: None, cause })
}

/// Reads `VALUE@DURATION,VALUE@DURATION,...`: each value and how long it lasts. The duration of the last may be left out.
///
/// # Errors
/// A part that is no such value, or that lasts no time; `expected` says what there should be.
pub fn parse<V: FromStr>(text: &str, expected: &'static str) -> Result<Vec<(Span, V)>, ParseError> {
    let refused = || ParseError::new(text, expected);
    let parts: Vec<&str> = text.split(',').collect();
    let last = parts.len() - 1;
    parts
        .iter()
        .enumerate()
        .map(|(index, part)| {
            let (value, span) = match part.split_once('@') {
                Some((value, span)) => (value, span.parse().map_err(|_| refused())?),
                None if index == last && last > 0 => (*part, Span::from_secs(1)),
                None => return Err(refused()),
            };
            if span.is_zero() {
                return Err(refused());
            }
            Ok((span, value.parse().map_err(|_| refused())?))
        })
        .collect()
}

/// Writes the form that [`parse`] reads.
pub fn format<V: Display>(steps: &[(Span, V)]) -> String {
    let mut text = String::new();
    for (index, (span, value)) in steps.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        // Writing to a String does not fail.
        let _ = write!(text, "{comma}{value}@{span}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delay, ShareOverTime};
    use tempfile::{TempDir, tempdir};

    fn file(folder: &TempDir, name: &str, content: &str) -> String {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        format!("@{}", path.display())
    }

    #[test]
    fn a_file_says_what_the_text_would() {
        let folder = tempdir().unwrap();
        let lines = file(&folder, "lines", "# morning\n10ms@5s\n\n 40ms@5s, 20ms@1s,\n7ms@1s\n");
        assert_eq!(open::<Delay>(&lines).unwrap().to_string(), "10ms@5s,40ms@5s,20ms@1s,7ms@1s");
        assert_eq!(open::<Delay>("10ms@5s,40ms").unwrap(), "10ms@5s,40ms@1s".parse().unwrap());
        assert_eq!(open::<ShareOverTime>(&file(&folder, "one", "1%\n")).unwrap(), "1%".parse().unwrap());
    }

    #[test]
    fn a_bad_line_is_named_with_its_file() {
        let folder = tempdir().unwrap();
        let message = |text: &str| open::<ShareOverTime>(text).unwrap_err().to_string();
        assert!(
            message(&file(&folder, "bad", "0%@5s\n# x\n200%@1s\n"))
                .contains("bad:3: `200%@1s` is not a share")
        );
        // Each line is valid alone, but together the first needs a length.
        assert!(message(&file(&folder, "length", "1%\n2%@5s\n")).contains("length: `1%,2%@5s` is not"));
        assert!(message(&file(&folder, "empty", "# nothing\n")).contains("empty: `` is not"));
        assert!(message("@no/such/file").starts_with("no/such/file: cannot be read"));
    }
}
