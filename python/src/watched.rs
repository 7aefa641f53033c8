//! Runs on threads of their own, while Python's thread shows progress and listens for Ctrl-C.

use crate::scheme::Problem;
use cellcc_runner::{Progress, Tally};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often Python's thread looks for Ctrl-C and shows progress.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The common state of the runs' threads and Python's thread.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) stop: AtomicBool,
    /// The exception of a scheme written in Python.
    pub(crate) problem: Arc<Problem>,
    tally: Mutex<Tally>,
    over: Mutex<bool>,
    changed: Condvar,
}

impl Watched {
    /// Does `work` on another thread, and shows progress meanwhile. True if Ctrl-C ended it early; an error if showing progress
    /// failed, which also ends it.
    pub(crate) fn wait_for<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> T + Send,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<(T, bool)> {
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let done = catch_unwind(AssertUnwindSafe(work));
                *lock(&self.over) = true;
                self.changed.notify_all();
                done
            });
            let mut problem = None;
            while !py.detach(|| self.is_over_within(BETWEEN_LOOKS)) {
                let look = || {
                    py.check_signals()?;
                    self.problem.take().map_or(Ok(()), Err)?;
                    progress.map_or(Ok(()), |progress| self.show(py, progress))
                };
                if problem.is_none()
                    && let Err(error) = look()
                {
                    self.stop.store(true, Ordering::Relaxed);
                    problem = Some(error);
                }
            }
            let done = py.detach(|| worker.join());
            let done = match done.and_then(|done| done) {
                Ok(done) => done,
                Err(panic) => resume_unwind(panic),
            };
            match problem.or_else(|| self.problem.take()) {
                None => {
                    progress.map_or(Ok(()), |progress| self.show(py, progress))?;
                    Ok((done, false))
                }
                Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok((done, true)),
                Some(error) => Err(error),
            }
        })
    }

    /// How many runs are finished, of how many.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let tally = lock(&self.tally);
        (tally.ended - tally.failed, tally.runs)
    }

    fn is_over_within(&self, time: Duration) -> bool {
        let over = lock(&self.over);
        let waited = self.changed.wait_timeout_while(over, time, |over| !*over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn show(&self, py: Python<'_>, progress: &Py<PyAny>) -> PyResult<()> {
        let (done, runs, failed) = {
            let tally = lock(&self.tally);
            (tally.done(), tally.runs, tally.failed)
        };
        progress.call1(py, (done, runs, failed)).map(drop)
    }
}

impl Progress for Watched {
    fn begin(&self, runs: usize, finished: usize) {
        lock(&self.tally).begin(runs, finished);
    }

    fn advanced(&self, label: &str, share: f64) {
        lock(&self.tally).advanced(label, share);
    }

    fn finished(&self, label: &str) {
        lock(&self.tally).ended(label, false);
    }

    fn failed(&self, label: &str, _: &str) {
        lock(&self.tally).ended(label, true);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
