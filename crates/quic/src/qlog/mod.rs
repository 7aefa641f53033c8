//! Logs of connections as qlog files: noq's events about packets, and between them the scheme's.
//!
//! | to find | look in |
//! |---|---|
//! | the folder, and a file for each connection | [`Directory`] |
//! | one file, which noq and the scheme write to | `log` |
//! | corrections of noq's records | `normalize` |
//! | records about the scheme | `scheme` |
//!
//! Format: JSON text sequences, draft-ietf-quic-qlog-main-schema-13 and draft-ietf-quic-qlog-quic-events-12.

mod log;
mod normalize;

use crate::sender::{Observed, Sender};
use cellcc_control::Signal;
use cellcc_schemes::{Estimation, RateSignal};
use cellcc_units::Rate;
use log::RecordWriter;
use noq_proto::{ConnectionId, QlogConfig, QlogFactory, Side, TransportConfig};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use std::{
    fs::{self, File},
    io,
};
use thiserror::Error;

pub use log::Log;

/// Reason why there are no logs.
#[derive(Debug, Error)]
#[error(
    "cannot write qlog files to {}: {cause}; name a folder that this user may write to, on a disk with room",
    .path.display()
)]
pub struct DirectoryError {
    path: PathBuf,
    #[source]
    cause: io::Error,
}

/// A folder with a file `<prefix>-<connection id>-<side>.sqlog` for each connection. Clones are the same folder.
#[derive(Debug, Clone)]
pub struct Directory(Arc<Settings>);

#[derive(Debug)]
struct Settings {
    path: PathBuf,
    prefix: String,
}

impl Directory {
    /// Makes the folder unless it exists.
    ///
    /// # Errors
    /// No file can be written to it. This is checked now rather than after the transfer.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, DirectoryError> {
        let path = path.into();
        match check_writable(&path) {
            Ok(()) => Ok(Self(Arc::new(Settings { path, prefix: "cellcc".into() }))),
            Err(cause) => Err(DirectoryError { path, cause }),
        }
    }

    /// Uses another prefix of file names in the folder. Characters other than ASCII letters, digits, `-`, `.` and `_`
    /// become `_`.
    pub fn with_prefix(&self, prefix: &str) -> Self {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        let prefix = prefix.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
        Self(Arc::new(Settings { path: self.0.path.clone(), prefix }))
    }

    /// Makes every connection of this configuration write its file. The file includes the events of a
    /// [`Congestion`](crate::Congestion) in the same configuration.
    pub fn install(&self, transport: &mut TransportConfig) {
        transport.qlog_factory(Arc::clone(&self.0) as _);
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

/// Writes a file and removes it.
fn check_writable(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    let file = path.join(format!(".cellcc-{}", std::process::id()));
    let written = File::create(&file).and_then(|mut made| made.write_all(b"cellcc\n"));
    let removed = fs::remove_file(&file);
    written.and(removed)
}

thread_local! {
    /// The log that noq requested last. In the same call noq then asks for the connection's congestion controllers; nothing
    /// else tells which log belongs to which controller.
    static BEING_MADE: RefCell<Option<(Instant, Log)>> = const { RefCell::new(None) };
}

impl QlogFactory for Settings {
    fn for_connection(
        &self,
        side: Side,
        _remote: SocketAddr,
        initial_dst_cid: ConnectionId,
        now: Instant,
    ) -> Option<QlogConfig> {
        let side = match side {
            Side::Client => "client",
            Side::Server => "server",
        };
        let path = self.path.join(format!("{}-{initial_dst_cid}-{side}.sqlog", self.prefix));
        let file = create(&path)
            .inspect_err(|cause| tracing::warn!("no qlog of this connection at {}: {cause}", path.display()))
            .ok()?;
        let header = header(side, initial_dst_cid);
        let log = Log::new(Box::new(io::BufWriter::new(file)), path.display().to_string(), now, &header);
        BEING_MADE.set(Some((now, log.clone())));
        let mut config = QlogConfig::new(Box::new(RecordWriter::new(log)));
        config.start_time(now);
        Some(config)
    }
}

/// A log shows whom its user talks to, and when: only the user may read it.
fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The first record. noq's own names the serialization otherwise, and lacks event schemas and the clock (sections 3 and 5
/// of the main schema).
fn header(side: &str, connection: ConnectionId) -> Value {
    let began = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
    json!({
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": "cellcc",
        "trace": {
            "vantage_point": { "type": side },
            // The draft's events, and ours: any absolute URI names an event schema.
            "event_schemas": ["urn:ietf:params:qlog:events:quic-12", "urn:cellcc:qlog:events:1"],
            "common_fields": {
                "group_id": connection.to_string(),
                "time_format": "relative_to_epoch",
                "reference_time": { "clock_type": "monotonic", "epoch": "unknown", "wall_clock_time": began },
            },
        },
    })
}

/// The log of the connection whose first controller is being built at `now`.
pub(crate) fn of_connection_being_made(now: Instant) -> Option<Log> {
    let (made_at, log) = BEING_MADE.take()?;
    (made_at == now).then_some(log)
}

// Writes the scheme's events: `cellcc:state`, `cellcc:signal`, and its window and pacing rate, which noq does not know, as
// the draft's `quic:recovery_metrics_updated`.

/// Interval between two records of the scheme's numbers.
const STATE_INTERVAL: Duration = Duration::from_millis(100);

/// A scheme's part of a connection's log.
#[derive(Debug)]
pub(crate) struct SchemeLog {
    log: Log,
    scheme: String,
    written_at: Option<Instant>,
    /// A change of these is written at once.
    states: Vec<(&'static str, &'static str)>,
    /// The last signal that was written.
    signal: Option<Signal>,
    metrics: Option<Metrics>,
}

/// UDP payload: the window in bytes, the pacing rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Metrics {
    congestion_window: u64,
    pacing_rate: Option<u64>,
}

impl Metrics {
    fn of(sender: &Sender) -> Self {
        let (limits, size) = (sender.snapshot().limits, sender.size());
        let bits = |rate: Rate| size.payload_rate(rate).as_bytes_per_sec().saturating_mul(8);
        Self {
            congestion_window: size.payload_of(limits.window).get(),
            pacing_rate: limits.pacing_rate.map(bits),
        }
    }

    fn data(self) -> Value {
        let mut data = json!({ "congestion_window": self.congestion_window });
        if let Some(rate) = self.pacing_rate {
            data["pacing_rate"] = rate.into();
        }
        data
    }
}

impl SchemeLog {
    pub(crate) fn new(log: Log, scheme: &str) -> Self {
        Self { log, scheme: scheme.into(), written_at: None, states: Vec::new(), signal: None, metrics: None }
    }

    /// Writes the changes since the last call.
    pub(crate) fn record(&mut self, now: Instant, sender: &Sender) {
        if let Some(signal) = sender.last_signal().filter(|&signal| self.signal != Some(signal)) {
            self.signal = Some(signal);
            self.log.write(now, "cellcc:signal", signal_data(signal));
        }
        let metrics = Metrics::of(sender);
        if self.metrics != Some(metrics) {
            self.metrics = Some(metrics);
            self.log.write(now, "quic:recovery_metrics_updated", metrics.data());
        }
        let mut observed = Observed::default();
        sender.observe(&mut observed);
        let has_changed = observed.states != self.states;
        let is_due = self.written_at.is_none_or(|last| now.saturating_duration_since(last) >= STATE_INTERVAL);
        if has_changed || is_due {
            self.states.clone_from(&observed.states);
            self.written_at = Some(now);
            self.log.write(now, "cellcc:state", self.state_data(sender, observed));
        }
        if is_due {
            self.log.flush();
        }
    }

    fn state_data(&self, sender: &Sender, observed: Observed) -> Value {
        let snapshot = sender.snapshot();
        // JSON has no infinity: such a value is left out.
        let values: Map<String, Value> = observed
            .values
            .into_iter()
            .filter(|(_, value)| value.is_finite())
            .map(|(name, value)| (name, value.into()))
            .collect();
        let states: Map<String, Value> =
            observed.states.iter().map(|(name, state)| ((*name).into(), (*state).into())).collect();
        json!({
            "scheme": self.scheme,
            "window_bytes": snapshot.limits.window.get(),
            "inflight_bytes": snapshot.inflight.get(),
            "pacing_rate_mbit_s": snapshot.pacing_rate().map(|rate| rate.as_mbit_per_sec()),
            "values": values,
            "states": states,
        })
    }
}

/// RBBR's signal by its fields, any other as bytes.
fn signal_data(signal: Signal) -> Value {
    let Some(RateSignal { estimation, epoch }) = RateSignal::decode(&signal) else {
        let bytes = signal.as_bytes();
        let data: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        return json!({ "raw": { "length": bytes.len(), "data": data } });
    };
    let estimation = match estimation {
        Estimation::Run => "run",
        Estimation::RaiseOnly => "raise_only",
        Estimation::Suspend => "suspend",
    };
    json!({ "estimation": estimation, "epoch": epoch })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_written_to_is_refused_at_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Directory::new(file.path().join("logs")).unwrap_err().to_string();
        assert!(error.starts_with("cannot write qlog files to "), "{error}");
        assert!(error.contains("name a folder"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn nobody_but_its_owner_reads_a_log() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let Directory(settings) = Directory::new(folder.path()).unwrap();
        let (peer, connection) = ("192.0.2.1:443".parse().unwrap(), ConnectionId::new(&[7; 8]));
        assert!(settings.for_connection(Side::Server, peer, connection, Instant::now()).is_some());
        let log = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
        assert_eq!(log.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_log_goes_to_the_connection_that_is_made_next_and_to_no_other() {
        let now = Instant::now();
        let log = Log::new(Box::new(io::sink()), "nowhere".into(), now, &json!({}));
        BEING_MADE.set(Some((now, log.clone())));
        assert!(of_connection_being_made(now).is_some());
        assert!(of_connection_being_made(now).is_none(), "a controller of another path");
        BEING_MADE.set(Some((now, log)));
        assert!(of_connection_being_made(now + std::time::Duration::from_nanos(1)).is_none());
    }
}
