//! Formats of plain lines: Mahimahi's, with one delivery opportunity per line, in milliseconds; and rates over time, with a
//! time and a rate, separated by white space.

use super::{Problem, TraceError, data_lines, shown};
use crate::capacity::{Capacity, CapacityError};
use cellcc_units::{Rate, Span};

/// Collects lines of time and rate: each rate holds until the next line's time.
pub(super) struct Series<'a> {
    file: &'a str,
    /// Each rate and when it begins, since the first line.
    points: Vec<(Span, Rate)>,
    /// Where the run that is read began.
    run_begins_at: Span,
    /// The points before this one belong to earlier runs.
    run_begins_with: usize,
    /// First time of the run, in seconds, as written.
    first_time: f64,
    last_time: f64,
}

/// How long a run of a single line is.
const SINGLE_LINE: Span = Span::from_secs(1);

impl<'a> Series<'a> {
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

    /// A line with `secs` and `mbit`, neither of them negative.
    pub(super) fn push(&mut self, line: u64, secs: f64, mbit: f64) -> Result<(), TraceError> {
        let at = |problem| TraceError::at(self.file, line, problem);
        let begins_run = self.points.len() == self.run_begins_with;
        let first = if begins_run { secs } else { self.first_time };
        if secs - first > Capacity::MAX_PERIOD.as_secs_f64() {
            return Err(at(Problem::Capacity(CapacityError::TooLong)));
        }
        if mbit > Capacity::MAX_RATE.as_mbit_per_sec() {
            return Err(at(Problem::Capacity(CapacityError::TooFast(Rate::from_mbit_per_sec(mbit)))));
        }
        if !begins_run && secs < self.last_time {
            let (now, before) = (format!("{secs} s"), format!("{} s", self.last_time));
            return Err(at(Problem::Order { now, before }));
        }
        let begins_at = self.run_begins_at + Span::from_secs_f64(secs - first);
        let rate = Rate::from_mbit_per_sec(mbit);
        (self.first_time, self.last_time) = (first, secs);
        match self.points.last_mut() {
            // A rate that is replaced at once held for no time. Logs with whole seconds have such pairs.
            Some(replaced) if !begins_run && replaced.0 == begins_at => replaced.1 = rate,
            _ => self.points.push((begins_at, rate)),
        }
        Ok(())
    }

    /// The next lines are another run: its first line comes when the last rate has held as long as the one before.
    pub(super) fn end_run(&mut self) {
        match self.points[self.run_begins_with..] {
            [] => return,
            [(begins_at, _)] => self.run_begins_at = begins_at + SINGLE_LINE,
            [.., (before, _), (last, _)] => self.run_begins_at = last + last.saturating_sub(before),
        }
        self.run_begins_with = self.points.len();
    }

    pub(super) fn finish(mut self) -> Result<Capacity, TraceError> {
        self.end_run();
        let whole = |problem| TraceError::whole(self.file, problem);
        if self.points.is_empty() {
            return Err(whole(Problem::Empty));
        }
        let ends = self.points.iter().skip(1).map(|&(time, _)| time).chain([self.run_begins_at]);
        let steps =
            self.points.iter().zip(ends).map(|(&(start, rate), end)| (end.saturating_sub(start), rate));
        Capacity::from_steps(steps.collect()).map_err(|cause| whole(Problem::Capacity(cause)))
    }
}

pub(super) const A_TIME: &str = "a time: a number that is finite and not negative";
pub(super) const A_RATE: &str = "a rate: a number that is finite and not negative";

/// A number that a measurement can be; `expected` names it where it is not.
pub(crate) fn number(text: &str, expected: &'static str) -> Result<f64, Problem> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err(Problem::NotANumber { text: shown(text), expected }),
    }
}

/// Seconds and Mbit/s, separated by white space.
pub(super) fn parse_columns(file: &str, text: &str) -> Result<Capacity, TraceError> {
    let mut series = Series::new(file);
    for (line, fields) in data_lines(text) {
        let mut columns = fields.split_whitespace();
        match (columns.next(), columns.next(), columns.next()) {
            (Some(time), Some(rate), None) => {
                let at = |problem| TraceError::at(file, line, problem);
                series.push(line, number(time, A_TIME).map_err(at)?, number(rate, A_RATE).map_err(at)?)?;
            }
            _ => {
                let count = fields.split_whitespace().count();
                return Err(TraceError::at(file, line, Problem::Fields(shown(fields), count)));
            }
        }
    }
    series.finish()
}

const WHOLE_MILLISECONDS: &str = "a whole number of milliseconds, as each line of a Mahimahi trace is";

/// Reads Mahimahi's format.
pub(super) fn parse_opportunities(file: &str, text: &str) -> Result<Capacity, TraceError> {
    let mut problem = None;
    let mut before = 0;
    let millis = data_lines(text).map_while(|(line, field)| {
        let read = milli(field).and_then(|milli| in_order(before, milli));
        read.map(|milli| before = milli).map_err(|cause| problem = Some((line, cause))).ok()?;
        Some(before)
    });
    let capacity = Capacity::from_opportunities(millis);
    if let Some((line, problem)) = problem {
        return Err(TraceError::at(file, line, problem));
    }
    capacity.map_err(|cause| TraceError::whole(file, Problem::Capacity(cause)))
}

fn milli(field: &str) -> Result<u64, Problem> {
    let not_a_number = || Problem::NotANumber { text: shown(field), expected: WHOLE_MILLISECONDS };
    if field.is_empty() || !field.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(not_a_number());
    }
    // Digits only: a number that does not fit is too large.
    field.parse().map_err(|_| Problem::Capacity(CapacityError::TooLong))
}

fn in_order(before: u64, now: u64) -> Result<u64, Problem> {
    if now < before {
        let (now, before) = (format!("{now} ms"), format!("{before} ms"));
        return Err(Problem::Order { now, before });
    }
    Ok(now)
}
