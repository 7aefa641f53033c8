//! Reading and writing traces: a real link's deliveries, from a file.
//!
//! [`FORMS`] lists the forms of files that are read; each has its own reader. A file may be compressed with gzip or xz, which is
//! recognised by content. Empty lines and lines that begin with `#` are skipped. The first line of rates over time is time zero;
//! of several lines at the same time the last one counts; a single line lasts one second.

mod bare_numbers;
mod clock;
mod content;
mod delays;
mod flent;
mod forms;
mod iperf3;
mod json;
mod lines;
mod named_columns;
mod netem_trace;
mod ping;
mod problem;
mod reading;
mod series;
mod units;
mod with_units;
pub mod write;

pub(crate) use delays::Delays;
pub use forms::{FORMS, Form};
pub use problem::{Problem, TraceError};
pub use reading::{Reading, Unit};

use crate::capacity::Capacity;
use cellcc_units::input::{self, InputError};
use cellcc_units::{Bytes, Rate};
use content::{decompress, text};
use forms::{Content, Given};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

/// A trace as read: a capacity, its source and its kind.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The file name without its folder and without `.gz` or `.xz`.
    pub name: String,
    /// The name of the form it was in, of [`FORMS`], or the reading that its user stated.
    pub form: String,
    /// Its capacity; repeats.
    pub capacity: Arc<Capacity>,
    /// SHA-256, in hexadecimal digits, of the trace in a canonical form: two files that mean the same have the same
    /// hash, however they are compressed, spaced or commented.
    pub hash: String,
    /// The other content of the file, and the flags that apply it in a run.
    pub notes: Vec<String>,
}

/// Below this mean a trace is probably misread: slower than any recording of a cellular network that we know (our choice).
const UNLIKELY_BELOW: Rate = Rate::from_bytes_per_sec(25_000);
/// Above this mean: the peak rate that IMT-2020 asks of a cell's downlink is 20 Gbit/s (ITU-R M.2410, section 4.1).
const UNLIKELY_ABOVE: Rate = Rate::from_bytes_per_sec(2_500_000_000);

/// The largest trace, after decompression: 256 MiB, some 40 million opportunities.
pub const MAX_TEXT_BYTES: u64 = 256 << 20;

/// Reads a trace file.
///
/// # Errors
/// Where the file cannot be read or is not a trace; the message names the file and the line.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    read_part(path, Choice::default())
}

/// The part of a file that its user chooses, and the meaning of its numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Choice<'a> {
    /// One run of a file with several; `None`: all of them, one after the other.
    pub(crate) run: Option<u64>,
    /// A column of a table.
    pub(crate) column: Option<&'a str>,
    /// The meaning of bare numbers.
    pub(crate) reading: Option<Reading>,
}

/// Reads the part of a file that its user chooses.
///
/// # Errors
/// As [`read`]; and where the file has no such part.
pub(crate) fn read_part(path: &Path, choice: Choice<'_>) -> Result<Trace, TraceError> {
    parse_part(&path.display().to_string(), &content(path)?, choice)
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
    parse_part(name, content, Choice::default())
}

fn parse_part(name: &str, content: &[u8], choice: Choice<'_>) -> Result<Trace, TraceError> {
    let whole = |problem| TraceError::whole(name, problem);
    let content = decompress(content).map_err(whole)?;
    let given = Given::new(name, text(&content).map_err(whole)?, choice)?;
    let (form, Content { capacity, delays, mut notes }) = contents(&given, choice.reading)?;
    let capacity = capacity.ok_or_else(|| whole(Problem::NoRates(name.into())))?;
    notes.extend(delays.map(|delays| delays.note(name)));
    let mean = capacity.mean_rate();
    if mean < UNLIKELY_BELOW || mean > UNLIKELY_ABOVE {
        let mbit = mean.as_mbit_per_sec();
        notes.push(format!("its mean of {mbit} Mbit/s is unlikely for a link: check the unit of its values"));
    }
    Ok(Trace { name: given.stem.into(), form, hash: hash(&capacity), capacity: Arc::new(capacity), notes })
}

/// The delays in the bytes of a file.
///
/// # Errors
/// As [`read`]; and where the file has no delays.
pub(crate) fn delays(name: &str, content: &[u8], choice: Choice<'_>) -> Result<Delays, TraceError> {
    let whole = |problem| TraceError::whole(name, problem);
    let content = decompress(content).map_err(whole)?;
    let given = Given::new(name, text(&content).map_err(whole)?, choice)?;
    // Bare numbers can only be delays here.
    let is_bare = given.first.parse::<f64>().is_ok();
    let reading = choice.reading.or(is_bare.then_some(Reading::LEOCC));
    contents(&given, reading)?.1.delays.ok_or_else(|| whole(Problem::NoDelays))
}

/// The name of the form of a file, and its content.
fn contents(given: &Given<'_>, reading: Option<Reading>) -> Result<(String, Content), TraceError> {
    if let Some(reading) = reading {
        return match (given.run, given.column) {
            (Some(_), _) => Err(given.whole(Problem::NoRuns)),
            (_, Some(_)) => Err(given.whole(Problem::NoColumns)),
            _ => Ok((reading.to_string(), bare_numbers::stated(given, reading)?)),
        };
    }
    let form = forms::of(given).map_err(|problem| given.whole(problem))?;
    if given.column.is_some() && !form.is_table() {
        return Err(given.whole(Problem::NoColumns));
    }
    Ok((form.name.into(), form.read(given)?))
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
