//! Rates over time: two columns separated by white space, or named columns of a CSV file.

use super::{Problem, TraceError, data_lines, shown};
use crate::capacity::{Capacity, CapacityError};
use cellcc_units::{Rate, Span};

/// Collects lines of time and rate: each rate holds until the next line's time.
struct Series<'a> {
    file: &'a str,
    /// Time since the first line's, rate.
    points: Vec<(Span, Rate)>,
    /// In seconds, as it was written.
    first_time: f64,
    last_time: f64,
}

/// How long a trace of a single line is.
const SINGLE_LINE: Span = Span::from_secs(1);

impl<'a> Series<'a> {
    fn new(file: &'a str) -> Self {
        Self { file, points: Vec::new(), first_time: 0.0, last_time: 0.0 }
    }

    fn push(&mut self, line: u64, time: (&str, f64), rate: (&str, f64)) -> Result<(), TraceError> {
        let at = |problem| TraceError::at(self.file, line, problem);
        let secs = number(time.0, A_TIME).map_err(at)? * time.1;
        let mbit = number(rate.0, A_RATE).map_err(at)? * rate.1;
        let first = if self.points.is_empty() { secs } else { self.first_time };
        if secs - first > Capacity::MAX_PERIOD.as_secs_f64() {
            return Err(at(Problem::Capacity(CapacityError::TooLong)));
        }
        if mbit > Capacity::MAX_RATE.as_mbit_per_sec() {
            return Err(at(Problem::Capacity(CapacityError::TooFast(Rate::from_mbit_per_sec(mbit)))));
        }
        let span = Span::from_secs_f64(secs - first);
        let rate = Rate::from_mbit_per_sec(mbit);
        if !self.points.is_empty() && secs < self.last_time {
            let (now, before) = (format!("{secs} s"), format!("{} s", self.last_time));
            return Err(at(Problem::Order { now, before }));
        }
        (self.first_time, self.last_time) = (first, secs);
        match self.points.last_mut() {
            // A rate that is replaced at once held for no time. Logs with whole seconds have such pairs.
            Some(replaced) if replaced.0 == span => replaced.1 = rate,
            _ => self.points.push((span, rate)),
        }
        Ok(())
    }

    fn finish(self) -> Result<Capacity, TraceError> {
        let whole = |problem| TraceError::whole(self.file, problem);
        let ends = self.points.iter().skip(1).map(|&(time, _)| time);
        let mut steps: Vec<(Span, Rate)> = self
            .points
            .iter()
            .zip(ends)
            .map(|(&(start, rate), end)| (end.saturating_sub(start), rate))
            .collect();
        let &(_, last) = self.points.last().ok_or_else(|| whole(Problem::Empty))?;
        steps.push((steps.last().map_or(SINGLE_LINE, |&(span, _)| span), last));
        Capacity::from_steps(steps).map_err(|cause| whole(Problem::Capacity(cause)))
    }
}

const A_TIME: &str = "a time: a number that is finite and not negative";
const A_RATE: &str = "a rate: a number that is finite and not negative";

/// A number that a measurement can be; `expected` names it where it is not.
fn number(text: &str, expected: &'static str) -> Result<f64, Problem> {
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
            (Some(time), Some(rate), None) => series.push(line, (time, 1.0), (rate, 1.0))?,
            _ => {
                let count = fields.split_whitespace().count();
                return Err(TraceError::at(file, line, Problem::Fields(shown(fields), count)));
            }
        }
    }
    series.finish()
}

/// Accepted names of the time column, with the factor to seconds.
const TIME_COLUMNS: [(&str, f64); 8] = [
    ("time_s", 1.0),
    ("time_ms", 1e-3),
    ("time_us", 1e-6),
    ("time_ns", 1e-9),
    ("timestamp_s", 1.0),
    ("timestamp_ms", 1e-3),
    ("timestamp_us", 1e-6),
    ("timestamp_ns", 1e-9),
];

/// Accepted names of the rate column, each with the ending of [`RATE_UNITS`].
const RATE_COLUMNS: [&str; 4] = ["rate", "capacity", "throughput", "bandwidth"];

/// Endings of the rate column, with the factor to Mbit/s.
const RATE_UNITS: [(&str, f64); 8] = [
    ("_bit_s", 1e-6),
    ("_kbit_s", 1e-3),
    ("_mbit_s", 1.0),
    ("_gbit_s", 1e3),
    ("_bps", 1e-6),
    ("_kbps", 1e-3),
    ("_mbps", 1.0),
    ("_gbps", 1e3),
];

fn time_factor(column: &str) -> Option<f64> {
    TIME_COLUMNS.iter().find(|(name, _)| *name == column).map(|&(_, factor)| factor)
}

fn rate_factor(column: &str) -> Option<f64> {
    let unit = RATE_COLUMNS.iter().find_map(|name| column.strip_prefix(name))?;
    RATE_UNITS.iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor)
}

/// Named columns, separated by commas, from line `header_line` on.
pub(super) fn parse_csv(file: &str, text: &str, header_line: u64) -> Result<Capacity, TraceError> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let malformed = |cause: csv::Error| {
        let line = cause.position().map_or(header_line, csv::Position::line);
        TraceError::at(file, line, Problem::Unreadable(cause.into()))
    };
    let header = reader.headers().map_err(malformed)?.clone();
    let column = |factor: fn(&str) -> Option<f64>, what, advice| {
        let found = header
            .iter()
            .enumerate()
            .find_map(|(index, name)| factor(&name.to_ascii_lowercase()).map(|factor| (index, factor)));
        found.ok_or_else(|| {
            let names = shown(&header.iter().collect::<Vec<_>>().join(","));
            TraceError::at(file, header_line, Problem::Column(what, names, advice))
        })
    };
    let (time, time_unit) =
        column(time_factor, "time column", "`time_s`, `time_ms`, `time_us` or `time_ns`,")?;
    let (rate, rate_unit) =
        column(rate_factor, "rate column", "`rate_mbit_s`, `rate_kbit_s`, `rate_bit_s` or `rate_gbit_s`,")?;
    let mut series = Series::new(file);
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        let line = record.position().map_or(header_line, csv::Position::line);
        let field = |index| record.get(index).unwrap_or_default();
        series.push(line, (field(time), time_unit), (field(rate), rate_unit))?;
    }
    series.finish()
}
