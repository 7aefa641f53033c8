//! How long the processors were busy.

use std::fs;
use std::time::Duration;

/// Kernels report in units of this, whatever their own tick (`USER_HZ`).
const UNITS_PER_SECOND: f64 = 100.0;

/// How long the machine's processors have idled, all together. The kernel adds this up to the nanosecond (`CONFIG_NO_HZ`), other
/// than the time in which they were busy, which it samples; what interrupts do between two idle times counts as busy.
pub(super) fn idle() -> Duration {
    let stat = fs::read_to_string("/proc/stat").expect("/proc/stat");
    let line = stat.lines().next().expect("a line");
    let fields: Vec<f64> = line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    Duration::from_secs_f64((fields[3] + fields[4]) / UNITS_PER_SECOND)
}

/// How many processors there are.
pub(super) fn count() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
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
