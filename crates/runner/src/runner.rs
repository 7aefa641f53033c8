//! Runs a plan into an output folder: each run is kept as soon as it is finished.

use crate::files::info::{Failure, Host, Part, RunInfo, State, ids, plan_sha256};
use crate::files::journal::{self, Journal, Place};
use crate::files::output::{OutputFolder, remove};
use crate::files::seal;
use crate::pool::{Ended, Keep, Pool, Progress, lock};
use crate::{RunnerError, SeriesDetail, Shard, resume};
use cellcc_experiment::{Curve, Driver, Plan, PlannedRun, Record, RunId};
use cellcc_units::Span;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

/// Settings for executing a plan.
#[derive(Debug)]
pub struct Runner {
    /// The output folder.
    pub out: OutputFolder,
    /// Number of runs at a time; those that take real time go one at a time, after the others.
    pub jobs: NonZeroUsize,
    /// The share of the plan to run; none: all of it.
    pub shard: Option<Shard>,
    /// Treatment of results in the folder.
    pub existing: Existing,
    /// Detail of the time series and curves to keep.
    pub series: SeriesDetail,
    /// The command line, for `run-info.json`.
    pub command: Vec<String>,
    /// The content of `scenario.toml`.
    pub scenario: String,
}

/// Treatment of results that the output folder holds already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Refuse the folder.
    Refuse,
    /// Keep the runs of the same plan and run the rest.
    Resume,
    /// Remove them.
    Replace,
}

/// Outcome of executing a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Number of runs of the plan, or of the share of it.
    pub runs: usize,
    /// Number of runs that are finished, those of an earlier part included.
    pub finished: usize,
    /// The runs that failed, in plan order.
    pub failures: Vec<Failure>,
    /// True if it was stopped before all runs were done.
    pub interrupted: bool,
}

impl Runner {
    /// Runs the plan, or the share of it, and leaves the results in the output folder. Once `stop` is true no further run is
    /// begun; those going on are finished first, unless the driver ends them.
    ///
    /// # Errors
    /// See [`RunnerError`]. Runs that are finished by then are kept.
    pub fn run(
        &self,
        plan: &Plan,
        driver: &dyn Driver,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Outcome, RunnerError> {
        let began = Instant::now();
        check_plan(plan)?;
        let part = self.shard.map(|shard| part(shard, plan, driver));
        let runs: Cow<'_, [PlannedRun]> = match &part {
            Some(part) => part.positions.iter().map(|&position| plan.runs[position].clone()).collect(),
            None => Cow::Borrowed(&plan.runs),
        };
        let folder = self.out.folder();
        let mut info = self.info(plan, &runs, part);
        let (journal, done) = self.prepare(&runs, &info, progress).map_err(RunnerError::at_start)?;
        progress.begin(runs.len(), done.len());

        let done = Mutex::new(Done { journal, places: done });
        let kept = InFolder { out: &self.out, runs: runs.len(), done };
        let pool = Pool {
            runs: &runs,
            version: &plan.version,
            detail: self.series,
            driver,
            progress,
            stop,
            kept: &kept,
        };
        let Ended { failures, error } = pool.run(self.jobs);
        let Done { places, journal } = kept.done.into_inner().unwrap_or_else(PoisonError::into_inner);
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
        let kept = match self.existing {
            Existing::Resume => resume::gather(folder, runs, &info.version, progress)?,
            Existing::Refuse | Existing::Replace => BTreeMap::new(),
        };
        // Before anything that takes time: a run that is killed from here on can be resumed.
        self.out.write_result(&folder.scenario(), self.scenario.as_bytes())?;
        self.out.prepare()?;
        let lines = kept.values().map(|(path, place)| (path.as_path(), *place));
        let (journal, places) = Journal::create(folder.finished(), lines)?;
        info.write(&self.out)?;
        Ok((journal, kept.into_keys().zip(places).collect()))
    }

    fn info(&self, plan: &Plan, runs: &[PlannedRun], part: Option<Part>) -> RunInfo {
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
            plan: runs.iter().map(|run| run.id).collect(),
            part,
            failures: Vec::new(),
        }
    }
}

/// The runs of a share.
fn part(shard: Shard, plan: &Plan, driver: &dyn Driver) -> Part {
    let expected: Vec<Span> = plan.runs.iter().map(|run| driver.expected_time(&run.scenario)).collect();
    Part { plan_sha256: plan_sha256(&ids(plan)), positions: shard.positions(&expected) }
}

/// Refuses a plan with the same run twice: the two would share one series file and could not be distinguished.
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

/// Keeps finished runs in the output folder.
struct InFolder<'a> {
    out: &'a OutputFolder,
    /// Number of runs of the plan, or of the share of it.
    runs: usize,
    done: Mutex<Done>,
}

/// Progress so far.
struct Done {
    journal: Journal,
    places: BTreeMap<RunId, Place>,
}

impl Keep for InFolder<'_> {
    fn has(&self, id: RunId) -> bool {
        lock(&self.done).places.contains_key(&id)
    }

    /// Writes the series first, so that a line in the journal always has them.
    fn keep(&self, run: &PlannedRun, record: Record) -> Result<(), RunnerError> {
        let series = record.series.to_csv();
        let curves = (!record.curves.is_empty()).then(|| Curve::to_csv(&record.curves));
        let curves = curves.as_ref().map(String::as_bytes);
        self.out.write_files(run.id, self.runs, series.as_bytes(), curves)?;
        let line = seal::seal(&record, series.as_bytes(), curves);
        drop(record);
        let mut done = lock(&self.done);
        let place = done.journal.append(&line)?;
        done.places.insert(run.id, place);
        Ok(())
    }
}
