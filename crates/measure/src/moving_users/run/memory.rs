//! Resident memory of processes over the run.

use anyhow::{Context, Result};
use std::fs;

/// A process, and its memory at each look, in KiB.
#[derive(Debug, Clone)]
pub(crate) struct Resident {
    pub(crate) name: String,
    process: u32,
    pub(crate) kib: Vec<u64>,
}

/// The memory of processes at each look.
#[derive(Debug, Clone)]
pub(crate) struct Memory(pub(crate) Vec<Resident>);

impl Memory {
    /// The memory of these processes and of this one, which has the QUIC server, its clients and the emulated path.
    pub(crate) fn new(processes: Vec<(String, u32)>) -> Self {
        let own = ("QUIC server, clients, emulated path".to_owned(), std::process::id());
        let resident = |(name, process)| Resident { name, process, kib: Vec::new() };
        Self(processes.into_iter().chain([own]).map(resident).collect())
    }

    pub(crate) fn look(&mut self) -> Result<()> {
        for Resident { name, process, kib } in &mut self.0 {
            let status = fs::read_to_string(format!("/proc/{process}/status"))
                .with_context(|| format!("{name} has ended"))?;
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("VmRSS:"))
                .with_context(|| format!("{name} has ended"))?;
            kib.push(line.trim().trim_end_matches(" kB").parse()?);
        }
        Ok(())
    }
}
