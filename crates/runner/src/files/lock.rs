//! One writer at a time: a lock on a file in the output folder, which the system releases when its process ends.

use crate::RunnerError;
use crate::error::bounded;
use crate::files::folder::refuse_link;
use std::env;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

/// The file stays in the folder: a process that removed it could remove the lock of the next writer.
const NAME: &str = ".cellcc-lock";

/// Number of attempts to take the lock or to read its holder's name, with a pause after each: two seconds in all.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Most characters of a command that a message shows.
const MOST_COMMAND: usize = 200;

/// The right to write to a folder, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// Takes the lock, or tells who holds it.
    pub(crate) fn take(folder: &Path) -> Result<Self, RunnerError> {
        let path = folder.join(NAME);
        let unwritable = |source| RunnerError::Unwritable { path: path.clone(), source };
        refuse_link(&path).map_err(unwritable)?;
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(unwritable)?;
        if let Some(holder) = take_or_holder(&mut file).map_err(unwritable)? {
            return Err(RunnerError::InUse { folder: folder.into(), holder });
        }
        file.set_len(0).and_then(|()| file.write_all(this_process().as_bytes())).map_err(unwritable)?;
        Ok(Self(file))
    }
}

impl Drop for Lock {
    /// Removes the holder's name: a free lock has none. A process that was killed leaves its name, until the next
    /// holder writes its own.
    fn drop(&mut self) {
        let _ = self.0.set_len(0);
    }
}

/// Takes the lock, or tells who says to hold it.
fn take_or_holder(file: &mut File) -> io::Result<Option<String>> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {}
        }
        let mut text = Vec::new();
        file.rewind()?;
        if file.take(4_096).read_to_end(&mut text)? > 0 {
            return Ok(Some(bounded(&String::from_utf8_lossy(&text))));
        }
        // The holder has just begun and not yet written its name, or it has just ended.
        thread::sleep(PAUSE);
    }
    Ok(Some("another process".into()))
}

fn this_process() -> String {
    let words: Vec<_> = env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    // Folders on a network are written to from several hosts.
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { String::new() } else { format!(" on {}", host.trim()) };
    let since = humantime::format_rfc3339_seconds(SystemTime::now());
    let mut command: String = words.join(" ");
    if let Some((end, _)) = command.char_indices().nth(MOST_COMMAND) {
        command.replace_range(end.., " ...");
    }
    format!("process {}{host} since {since} (`{command}`)", std::process::id())
}
