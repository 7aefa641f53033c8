//! Writes a log in a thread of its own, so that the forwarding thread neither allocates for an event nor waits for
//! the disk.

use super::lines::{Lines, milli, write_out};
use super::{LogEvent, LogSpec};
use crate::error::EmuError;
use cellcc_link::Capacity;
use cellcc_units::output::WholeFile;
use cellcc_units::{Span, Time};
use std::io::{self, Write};
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

/// Events that are handed over at once: 128 kB of memory, 8 ms at 500,000 events/s.
const BATCH: usize = 4096;
/// Batches that are reused; more are made where the disk does not keep up.
const BATCHES: usize = 16;
/// The longest wait of an event before its batch is handed over, while events come.
const HAND_OVER_AFTER: Span = Span::from_millis(100);
/// A long time without events makes many lines of capacity: they are written for so many milliseconds at once.
const MILLIS_AT_ONCE: u64 = 4096;

/// Takes the events of one link; a thread of its own makes lines of them and writes the file.
#[derive(Debug)]
pub struct LogSink {
    path: PathBuf,
    batch: Vec<LogEvent>,
    hand_over_at: Time,
    full: Sender<Vec<LogEvent>>,
    empty: Receiver<Vec<LogEvent>>,
    batches: usize,
    writer: JoinHandle<Writer>,
}

/// The result of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// The file.
    pub path: PathBuf,
    /// Events in it.
    pub events: u64,
    /// The size of the file, including header and opportunities.
    pub bytes: u64,
    /// The most events that waited in memory; `None` if the disk kept up.
    pub behind: Option<u64>,
}

impl LogSink {
    /// Creates the file, writes its header, and starts the thread. The log's lines `TIME # BYTES` come from `capacity`;
    /// time zero of the emulation is `started`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(spec: &LogSpec, capacity: Arc<Capacity>, started: SystemTime) -> Result<Self, EmuError> {
        let file = WholeFile::named(&spec.path).and_then(WholeFile::begin);
        let file = file.map_err(EmuError::system(writing(&spec.path)))?;
        Self::to(Box::new(file), spec, capacity, started)
    }

    pub(super) fn to(
        mut out: Box<dyn Write + Send>,
        spec: &LogSpec,
        capacity: Arc<Capacity>,
        started: SystemTime,
    ) -> Result<Self, EmuError> {
        let started_millis = started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let mut lines = Lines::new(capacity);
        lines.header(&spec.path, &spec.header, started_millis);
        let bytes = write_out(&mut lines.text, &mut *out).map_err(EmuError::system(writing(&spec.path)))?;
        let (full, to_write) = mpsc::channel();
        let (written, empty) = mpsc::channel();
        for _ in 1..BATCHES {
            // The receiver is in this function.
            let _ = written.send(Vec::with_capacity(BATCH));
        }
        let writer = Writer { out, lines, events: 0, bytes, failed: None };
        let writer = thread::Builder::new()
            .name("log".into())
            .spawn(move || writer.run(&to_write, &written))
            .map_err(EmuError::system("start the thread that writes the log"))?;
        Ok(Self {
            path: spec.path.clone(),
            batch: Vec::with_capacity(BATCH),
            hand_over_at: Time::NEVER,
            full,
            empty,
            batches: BATCHES,
            writer,
        })
    }

    /// Takes an event. Events come in the order of their times, give or take a few milliseconds.
    #[inline]
    pub fn push(&mut self, event: LogEvent) {
        if self.batch.is_empty() {
            self.hand_over_at = event.at() + HAND_OVER_AFTER;
        }
        self.batch.push(event);
        if self.batch.len() == BATCH || event.at() >= self.hand_over_at {
            self.flush();
        }
    }

    /// Hands over the events collected so far, as before a long idle time.
    pub fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let next = self.empty.try_recv().unwrap_or_else(|_| {
            self.batches += 1;
            Vec::with_capacity(BATCH)
        });
        // The thread lives as long as this sender.
        let _ = self.full.send(mem::replace(&mut self.batch, next));
    }

    /// Writes the rest, with the capacity up to `end`, and waits for the disk.
    ///
    /// # Errors
    /// An event could not be written, as on a full disk: the log ends there.
    pub fn finish(mut self, end: Time) -> Result<LogSummary, EmuError> {
        self.flush();
        let Self { path, full, batches, writer, .. } = self;
        drop(full);
        let gone = |_| io::Error::other("its thread has panicked");
        let mut writer = writer.join().map_err(gone).map_err(EmuError::system(writing(&path)))?;
        writer.offered_through(milli(end));
        writer.write();
        match writer.failed {
            Some(error) => Err(EmuError::system(format!("{}, which ends early", writing(&path)))(error)),
            None => Ok(LogSummary {
                path,
                events: writer.events,
                bytes: writer.bytes,
                behind: (batches > BATCHES).then_some((batches * BATCH) as u64),
            }),
        }
    }
}

fn writing(path: &std::path::Path) -> String {
    format!("write the log {}", path.display())
}

/// The state of the log's thread.
struct Writer {
    out: Box<dyn Write + Send>,
    lines: Lines,
    events: u64,
    bytes: u64,
    /// After the first failure nothing more is written, and events are taken as before.
    failed: Option<io::Error>,
}

impl Writer {
    fn run(mut self, to_write: &Receiver<Vec<LogEvent>>, written: &Sender<Vec<LogEvent>>) -> Self {
        for mut batch in to_write {
            for &event in &batch {
                self.offered_through(milli(event.at()));
                self.lines.event(event);
            }
            self.events += batch.len() as u64;
            self.write();
            batch.clear();
            // The last one is not taken back.
            let _ = written.send(batch);
        }
        self
    }

    /// The capacity up to a time that may be far away, in pieces.
    fn offered_through(&mut self, milli: u64) {
        while self.lines.next_milli() <= milli {
            let piece = self.lines.next_milli() + MILLIS_AT_ONCE;
            self.lines.offered_through(milli.min(piece));
            if piece <= milli {
                self.write();
            }
        }
    }

    fn write(&mut self) {
        if self.failed.is_some() {
            return self.lines.text.clear();
        }
        match write_out(&mut self.lines.text, &mut *self.out) {
            Ok(bytes) => self.bytes += bytes,
            Err(error) => self.failed = Some(error),
        }
    }
}
