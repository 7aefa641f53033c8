//! Values over time, as the rows of a file come.

use super::{Problem, TraceError};
use crate::capacity::{Capacity, CapacityError};
use cellcc_units::{Rate, Span};

/// Collects rows of a time and a value: each value holds until the next row's time.
pub(super) struct Series<'a, V> {
    file: &'a str,
    /// Each value and when it begins, since the first row.
    points: Vec<(Span, V)>,
    /// Where the run that is read began.
    run_begins_at: Span,
    /// The points before this one belong to earlier runs.
    run_begins_with: usize,
    /// First time of the run, in seconds, as written.
    first_time: f64,
    last_time: f64,
}

/// How long a run of a single row is.
const SINGLE_LINE: Span = Span::from_secs(1);

impl<'a, V: Copy> Series<'a, V> {
    pub(super) fn new(file: &'a str) -> Self {
        Self {
            file,
            points: Vec::new(),
            run_begins_at: Span::ZERO,
            run_begins_with: 0,
            first_time: 0.0,
            last_time: 0.0,
        }
    }

    /// A row with its line, where the file has lines; `secs` is not negative.
    pub(super) fn push(&mut self, line: Option<u64>, secs: f64, value: V) -> Result<(), TraceError> {
        let at = |problem: Problem| TraceError { file: self.file.into(), line, problem: problem.into() };
        let begins_run = self.points.len() == self.run_begins_with;
        let first = if begins_run { secs } else { self.first_time };
        if secs - first > Capacity::MAX_PERIOD.as_secs_f64() {
            return Err(at(Problem::Capacity(CapacityError::TooLong)));
        }
        if !begins_run && secs < self.last_time {
            let (now, before) = (format!("{secs} s"), format!("{} s", self.last_time));
            return Err(at(Problem::Order { now, before }));
        }
        let begins_at = self.run_begins_at + Span::from_secs_f64(secs - first);
        (self.first_time, self.last_time) = (first, secs);
        match self.points.last_mut() {
            // A value that is replaced at once held for no time. Logs with whole seconds have such pairs.
            Some(replaced) if !begins_run && replaced.0 == begins_at => replaced.1 = value,
            _ => self.points.push((begins_at, value)),
        }
        Ok(())
    }

    /// The next rows are another run: its first row comes when the last value has held as long as the one before.
    pub(super) fn end_run(&mut self) {
        match self.points[self.run_begins_with..] {
            [] => return,
            [(begins_at, _)] => self.run_begins_at = begins_at + SINGLE_LINE,
            [.., (before, _), (last, _)] => self.run_begins_at = last + last.saturating_sub(before),
        }
        self.run_begins_with = self.points.len();
    }

    /// Each value with its length.
    pub(super) fn finish(mut self) -> Result<Vec<(Span, V)>, TraceError> {
        self.end_run();
        if self.points.is_empty() {
            return Err(TraceError::whole(self.file, Problem::Empty));
        }
        let ends = self.points.iter().skip(1).map(|&(time, _)| time).chain([self.run_begins_at]);
        let steps = self.points.iter().zip(ends);
        Ok(steps.map(|(&(start, value), end)| (end.saturating_sub(start), value)).collect())
    }
}

impl Series<'_, Rate> {
    pub(super) fn capacity(self) -> Result<Capacity, TraceError> {
        let file = self.file;
        capacity(file, self.finish()?)
    }
}

/// The capacity of rates, each with its length.
pub(super) fn capacity(file: &str, steps: Vec<(Span, Rate)>) -> Result<Capacity, TraceError> {
    Capacity::from_steps(steps).map_err(|cause| TraceError::whole(file, Problem::Capacity(cause)))
}

/// A rate that a link can have.
pub(super) fn rate(mbit: f64) -> Result<Rate, Problem> {
    let rate = Rate::from_mbit_per_sec(mbit);
    if mbit > Capacity::MAX_RATE.as_mbit_per_sec() {
        return Err(Problem::Capacity(CapacityError::TooFast(rate)));
    }
    Ok(rate)
}

pub(super) const A_TIME: &str = "a time: a number that is finite and not negative";
pub(super) const A_RATE: &str = "a rate: a number that is finite and not negative";
pub(super) const A_DELAY: &str = "a delay: a number that is finite and not negative";

/// A number that a measurement can be; `expected` names it where it is not.
pub(super) fn number(text: &str, expected: &'static str) -> Result<f64, Problem> {
    let not_one = || Problem::NotANumber { text: super::shown(text), expected };
    measured(text.trim().parse().map_err(|_| not_one())?, expected).map_err(|_| not_one())
}

/// A value that a measurement can have.
pub(super) fn measured(value: f64, expected: &'static str) -> Result<f64, Problem> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => Err(Problem::NotANumber { text: value.to_string(), expected }),
    }
}
