//! The log of libbpf and the verifier, kept for error messages instead of standard error.

use libbpf_rs::{PrintLevel, set_print};
use std::sync::{Mutex, MutexGuard};

/// libbpf has one place for messages in a process.
static MESSAGES: Mutex<String> = Mutex::new(String::new());
/// One piece of work at a time, so that a log belongs to it.
static WORK: Mutex<()> = Mutex::new(());
/// This many of the last lines go into an error.
const SHOWN_LINES: usize = 12;

/// Does `work`; if it fails, gives the last lines of the log.
pub(crate) fn logged<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<T, (E, String)> {
    let _one_at_a_time = locked(&WORK);
    locked(&MESSAGES).clear();
    set_print(Some((PrintLevel::Warn, keep)));
    work().map_err(|error| (error, last_lines(&locked(&MESSAGES))))
}

fn keep(_level: PrintLevel, message: String) {
    locked(&MESSAGES).push_str(&message);
}

/// A panic elsewhere leaves nothing half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}
