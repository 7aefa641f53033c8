//! Linux's facts about a process.

use anyhow::{Context, Result};
use std::time::Duration;

/// `USER_HZ` of proc(5), which Linux keeps at 100 for programs.
const TICK: Duration = Duration::from_millis(10);
/// `utime` and `stime` of proc(5), counted from the state, which follows the name in brackets.
const TIMES: [usize; 2] = [11, 12];

/// Processor time of all its threads.
pub(crate) struct Usage(pub(crate) Duration);

impl Usage {
    pub(crate) fn of(process: &str) -> Result<Self> {
        let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
        let (_, after) = text.rsplit_once(')').context("no name")?;
        let fields: Vec<_> = after.split_whitespace().collect();
        let ticks = TIMES.iter().map(|&at| Ok(fields.get(at).context("no times")?.parse::<u32>()?));
        Ok(Self(TICK * ticks.sum::<Result<u32>>()?))
    }
}

/// Memory that it has now.
pub(crate) fn resident_bytes(process: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024)
}
