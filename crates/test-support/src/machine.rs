//! How punctual a machine is, and who keeps it from being so.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A wake-up this late is a stall: with only the tests on two processors, no thread wakes so late.
const STALL: Duration = Duration::from_millis(15);
/// The host stalls the machine where it takes this share of the processors' time. At this share a thread that wakes once
/// a millisecond on two processors is late by a millisecond each hundredth time: more than the emulator allows itself.
const STEAL: f64 = 0.005;
/// A wake-up is late as a release of the emulator is (`LATE` of its report): by more than a slot of LTE.
const LATE: Duration = Duration::from_millis(1);
/// The machine is late where more than this share of wake-ups is, or where something waits for a processor for more than this share
/// of the time: the emulator allows itself to release as many packets late.
const LATE_SHARE: f64 = 0.01;
/// Other programs may be the cause where they take this share of the processors' time: four times as much as those of an idle
/// virtual machine with two processors.
const OTHERS: f64 = 0.02;
/// How often the watchdog wakes up.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The lateness over a while, and the CPUs' load meanwhile.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Load {
    /// How late a thread woke at most.
    pub(crate) latest_wake_up: Duration,
    /// The share of its wake-ups that were more than [`LATE`].
    pub(crate) late: f64,
    /// The share of the time in which something that could run waited for a processor.
    pub(crate) waited: f64,
    /// The share of the processors' time that the host took.
    pub(crate) stolen: f64,
    /// The share that none of this process, its descendants, the kernel's threads, which may work for them, and programs that give
    /// way to all others took.
    pub(crate) others: f64,
}

impl Load {
    /// The machine while nothing of ours runs, for so long.
    pub(crate) fn without_us(length: Duration) -> Self {
        let watchdog = Watchdog::start();
        std::thread::sleep(length);
        watchdog.stop()
    }

    /// True if something was late, whatever the cause.
    pub(crate) fn is_late(&self) -> bool {
        self.is_late_by_others() || self.late > LATE_SHARE
    }

    /// True if something was late through no fault of ours.
    pub(crate) fn is_late_by_others(&self) -> bool {
        let is_stalled = self.latest_wake_up >= STALL || self.stolen >= STEAL;
        is_stalled || self.others >= OTHERS && (self.late > LATE_SHARE || self.waited > LATE_SHARE)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [late, waited, stolen, others] =
            [self.late, self.waited, self.stolen, self.others].map(|share| share * 100.0);
        write!(
            f,
            "{late:.1} % of a thread's wake-ups were late, by {:.1} ms at most; something waited for a processor for {waited:.0} % of \
             the time; other programs took {others:.0} % of the processors' time, and the host {stolen:.1} %",
            self.latest_wake_up.as_secs_f64() * 1e3
        )
    }
}

/// A thread that wakes up again and again, and says how late.
pub(crate) struct Watchdog {
    began: Instant,
    before: Counts,
    is_over: Arc<AtomicBool>,
    seen: Arc<WakeUps>,
    thread: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct WakeUps {
    all: AtomicU64,
    late: AtomicU64,
    latest_ns: AtomicU64,
}

impl Watchdog {
    pub(crate) fn start() -> Self {
        let (is_over, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(WakeUps::default()));
        let (over, wakes) = (Arc::clone(&is_over), Arc::clone(&seen));
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let late = oversleep();
                wakes.all.fetch_add(1, Ordering::Relaxed);
                wakes.late.fetch_add(u64::from(late > LATE), Ordering::Relaxed);
                wakes.latest_ns.fetch_max(late.as_nanos() as u64, Ordering::Relaxed);
            }
        });
        Self { began: Instant::now(), before: Counts::now(), is_over, seen, thread }
    }

    /// The load since the start.
    pub(crate) fn stop(self) -> Load {
        let after = Counts::now();
        self.is_over.store(true, Ordering::Relaxed);
        // It cannot have panicked.
        let _ = self.thread.join();
        let [all, late] = [&self.seen.all, &self.seen.late].map(|count| count.load(Ordering::Relaxed) as f64);
        Load {
            latest_wake_up: Duration::from_nanos(self.seen.latest_ns.load(Ordering::Relaxed)),
            late: late / all.max(1.0),
            ..after.since(&self.before, self.began.elapsed())
        }
    }
}

/// Sleeps for [`POLL_INTERVAL`], and returns how much longer it took.
fn oversleep() -> Duration {
    let began = Instant::now();
    std::thread::sleep(POLL_INTERVAL);
    began.elapsed().saturating_sub(POLL_INTERVAL)
}

/// Clock ticks of `/proc`: the kernel shows its times so to all programs (proc_stat(5), USER_HZ).
const TICK: Duration = Duration::from_millis(10);

/// Counters of the kernel since boot. Zeros where it counts nothing: then stalls alone excuse a failure.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Counts {
    processors: u64,
    /// Ticks in which a processor had nothing to do.
    idle: u64,
    /// Ticks in which a thread was ready to run, but the host ran something else.
    stolen: u64,
    /// Ticks of this process, its descendants, the kernel's threads, and programs that give way to all others.
    ours: u64,
    /// Microseconds in which something waited for a processor.
    waited_us: u64,
}

impl Counts {
    fn now() -> Self {
        let text = |file: &str| fs::read_to_string(file).unwrap_or_default();
        Self {
            ours: ours(&Process::all(), process::id()),
            ..Self::parse(&text("/proc/stat"), &text("/proc/pressure/cpu"))
        }
    }

    /// proc_stat(5): `cpu`, user, nice, system, idle, iowait, irq, softirq, steal; then a line for each processor. Pressure is
    /// Documentation/accounting/psi.rst of the kernel: `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`.
    fn parse(stat: &str, pressure: &str) -> Self {
        let all: Vec<u64> = stat.lines().next().map_or_else(Vec::new, |line| {
            line.split_whitespace().skip(1).map_while(|field| field.parse().ok()).collect()
        });
        let field = |index: usize| all.get(index).copied().unwrap_or_default();
        let is_processor = |line: &&str| {
            line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let waited = pressure.lines().next().and_then(|line| line.split_once("total=")?.1.parse().ok());
        Self {
            processors: stat.lines().filter(is_processor).count() as u64,
            idle: field(3) + field(4),
            stolen: field(7),
            ours: 0,
            waited_us: waited.unwrap_or_default(),
        }
    }

    /// The shares since `before`, so long ago.
    fn since(&self, before: &Self, elapsed: Duration) -> Load {
        // Idle time is measured, while that of `user` and `system` is sampled.
        let all = self.processors as f64 * elapsed.as_secs_f64() / TICK.as_secs_f64();
        let ticks = |of: fn(&Self) -> u64| of(self).saturating_sub(of(before)) as f64;
        let stolen = ticks(|counts| counts.stolen);
        let others = all - ticks(|counts| counts.idle) - stolen - ticks(|counts| counts.ours);
        let waited = ticks(|counts| counts.waited_us) / elapsed.as_micros().max(1) as f64;
        Load {
            stolen: stolen / all.max(1.0),
            others: others.max(0.0) / all.max(1.0),
            waited,
            ..Load::default()
        }
    }
}

/// CPU times of a process as the kernel reports them, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: u32,
    own: u64,
    /// CPU time of descendants that it has waited for.
    waited_for: u64,
    is_kernels: bool,
    /// It runs only where nothing else wants to: `tools/test` starts tests without a clock so, beside those in real time.
    gives_way: bool,
}

impl Process {
    /// Every process that this one sees, by its number.
    fn all() -> HashMap<u32, Self> {
        let names = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers
            .filter_map(|number: u32| {
                Some((number, Self::parse(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?)?))
            })
            .collect()
    }

    /// proc_pid_stat(5): number, name in parentheses, state, parent and so on; the 9th is flags, the 14th utime, then stime, cutime
    /// and cstime; the 41st is the scheduling policy.
    fn parse(stat: &str) -> Option<Self> {
        /// PF_KTHREAD of the kernel's include/linux/sched.h.
        const KERNELS: u64 = 0x0020_0000;
        /// `include/uapi/linux/sched.h` of the kernel.
        const SCHED_IDLE: u64 = 5;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            parent: u32::try_from(field(4)?).ok()?,
            own: field(14)? + field(15)?,
            waited_for: field(16)? + field(17)?,
            is_kernels: field(9)? & KERNELS != 0,
            gives_way: field(41) == Some(SCHED_IDLE),
        })
    }
}

/// The ticks of a process, its descendants, the kernel's threads, and programs that give way to all others. Descendants that outlive their
/// parent and then end are waited for by an ancestor.
fn ours(all: &HashMap<u32, Process>, root: u32) -> u64 {
    let parent = |number: &u32| all.get(number).map(|process| process.parent);
    let ancestors = |of: u32| std::iter::successors(parent(&of), parent);
    let descends = |number: u32| number == root || ancestors(number).any(|ancestor| ancestor == root);
    let is_ours =
        |number: u32, process: &Process| descends(number) || process.is_kernels || process.gives_way;
    let at_work = all.iter().filter(|(number, process)| is_ours(**number, process));
    let of_ancestors = ancestors(root).filter_map(|number| all.get(&number));
    at_work.map(|(_, process)| process.own + process.waited_for).sum::<u64>()
        + of_ancestors.map(|process| process.waited_for).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::processor_time;

    fn load(late_ms: u64, late: f64, waited: f64, stolen: f64, others: f64) -> Load {
        Load { latest_wake_up: Duration::from_millis(late_ms), late, waited, stolen, others }
    }

    #[test]
    fn a_stall_excuses_and_so_does_lateness_where_other_programs_run_but_not_our_own_load() {
        for excused in [load(15, 0.0, 0.0, 0.0, 0.0), load(0, 0.0, 0.0, 0.005, 0.0)] {
            assert!(excused.is_late() && excused.is_late_by_others(), "{excused}");
        }
        for busy in [load(14, 0.011, 0.0, 0.0, 0.0), load(14, 0.0, 0.011, 0.0, 0.0)] {
            assert_eq!(busy.is_late(), busy.late > 0.0, "{busy}");
            assert!(!Load { others: 0.019, ..busy }.is_late_by_others(), "{busy}");
            assert!(Load { others: 0.02, ..busy }.is_late_by_others(), "{busy}");
        }
        let punctual = load(14, 0.01, 0.01, 0.0049, 1.0);
        assert!(!punctual.is_late() && !punctual.is_late_by_others());
    }

    #[test]
    fn shares_come_from_the_kernels_counts() {
        let parse = |stat: &str, waited: &str| Counts::parse(stat, waited);
        let before = parse(
            "cpu  10 20 30 40 50 60 70 80 999 999\ncpu0 1\ncpu1 1\nintr 5\n",
            "some avg10=1.00 avg60=0.00 avg300=0.00 total=1000\nfull avg10=0.00 total=7\n",
        );
        assert_eq!(before, Counts { processors: 2, idle: 90, stolen: 80, ours: 0, waited_us: 1000 });
        let after = Counts { idle: 190, stolen: 90, ours: 50, waited_us: 251_000, ..before };
        // A second of two processors has 200 ticks.
        let load = after.since(&before, Duration::from_secs(1));
        assert_eq!((load.stolen, load.others, load.waited), (0.05, 0.2, 0.25));
        let nothing = parse("", "").since(&parse("", ""), Duration::from_secs(1));
        assert_eq!((nothing.stolen, nothing.others, nothing.waited), (0.0, 0.0, 0.0));
    }

    #[test]
    fn ours_are_descendants_what_ancestors_waited_for_the_kernels_threads_and_what_gives_way() {
        let process = |parent: u32, flags: u64, ticks: u64, policy: u64| {
            let between = "0 ".repeat(23);
            let stat = format!(
                "1 (a) name) S {parent} 0 0 0 -1 {flags} 0 0 0 0 {ticks} 0 0 1000 {between}{policy} 0"
            );
            Process::parse(&stat).unwrap()
        };
        let stat = |parent, ticks| process(parent, 0x40_0000, ticks, 0);
        let expected = Process { parent: 7, own: 3, waited_for: 1000, is_kernels: false, gives_way: false };
        assert_eq!(stat(7, 3), expected);
        let all = HashMap::from([
            (1, stat(0, 1)),
            (2, stat(1, 2)),
            (3, stat(1, 4)),
            (4, stat(2, 8)),
            (5, stat(4, 16)),
            (6, process(0, 0x20_8040, 32, 0)),
            (7, process(1, 0x40_0000, 64, 5)),
        ]);
        assert_eq!(ours(&all, 2), (2 + 8 + 16 + 32 + 64) + 6 * 1000);
    }

    #[test]
    fn what_this_process_takes_is_ours() {
        if Process::all().is_empty() {
            return crate::skip("there is no /proc, which has the times of processes");
        }
        let (before, spin) = (Counts::now(), processor_time() + Duration::from_millis(300));
        while processor_time() < spin {}
        // Both ends are rounded down to a tick, of user and of system time.
        assert!(Counts::now().ours - before.ours >= 28);
    }
}
