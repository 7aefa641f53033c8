//! Values that each last for a time, in text: `300Mbit/s@10s,600Mbit/s@20s`.

use cellcc_units::{ParseError, Span, Time};
use std::fmt::{Display, Write};
use std::str::FromStr;
use std::sync::Arc;

/// A value that changes in steps; the last one stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timeline<V> {
    /// Each value (second) with the time it lasts; at least one.
    steps: Arc<[(Span, V)]>,
}

impl<V: Copy> Timeline<V> {
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

    pub(crate) fn values(&self) -> impl Iterator<Item = V> + '_ {
        self.steps.iter().map(|&(_, value)| value)
    }

    pub(crate) fn start(&self) -> Moment<V> {
        let mut moment = Moment { index: 0, value: self.steps[0].1, until: Time::ZERO + self.steps[0].0 };
        moment.hold_last(self);
        moment
    }
}

impl<V: Copy + Display> Display for Timeline<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self.steps {
            [(_, value)] => value.fmt(f),
            _ => f.pad(&format(&self.steps)),
        }
    }
}

/// The step of a [`Timeline`] that holds now; moves forward only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment<V> {
    index: usize,
    value: V,
    until: Time,
}

impl<V: Copy> Moment<V> {
    /// True where another step holds at `time`.
    #[inline]
    pub(crate) fn is_over(&self, time: Time) -> bool {
        time >= self.until && self.until < Time::NEVER
    }

    #[inline]
    pub(crate) fn value_at(&mut self, timeline: &Timeline<V>, time: Time) -> V {
        while self.is_over(time) {
            self.index += 1;
            let (span, next) = timeline.steps[self.index];
            self.value = next;
            self.until += span;
            self.hold_last(timeline);
        }
        self.value
    }

    fn hold_last(&mut self, timeline: &Timeline<V>) {
        if self.index + 1 == timeline.steps.len() {
            self.until = Time::NEVER;
        }
    }
}

/// Reads `VALUE@DURATION,VALUE@DURATION,...`: each value and how long it lasts. The duration of the last may be left out.
pub(crate) fn parse<V: FromStr>(text: &str, expected: &'static str) -> Result<Vec<(Span, V)>, ParseError> {
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

/// Writes what [`parse`] reads.
pub(crate) fn format<V: Display>(steps: &[(Span, V)]) -> String {
    let mut text = String::new();
    for (index, (span, value)) in steps.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        // Writing to a String does not fail.
        let _ = write!(text, "{comma}{value}@{span}");
    }
    text
}
