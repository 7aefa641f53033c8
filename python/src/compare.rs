//! `compare`: the request becomes a plan, the plan is run, and its runs are given to Python.

use crate::error::{of_request, of_runner};
use crate::execution::Execution;
use crate::options;
use crate::runs::Runs;
use crate::scheme::WithPython;
use crate::schemes;
use crate::watched::Watched;
use cellcc_experiment::Recordings;
use cellcc_runner::{Collected, Drivers};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Runs the request. `progress` is called with how many runs are done, parts of runs included, how many there are,
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
    let execution = Execution::new(jobs, series, shard, existing, out)?;
    let watched = Watched::default();
    let planned = || {
        let (registry, version) = schemes::registry_for(&request.file, &watched.problem);
        let drivers = Drivers::with_registry(&registry, &request.file.drivers, &Recordings::default())?;
        request.plan(&drivers, &version).map(|plan| (drivers, plan))
    };
    let (drivers, plan) = py.detach(planned).map_err(of_request)?;
    let driver = WithPython(&drivers);
    let run = || execution.run(request.scenario_toml(), &plan, &driver, &watched)?.collected();
    let (ran, interrupted) = watched.wait_for(py, run, progress.as_ref())?;
    let Collected { records, failures, .. } = ran.map_err(of_runner)?;
    let (finished, planned) = watched.counts();
    Ok((Runs::new(plan.title, plan.baseline, records, failures), interrupted, finished, planned))
}
