//! The common part of benchmarks: medians with their uncertainty, and counts of instructions.

use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::process::Command;
use std::time::Duration;

/// How often a pair of programs is timed, in turns.
pub const ROUNDS: usize = 11;

/// The median of [`ROUNDS`] values, and the bounds between which the true one lies with a confidence of 98.8 %: the second
/// smallest and the second largest (order statistics of the binomial distribution, whatever that of the values).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Median {
    /// The sixth of eleven.
    pub value: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Median {
    /// The median of these values.
    pub fn of(mut values: [f64; ROUNDS]) -> Self {
        values.sort_by(f64::total_cmp);
        Self { value: values[ROUNDS / 2], low: values[1], high: values[ROUNDS - 2] }
    }
}

impl fmt::Display for Median {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(3);
        write!(f, "{:.digits$} ({:.digits$} to {:.digits$})", self.value, self.low, self.high)
    }
}

/// The processor time that this thread has taken so far. Other programs' time is not in it, but their displacement of caches is.
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Starts this program again under callgrind with `arguments`. Returns its instructions, and its output.
///
/// # Errors
/// valgrind is missing; the program failed.
pub fn instructions(arguments: &[&str]) -> Result<(u64, String), String> {
    callgrind(&["--callgrind-out-file=/dev/null"], arguments)
}

/// Runs with these options of callgrind.
///
/// # Errors
/// As [`instructions`].
pub fn callgrind(options: &[&str], arguments: &[&str]) -> Result<(u64, String), String> {
    let options: Vec<&str> = ["--tool=callgrind"].iter().chain(options).copied().collect();
    valgrind(&options, arguments, collected)
}

/// Cache misses of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misses {
    /// Misses of data in the first level.
    pub first: u64,
    /// Misses of data and instructions in the last level.
    pub last: u64,
}

/// Starts this program again under cachegrind with `arguments`. Returns the misses of a CPU's own caches, 32 KiB and 1 MiB, and
/// the output.
///
/// # Errors
/// As [`instructions`].
pub fn cachegrind(arguments: &[&str]) -> Result<(Misses, String), String> {
    const OPTIONS: [&str; 5] = [
        "--tool=cachegrind",
        "--cache-sim=yes",
        "--cachegrind-out-file=/dev/null",
        "--D1=32768,8,64",
        "--LL=1048576,16,64",
    ];
    valgrind(&OPTIONS, arguments, misses)
}

/// Starts this program again under valgrind. Returns the result of `read` on the log, and the program's output.
fn valgrind<T>(
    options: &[&str],
    arguments: &[&str],
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<(T, String), String> {
    let program = std::env::current_exe().map_err(|error| format!("no path of this program: {error}"))?;
    let output =
        Command::new("valgrind").args(options).arg(program).args(arguments).output().map_err(|error| {
            format!("valgrind, which counts instructions, does not start: {error}; install it")
        })?;
    let log = String::from_utf8_lossy(&output.stderr);
    match read(&log) {
        Some(counted) if output.status.success() => {
            Ok((counted, String::from_utf8_lossy(&output.stdout).into_owned()))
        }
        _ => Err(format!("valgrind failed:\n{log}")),
    }
}

/// The lines `==PID== D1  misses: COUNT (...)` and `==PID== LL misses: COUNT (...)` of cachegrind.
fn misses(log: &str) -> Option<Misses> {
    let of = |level: &str| {
        let mut lines = log.lines().filter_map(|line| line.split_once(" misses:"));
        let (_, counts) = lines.find(|(before, _)| before.trim_end().ends_with(level))?;
        counts.split_whitespace().next()?.replace(',', "").parse().ok()
    };
    Some(Misses { first: of("D1")?, last: of("LL")? })
}

/// The line `==PID== Collected : COUNT` of callgrind.
fn collected(log: &str) -> Option<u64> {
    let line = log.lines().rev().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_eleven_lies_between_the_second_and_the_tenth() {
        let median = Median::of([5.0, 1.0, 2.0, 9.0, 3.0, 8.0, 4.0, 7.0, 6.0, 11.0, 10.0]);
        assert_eq!(median, Median { value: 6.0, low: 2.0, high: 10.0 });
    }

    #[test]
    fn callgrinds_count_is_read_from_its_log() {
        let log = "==7== Callgrind, a tool\n==7== Events    : Ir\n==7== Collected : 1292474\n==7==\n";
        assert_eq!((collected(log), collected("==7== killed")), (Some(1_292_474), None));
    }

    #[test]
    fn cachegrinds_misses_are_read_from_its_log() {
        let log = "==7== I1  misses:        1,234\n==7== D1  misses:       56,789  (    50,000 rd   +     6,789 wr)\n\
                   ==7== LLd misses:           12  (10 rd + 2 wr)\n==7== LL misses:          1,015  (1,000 rd + 15 wr)\n";
        assert_eq!(misses(log), Some(Misses { first: 56_789, last: 1_015 }));
        assert_eq!(misses("==7== killed"), None);
    }
}
