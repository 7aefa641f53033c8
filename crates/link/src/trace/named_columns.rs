//! Tables: a column of times and one of rates or delays, by their names. Our own names carry their units, other people's mostly do; two data
//! sets are read as they were published.

use super::clock::Clock;
use super::forms::{Content, Given, printable};
use super::series::{A_DELAY, A_RATE, Series, capacity, number, rate};
use super::units::{canonical, rate_unit};
use super::{Delays, Problem, TraceError, shown};
use cellcc_units::{Rate, Span};
use std::borrow::Cow;
use std::io::Cursor;

/// The columns that count, by their positions.
#[derive(Debug, Clone, Copy)]
struct Columns {
    time: (usize, Clock),
    value: (usize, Unit),
    /// Tells the runs of a file apart.
    run: Option<usize>,
    /// A row without a rate is left out: the rate before it holds on.
    has_gaps: bool,
}

/// The unit of a column of values.
#[derive(Debug, Clone, Copy)]
enum Unit {
    /// One for all rates, with the factor to Mbit/s.
    Factor(f64),
    /// That of each row's rate, by the position of its column.
    Column(usize),
    /// That of delays, with the factor to seconds.
    Delay { factor: f64, are_round_trips: bool },
}

/// A data set that is read as it was published. Names are in their canonical form.
struct Published {
    time: (&'static str, Clock),
    /// The columns of rates, and their factor to Mbit/s. Unless a column is named, the first one is read.
    rates: (&'static [&'static str], f64),
    run: Option<&'static str>,
}

const PUBLISHED: [Published; 2] = [
    // Raca et al., "Beyond throughput, the next generation: a 5G dataset with channel and context metrics" (MMSys 2020),
    // and their 4G dataset of 2018: logs of G-NetTrack Pro, in kbit/s.
    Published { time: ("timestamp", Clock::Stamp), rates: (&["dl_bitrate", "ul_bitrate"], 1e-3), run: None },
    // Narayanan et al., "Lumos5G: mapping and predicting commercial mmWave 5G throughput" (IMC 2020), README of version 1.0:
    // one row per second; iPerf's Mbit/s, as in the paper's figures.
    Published { time: ("seq_num", Clock::Number(1.0)), rates: (&["throughput"], 1.0), run: Some("run_num") },
];

/// Accepted names of the time column, before a unit of [`TIME_UNITS`] or alone, where the values must be dates or counts since 1970.
const TIME_COLUMNS: [&str; 5] = ["time", "timestamp", "date", "datetime", "epoch"];

/// Endings of the time column, with the factor to seconds.
const TIME_UNITS: [(&str, f64); 6] =
    [("_s", 1.0), ("_sec", 1.0), ("_seconds", 1.0), ("_ms", 1e-3), ("_us", 1e-6), ("_ns", 1e-9)];

/// Accepted names of the rate column, before a unit or beside a column of units.
const RATE_COLUMNS: [&str; 10] =
    ["rate", "capacity", "throughput", "bandwidth", "bitrate", "goodput", "dl", "ul", "download", "upload"];

/// Accepted names of the column of delays, before a unit; true for round trips. A table with rates is read without them.
const DELAY_COLUMNS: [(&str, bool); 5] =
    [("delay", false), ("one_way_delay", false), ("owd", false), ("rtt", true), ("ping", true)];

/// Accepted names of a column of units.
const UNIT_COLUMNS: [&str; 2] = ["unit", "units"];

/// Cells of a published file without a measurement.
const NOT_MEASURED: [&str; 2] = ["", "-"];

const A_UNIT: &str = "a unit of rates, such as `Mbits/sec`";
const A_RUN: &str = "the number of a run: a whole number";

/// True for a line of names: one between separators, or among blanks one of a time.
pub(super) fn is_header(line: &str) -> bool {
    let is_name = |field: &str| !field.trim().is_empty() && field.trim().parse::<f64>().is_err();
    let is_time = |field: &str| {
        let name = canonical(field);
        TIME_COLUMNS.contains(&name.as_str()) || time_factor(&name).is_some()
    };
    match separator(line) {
        Some(separator) => line.split(separator).any(is_name),
        None => line.split_whitespace().any(is_time),
    }
}

/// True for numbers between separators: a row of a table whose line of names is missing.
pub(super) fn is_row(line: &str) -> bool {
    separator(line)
        .is_some_and(|separator| line.split(separator).all(|field| field.trim().parse::<f64>().is_ok()))
}

/// The refusal of a table that begins with a row.
pub(super) fn no_names(first: &str) -> Problem {
    let names = ["time_s", "rate_mbit_s"].join(&separator(first).unwrap_or(' ').to_string());
    Problem::NoNames { row: shown(first), names }
}

/// The character between the columns of this header: the most frequent one; none where blanks are.
fn separator(header: &str) -> Option<char> {
    let found = [';', '\t', ','].map(|separator| (header.matches(separator).count(), separator));
    found.into_iter().max_by_key(|&(count, _)| count).filter(|&(count, _)| count > 0).map(|(_, char)| char)
}

/// The columns of a header, or the reason why it has none.
fn columns(header: &csv::StringRecord, given: &Given<'_>) -> Result<Columns, Problem> {
    let names: Vec<String> = header.iter().map(canonical).collect();
    let chosen = given.column.map(canonical);
    let is_chosen = |name: &str| chosen.as_deref().is_none_or(|chosen| name == chosen);
    for published in &PUBLISHED {
        let position = |what, wanted: &str| -> Result<_, Problem> {
            Ok(only(&names, what, |name| (name == wanted).then_some(()))?.map(|(index, ())| index))
        };
        let ((time, clock), (rates, factor)) = (published.time, published.rates);
        let rate = rates.iter().find(|&&rate| is_chosen(rate));
        let rate = rate.map(|rate| position("rate column", rate)).transpose()?.flatten();
        if let (Some(time), Some(rate)) = (position("time column", time)?, rate) {
            let run = published.run.map(|name| position("column of runs", name)).transpose()?.flatten();
            return Ok(Columns {
                time: (time, clock),
                value: (rate, Unit::Factor(factor)),
                run,
                has_gaps: true,
            });
        }
    }
    let missing = |missing, advice| Problem::Column {
        missing,
        columns: header.iter().take(SHOWN).map(|name| shown(&printable(name))).collect::<Vec<_>>().join(","),
        advice,
        python: python(given),
    };
    let one_of = |what, wanted: &[&str]| only(&names, what, |name| wanted.contains(&name).then_some(()));
    let with_unit = only(&names, "time column", time_factor)?;
    let (time, clock) = match with_unit.map(|(index, factor)| (index, Clock::Number(factor))) {
        Some(time) => Some(time),
        None => one_of("time column", &TIME_COLUMNS)?.map(|(index, ())| (index, Clock::Stamp)),
    }
    .ok_or_else(|| {
        missing("time column", "`time_s`, `time_ms` or `timestamp` (a date, or the time since 1970)")
    })?;
    let factor = |name: &str| if is_chosen(name) { rate_factor(name) } else { None };
    let with_unit = only(&names, "rate column", factor)?;
    let rate = match with_unit.map(|(index, factor)| (index, Unit::Factor(factor))) {
        Some(rate) => Some(rate),
        None => one_of("column of units", &UNIT_COLUMNS)?
            .zip(only(&names, "rate column", |name| {
                (RATE_COLUMNS.contains(&name) && is_chosen(name)).then_some(())
            })?)
            .map(|((unit, ()), (rate, ()))| (rate, Unit::Column(unit))),
    };
    let value = match rate {
        Some(rate) => Some(rate),
        None => only(&names, "delay column", |name| if is_chosen(name) { delay_unit(name) } else { None })?,
    };
    // A column `Mbit/s` or `mbps`, where no other could be meant.
    let alone = |name: &str| if is_chosen(name) { rate_unit(name) } else { None };
    let value = match value {
        Some(value) => Some(value),
        None => only(&names, "rate column", alone)?.map(|(index, factor)| (index, Unit::Factor(factor))),
    };
    let value = value.ok_or_else(|| match &chosen {
        Some(_) => {
            missing("column of this name with a unit", "`column=` and such a name, as `column=ul_mbit_s`")
        }
        None => missing("rate column", "`rate_mbit_s`, `rate_kbit_s` or `rate_bit_s`"),
    })?;
    Ok(Columns { time: (time, clock), value, run: None, has_gaps: false })
}

/// Most names in a message; G-NetTrack Pro's log has some sixty.
const SHOWN: usize = 80;

/// A line of Python that writes a table which is read, of columns that its user names.
fn python(given: &Given<'_>) -> String {
    format!(
        "python3 -c \"import csv; print('time_s,rate_mbit_s'); [print(row['TIME'], float(row['RATE']) / 1000, sep=',') for row \
         in csv.DictReader(open('{}'), delimiter='{}', skipinitialspace=True)]\" > converted.csv",
        given.name,
        separator(given.first).unwrap_or(' ').escape_default()
    )
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
    TIME_COLUMNS.iter().find_map(|name| to_seconds(column.strip_prefix(name)?))
}

fn delay_unit(column: &str) -> Option<Unit> {
    DELAY_COLUMNS.iter().find_map(|&(name, are_round_trips)| {
        let factor = to_seconds(column.strip_prefix(name)?)?;
        Some(Unit::Delay { factor, are_round_trips })
    })
}

/// The factor of a name's ending.
fn to_seconds(ending: &str) -> Option<f64> {
    TIME_UNITS.iter().find(|(name, _)| *name == ending).map(|&(_, factor)| factor)
}

fn rate_factor(column: &str) -> Option<f64> {
    RATE_COLUMNS.iter().find_map(|name| rate_unit(column.strip_prefix(name)?.strip_prefix('_')?))
}

/// The rows of a table. Any number of blanks separates columns, which `csv` does not know: it gets commas instead.
fn rows<'a>(given: &Given<'a>, separator: Option<char>) -> csv::Reader<Cursor<Cow<'a, [u8]>>> {
    let with_commas = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(",") + "\n";
    let text = match separator {
        Some(_) => Cow::Borrowed(given.text.as_bytes()),
        None => Cow::Owned(given.text.lines().map(with_commas).collect::<String>().into_bytes()),
    };
    csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .delimiter(separator.map_or(b',', |separator| separator as u8))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(Cursor::new(text))
}

/// Reads one of a table's runs, or all of them one after the other.
pub(super) fn read(given: &Given<'_>) -> Result<Content, TraceError> {
    let separator = separator(given.first);
    let mut reader = rows(given, separator);
    let malformed = |cause: csv::Error| {
        let line = cause.position().map_or(given.line, csv::Position::line);
        given.at(line, Problem::Rows(cause))
    };
    let header = reader.headers().map_err(malformed)?.clone();
    if is_row(given.first) {
        return Err(given.at(given.line, no_names(given.first)));
    }
    let columns = columns(&header, given).map_err(|problem| given.at(given.line, problem))?;
    if given.run.is_some() && columns.run.is_none() {
        return Err(given.at(given.line, Problem::NoRuns));
    }
    // Where a semicolon separates columns, a comma separates decimals.
    let decimal = |text: &str| match separator {
        Some(';') => text.replace(',', "."),
        _ => text.to_owned(),
    };
    let ((time, clock), (column, unit)) = (columns.time, columns.value);
    let clock = match clock {
        Clock::Stamp => {
            let others = rows(given, separator).into_records().map_while(Result::ok);
            Clock::of(others.map(|row| decimal(row.get(time).unwrap_or_default())))
        }
        Clock::Number(_) => clock,
    };
    let mut series = Series::new(given.name);
    let mut runs = Runs::new(given.run);
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        let line = record.position().map_or(given.line, csv::Position::line);
        let at = |problem| given.at(line, problem);
        let field = |index| record.get(index).unwrap_or_default();
        // G-NetTrack Pro ends each row with a separator.
        if record.len() < header.len() || record.iter().skip(header.len()).any(|field| !field.is_empty()) {
            return Err(at(Problem::Row { fields: record.len(), columns: header.len() }));
        }
        if let Some(index) = columns.run {
            let number = field(index).parse().map_err(|_| at(not(A_RUN, field(index))))?;
            if runs.begins(number) {
                series.end_run();
            }
        }
        if !runs.is_wanted() || columns.has_gaps && NOT_MEASURED.contains(&field(column)) {
            continue;
        }
        let secs = clock.seconds(&decimal(field(time))).map_err(at)?;
        let factor = match unit {
            Unit::Factor(factor) => factor,
            Unit::Column(unit) => rate_unit(field(unit)).ok_or_else(|| at(not(A_UNIT, field(unit))))?,
            Unit::Delay { factor, .. } => factor,
        };
        let is_delay = matches!(unit, Unit::Delay { .. });
        let expected = if is_delay { A_DELAY } else { A_RATE };
        let value = number(&decimal(field(column)), expected).map_err(at)? * factor;
        if !is_delay {
            rate(value).map_err(at)?;
        }
        series.push(Some(line), secs, value)?;
    }
    if let Some(missing) = runs.missing() {
        return Err(given.whole(missing));
    }
    let steps = series.finish()?.into_iter();
    if let (_, Unit::Delay { are_round_trips, .. }) = columns.value {
        let steps = steps.map(|(length, secs)| (length, Span::from_secs_f64(secs))).collect();
        return Ok(Delays { steps, are_round_trips }.into());
    }
    capacity(given.name, steps.map(|(length, mbit)| (length, Rate::from_mbit_per_sec(mbit))).collect())
        .map(Content::from)
}

fn not(expected: &'static str, text: &str) -> Problem {
    Problem::NotANumber { text: shown(text), expected }
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
