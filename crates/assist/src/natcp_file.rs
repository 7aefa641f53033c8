//! The NATCP authors' feedback files: one line each 50 ms, with the time in seconds, the bandwidth of the coming 50 ms in
//! Mbit/s, and the time that a packet takes at it in microseconds (held from before while the bandwidth is zero).
//!
//! Source: github Soheil-ab/natcp, `feedback/`. There a thread of the sender sleeps until each line's time and applies it;
//! lines that it is late for are left out.

use crate::timetable::Timetable;
use cellcc_control::{Advice, AdviceClass, MinRttParts};
use cellcc_units::{
    Bytes, Rate, Span, Time,
    input::{self, InputError},
};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// The largest file: a day of 50-ms lines of the usual 26 bytes is 45 MB.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// The longest time and the fastest link that cellcc calculates with.
const LONGEST_SECS: f64 = 366.0 * 24.0 * 3600.0;
const FASTEST_MBIT: f64 = 1e7;
/// A packet that takes longer than this is ignored: at 1 kbit/s it takes 12 s.
const LONGEST_PACKET_TIME: Span = Span::from_secs(3600);
/// The authors' lines, where a file has only one.
const DEFAULT_PERIOD: Span = Span::from_millis(50);
/// How much of a malformed field a message shows.
const SHOWN_CHARS: usize = 40;

/// Why a file is not the authors' feedback: which file, where in it, and what to do.
#[derive(Debug, Error)]
#[error("{file}{}: {problem}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct FeedbackError {
    /// The file as it was named.
    pub file: String,
    /// The line, counted from 1, where one is to blame.
    pub line: Option<usize>,
    /// What is wrong.
    #[source]
    pub problem: FeedbackProblem,
}

/// What is wrong with a feedback file.
#[derive(Debug, Error)]
pub enum FeedbackProblem {
    /// The file cannot be read, or is not text.
    #[error(transparent)]
    Input(#[from] InputError),
    /// More than a day of lines.
    #[error("holds more than {} MiB: cut it into shorter files", MAX_FILE_BYTES >> 20)]
    TooLarge,
    /// No line with values.
    #[error("is empty: expected lines such as `0.050000 19.732480 608`")]
    Empty,
    /// Too many or too few fields.
    #[error("`{0}` does not have three fields: expected seconds, Mbit/s and microseconds per packet")]
    Fields(String),
    /// A field is out of range, or not a number.
    #[error("`{text}` is not {expected}")]
    Field {
        /// The field.
        text: String,
        /// The expected form.
        expected: &'static str,
    },
    /// Times do not increase.
    #[error("its time is not after the line before: sort the lines, and remove duplicates")]
    Order,
}

/// The path, which a feedback file leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedbackPath {
    /// The smallest RTT without the downlink's transmission. (The authors add twice their one-way delay of 5 ms.)
    pub network: Span,
    /// How late each line is applied. (The authors: 1 ms.)
    pub delay: Span,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    at: Time,
    bandwidth: Rate,
    packet_time: Span,
}

/// A feedback file that is played once.
#[derive(Debug, Clone)]
pub struct FeedbackFile {
    lines: Arc<[Line]>,
    path: FeedbackPath,
    next: usize,
}

impl FeedbackFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it cannot be read or is not in this form; the message names the file and the line.
    pub fn read(file: &Path, path: FeedbackPath) -> Result<Self, FeedbackError> {
        let name = file.display().to_string();
        let whole = |problem| FeedbackError { file: name.clone(), line: None, problem };
        let text = input::read_text(file, Bytes::new(MAX_FILE_BYTES)).map_err(|error| match error {
            InputError::TooLarge(_) => whole(FeedbackProblem::TooLarge),
            other => whole(FeedbackProblem::Input(other)),
        })?;
        Self::parse(&name, &text, path)
    }

    /// The text of a file called `name`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(name: &str, text: &str, path: FeedbackPath) -> Result<Self, FeedbackError> {
        let error = |line, problem| FeedbackError { file: name.into(), line, problem };
        let mut lines: Vec<Line> = Vec::new();
        for (number, fields) in (1..).zip(text.lines().map(str::trim)) {
            if fields.is_empty() || fields.starts_with('#') {
                continue;
            }
            let line = line(fields).map_err(|problem| error(Some(number), problem))?;
            if lines.last().is_some_and(|before| line.at <= before.at) {
                return Err(error(Some(number), FeedbackProblem::Order));
            }
            lines.push(line);
        }
        if lines.is_empty() {
            return Err(error(None, FeedbackProblem::Empty));
        }
        Ok(Self { lines: lines.into(), path, next: 0 })
    }

    /// How long the line's period is: until the next one, and the last as the one before.
    fn period(&self, index: usize) -> Span {
        let from = index.min(self.lines.len().saturating_sub(2));
        match self.lines.get(from..from + 2) {
            Some([line, next]) => next.at.since(line.at),
            _ => DEFAULT_PERIOD,
        }
    }
}

fn line(fields: &str) -> Result<Line, FeedbackProblem> {
    let mut columns = fields.split_whitespace();
    let (Some(time), Some(rate), Some(packet), None) =
        (columns.next(), columns.next(), columns.next(), columns.next())
    else {
        return Err(FeedbackProblem::Fields(shown(fields)));
    };
    let secs = number(time, LONGEST_SECS, "a time in seconds, up to a year")?;
    let mbit = number(rate, FASTEST_MBIT, "a bandwidth in Mbit/s, up to 10^7")?;
    let longest = LONGEST_PACKET_TIME.as_secs_f64();
    let packet = number(packet, longest * 1e6, "a packet's time in microseconds, up to an hour")?;
    Ok(Line {
        at: Time::ZERO + Span::from_secs_f64(secs),
        bandwidth: Rate::from_mbit_per_sec(mbit),
        packet_time: Span::from_secs_f64(packet * 1e-6),
    })
}

fn number(text: &str, largest: f64, expected: &'static str) -> Result<f64, FeedbackProblem> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=largest).contains(&value) => Ok(value),
        _ => Err(FeedbackProblem::Field { text: shown(text), expected }),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}

impl Timetable for FeedbackFile {
    fn next_wake(&self) -> Time {
        self.lines.get(self.next).map_or(Time::NEVER, |line| line.at + self.path.delay)
    }

    fn poll(&mut self, now: Time) -> Option<Advice> {
        let due = self.lines[self.next..].iter().take_while(|line| line.at + self.path.delay <= now).count();
        let index = (self.next + due).checked_sub(1).filter(|_| due > 0)?;
        self.next = index + 1;
        let Line { bandwidth, packet_time, .. } = self.lines[index];
        let network = self.path.network;
        // The recording was made of a flow that kept the queue full. It is about a time that is yet to come: no age.
        let mut advice = Advice::new(bandwidth, AdviceClass::Backlogged, self.period(index));
        advice.min_rtt = Some(MinRttParts { network, downlink: packet_time, uplink: Span::ZERO });
        Some(advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATH: FeedbackPath = FeedbackPath { network: Span::from_millis(10), delay: Span::from_millis(1) };
    const EXAMPLE: &str =
        "0.000000 0.481280     24934\n0.050000 12.753920       941\n0.100000 0.000000       941\n";

    fn parse(text: &str) -> Result<FeedbackFile, String> {
        FeedbackFile::parse("feedback", text, PATH).map_err(|error| error.to_string())
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn every_line_is_reported_at_its_time() {
        let mut file = parse(EXAMPLE).unwrap();
        assert_eq!(file.next_wake(), at(1));
        assert_eq!(file.poll(at(0)), None);
        let first = file.poll(at(1)).unwrap();
        assert_eq!(first.bandwidth, Rate::from_mbit_per_sec(0.48128));
        assert_eq!(first.min_rtt.unwrap().total(), Span::from_micros(34_934));
        assert_eq!(first.period, Span::from_millis(50));
        assert_eq!(file.poll(at(1)), None, "a line is reported once");
        assert_eq!(file.next_wake(), at(51));
    }

    #[test]
    fn lines_that_came_too_late_are_left_out_and_the_end_is_the_end() {
        let mut file = parse(EXAMPLE).unwrap();
        let last = file.poll(at(5000)).unwrap();
        assert!(last.bandwidth.is_zero());
        assert_eq!(last.min_rtt.unwrap().downlink, Span::from_micros(941));
        assert_eq!(file.next_wake(), Time::NEVER);
        assert_eq!(file.poll(at(9000)), None);
    }

    #[test]
    fn what_is_not_feedback_is_refused_with_file_and_line() {
        for (text, message) in [
            ("", "feedback: is empty"),
            ("# nothing\n\n", "feedback: is empty"),
            ("0 1 2\n0.05 1\n", "feedback:2: `0.05 1` does not have three fields"),
            ("0 1 2 3\n", "feedback:1: `0 1 2 3` does not have three fields"),
            ("0 -1 2\n", "feedback:1: `-1` is not a bandwidth"),
            ("nan 1 2\n", "feedback:1: `nan` is not a time"),
            ("0 1 inf\n", "feedback:1: `inf` is not a packet's time"),
            ("1 1 2\n1 1 2\n", "feedback:2: its time is not after"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }

    #[test]
    fn the_authors_files_are_read() {
        let Some(traces) = std::env::var_os("CELLCC_TRACES") else { return };
        let folder = Path::new(&traces).join("natcp-feedback");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let file = FeedbackFile::read(&entry.unwrap().path(), PATH).unwrap();
            assert!(file.lines.len() > 1000);
            assert_eq!(file.period(0), Span::from_millis(50));
            count += 1;
        }
        assert_eq!(count, 16);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,40}(\n[-0-9.eE# naif]{0,30}){0,6}") {
            if let Ok(mut file) = parse(&text) {
                while file.next_wake() < Time::NEVER {
                    prop_assert!(file.poll(file.next_wake()).is_some());
                }
            }
        }

        #[test]
        fn every_line_that_is_written_is_read(values in prop::collection::vec((0.0..1e4_f64, 0u32..1_000_000), 1..50)) {
            let text: String = values
                .iter()
                .enumerate()
                .map(|(index, (mbit, micros))| format!("{:.6} {mbit:.6} {micros:9}\n", index as f64 * 0.05))
                .collect();
            let mut file = parse(&text).unwrap();
            for &(mbit, micros) in &values {
                let advice = file.poll(file.next_wake()).unwrap();
                prop_assert!((advice.bandwidth.as_mbit_per_sec() - mbit).abs() < 1e-4);
                prop_assert_eq!(advice.min_rtt.unwrap().downlink, Span::from_micros(micros.into()));
            }
            prop_assert_eq!(file.next_wake(), Time::NEVER);
        }
    }
}
