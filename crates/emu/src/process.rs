//! Processes, as /proc shows them.

use rustix::process::Pid;
use std::fs;
use std::path::Path;
use std::process;

/// The content of /proc/PID/stat on a process (proc_pid_stat(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    /// The program's name, cut to 15 bytes by the kernel.
    pub(crate) name: String,
    parent: i32,
    pub(crate) group: i32,
    /// Clock ticks from boot to its start: tells it apart from a later process with the same number.
    pub(crate) start: u64,
    /// False for a zombie, which has ended and only waits for its parent to learn of it.
    pub(crate) is_alive: bool,
}

impl Process {
    /// `None` where there is no such process.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The children of this process, orphans that it has adopted included.
    pub(crate) fn children() -> Vec<Self> {
        let own = process::id().cast_signed();
        Self::all().filter(|process| process.parent == own).collect()
    }

    /// All that this process can see.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        // In a process namespace without a /proc of its own, the numbers in there are those of other processes.
        let own = process::id().to_string();
        let is_ours = fs::read_link("/proc/self").is_ok_and(|link| link == Path::new(&own));
        let entries = fs::read_dir("/proc").ok().filter(|_| is_ours).into_iter().flatten();
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        numbers.filter_map(Self::of)
    }

    fn parse(stat: &str) -> Option<Self> {
        let (pid, rest) = stat.split_once(" (")?;
        // The name is in parentheses and may hold anything, parentheses too.
        let (name, after) = rest.rsplit_once(") ")?;
        // The third field and those after it.
        let fields: Vec<&str> = after.split_whitespace().collect();
        Some(Self {
            pid: Pid::from_raw(pid.parse().ok()?)?,
            name: name.to_owned(),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
            is_alive: !matches!(fields[0], "Z" | "X"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_what_separates_fields() {
        let stat = "17 (a) S (b) Z 5 6 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 4711 0";
        let process = Process::parse(stat).unwrap();
        assert_eq!((process.name.as_str(), process.parent, process.group), ("a) S (b", 5, 6));
        assert_eq!((process.start, process.is_alive), (4711, false));
        assert_eq!(Process::parse("17 (a) S 5"), None);
    }

    #[test]
    fn this_process_is_alive() {
        let own = Process::of(process::id()).unwrap();
        assert!(own.is_alive && own.start > 0);
    }
}
