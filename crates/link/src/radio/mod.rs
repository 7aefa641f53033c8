//! A network's radio parameters from recordings: failures and retransmissions of its blocks, and the access delay of a silent
//! phone.
//!
//! | recording | recognised by | gives |
//! |---|---|---|
//! | a log of NR-Scope, which receives every grant of a 5G cell | a CSV header with `harq_id` | the condition `harq`, for each
//! direction |
//! | output of Linux's `ping`, with or without `-D` | lines with `icmp_seq=` | the condition `access` |
//!
//! Each may be compressed, as a trace may. A last line without its end is left out: a recorder that is stopped cuts it.

mod blocks;
mod cycle;
mod grants;
mod nr_scope;
mod ping;
mod two_states;

pub use blocks::LagShares;
pub use cycle::{Cycle, Period};
pub use grants::Grants;
pub use ping::{FirstPing, Pings};
pub use two_states::TwoStates;

use crate::trace::{self, Problem, TraceError, data_lines, shown};
use std::path::Path;

/// A recording that was read.
#[derive(Debug, Clone)]
pub struct Recording(Content);

#[derive(Debug, Clone)]
enum Content {
    Grants(Vec<nr_scope::Grant>),
    Pings(Vec<ping::Run>),
}

/// The joint findings of recordings of one network.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Findings {
    /// Grants of the base station, if a log of NR-Scope has them.
    pub down: Option<Grants>,
    /// Grants of the phones.
    pub up: Option<Grants>,
    /// The findings of pings, if there are any.
    pub pings: Option<Pings>,
}

impl Findings {
    /// The findings of these recordings: of one cell if they are logs, of one network if they are pings.
    pub fn new(recordings: &[Recording]) -> Self {
        let (mut logs, mut runs) = (Vec::new(), Vec::new());
        for Recording(content) in recordings {
            match content {
                Content::Grants(log) => logs.push(log.as_slice()),
                Content::Pings(some) => runs.extend(some),
            }
        }
        let of = |direction| Grants::new(&logs, direction);
        let (down, up) = (of(nr_scope::Direction::Down), of(nr_scope::Direction::Up));
        Self { down, up, pings: Pings::new(&runs) }
    }
}

/// Reads a recording.
///
/// # Errors
/// Where the file cannot be read, holds more than a trace may, or is no such recording; the message names the file and the line.
pub fn read(path: &Path) -> Result<Recording, TraceError> {
    parse(&path.display().to_string(), &trace::content(path)?)
}

/// The recording in `content`, the bytes of a file called `name` in messages.
///
/// # Errors
/// As [`read`].
pub fn parse(name: &str, content: &[u8]) -> Result<Recording, TraceError> {
    let whole = |problem| TraceError::whole(name, problem);
    let unpacked = trace::unpacked(content).map_err(whole)?;
    let text = trace::text(&unpacked).map_err(whole)?;
    let text = text.rfind('\n').map_or("", |end| &text[..=end]);
    let (line, first) = data_lines(text).next().ok_or(Problem::NoRecording(String::new())).map_err(whole)?;
    if first.split(',').any(|column| column.trim() == "harq_id") {
        return Ok(Recording(Content::Grants(nr_scope::parse(name, text, line)?)));
    }
    let runs = ping::parse(name, text)?;
    if runs.is_empty() {
        return Err(TraceError::at(name, line, Problem::NoRecording(shown(first))));
    }
    Ok(Recording(Content::Pings(runs)))
}

/// Times at which the pings of a run were sent, in milliseconds from any origin, each with its RTT in milliseconds.
type Timed = Vec<(f64, f64)>;

/// The timed pings of each run; none for a run without times.
///
/// # Errors
/// As [`read`].
pub(crate) fn ping_times(name: &str, text: &str) -> Result<Vec<Option<Timed>>, TraceError> {
    Ok(ping::parse(name, text)?.iter().map(ping::Run::timed).collect())
}

#[cfg(test)]
mod tests;
