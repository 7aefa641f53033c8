//! One file, written by noq and by us: a record is whole before it is written, so that none is within another.

use super::repair;
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Begins a record of a JSON text sequence (RFC 7464).
const SEPARATOR: u8 = 0x1e;

/// A connection's log. Clones are the same file; it is complete when the last of them, noq's among them, is dropped.
#[derive(Clone)]
pub struct Log(Arc<Inner>);

struct Inner {
    name: String,
    began: Instant,
    state: Mutex<State>,
}

struct State {
    /// `None` after it has failed: a full disk ends the log, not the connection.
    file: Option<Box<dyn Write + Send>>,
    has_header: bool,
    latest_millis: f64,
}

/// An event as the draft has it.
#[derive(Serialize)]
struct Event<'a> {
    /// In ms since the connection was made.
    time: f64,
    name: &'a str,
    data: Value,
}

impl Log {
    pub(super) fn new(file: Box<dyn Write + Send>, name: String, began: Instant) -> Self {
        let state = State { file: Some(file), has_header: false, latest_millis: 0.0 };
        Self(Arc::new(Inner { name, began, state: Mutex::new(state) }))
    }

    /// Writes an event of this name (`cellcc:state`), which happened at `now`. One that is told late is written with the
    /// time of the event before it, so that times never go back.
    pub fn write(&self, now: Instant, name: &str, data: Value) {
        let micros = now.saturating_duration_since(self.0.began).as_micros();
        self.with(|state| {
            let time = (micros as f64 / 1e3).max(state.latest_millis);
            match serde_json::to_vec(&Event { time, name, data }) {
                Ok(record) if state.has_header => state.put(time, &record),
                _ => Ok(()),
            }
        });
    }

    /// A record of noq's, without separator and newline.
    fn put_noqs(&self, record: &[u8]) {
        self.with(|state| {
            if !state.has_header {
                state.has_header = true;
                return state.put(0.0, &repair::header(record));
            }
            let time = state.latest_millis.max(repair::time(record));
            state.put(time, &repair::event(record, time))
        });
    }

    /// Has everything so far reach the disk: what is left of a program that is killed.
    pub(super) fn flush(&self) {
        self.with(|state| state.file.as_mut().map_or(Ok(()), |file| file.flush()));
    }

    fn with(&self, act: impl FnOnce(&mut State) -> io::Result<()>) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(cause) = act(&mut state) {
            tracing::warn!("the qlog {} ends here: {cause}", self.0.name);
            state.file = None;
        }
    }
}

impl State {
    fn put(&mut self, millis: f64, record: &[u8]) -> io::Result<()> {
        self.latest_millis = millis;
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(&[SEPARATOR])?;
        file.write_all(record)?;
        file.write_all(b"\n")
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Log").field(&self.0.name).finish()
    }
}

/// What noq writes to: it writes records in many small pieces, each from a separator to a newline. (JSON has newlines
/// within texts escaped.)
pub(super) struct RecordWriter {
    log: Log,
    record: Vec<u8>,
}

impl RecordWriter {
    pub(super) fn new(log: Log) -> Self {
        Self { log, record: Vec::new() }
    }
}

impl Write for RecordWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            match byte {
                SEPARATOR => self.record.clear(),
                b'\n' => self.log.put_noqs(&std::mem::take(&mut self.record)),
                byte => self.record.push(byte),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.log.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    /// What was written, until no room is left.
    #[derive(Clone)]
    struct Disk {
        written: Arc<Mutex<Vec<u8>>>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut written = self.written.lock().unwrap();
            if written.len() + bytes.len() > self.room {
                return Err(io::ErrorKind::StorageFull.into());
            }
            written.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn disk(room: usize) -> Disk {
        Disk { written: Arc::default(), room }
    }

    /// The times and names of the events on the disk.
    fn events(disk: &Disk) -> Vec<(f64, String)> {
        let text = String::from_utf8(disk.written.lock().unwrap().clone()).unwrap();
        let records =
            text.split('\u{1e}').skip(2).map(|record| serde_json::from_str::<Value>(record).unwrap());
        records
            .map(|event| (event["time"].as_f64().unwrap(), event["name"].as_str().unwrap().into()))
            .collect()
    }

    #[test]
    fn records_do_not_fall_into_each_other_and_times_do_not_go_back() {
        let disk = disk(usize::MAX);
        let began = Instant::now();
        let log = Log::new(Box::new(disk.clone()), "test".into(), began);
        log.write(began, "cellcc:early", json!({}));
        let mut noqs = RecordWriter::new(log.clone());
        noqs.write_all(b"\x1e{\"trace\":{}}\n\x1e{\"time\":2.5,\"na").unwrap();
        log.write(began + Duration::from_micros(1001), "cellcc:state", json!({"a": 1}));
        noqs.write_all(b"me\":\"quic:packet_sent\",\"data\":{}}\n").unwrap();
        log.write(began + Duration::from_millis(2), "cellcc:late", json!({}));
        noqs.write_all(b"\x1e{\"time\":2.25,\"name\":\"quic:packet_lost\",\"data\":{}}\n").unwrap();
        let expected = [
            (1.001, "cellcc:state"),
            (2.5, "quic:packet_sent"),
            (2.5, "cellcc:late"),
            (2.5, "quic:packet_lost"),
        ];
        assert_eq!(events(&disk), expected.map(|(time, name)| (time, name.to_owned())));
    }

    #[test]
    fn a_full_disk_ends_the_log_and_nothing_else() {
        let disk = disk(600);
        let began = Instant::now();
        let log = Log::new(Box::new(disk.clone()), "test".into(), began);
        RecordWriter::new(log.clone()).write_all(b"\x1e{\"trace\":{}}\n").unwrap();
        for _ in 0..100 {
            log.write(began, "cellcc:state", json!({}));
        }
        let length = disk.written.lock().unwrap().len();
        assert!((300..=600).contains(&length), "{length}");
    }
}
