//! One file, written by noq and by us. Buffers each record, so that concurrent writers never interleave.

use super::normalize::normalized;
use serde_json::{Map, Value};
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
    /// `None` after an error: a full disk ends the log, not the connection.
    file: Option<Box<dyn Write + Send>>,
    latest_millis: f64,
}

impl Log {
    /// Begins the file with `header`, the first record of a qlog.
    pub(super) fn new(file: Box<dyn Write + Send>, name: String, began: Instant, header: &Value) -> Self {
        let state = State { file: Some(file), latest_millis: 0.0 };
        let log = Self(Arc::new(Inner { name, began, state: Mutex::new(state) }));
        log.with(|state| state.append(&serde_json::to_vec(header)?));
        log
    }

    /// Writes an event of this name (`cellcc:state`), which happened at `now`.
    pub fn write(&self, now: Instant, name: &str, data: Value) {
        let micros = now.saturating_duration_since(self.0.began).as_micros();
        let time = micros as f64 / 1e3;
        let members = [("time".into(), time.into()), ("name".into(), name.into()), ("data".into(), data)];
        self.write_event(Map::from_iter(members));
    }

    /// Writes one of noq's events, given without separator and newline.
    fn write_noq_event(&self, record: &[u8]) {
        let Ok(event) = serde_json::from_slice(record) else { return };
        if let Some(event) = normalized(event) {
            self.write_event(event);
        }
    }

    /// Writes an event; one that is reported late gets the time of the event before it, so that times never go back.
    fn write_event(&self, mut event: Map<String, Value>) {
        self.with(|state| {
            let millis = event.get("time").and_then(Value::as_f64).unwrap_or(0.0);
            state.latest_millis = state.latest_millis.max(millis);
            event.insert("time".into(), state.latest_millis.into());
            state.append(&serde_json::to_vec(&event)?)
        });
    }

    /// Writes everything so far to the disk, where it survives the program.
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
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
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

/// The writer for noq: each record comes in many small pieces, from a separator to a newline. (JSON escapes newlines within
/// texts.) Its first record is a header, which the log has already.
pub(super) struct RecordWriter {
    log: Log,
    has_header: bool,
    record: Vec<u8>,
}

impl RecordWriter {
    pub(super) fn new(log: Log) -> Self {
        Self { log, has_header: false, record: Vec::new() }
    }

    fn on_record(&mut self) {
        if std::mem::replace(&mut self.has_header, true) {
            self.log.write_noq_event(&self.record);
        }
        self.record.clear();
    }
}

impl Write for RecordWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            match byte {
                SEPARATOR => self.record.clear(),
                b'\n' => self.on_record(),
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

    /// Stores written bytes until no room is left.
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
    fn records_do_not_interleave_and_times_do_not_go_back() {
        let disk = disk(usize::MAX);
        let began = Instant::now();
        let log = Log::new(Box::new(disk.clone()), "test".into(), began, &json!({}));
        log.write(began, "cellcc:early", json!({}));
        let mut noqs = RecordWriter::new(log.clone());
        noqs.write_all(b"\x1e{\"trace\":{}}\n\x1e{\"time\":2.5,\"na").unwrap();
        log.write(began + Duration::from_micros(1001), "cellcc:state", json!({"a": 1}));
        noqs.write_all(b"me\":\"quic:packet_sent\",\"data\":{}}\n").unwrap();
        log.write(began + Duration::from_millis(2), "cellcc:late", json!({}));
        noqs.write_all(b"\x1e{\"time\":2.25,\"name\":\"quic:packet_lost\",\"data\":{}}\n").unwrap();
        let expected = [
            (0.0, "cellcc:early"),
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
        let log = Log::new(Box::new(disk.clone()), "test".into(), began, &json!({}));
        for _ in 0..100 {
            log.write(began, "cellcc:state", json!({}));
        }
        let length = disk.written.lock().unwrap().len();
        assert!((300..=600).contains(&length), "{length}");
    }
}
