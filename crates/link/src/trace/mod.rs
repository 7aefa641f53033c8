//! Reading and writing traces: a real link's deliveries, from a file.
//!
//! | format | recognised by | content |
//! |---|---|---|
//! | Mahimahi | `.mahi`, `.up`, `.down`, or one whole number per line | milliseconds, one delivery opportunity for 1500 bytes
//! per line |
//! | rate | `.mbps`, or two numbers per line | seconds and Mbit/s; a rate holds until the next line's time, the last one as
//! long as the one before |
//! | CSV | `.csv`, or a header line with commas | named columns: a time such as `time_s` or `time_ms`, a rate such as
//! `rate_mbit_s`; other columns are left alone. The Irish 5G data and Lumos5G are read as they were published |
//!
//! Each may be compressed with gzip or xz, which is recognised by content. Empty lines and lines that begin with
//! `#` are skipped. The first line of a rate trace is time zero; of several lines at the same time the last one counts;
//! a single line lasts one second.

mod detect;
mod lines;
mod named_columns;
pub mod write;

pub(crate) use detect::{decompress as unpacked, text};
pub(crate) use lines::number;

use crate::capacity::{Capacity, CapacityError};
use cellcc_units::Bytes;
use cellcc_units::input::{self, InputError};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// A trace as read: a capacity, its source and its kind.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The file name without its folder and without `.gz` or `.xz`.
    pub name: String,
    /// The format it was in.
    pub format: Format,
    /// Its capacity; repeats.
    pub capacity: Arc<Capacity>,
    /// SHA-256, in hexadecimal digits, of the trace in a canonical form: two files that mean the same have the same
    /// hash, however they are compressed, spaced or commented.
    pub hash: String,
}

/// The format of a trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Milliseconds, one opportunity for 1500 bytes per line.
    Mahimahi,
    /// Seconds and Mbit/s, separated by white space.
    Rate,
    /// Named columns, separated by commas.
    Csv,
}

/// Why a file is not a trace: which file, where in it, and what to do.
#[derive(Debug, Error)]
#[error("{file}{}: {problem}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct TraceError {
    /// The file as it was named.
    pub file: String,
    /// The line, counted from 1, where one is to blame.
    pub line: Option<u64>,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// What is wrong with a trace.
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
    /// No line with a value.
    #[error("is empty: a trace needs at least one line, such as `12` (Mahimahi) or `0 35.5` (rate)")]
    Empty,
    /// Not text.
    #[error("is not text: expected lines of text, plain or compressed with gzip or xz")]
    Binary,
    /// The content fits no format.
    #[error(
        "`{0}` fits no trace format: expected milliseconds (Mahimahi), seconds and Mbit/s (rate), or a CSV header such \
         as `time_s,rate_mbit_s`"
    )]
    UnknownFormat(String),
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
    /// Two columns of a CSV file that could each be meant.
    #[error("`{1}` and `{2}` could each be the {0}: leave one of them, and rename or remove the other")]
    TwoColumns(&'static str, String, String),
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
    /// A CSV header without the columns that are needed.
    #[error("no {0} among the columns `{1}`: name one {2} or rename a column")]
    Column(&'static str, String, &'static str),
    /// The content is no recording of a radio.
    #[error(
        "`{0}` begins no recording of a radio: expected a log of NR-Scope (a CSV header with `harq_id`) or output of `ping` \
         (lines with `icmp_seq=`)"
    )]
    NoRecording(String),
    /// A log of NR-Scope without a column that is needed.
    #[error("no `{0}` among the columns `{1}`: name the file as NR-Scope wrote it")]
    NoColumn(&'static str, String),
    /// A log of NR-Scope that says nothing of phones.
    #[error("holds no grant to a phone (`rnti_type` C-RNTI): record for longer")]
    NoGrants,
    /// The values as a whole make no link.
    #[error("{0}")]
    Capacity(#[from] CapacityError),
}

/// The largest trace, after decompression: 256 MiB, some 40 million opportunities.
pub const MAX_TEXT_BYTES: u64 = 256 << 20;

impl TraceError {
    pub(crate) fn at(file: &str, line: u64, problem: Problem) -> Self {
        Self { file: file.into(), line: Some(line), problem }
    }

    pub(crate) fn whole(file: &str, problem: Problem) -> Self {
        Self { file: file.into(), line: None, problem }
    }
}

/// Reads a trace file.
///
/// # Errors
/// Where the file cannot be read or is not a trace; the message names the file and the line.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    read_run(path, None)
}

/// Reads one run of a file with several; `None`: all of them, one after the other.
///
/// # Errors
/// As [`read`]; and where the file has no such run.
pub(crate) fn read_run(path: &Path, run: Option<u64>) -> Result<Trace, TraceError> {
    parse_run(&path.display().to_string(), &content(path)?, run)
}

/// The bytes of a file, of no more than a trace may hold.
pub(crate) fn content(path: &Path) -> Result<Vec<u8>, TraceError> {
    input::read(path, Bytes::new(MAX_TEXT_BYTES)).map_err(|error| {
        let problem = match error {
            InputError::TooLarge(_) => Problem::TooLarge,
            other => Problem::Input(other),
        };
        TraceError::whole(&path.display().to_string(), problem)
    })
}

/// The trace in `content`, the bytes of a file called `name` (a path, for messages and for its ending).
///
/// # Errors
/// As [`read`].
pub fn parse(name: &str, content: &[u8]) -> Result<Trace, TraceError> {
    parse_run(name, content, None)
}

fn parse_run(name: &str, content: &[u8], run: Option<u64>) -> Result<Trace, TraceError> {
    let whole = |problem| TraceError::whole(name, problem);
    let content = unpacked(content).map_err(whole)?;
    let text = text(&content).map_err(whole)?;
    let stem = detect::stem(name);
    let (format, line) = detect::format(stem, text).map_err(whole)?;
    let capacity = match format {
        Format::Csv => named_columns::parse(name, text, line, run)?,
        _ if run.is_some() => return Err(whole(Problem::NoRuns)),
        Format::Mahimahi => lines::parse_opportunities(name, text)?,
        Format::Rate => lines::parse_columns(name, text)?,
    };
    Ok(Trace { name: stem.into(), format, hash: hash(&capacity), capacity: Arc::new(capacity) })
}

/// The SHA-256 of a capacity's canonical form, in hexadecimal digits.
pub(crate) fn hash(capacity: &Capacity) -> String {
    let mut hasher = Sha256::new();
    capacity.canonical(|bytes| hasher.update(bytes));
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The lines that carry data, with their numbers.
pub(crate) fn data_lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// A text for a message: a file of one endless line must not flood the terminal.
pub(crate) fn shown(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}
