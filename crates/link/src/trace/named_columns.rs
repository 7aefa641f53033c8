//! CSV traces: named columns, separated by commas. Our own names carry their units; two data sets are read as they were
//! published.

use super::lines::{A_RATE, A_TIME, Series, number};
use super::{Problem, TraceError, shown};
use crate::capacity::Capacity;
use std::time::SystemTime;

/// How a column says the time.
#[derive(Debug, Clone, Copy)]
enum Clock {
    /// As a number, with the factor to seconds.
    Number(f64),
    /// As a date and a time of day, `2019.12.14_10.16.30`.
    Date,
}

/// The columns that count, by their positions.
#[derive(Debug, Clone, Copy)]
struct Columns {
    time: (usize, Clock),
    /// With the factor to Mbit/s.
    rate: (usize, f64),
    /// Tells the runs of a file apart.
    run: Option<usize>,
    /// A row without a rate is left out: the rate before it holds on.
    has_gaps: bool,
}

/// A data set that is read as it was published. Names are in lower case.
struct Published {
    time: (&'static str, Clock),
    rate: (&'static str, f64),
    run: Option<&'static str>,
}

const PUBLISHED: [Published; 2] = [
    // Raca et al., "Beyond throughput, the next generation: a 5G dataset with channel and context metrics" (MMSys 2020),
    // and their 4G dataset of 2018: logs of G-NetTrack Pro, in kbit/s.
    Published { time: ("timestamp", Clock::Date), rate: ("dl_bitrate", 1e-3), run: None },
    // Narayanan et al., "Lumos5G: mapping and predicting commercial mmWave 5G throughput" (IMC 2020), README of version 1.0:
    // one row per second; iPerf's Mbit/s, as in the paper's figures.
    Published { time: ("seq_num", Clock::Number(1.0)), rate: ("throughput", 1.0), run: Some("run_num") },
];

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

/// Cells of a published file without a measurement.
const NOT_MEASURED: [&str; 2] = ["", "-"];

const A_DATE: &str = "a date and a time of day such as `2019.12.14_10.16.30`";
const A_RUN: &str = "the number of a run: a whole number";

/// The columns of a header, or what is wrong with it.
fn columns(header: &csv::StringRecord) -> Result<Columns, Problem> {
    let names: Vec<String> = header.iter().map(str::to_ascii_lowercase).collect();
    for published in &PUBLISHED {
        let position = |what, wanted: &str| -> Result<_, Problem> {
            Ok(only(&names, what, |name| (name == wanted).then_some(()))?.map(|(index, ())| index))
        };
        let ((time, clock), (rate, factor)) = (published.time, published.rate);
        if let (Some(time), Some(rate)) = (position("time column", time)?, position("rate column", rate)?) {
            let run = published.run.map(|name| position("column of runs", name)).transpose()?.flatten();
            return Ok(Columns { time: (time, clock), rate: (rate, factor), run, has_gaps: true });
        }
    }
    let missing =
        |what, advice| Problem::Column(what, shown(&header.iter().collect::<Vec<_>>().join(",")), advice);
    let (time, factor) = only(&names, "time column", time_factor)?
        .ok_or_else(|| missing("time column", "`time_s`, `time_ms`, `time_us` or `time_ns`,"))?;
    let rate = only(&names, "rate column", rate_factor)?.ok_or_else(|| {
        missing("rate column", "`rate_mbit_s`, `rate_kbit_s`, `rate_bit_s` or `rate_gbit_s`,")
    })?;
    Ok(Columns { time: (time, Clock::Number(factor)), rate, run: None, has_gaps: false })
}

/// The one column that `matches`, with the result of its name; several are ambiguous.
fn only<T>(
    names: &[String],
    what: &'static str,
    matches: impl Fn(&str) -> Option<T>,
) -> Result<Option<(usize, T)>, Problem> {
    let mut found = names.iter().enumerate().filter_map(|(index, name)| Some((index, matches(name)?)));
    let first = found.next();
    match (&first, found.next()) {
        (Some((index, _)), Some((other, _))) => {
            Err(Problem::TwoColumns(what, names[*index].clone(), names[other].clone()))
        }
        _ => Ok(first),
    }
}

fn time_factor(column: &str) -> Option<f64> {
    TIME_COLUMNS.iter().find(|(name, _)| *name == column).map(|&(_, factor)| factor)
}

fn rate_factor(column: &str) -> Option<f64> {
    let unit = RATE_COLUMNS.iter().find_map(|name| column.strip_prefix(name))?;
    RATE_UNITS.iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor)
}

/// Reads a CSV trace whose header is at line `header_line`: one of its runs, or all of them one after the other.
pub(super) fn parse(
    file: &str,
    text: &str,
    header_line: u64,
    run: Option<u64>,
) -> Result<Capacity, TraceError> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let malformed = |cause: csv::Error| {
        let line = cause.position().map_or(header_line, csv::Position::line);
        TraceError::at(file, line, Problem::Rows(cause))
    };
    let header = reader.headers().map_err(malformed)?.clone();
    let columns = columns(&header).map_err(|problem| TraceError::at(file, header_line, problem))?;
    if run.is_some() && columns.run.is_none() {
        return Err(TraceError::at(file, header_line, Problem::NoRuns));
    }
    let mut series = Series::new(file);
    let mut runs = Runs::new(run);
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        let line = record.position().map_or(header_line, csv::Position::line);
        let at = |problem| TraceError::at(file, line, problem);
        let field = |index| record.get(index).unwrap_or_default();
        if let Some(index) = columns.run {
            let number = field(index).parse().map_err(|_| at(not(A_RUN, field(index))))?;
            if runs.begins(number) {
                series.end_run();
            }
        }
        let ((time, clock), (rate, factor)) = (columns.time, columns.rate);
        if !runs.is_wanted() || columns.has_gaps && NOT_MEASURED.contains(&field(rate)) {
            continue;
        }
        let secs = clock.seconds(field(time)).map_err(at)?;
        let mbit = number(field(rate), A_RATE).map_err(at)? * factor;
        series.push(line, secs, mbit)?;
    }
    if let Some(missing) = runs.missing() {
        return Err(TraceError::whole(file, missing));
    }
    series.finish()
}

fn not(expected: &'static str, text: &str) -> Problem {
    Problem::NotANumber { text: shown(text), expected }
}

impl Clock {
    fn seconds(self, text: &str) -> Result<f64, Problem> {
        match self {
            Self::Number(factor) => Ok(number(text, A_TIME)? * factor),
            Self::Date => date(text).ok_or_else(|| not(A_DATE, text)),
        }
    }
}

/// Seconds since 1970 of `2019.12.14_10.16.30`. Only differences count, so that the time zone does not matter.
fn date(text: &str) -> Option<f64> {
    let (day, time) = text.split_once('_')?;
    let usual = format!("{} {}", day.replace('.', "-"), time.replace('.', ":"));
    let time = humantime::parse_rfc3339_weak(&usual).ok()?;
    Some(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs_f64())
}

/// The runs of a file as its rows come.
struct Runs {
    wanted: Option<u64>,
    current: Option<u64>,
    /// The lowest and the highest number.
    range: Option<(u64, u64)>,
    was_found: bool,
}

impl Runs {
    fn new(wanted: Option<u64>) -> Self {
        Self { wanted, current: None, range: None, was_found: false }
    }

    /// A row of run `number`; true where it is that run's first.
    fn begins(&mut self, number: u64) -> bool {
        let (low, high) = self.range.unwrap_or((number, number));
        self.range = Some((low.min(number), high.max(number)));
        self.was_found |= self.wanted == Some(number);
        self.current.replace(number) != Some(number)
    }

    fn is_wanted(&self) -> bool {
        self.wanted.is_none_or(|wanted| self.current == Some(wanted))
    }

    fn missing(&self) -> Option<Problem> {
        let (wanted, (low, high)) = self.wanted.zip(self.range)?;
        (!self.was_found).then_some(Problem::NoSuchRun { wanted, low, high })
    }
}
