//! Reading a log, ours or Mahimahi's own.

use crate::error::EmuError;
use cellcc_units::input;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A line that is no header. Times are milliseconds since the log's base timestamp, sizes bytes as they stand in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The link could carry this much.
    Opportunity {
        /// The event's time.
        at_ms: u64,
        /// The capacity of the opportunity, used or not.
        bytes: u64,
    },
    /// A packet came to the queue.
    Arrival {
        /// The time of its arrival at the queue.
        at_ms: u64,
        /// The packet's size.
        bytes: u64,
    },
    /// A packet left the link.
    Departure {
        /// The time at which the link had sent it.
        at_ms: u64,
        /// The packet's size.
        bytes: u64,
        /// The time since the packet's arrival, at most `at_ms`.
        delay_ms: u64,
    },
    /// Packets were dropped.
    Drop {
        /// The time of the drop.
        at_ms: u64,
        /// The number of dropped packets.
        packets: u64,
        /// Their size together.
        bytes: u64,
    },
}

impl Entry {
    /// The time of the event.
    pub fn at_ms(&self) -> u64 {
        match *self {
            Self::Opportunity { at_ms, .. }
            | Self::Arrival { at_ms, .. }
            | Self::Departure { at_ms, .. }
            | Self::Drop { at_ms, .. } => at_ms,
        }
    }
}

/// Longer than any line of a log; the longest holds the command line. A file with a longer line is no log.
const LONGEST_LINE: u64 = 1 << 20;
const BUFFER: usize = 256 << 10;
const FORMAT: &str = "a line of a Mahimahi log is `TIME # BYTES`, `TIME + BYTES`, `TIME - BYTES DELAY` or \
                      `TIME d PACKETS BYTES`, in whole numbers";

/// Reads the log of this file, plain or compressed with gzip, and gives `each` its entries in their order.
///
/// # Errors The file cannot be read or is no log, with its line; and errors of `each` on an entry.
pub fn read(path: &Path, each: impl FnMut(Entry) -> Result<(), String>) -> Result<(), EmuError> {
    let name = path.display().to_string();
    let file = input::open(path).map_err(|error| EmuError::Input(format!("{name}: {error}")))?;
    read_from(&name, file, each)
}

/// Like [`read`], from any reader; `name` is for messages.
///
/// # Errors
/// Those of [`read`].
pub fn read_from(
    name: &str,
    source: impl Read,
    each: impl FnMut(Entry) -> Result<(), String>,
) -> Result<(), EmuError> {
    let mut source = BufReader::with_capacity(BUFFER, source);
    let is_gzip = source.fill_buf().map_err(|error| unreadable(name, &error))?.starts_with(&[0x1f, 0x8b]);
    match is_gzip {
        true => read_lines(name, BufReader::with_capacity(BUFFER, MultiGzDecoder::new(source)), each),
        false => read_lines(name, source, each),
    }
}

fn unreadable(name: &str, error: &io::Error) -> EmuError {
    EmuError::Input(format!("{name}: cannot be read: {error}"))
}

fn read_lines(
    name: &str,
    mut source: impl BufRead,
    mut each: impl FnMut(Entry) -> Result<(), String>,
) -> Result<(), EmuError> {
    let (mut line, mut number, mut base) = (Vec::new(), 0_u64, None);
    loop {
        line.clear();
        number += 1;
        let length = source.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        if length.map_err(|error| unreadable(name, &error))? == 0 {
            return Ok(());
        }
        let refused = |problem: String| EmuError::Input(format!("{name}:{number}: {problem}"));
        let whole = line.pop_if(|last| *last == b'\n').is_some();
        if !whole && line.len() as u64 == LONGEST_LINE {
            return Err(refused(format!("the line is longer than {LONGEST_LINE} bytes: {FORMAT}")));
        }
        if line.starts_with(b"#") {
            let given = base_timestamp(&line).map_err(refused)?;
            if given.is_some() && base.is_some() {
                let problem = "a second base timestamp: two logs in one file; take them apart";
                return Err(refused(problem.into()));
            }
            base = base.or(given);
            continue;
        }
        // A killed link leaves half a line.
        if !whole && entry(&line, 0).is_err() {
            return Ok(());
        }
        let Some(base) = base else {
            return Err(refused("no `# base timestamp: NUMBER` before it: not a log of mm-link".into()));
        };
        entry(&line, base).and_then(&mut each).map_err(refused)?;
    }
}

fn base_timestamp(line: &[u8]) -> Result<Option<u64>, String> {
    let Some(text) = line.strip_prefix(b"# base timestamp:") else { return Ok(None) };
    let number = std::str::from_utf8(text.trim_ascii()).ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| "the base timestamp is not a whole number of milliseconds".into())
}

fn entry(line: &[u8], base: u64) -> Result<Entry, String> {
    parse(line, base).ok_or_else(|| {
        let shown: String = String::from_utf8_lossy(line).chars().take(60).collect();
        format!(
            "`{shown}`: {FORMAT}; no time lies before the base timestamp, and no packet leaves before it came"
        )
    })
}

fn parse(line: &[u8], base: u64) -> Option<Entry> {
    let mut fields = line.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty());
    let at_ms = number(fields.next()?)?.checked_sub(base)?;
    let event = fields.next()?;
    let first = number(fields.next()?)?;
    let mut second = || number(fields.next()?);
    Some(match event {
        b"#" => Entry::Opportunity { at_ms, bytes: first },
        b"+" => Entry::Arrival { at_ms, bytes: first },
        b"-" => {
            let delay_ms = second().filter(|delay| *delay <= at_ms)?;
            Entry::Departure { at_ms, bytes: first, delay_ms }
        }
        b"d" => Entry::Drop { at_ms, packets: first, bytes: second()? },
        _ => return None,
    })
}

/// Digits only; quicker than through `str`.
fn number(field: &[u8]) -> Option<u64> {
    // Beyond that no sum of a log's sizes or times can overflow unseen.
    const LARGEST: u64 = 1 << 53;
    let mut number = 0_u64;
    for digit in field {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (number <= LARGEST).then_some(number)
}
