//! How long processors worked.

use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::time::Duration;

/// How long processors have worked for this process so far. Over veth they also do so for the network: a packet is received,
/// and its acknowledgement worked on, before the system call ends that sent it. The work of timers is not in it.
pub(super) fn time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Lets the kernel measure how long programs run, which costs time itself.
pub(super) fn with_program_statistics<T>(work: impl FnOnce() -> T) -> T {
    const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";
    let before = fs::read_to_string(SWITCH).expect("a switch");
    fs::write(SWITCH, "1").expect("switched on");
    let done = work();
    fs::write(SWITCH, before.trim()).expect("switched back");
    done
}
