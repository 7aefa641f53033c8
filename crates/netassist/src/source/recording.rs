//! A source's messages as they arrived, written down and played again: a base station's day in a test.
//!
//! A line of JSON for each message: microseconds since the first one, and the text; where it is no text, its bytes in base64. Each
//! start of a service adds to the file, and counts from zero again: who plays it goes on without a pause there.
//!
//! Recording is for later looks, and never in the way of the messages: where it cannot write, it says so once, and pauses.

use super::{InputProblem, NextMessage, RawInput, RawMessage};
use crate::clock::ServiceClock;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cellcc_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The longest line: a message of a thousand users, every character of it escaped.
const MAX_LINE_BYTES: u64 = 8 << 20;
/// Pause after a file could not be written. Ours: a full disk does not become empty by itself.
const PAUSE: Span = Span::from_secs(60);

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
    /// It cannot be opened or read.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A line is not of a recording.
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
    file: Option<File>,
    first_at: Option<Time>,
    paused_until: Option<Time>,
    /// The reason why nothing is written, if it has not been reported yet.
    unsaid: Option<String>,
}

impl<I: RawInput> Recorder<I> {
    /// Appends the messages of `input` to this file, and creates it if it is missing.
    pub fn new(input: I, path: &Path) -> Self {
        Self { input, path: path.into(), file: None, first_at: None, paused_until: None, unsaid: None }
    }

    fn record(&mut self, message: &RawMessage) {
        if self.paused_until.is_some_and(|until| message.at < until) {
            return;
        }
        match self.write(message) {
            Ok(()) => self.paused_until = None,
            Err(error) => {
                // One pause, however often it is tried in vain, is one problem.
                if self.paused_until.is_none() {
                    let path = self.path.display();
                    let pause = PAUSE.as_secs_f64();
                    self.unsaid = Some(format!(
                        "cannot record to {path}: {error}; nothing is recorded until it can be written, which is tried each {pause} s"
                    ));
                }
                self.file = None;
                self.paused_until = Some(message.at + PAUSE);
            }
        }
    }

    /// Writes a line, or nothing: a partial line is removed.
    fn write(&mut self, message: &RawMessage) -> io::Result<()> {
        let first_at = *self.first_at.get_or_insert(message.at);
        let at_us = message.at.since(first_at).as_nanos() / 1000;
        let line = match str::from_utf8(&message.bytes) {
            Ok(text) => Line { at_us, text: Some(text.into()), base64: None },
            Err(_) => Line { at_us, text: None, base64: Some(STANDARD.encode(&message.bytes)) },
        };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(opened(&self.path)?),
        };
        let length = file.metadata()?.len();
        file.write_all(&text).inspect_err(|_| {
            let _ = file.set_len(length);
        })
    }
}

/// The file, at its end. A line that a killed service has begun is ended.
fn opened(path: &Path) -> io::Result<File> {
    if path.exists() && !path.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    if file.metadata()?.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

impl<I: RawInput> RawInput for Recorder<I> {
    fn next(&mut self) -> NextMessage<'_> {
        Box::pin(async move {
            if let Some(problem) = self.unsaid.take() {
                return Some(Err(InputProblem::Other(problem)));
            }
            let next = self.input.next().await;
            if let Some(Ok(message)) = &next {
                self.record(message);
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
    /// When the time zero of the lines was.
    began: Option<Time>,
    last: Span,
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
        Ok(Self { path: path.into(), lines, read: 0, clock, began: None, last: Span::ZERO, waiting: None })
    }

    /// The next message and its time since the first; `None` after the last.
    ///
    /// # Errors
    /// The file cannot be read, or the line is not of a recording.
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
                    Err(error) => return Some(Err(InputProblem::Missing(error.to_string()))),
                }
            }
            let at = self.waiting.as_ref()?.0;
            if at < self.last {
                // Another start of the service that recorded.
                self.began = None;
            }
            self.last = at;
            let began = *self.began.get_or_insert(self.clock.now() - at);
            let due = began + at;
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
        let mut recorder = Recorder::new(Messages(messages.clone()), &path);
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

    fn lines(path: &Path) -> Vec<Result<Vec<u8>, String>> {
        let mut recording = Recording::open(path, ServiceClock::start()).unwrap();
        let line = || recording.read().map(|line| line.map(|(_, bytes)| bytes)).transpose();
        std::iter::from_fn(line).map(|line| line.map_err(|error| error.to_string())).collect()
    }

    /// A service that recorded did not start again after a crash: the file was there.
    #[tokio::test]
    async fn a_second_start_adds_to_the_recording_and_ends_a_line_that_the_first_has_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recording.jsonl");
        for (text, torn) in [("one", "{\"at_us\":7,\"te"), ("two", "")] {
            let mut recorder = Recorder::new(Messages(vec![message_at(0, text.as_bytes())]), &path);
            while recorder.next().await.is_some() {}
            OpenOptions::new().append(true).open(&path).unwrap().write_all(torn.as_bytes()).unwrap();
        }
        let lines = lines(&path);
        assert_eq!((&lines[0], &lines[2]), (&Ok(b"one".into()), &Ok(b"two".into())));
        assert!(lines[1].as_ref().unwrap_err().contains(":2:"), "{lines:?}");
    }

    #[tokio::test]
    async fn a_recording_of_two_starts_is_played_in_the_order_of_its_lines_each_start_in_its_own_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recording.jsonl");
        std::fs::write(
            &path,
            [(0, "a"), (20_000, "b"), (0, "c"), (20_000, "d")]
                .map(|(at_us, text)| format!("{{\"at_us\":{at_us},\"text\":\"{text}\"}}\n"))
                .concat(),
        )
        .unwrap();
        let clock = ServiceClock::start();
        let mut recording = Recording::open(&path, clock).unwrap();
        let mut played = Vec::new();
        while let Some(message) = recording.next().await {
            played.push(message.unwrap());
        }
        let texts: Vec<_> = played.iter().map(|message| message.bytes.as_slice()).collect();
        assert_eq!(texts, [b"a", b"b", b"c", b"d"]);
        // The second start's time begins after the first one's last line; its first line may come late.
        assert!(played[3].at.since(played[1].at) >= Span::from_millis(19), "{played:?}");
    }

    /// Where it could not write, it gave an error in the place of the message.
    #[tokio::test]
    async fn what_cannot_be_recorded_is_passed_on_and_the_problem_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        // A device that is always full, and a folder.
        for path in [Path::new("/dev/full"), folder.path()] {
            let messages = (0..5).map(|step| message_at(20_000 * step, b"x")).collect();
            let mut recorder = Recorder::new(Messages(messages), path);
            let (mut passed, mut problems) = (0, Vec::new());
            while let Some(next) = recorder.next().await {
                match next {
                    Ok(_) => passed += 1,
                    Err(InputProblem::Other(problem)) => problems.push(problem),
                    Err(InputProblem::Missing(problem)) => panic!("{problem}"),
                }
            }
            assert_eq!((passed, problems.len()), (5, 1), "{problems:?}");
        }
    }

    #[tokio::test]
    async fn recording_goes_on_where_the_file_can_be_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("recording.jsonl");
        let messages = (0..3).map(|step| message_at(40_000 * step, b"x")).collect();
        let mut recorder = Recorder::new(Messages(messages), &path);
        assert!(recorder.next().await.unwrap().is_ok());
        assert!(recorder.next().await.unwrap().is_err(), "there is no such folder");
        std::fs::create_dir(folder.path().join("missing")).unwrap();
        while recorder.next().await.is_some() {}
        assert_eq!(lines(&path).len(), 1, "of 0, 40 and 80 s, that after the pause");
    }
}
