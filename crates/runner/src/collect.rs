//! Runs a plan without an output folder: the Records stay in memory.

use crate::files::info::Failure;
use crate::pool::{Ended, Keep, Pool, lock};
use crate::{Progress, RunnerError, SeriesDetail, check_plan};
use cellcc_experiment::{Driver, Plan, PlannedRun, Record, RunId};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

/// Results of a plan. The Records are those that an output folder would hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// The finished runs, in plan order.
    pub records: Vec<Record>,
    /// The runs that failed, in plan order.
    pub failures: Vec<Failure>,
    /// True if it was stopped before all runs were done.
    pub interrupted: bool,
}

impl Collected {
    /// The outcome of each run: its Record, or the reason why it failed.
    pub fn by_run(self) -> BTreeMap<RunId, Result<Record, String>> {
        let failed = self.failures.into_iter().map(|failure| (failure.id, Err(failure.cause)));
        // The pool wrote the id of the run.
        let finished =
            self.records.into_iter().filter_map(|record| Some((record.id.parse().ok()?, Ok(record))));
        failed.chain(finished).collect()
    }
}

/// Runs a plan, `jobs` runs at a time. Once `stop` is true no further run is begun, and those going on in virtual time end.
///
/// # Errors
/// [`RunnerError::Twice`].
pub fn collect(
    plan: &Plan,
    driver: &dyn Driver,
    jobs: NonZeroUsize,
    detail: SeriesDetail,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Collected, RunnerError> {
    check_plan(plan)?;
    progress.begin(plan.runs.len(), 0);
    let memory = Memory::default();
    let pool =
        Pool { runs: &plan.runs, version: &plan.version, detail, driver, progress, stop, kept: &memory };
    let Ended { failures, .. } = pool.run(jobs);
    let mut kept = memory.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let interrupted = kept.len() + failures.len() < plan.runs.len();
    Ok(Collected {
        records: plan.runs.iter().filter_map(|run| kept.remove(&run.id)).collect(),
        failures: failures.into_values().collect(),
        interrupted,
    })
}

#[derive(Default)]
struct Memory(Mutex<BTreeMap<RunId, Record>>);

impl Keep for Memory {
    fn has(&self, _: RunId) -> bool {
        false
    }

    fn keep(&self, run: &PlannedRun, record: Record) -> Result<(), RunnerError> {
        lock(&self.0).insert(run.id, record);
        Ok(())
    }
}
