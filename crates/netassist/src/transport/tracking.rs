//! Connection tracking of this machine, as the text that Linux shows.

use cellcc_units::{Bytes as Size, Span, Time, input};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A table of four hundred thousand flows. It is held whole, by a service that the guide gives 256 MB.
const MAX_BYTES: Size = Size::new(64 << 20);
/// It is read at most once in this time, however many clients ask at once.
const MIN_INTERVAL: Span = Span::from_millis(200);
/// That it cannot be read is logged once in this time.
const PROBLEM_INTERVAL: Span = Span::from_secs(10);

/// Takes lines for the operator.
pub(crate) type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// The table of connection tracking.
pub struct Tracking {
    path: PathBuf,
    log: Log,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    /// When the table was read, or could not be.
    read_at: Option<Time>,
    /// When it was logged that it cannot be read.
    logged_at: Option<Time>,
}

impl fmt::Debug for Tracking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracking").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Tracking {
    /// The table in this file, which can be read now; `log` takes lines when it cannot be later.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: impl Into<PathBuf>, log: Log) -> io::Result<Self> {
        let path = path.into();
        File::open(&path)?;
        Ok(Self { path, log, last: Mutex::default() })
    }

    /// The table at `now`; `None` where it was read a moment ago, or cannot be read, which says nothing about flows.
    pub(super) fn read(&self, now: Time) -> Option<String> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.read_at.is_some_and(|at| now.since(at) < MIN_INTERVAL) {
            return None;
        }
        last.read_at = Some(now);
        match input::read_text(&self.path, MAX_BYTES) {
            Ok(text) => {
                if last.logged_at.take().is_some() {
                    (self.log)("connection tracking can be read again");
                }
                Some(text)
            }
            Err(problem) => {
                if last.logged_at.is_none_or(|at| now.since(at) >= PROBLEM_INTERVAL) {
                    last.logged_at = Some(now);
                    let path = self.path.display();
                    (self.log)(&format!(
                        "connection tracking, {path}: {problem}; servers keep the users whom they have, and others need \
                         consent"
                    ));
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It was taken for an empty table, and all grants ended without a word.
    #[test]
    fn a_table_that_cannot_be_read_is_no_empty_one_and_is_logged_now_and_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nf_conntrack");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&lines);
        let log = Arc::new(move |line: &str| taken.lock().unwrap().push(line.to_owned()));
        assert!(Tracking::open(&path, log.clone()).is_err());
        std::fs::write(&path, "a flow\n").unwrap();
        let tracking = Tracking::open(&path, log).unwrap();
        let at = |secs| Time::ZERO + Span::from_secs(secs);
        assert_eq!(tracking.read(at(0)).as_deref(), Some("a flow\n"));
        std::fs::remove_file(&path).unwrap();
        for secs in 1..=12 {
            assert_eq!(tracking.read(at(secs)), None);
        }
        std::fs::write(&path, "").unwrap();
        assert_eq!(tracking.read(at(13)).as_deref(), Some(""));
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].contains("servers keep the users") && lines[2].contains("read again"), "{lines:?}");
    }

    /// The limit was kept outside the lock under which the table is read, and requests at the same time read it one after another.
    #[test]
    fn requests_at_the_same_time_read_the_table_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nf_conntrack");
        std::fs::write(&path, "a flow\n").unwrap();
        let tracking = Tracking::open(&path, Arc::new(|_: &str| ())).unwrap();
        let at = |millis: u64| Time::ZERO + Span::from_millis(1000 + millis);
        let read = [5, 5, 3, 204, 205, 206].map(|millis| tracking.read(at(millis)).is_some());
        assert_eq!(read, [true, false, false, false, true, false]);
    }
}
