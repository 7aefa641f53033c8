//! Why a file is not a trace.

use super::MAX_TEXT_BYTES;
use crate::capacity::CapacityError;
use cellcc_units::input::InputError;
use thiserror::Error;

/// Why a file is not a trace: which file, where in it, and what to do.
#[derive(Debug, Error)]
#[error("{file}{}: {problem}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct TraceError {
    /// The file as it was named.
    pub file: String,
    /// The line, counted from 1, where one is to blame.
    pub line: Option<u64>,
    /// The problem, with the remedy.
    #[source]
    pub problem: Box<Problem>,
}

/// A problem of a trace file.
#[derive(Debug, Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The rows of a CSV file cannot be distinguished.
    #[error("cannot be read: {0}")]
    Rows(#[from] ::csv::Error),
    /// The compressed stream ends early or is damaged.
    #[error("the {kind} data is damaged or cut off ({cause}): fetch or compress the file again")]
    Damaged {
        /// `gzip` or `xz`.
        kind: &'static str,
        /// The decompressor's error.
        cause: std::io::Error,
    },
    /// More text than [`MAX_TEXT_BYTES`].
    #[error("holds more than {} MiB of text: cut it into shorter traces", MAX_TEXT_BYTES >> 20)]
    TooLarge,
    /// More steps than a model may have.
    #[error("repeats to more than {0} steps: cut it into shorter traces")]
    TooManySteps(usize),
    /// No line with a value.
    #[error("is empty: a trace needs at least one line, such as `12` (Mahimahi) or `0 35.5` (rate)")]
    Empty,
    /// Not text.
    #[error("is not text: expected lines of text, plain or compressed with gzip or xz")]
    Binary,
    /// The content fits no form.
    #[error(
        "`{line}` fits no trace format: expected milliseconds (Mahimahi), seconds and Mbit/s (rate), a table with a header such as \
         `time_s,rate_mbit_s`, or another form of docs/how-to/traces.md; a table without a header becomes seconds and Mbit/s by \
         python3 -c \"{python}\" > converted.mbps"
    )]
    UnknownFormat {
        /// The first line.
        line: String,
        /// Converts a table without names.
        python: String,
    },
    /// JSON in no form.
    #[error(
        "is JSON with the keys `{keys}`, which fits no form of docs/how-to/traces.md: write seconds and Mbit/s, such as by python3 -c \
         \"{python}\" > converted.mbps"
    )]
    UnknownJson {
        /// Its keys.
        keys: String,
        /// Converts a list of objects.
        python: String,
    },
    /// A field is not a number of the kind that is wanted.
    #[error("`{text}` is not {expected}")]
    NotANumber {
        /// The field.
        text: String,
        /// The expected form.
        expected: &'static str,
    },
    /// A line has too many or too few fields.
    #[error("`{0}` has {1} fields: expected seconds and Mbit/s")]
    Fields(String, usize),
    /// Time goes back.
    #[error("time {now} follows {before}: times must not decrease; sort the lines")]
    Order {
        /// This line's time.
        now: String,
        /// The time of the line before.
        before: String,
    },
    /// A row of a table that is not as its header.
    #[error("the row has {fields} fields, and the header names {columns} columns")]
    Row {
        /// Fields of the row.
        fields: usize,
        /// Columns of the header.
        columns: usize,
    },
    /// JSON that is not in its form.
    #[error("is not in the form that its keys announce: {0}")]
    Json(serde_json::Error),
    /// One number per line, which could be milliseconds or rates.
    #[error(
        "{reason}: read as Mahimahi's milliseconds that is {as_mahimahi}, as kbit/s of 100 ms each {as_rates}; say which with \
         `{file},as=mahimahi` or `{file},as=kbit/s@100ms`, or another unit and step (delays go to `--extra-delay @{file}`)"
    )]
    TwoReadings {
        /// The file as it was named.
        file: String,
        /// The sign that they are no milliseconds.
        reason: String,
        /// The mean and the length in the first reading.
        as_mahimahi: String,
        /// In the second.
        as_rates: String,
    },
    /// A file of delays where a link was wanted.
    #[error("holds delays, and no rates of a link: `--extra-delay @{0}` applies them")]
    NoRates(String),
    /// A file without delays where some were wanted.
    #[error(
        "holds no delays: expected delays such as `10ms@5s`, one number of milliseconds per line, output of `ping`, or JSON with \
         delays"
    )]
    NoDelays,
    /// Output of ping that cannot be placed in time.
    #[error("does not say when its pings were sent: record them with `ping -D`")]
    NoTimes,
    /// A pattern for each direction.
    #[error("has a `trace_pattern` for each direction: remove `uplink` or `downlink`")]
    TwoDirections,
    /// Lists that should be parallel.
    #[error("`{}` has {} values and `{}` has {}: cut one of them", columns[0], counts[0], columns[1], counts[1])]
    Unequal {
        /// Their names.
        columns: [&'static str; 2],
        /// Their lengths.
        counts: [usize; 2],
    },
    /// A model of netem-trace that is both.
    #[error("mixes rates and delays in one pattern: write one file for each")]
    RatesAndDelays,
    /// Output of iperf3 whose intervals overlap.
    #[error("holds several tests, or streams without their sum: cut it into one file for each")]
    SeveralTests,
    /// A file of flent without a series that is read.
    #[error("has no values in any of the series {expected}: its series are {names}")]
    NoSeries {
        /// Those that it has.
        names: String,
        /// Those that are read.
        expected: String,
    },
    /// Two columns of a CSV file that could each be meant.
    #[error("`{1}` and `{2}` could each be the {0}: {hint}", hint = choose(.0, .1, .2))]
    TwoColumns(&'static str, String, String),
    /// A column of a file that has none.
    #[error("has no columns to choose from: leave `column=` out; only tables have columns")]
    NoColumns,
    /// A run of a file that has none.
    #[error("has no runs to choose from: leave `run=` out; only CSV files with a column `run_num` have runs")]
    NoRuns,
    /// A run that is not in the file.
    #[error("has no run {wanted}: its runs are numbered from {low} to {high}")]
    NoSuchRun {
        /// The run that was named.
        wanted: u64,
        /// The lowest number in the file.
        low: u64,
        /// The highest.
        high: u64,
    },
    /// A table without its line of names.
    #[error(
        "`{row}` is a row of numbers without names of its columns: add a line above it that names each, such as `{names}`"
    )]
    NoNames {
        /// The first line.
        row: String,
        /// The names of a time and a rate, with the table's separator.
        names: String,
    },
    /// A table without the columns that are needed.
    #[error(
        "no {missing} among the columns `{columns}`: rename one {advice}, or convert the file, with its own names for TIME \
         (seconds) and RATE (kbit/s): {python}"
    )]
    Column {
        /// The column that is missing.
        missing: &'static str,
        /// Those that it has.
        columns: String,
        /// Names that are read.
        advice: &'static str,
        /// A line of Python that converts the file.
        python: String,
    },
    /// The values as a whole make no link.
    #[error("{0}")]
    Capacity(#[from] CapacityError),
}

impl TraceError {
    pub(crate) fn at(file: &str, line: u64, problem: Problem) -> Self {
        Self { file: file.into(), line: Some(line), problem: problem.into() }
    }

    pub(crate) fn whole(file: &str, problem: Problem) -> Self {
        Self { file: file.into(), line: None, problem: problem.into() }
    }
}

/// The way out of two such columns.
fn choose(what: &str, one: &str, other: &str) -> String {
    match what {
        "rate column" | "delay column" if one != other => {
            format!("add `,column={one}` or `,column={other}` to the file's name")
        }
        _ => "leave one of them, and rename or remove the other".into(),
    }
}
