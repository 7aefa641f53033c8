//! A source's messages as they arrived, written down and played again: a base station's day in a test.
//!
//! A line of JSON for each message: microseconds since the first one, and the text; where it is no text, its bytes in base64.

use super::{NextMessage, RawInput, RawMessage};
use crate::clock::ServiceClock;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cellcc_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The longest line: a message of a thousand users, every character of it escaped.
const MAX_LINE_BYTES: u64 = 8 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    at_us: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// What is wrong with a recording.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// It cannot be opened, read or written.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A line is none of a recording.
    #[error("{}:{line}: {problem}; expected a line such as {{\"at_us\":0,\"text\":\"...\"}}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

/// An input that is written down as it is read.
#[derive(Debug)]
pub struct Recorder<I> {
    input: I,
    path: PathBuf,
    file: BufWriter<File>,
    first_at: Option<Time>,
}

impl<I: RawInput> Recorder<I> {
    /// Writes what `input` gives to a new file.
    ///
    /// # Errors
    /// The file is there already, or cannot be made.
    pub fn create(input: I, path: &Path) -> Result<Self, RecordingError> {
        let file = File::create_new(path).map_err(|cause| RecordingError::Io { path: path.into(), cause })?;
        Ok(Self { input, path: path.into(), file: BufWriter::new(file), first_at: None })
    }

    fn write(&mut self, message: &RawMessage) -> io::Result<()> {
        let first_at = *self.first_at.get_or_insert(message.at);
        let at_us = message.at.since(first_at).as_nanos() / 1000;
        let line = match str::from_utf8(&message.bytes) {
            Ok(text) => Line { at_us, text: Some(text.into()), base64: None },
            Err(_) => Line { at_us, text: None, base64: Some(STANDARD.encode(&message.bytes)) },
        };
        serde_json::to_writer(&mut self.file, &line)?;
        self.file.write_all(b"\n")?;
        self.file.flush()
    }
}

impl<I: RawInput> RawInput for Recorder<I> {
    fn next(&mut self) -> NextMessage<'_> {
        Box::pin(async move {
            let next = self.input.next().await;
            if let Some(Ok(message)) = &next
                && let Err(error) = self.write(message)
            {
                return Some(Err(format!("cannot write {}: {error}", self.path.display())));
            }
            next
        })
    }
}

/// A recording, played in real time.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    lines: BufReader<File>,
    read: usize,
    clock: ServiceClock,
    began: Option<Time>,
    /// Read, and not yet due.
    waiting: Option<(Span, Vec<u8>)>,
}

impl Recording {
    /// Plays this file; time zero is that of the first call of [`next`](RawInput::next).
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path, clock: ServiceClock) -> Result<Self, RecordingError> {
        let file = cellcc_units::input::open(path).map_err(|error| RecordingError::Io {
            path: path.into(),
            cause: io::Error::other(error.to_string()),
        })?;
        let lines = BufReader::new(file);
        Ok(Self { path: path.into(), lines, read: 0, clock, began: None, waiting: None })
    }

    /// The next message and its time since the first; `None` after the last.
    ///
    /// # Errors
    /// The file cannot be read, or the line is none of a recording.
    pub fn read(&mut self) -> Result<Option<(Span, Vec<u8>)>, RecordingError> {
        let mut line = Vec::new();
        let length = (&mut self.lines).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        if length.map_err(|cause| RecordingError::Io { path: self.path.clone(), cause })? == 0 {
            return Ok(None);
        }
        self.read += 1;
        message(&line).map(Some).map_err(|problem| RecordingError::Line {
            path: self.path.clone(),
            line: self.read,
            problem,
        })
    }
}

/// Reads a line of a recording.
fn message(line: &[u8]) -> Result<(Span, Vec<u8>), String> {
    let line: Line = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let bytes = match (line.text, line.base64) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(text)) => STANDARD.decode(text).map_err(|error| error.to_string())?,
        _ => return Err("neither `text` nor `base64`, or both".into()),
    };
    let nanos = line.at_us.checked_mul(1000).ok_or("its time is beyond 584 years")?;
    Ok((Span::from_nanos(nanos), bytes))
}

impl RawInput for Recording {
    fn next(&mut self) -> NextMessage<'_> {
        Box::pin(async move {
            if self.waiting.is_none() {
                match self.read() {
                    Ok(message) => self.waiting = Some(message?),
                    // Each line is read once, so that this ends.
                    Err(error) => return Some(Err(error.to_string())),
                }
            }
            let began = *self.began.get_or_insert(self.clock.now());
            let due = began + self.waiting.as_ref()?.0;
            tokio::time::sleep_until(self.clock.instant(due).into()).await;
            let (_, bytes) = self.waiting.take()?;
            Some(Ok(RawMessage { at: self.clock.now(), bytes }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Messages(Vec<RawMessage>);

    impl RawInput for Messages {
        fn next(&mut self) -> NextMessage<'_> {
            Box::pin(async move { (!self.0.is_empty()).then(|| Ok(self.0.remove(0))) })
        }
    }

    fn message_at(millis: u64, bytes: &[u8]) -> RawMessage {
        RawMessage { at: Time::ZERO + Span::from_millis(1000 + millis), bytes: bytes.into() }
    }

    #[tokio::test]
    async fn what_was_recorded_is_played_again_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recording.jsonl");
        let messages = vec![message_at(0, b"{\"a\":\n1}"), message_at(3, &[0xff, 0x00]), message_at(5, b"")];
        let mut recorder = Recorder::create(Messages(messages.clone()), &path).unwrap();
        while recorder.next().await.is_some() {}

        let clock = ServiceClock::start();
        let mut recording = Recording::open(&path, clock).unwrap();
        let began = clock.now();
        let mut played = Vec::new();
        while let Some(message) = recording.next().await {
            played.push(message.unwrap());
        }
        let bytes: Vec<_> = played.iter().map(|message| &message.bytes).collect();
        assert_eq!(bytes, messages.iter().map(|message| &message.bytes).collect::<Vec<_>>());
        assert!(played[2].at.since(began) >= Span::from_millis(5), "in its own time");
    }

    #[test]
    fn what_is_no_recording_is_refused_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recording.jsonl");
        std::fs::write(&path, "{\"at_us\":0,\"text\":\"a\"}\n{\"at_us\":0}\n").unwrap();
        let mut recording = Recording::open(&path, ServiceClock::start()).unwrap();
        assert!(recording.read().unwrap().is_some());
        let error = recording.read().unwrap_err().to_string();
        assert!(error.contains("recording.jsonl:2: neither"), "{error}");
    }

    #[test]
    fn a_recording_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recording.jsonl");
        std::fs::write(&path, "mine").unwrap();
        assert!(Recorder::create(Messages(Vec::new()), &path).is_err());
    }
}
