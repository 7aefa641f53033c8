//! Runs a plan on threads of its own while Python's thread shows progress and listens for Ctrl-C.

use crate::error::{InputError, of_request, of_runner};
use crate::options;
use crate::runs::Runs;
use crate::scheme::Problem;
use crate::schemes;
use cellcc_experiment::{Driver, Plan};
use cellcc_runner::{
    Collected, Existing, Host, Outcome, OutputFolder, Progress, Request, Results, Runner, RunnerError,
    SeriesDetail, Shard, Tally, collect,
};
use cellcc_sim::SimDriver;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often Python's thread looks for Ctrl-C and shows progress.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Runs what is asked for. `progress` is called with how many runs are done, parts of runs included, how many there are,
/// and how many failed. Gives the runs, whether Ctrl-C ended them early, and how many of how many are finished.
#[pyfunction]
#[pyo3(signature = (options, *, scenario=None, jobs=None, series="sampled", out=None, existing="refuse", shard=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn compare(
    py: Python<'_>,
    options: &Bound<'_, PyDict>,
    scenario: Option<PathBuf>,
    jobs: Option<usize>,
    series: &str,
    out: Option<PathBuf>,
    existing: &str,
    shard: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Runs, bool, usize, usize)> {
    let request = options::request(scenario.as_deref(), options)?;
    refuse_other_drivers(&request)?;
    let detail: SeriesDetail = series.parse().map_err(InputError::new_err::<String>)?;
    let shard: Option<Shard> = shard.map(str::parse).transpose().map_err(crate::error::input)?;
    let jobs = jobs
        .map_or_else(|| Ok(Host::this().cpus), |jobs| (1..=1024).contains(&jobs).then_some(jobs).ok_or(jobs));
    let jobs =
        jobs.map_err(|jobs| InputError::new_err(format!("jobs={jobs} is out of range; write 1 to 1024")))?;
    let jobs = NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN);
    let existing = existing_of(existing)?;
    if shard.is_some() && out.is_none() {
        return Err(InputError::new_err("shard: name the folder for its results with out=..., too"));
    }
    let problem = Arc::default();
    let (driver, plan) = py
        .detach(|| {
            let (registry, version) = schemes::registry_for(&request.file, &problem);
            let driver = SimDriver::new(registry);
            let plan = request.plan(&driver, &version)?;
            Ok((driver, plan))
        })
        .map_err(of_request)?;

    let watched = Watched { problem, ..Watched::default() };
    let work = || match out {
        None => collect(&plan, &driver, jobs, detail, &watched, &watched.stop).map(Ran::InMemory),
        Some(out) => {
            let runner = Runner {
                out: OutputFolder::create(&out)?,
                jobs,
                shard,
                existing,
                series: detail,
                command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
                scenario: request.scenario_toml().map_err(|error| RunnerError::Unwritable {
                    path: out.join("scenario.toml"),
                    source: std::io::Error::other(error),
                })?,
            };
            let outcome = run_in_folder(&runner, &plan, &driver, &watched)?;
            Ok(Ran::InFolder(outcome, runner.out))
        }
    };
    let (ran, interrupt) = watched.wait_for(py, work, progress.as_ref())?;
    let runs = match ran.map_err(of_runner)? {
        Ran::InMemory(Collected { records, failures, interrupted: _ }) => {
            Runs::new(plan.title, plan.baseline, records, failures)
        }
        Ran::InFolder(Outcome { interrupted: true, failures, .. }, _) => {
            Runs::new(plan.title, plan.baseline, Vec::new(), failures)
        }
        Ran::InFolder(Outcome { failures, .. }, out) => {
            let Results { records, .. } = py.detach(|| Results::read(out.path())).map_err(of_runner)?;
            Runs::new(plan.title, plan.baseline, records, failures)
        }
    };
    let (ended, planned) = watched.counts();
    Ok((runs, interrupt, ended, planned))
}

/// Python runs the simulator only.
pub(crate) fn refuse_other_drivers(request: &Request) -> PyResult<()> {
    let other = request.file.drivers.iter().find(|name| *name != cellcc_experiment::DEFAULT_DRIVER);
    other.map_or(Ok(()), |other| {
        Err(InputError::new_err(format!(
            "drivers: Python runs the simulator, `sim`, only; for {other}: cellcc compare --driver {other}"
        )))
    })
}

/// What came out, and where it is.
enum Ran {
    InMemory(Collected),
    InFolder(Outcome, OutputFolder),
}

fn run_in_folder(
    runner: &Runner,
    plan: &Plan,
    driver: &dyn Driver,
    watched: &Watched,
) -> Result<Outcome, RunnerError> {
    runner.run(plan, driver, watched, &watched.stop)
}

fn existing_of(text: &str) -> PyResult<Existing> {
    match text {
        "refuse" => Ok(Existing::Refuse),
        "resume" => Ok(Existing::Resume),
        "replace" => Ok(Existing::Replace),
        _ => Err(InputError::new_err(format!(
            "existing={text:?}: results that the folder holds already are a reason to \"refuse\", to \"resume\" them, or to \"replace\" them"
        ))),
    }
}

/// What the threads of the runs and Python's thread share.
#[derive(Default)]
struct Watched {
    stop: AtomicBool,
    /// What a scheme written in Python has raised.
    problem: Arc<Problem>,
    tally: Mutex<Tally>,
    over: Mutex<bool>,
    changed: Condvar,
}

impl Watched {
    /// Does `work` on another thread, and shows progress meanwhile. True where Ctrl-C ended it early; an error where showing
    /// progress failed, which ends it as well.
    fn wait_for<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> T + Send,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<(T, bool)> {
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
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
                Err(panic) => std::panic::resume_unwind(panic),
            };
            match problem.or_else(|| self.problem.take()) {
                None => {
                    progress.map_or(Ok(()), |progress| self.show(py, progress))?;
                    Ok((done, false))
                }
                Some(error) if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => {
                    Ok((done, true))
                }
                Some(error) => Err(error),
            }
        })
    }

    /// How many runs are finished, of how many.
    fn counts(&self) -> (usize, usize) {
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
