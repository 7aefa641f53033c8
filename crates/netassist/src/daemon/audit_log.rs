//! The file of the audit log.

use crate::audit::AuditEntry;
use crate::transport::Log;
use cellcc_http_port::ProblemLog;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Notify, mpsc};

/// A file to which a line is added for each entry.
pub(super) struct AuditLog {
    path: PathBuf,
    file: File,
    log: Log,
    /// A problem is an entry that is lost.
    problems: ProblemLog,
    /// The last line may have been written in part.
    is_torn: bool,
}

impl AuditLog {
    pub(super) fn open(path: &Path, log: Log) -> io::Result<Self> {
        let file = opened(path)?;
        Ok(Self { path: path.into(), file, log, problems: ProblemLog::default(), is_torn: false })
    }

    /// Writes all entries, and opens the file again by its name whenever `reopen` says so: as it was renamed.
    pub(super) async fn write(
        mut self,
        mut entries: mpsc::UnboundedReceiver<AuditEntry>,
        reopen: Arc<Notify>,
    ) {
        loop {
            tokio::select! {
                biased;
                () = reopen.notified() => self.reopen(),
                entry = entries.recv() => match entry {
                    Some(entry) => self.add(&entry),
                    None => return,
                },
            }
        }
    }

    fn reopen(&mut self) {
        match opened(&self.path) {
            Ok(file) => (self.file, self.is_torn) = (file, false),
            Err(error) => {
                (self.log)(&format!("cannot open the audit log {} again: {error}", self.path.display()));
            }
        }
    }

    fn add(&mut self, entry: &AuditEntry) {
        let Ok(json) = serde_json::to_string(entry) else { return };
        let line = format!("{}{json}\n", if self.is_torn { "\n" } else { "" });
        let written = self.file.write_all(line.as_bytes());
        self.is_torn = written.is_err();
        let Err(error) = written else { return };
        let problem =
            format!("an entry is lost, as the audit log {} cannot be written: {error}", self.path.display());
        if let Some(line) = self.problems.line(Instant::now(), &problem) {
            (self.log)(&line);
        }
    }
}

fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Event;
    use cellcc_netassist_client::{PeerName, Role};
    use cellcc_units::Time;
    use std::fs;
    use std::net::Ipv4Addr;
    use std::sync::Mutex;
    use std::time::Duration;

    fn entry(name: &str) -> AuditEntry {
        let client = PeerName::new(Role::Server, name).unwrap();
        AuditEntry::new(Time::ZERO, client, Ipv4Addr::LOCALHOST.into(), Event::Connected)
    }

    /// Each lost entry used to be a line on standard error.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_logged_now_and_then() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&lines);
        let log: Log = Arc::new(move |line: &str| taken.lock().unwrap().push(line.to_owned()));
        let mut full = AuditLog::open(Path::new("/dev/full"), log).unwrap();
        (0..1000).for_each(|_| full.add(&entry("video-1")));
        let lines = lines.lock().unwrap();
        assert!(lines.len() == 1 && lines[0].starts_with("an entry is lost"), "{lines:?}");
    }

    #[test]
    fn a_line_after_a_torn_one_is_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        fs::write(&path, "{\"unix").unwrap();
        let mut log = AuditLog::open(&path, Arc::new(|_: &str| {})).unwrap();
        log.is_torn = true;
        log.add(&entry("video-1"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("{\"unix_ms\":0,")), "{text}");
    }

    #[tokio::test]
    async fn a_log_that_was_renamed_goes_on_under_its_own_name() {
        let folder = tempfile::tempdir().unwrap();
        let [path, old] = ["audit.jsonl", "audit.jsonl.1"].map(|name| folder.path().join(name));
        let log = AuditLog::open(&path, Arc::new(|_: &str| {})).unwrap();
        let (tell, entries) = mpsc::unbounded_channel();
        let reopen = Arc::new(Notify::new());
        let writing = tokio::spawn(log.write(entries, Arc::clone(&reopen)));
        tell.send(entry("video-1")).unwrap();
        while !fs::read_to_string(&path).unwrap().contains("video-1") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        fs::rename(&path, &old).unwrap();
        reopen.notify_one();
        tell.send(entry("video-2")).unwrap();
        drop(tell);
        writing.await.unwrap();
        let read = |path| fs::read_to_string(path).unwrap();
        assert!(read(&old).contains("video-1") && !read(&old).contains("video-2"));
        assert!(read(&path).contains("video-2") && !read(&path).contains("video-1"));
    }
}
