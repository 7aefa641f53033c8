//! The job pool: runs of a plan, several at a time, each kept as soon as it is finished.

use crate::info::{Failure, Host, RunInfo, State};
use crate::journal::{self, Journal, Place};
use crate::output::{OutputFolder, remove};
use crate::{RunnerError, SeriesDetail, Shard, resume, seal};
use cellcc_experiment::{Curve, Driver, Plan, PlannedRun, Record, RunId};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

/// How to execute a plan.
#[derive(Debug)]
pub struct Runner {
    /// The output folder.
    pub out: OutputFolder,
    /// How many runs go on at a time; those that take real time go one at a time, after the others.
    pub jobs: NonZeroUsize,
    /// Which share of the plan to run; none: all of it.
    pub shard: Option<Shard>,
    /// What to do with results in the folder.
    pub existing: Existing,
    /// How much of time series and curves to keep.
    pub series: SeriesDetail,
    /// The command line, for `run-info.json`.
    pub command: Vec<String>,
    /// The content of `scenario.toml`.
    pub scenario: String,
}

/// What to do with results that the output folder holds already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Refuse the folder.
    Refuse,
    /// Keep the runs of the same plan and run the rest.
    Resume,
    /// Remove them.
    Replace,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How many runs there are.
    pub runs: usize,
    /// How many of them are finished, those of an earlier part included.
    pub finished: usize,
    /// The runs that failed, in plan order.
    pub failures: Vec<Failure>,
    /// It was stopped before all runs were done.
    pub interrupted: bool,
}

/// Is told how far the runs are; called from several threads.
pub trait Progress: Sync {
    /// The runs begin: `finished` of `runs` were there from an earlier part.
    fn begin(&self, _runs: usize, _finished: usize) {}
    /// A run is finished.
    fn finished(&self, _label: &str) {}
    /// Something of an earlier part is not what was written then (what, and where), and its runs are repeated.
    fn repeats(&self, _what: &str) {}
    /// A run failed.
    fn failed(&self, _label: &str, _cause: &str) {}
}

/// No progress is shown.
impl Progress for () {}

impl Runner {
    /// Runs the plan, or the share of it, and leaves the results in the output folder. Once `stop` is true no further run is
    /// begun; those going on are finished first, unless the driver ends them.
    ///
    /// # Errors
    /// See [`RunnerError`]. What is finished by then is kept.
    pub fn run(
        &self,
        plan: &Plan,
        driver: &dyn Driver,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Outcome, RunnerError> {
        let began = Instant::now();
        check_plan(plan)?;
        let runs: Vec<PlannedRun> = match self.shard {
            Some(shard) => shard.of(&plan.runs).cloned().collect(),
            None => plan.runs.clone(),
        };
        let folder = self.out.folder();
        let mut info = self.info(plan);
        let (journal, done) = self.prepare(&runs, &info, progress).map_err(RunnerError::at_start)?;
        progress.begin(runs.len(), done.len());

        let pool = Pool {
            runs: &runs,
            version: &plan.version,
            out: &self.out,
            detail: self.series,
            driver,
            progress,
            stop,
            next: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            state: Mutex::new(Done { journal, places: done, failures: BTreeMap::new(), error: None }),
        };
        let (alone, together): (Vec<usize>, Vec<usize>) =
            (0..runs.len()).partition(|&position| driver.is_real_time(&runs[position].scenario));
        std::thread::scope(|scope| {
            for _ in 1..self.jobs.get().min(together.len()) {
                // Where the system gives no further thread, those that are there do the work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, || pool.work(&together));
            }
            pool.work(&together);
        });
        pool.next.store(0, Ordering::Relaxed);
        pool.work(&alone);
        let Done { places, failures, error, journal } =
            pool.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        drop(journal);
        let interrupted = places.len() + failures.len() < runs.len();
        info.failures = failures.into_values().collect();
        info.wall_time_s = began.elapsed().as_secs_f64();
        info.state = if interrupted { State::Interrupted } else { State::Complete };
        if let Some(error) = error {
            // The folder may not take even this, and the first error is the one to tell.
            let _ = info.write(&self.out);
            return Err(error);
        }
        let outcome = Outcome {
            runs: runs.len(),
            finished: places.len(),
            failures: info.failures.clone(),
            interrupted,
        };
        if !interrupted {
            let finished = folder.finished();
            let in_order = runs.iter().filter_map(|run| Some((finished.as_path(), *places.get(&run.id)?)));
            journal::copy(&folder.runs(), in_order)?;
        }
        info.write(&self.out)?;
        if !interrupted {
            remove(&folder.finished())?;
        }
        Ok(outcome)
    }

    /// Makes the folder ready, and the journal with the runs that the folder holds already.
    fn prepare(
        &self,
        runs: &[PlannedRun],
        info: &RunInfo,
        progress: &dyn Progress,
    ) -> Result<(Journal, BTreeMap<RunId, Place>), RunnerError> {
        let folder = self.out.folder();
        if self.existing == Existing::Refuse && self.out.holds_results() {
            return Err(RunnerError::HoldsResults { folder: folder.path().into() });
        }
        if self.existing == Existing::Replace {
            self.out.clear()?;
        }
        self.out.prepare()?;
        let kept = match self.existing {
            Existing::Resume => resume::gather(folder, runs, &info.version, progress)?,
            Existing::Refuse | Existing::Replace => BTreeMap::new(),
        };
        let lines = kept.values().map(|(path, place)| (path.as_path(), *place));
        let (journal, places) = Journal::create(folder.finished(), lines)?;
        info.write(&self.out)?;
        self.out.write_result(&folder.scenario(), self.scenario.as_bytes())?;
        Ok((journal, kept.into_keys().zip(places).collect()))
    }

    fn info(&self, plan: &Plan) -> RunInfo {
        RunInfo {
            title: plan.title.clone(),
            baseline: plan.baseline.clone(),
            state: State::Running,
            version: plan.version.clone(),
            command: self.command.clone(),
            host: Host::this(),
            jobs: self.jobs.get(),
            started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            wall_time_s: 0.0,
            shard: self.shard,
            plan: plan.runs.iter().map(|run| run.id).collect(),
            failures: Vec::new(),
        }
    }
}

/// Refuses a plan with the same run twice: the two would share one series file and could not be told apart.
///
/// # Errors
/// [`RunnerError::Twice`].
pub fn check_plan(plan: &Plan) -> Result<(), RunnerError> {
    let mut ids = BTreeSet::new();
    match plan.runs.iter().find(|run| !ids.insert(run.id)) {
        Some(run) => Err(RunnerError::Twice { label: run.label() }),
        None => Ok(()),
    }
}

/// What the threads share.
struct Pool<'a> {
    runs: &'a [PlannedRun],
    version: &'a str,
    out: &'a OutputFolder,
    detail: SeriesDetail,
    driver: &'a dyn Driver,
    progress: &'a dyn Progress,
    /// No further run is wanted.
    stop: &'a AtomicBool,
    /// No further run can be kept.
    broken: AtomicBool,
    /// Which of the positions that are worked through is next.
    next: AtomicUsize,
    state: Mutex<Done>,
}

/// What has been done so far.
struct Done {
    journal: Journal,
    places: BTreeMap<RunId, Place>,
    /// By position in the plan.
    failures: BTreeMap<usize, Failure>,
    /// The first error that was not one of a run.
    error: Option<RunnerError>,
}

impl Pool<'_> {
    /// Runs those at `positions`, as one of several threads.
    fn work(&self, positions: &[usize]) {
        while !self.stop.load(Ordering::Relaxed) && !self.broken.load(Ordering::Relaxed) {
            let Some(&position) = positions.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return };
            let run = &self.runs[position];
            if self.state().places.contains_key(&run.id) {
                continue;
            }
            let result = catch_unwind(AssertUnwindSafe(|| self.driver.run(&run.scenario)));
            let kept = match result {
                Ok(Ok(record)) => self.keep(run, record),
                // It was told to end: it has not failed, and is still to be done.
                Ok(Err(_)) if self.stop.load(Ordering::Relaxed) => return,
                Ok(Err(error)) => self.fail(position, run, error.to_string()),
                Err(panic) => self.fail(position, run, format!("internal error: {}", message(&*panic))),
            };
            if let Err(error) = kept {
                self.broken.store(true, Ordering::Relaxed);
                self.state().error.get_or_insert(error);
            }
        }
    }

    /// Writes a finished run: its series first, so that a line in the journal always has them.
    fn keep(&self, run: &PlannedRun, mut record: Record) -> Result<(), RunnerError> {
        record.id = run.id.to_string();
        record.version = self.version.into();
        self.detail.apply(&mut record);
        let series = record.series.to_csv();
        let curves = (!record.curves.is_empty()).then(|| Curve::to_csv(&record.curves));
        let curves = curves.as_ref().map(String::as_bytes);
        self.out.write_series(run.id, series.as_bytes())?;
        self.out.write_curves(run.id, curves)?;
        let line = seal::seal(&record, series.as_bytes(), curves);
        drop(record);
        let mut state = self.state();
        let place = state.journal.append(&line)?;
        state.places.insert(run.id, place);
        drop(state);
        self.progress.finished(&run.label());
        Ok(())
    }

    fn fail(&self, position: usize, run: &PlannedRun, cause: String) -> Result<(), RunnerError> {
        let label = run.label();
        self.progress.failed(&label, &cause);
        self.state().failures.insert(position, Failure { id: run.id, label, cause });
        Ok(())
    }

    /// A thread that panicked with the lock has changed nothing half-way: every change is one call.
    fn state(&self) -> MutexGuard<'_, Done> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}
