//! The job pool: runs, several at a time, each handed over as soon as it is finished.

use crate::files::info::Failure;
use crate::{RunnerError, SeriesDetail};
use cellcc_experiment::{Driver, PlannedRun, Record, RunId, Watch};
use cellcc_units::Time;
use std::any::Any;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Receives the progress of runs; called from several threads.
pub trait Progress: Sync {
    /// The runs begin: `finished` of `runs` were there from an earlier part.
    fn begin(&self, _runs: usize, _finished: usize) {}
    /// The runs to come: the label of each, and its expected cost, in any unit.
    fn expects(&self, _expected: &mut dyn Iterator<Item = (String, f64)>) {}
    /// A run under way in virtual time has done this share of its time.
    fn advanced(&self, _label: &str, _share: f64) {}
    /// A run is finished.
    fn finished(&self, _label: &str) {}
    /// Results of an earlier part are damaged or missing (the text has the problem and its place), and their runs are repeated.
    fn repeats(&self, _what: &str) {}
    /// A run failed.
    fn failed(&self, _label: &str, _cause: &str) {}
}

/// No progress is shown.
impl Progress for () {}

/// Store of finished runs.
pub(crate) trait Keep: Sync {
    /// True for a run that is there already.
    fn has(&self, id: RunId) -> bool;

    /// Takes a finished run.
    fn keep(&self, run: &PlannedRun, record: Record) -> Result<(), RunnerError>;
}

/// Data that the threads share.
pub(crate) struct Pool<'a, K> {
    pub(crate) runs: &'a [PlannedRun],
    pub(crate) version: &'a str,
    pub(crate) detail: SeriesDetail,
    pub(crate) driver: &'a dyn Driver,
    pub(crate) progress: &'a dyn Progress,
    /// No further run is wanted, and those in virtual time end early.
    pub(crate) stop: &'a AtomicBool,
    pub(crate) kept: &'a K,
}

/// Ends of the runs that were not kept.
#[derive(Default)]
pub(crate) struct Ended {
    /// By position in the plan.
    pub(crate) failures: BTreeMap<usize, Failure>,
    /// The first error outside a run: a Record that could not be kept.
    pub(crate) error: Option<RunnerError>,
}

/// Work of some threads.
struct Work<'a> {
    /// The positions in the plan that are worked through, and which of them is next.
    positions: &'a [usize],
    next: AtomicUsize,
    ended: &'a Mutex<Ended>,
}

impl<K: Keep> Pool<'_, K> {
    /// Runs all that is not kept yet, `jobs` at a time; those in real time one at a time, after the others.
    pub(crate) fn run(&self, jobs: NonZeroUsize) -> Ended {
        let (alone, together): (Vec<usize>, Vec<usize>) = (0..self.runs.len())
            .partition(|&position| self.driver.is_real_time(&self.runs[position].scenario));
        let to_come = self.runs.iter().filter(|run| !self.kept.has(run.id));
        let mut expected =
            to_come.map(|run| (run.label(), self.driver.expected_time(&run.scenario).as_secs_f64()));
        self.progress.expects(&mut expected);
        let ended = Mutex::new(Ended::default());
        let work = Work { positions: &together, next: AtomicUsize::new(0), ended: &ended };
        std::thread::scope(|scope| {
            for _ in 1..jobs.get().min(together.len()) {
                // Where the system gives no further thread, those that are there do the work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, || self.work(&work));
            }
            self.work(&work);
        });
        self.work(&Work { positions: &alone, next: AtomicUsize::new(0), ended: &ended });
        ended.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works as one of several threads, until all is done or no further run can be kept.
    fn work(&self, work: &Work<'_>) {
        while !self.stop.load(Ordering::Relaxed) && lock(work.ended).error.is_none() {
            let Some(&position) = work.positions.get(work.next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            let run = &self.runs[position];
            if self.kept.has(run.id) {
                continue;
            }
            let cause = match catch_unwind(AssertUnwindSafe(|| self.run_one(run))) {
                Ok(Ok(record)) => {
                    if let Err(error) = self.keep(run, record) {
                        lock(work.ended).error.get_or_insert(error);
                    }
                    continue;
                }
                // It was asked to end: it has not failed, and is still to be done.
                Ok(Err(_)) if self.stop.load(Ordering::Relaxed) => return,
                Ok(Err(error)) => error.to_string(),
                Err(panic) => format!("internal error: {}", message(&*panic)),
            };
            let label = run.label();
            self.progress.failed(&label, &cause);
            lock(work.ended).failures.insert(position, Failure { id: run.id, label, cause });
        }
    }

    fn run_one(&self, run: &PlannedRun) -> Result<Record, cellcc_experiment::RunError> {
        let duration_s = run.scenario.duration.as_secs_f64();
        let looking = Looking { progress: self.progress, stop: self.stop, label: run.label(), duration_s };
        self.driver.run_watched(&run.scenario, &looking)
    }

    fn keep(&self, run: &PlannedRun, mut record: Record) -> Result<(), RunnerError> {
        record.id = run.id.to_string();
        record.version = self.version.into();
        self.detail.apply(&mut record);
        self.kept.keep(run, record)?;
        self.progress.finished(&run.label());
        Ok(())
    }
}

/// Looks on at one run.
struct Looking<'a> {
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    label: String,
    duration_s: f64,
}

impl Watch for Looking<'_> {
    fn goes_on(&self, now: Time) -> bool {
        self.progress.advanced(&self.label, now.as_secs_f64() / self.duration_s);
        !self.stop.load(Ordering::Relaxed)
    }
}

/// A thread that panicked with the lock has changed nothing half-way: every change is one call.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}
