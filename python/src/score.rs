//! `score`: the scores of `cellcc score`, for Python.

use crate::error::{RunError, input, of_request, of_runner};
use crate::execution::jobs_of;
use crate::scheme::WithPython;
use crate::schemes;
use crate::watched::Watched;
use cellcc_experiment::{PlanFile, Recordings};
use cellcc_runner::score::{Links, Scoring};
use cellcc_runner::{Drivers, SeriesDetail, collect};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Scores schemes, and gives the output of `cellcc score --format json`.
#[pyfunction]
#[pyo3(signature = (schemes, *, held_out=false, jobs=None, progress=None))]
pub(crate) fn score(
    py: Python<'_>,
    schemes: Vec<String>,
    held_out: bool,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let watched = Watched::default();
    let file = PlanFile { schemes, ..PlanFile::default() };
    let links = if held_out { Links::HeldOut } else { Links::Search };
    let jobs = jobs_of(jobs)?;
    let planned = || {
        let (registry, version) = schemes::registry_for(&file, &watched.problem);
        let drivers = Drivers::with_registry(&registry, &[], &Recordings::default())?;
        Scoring::new(&file.schemes, links, &drivers, &version).map(|scoring| (drivers, scoring))
    };
    let (drivers, scoring) = py.detach(planned).map_err(of_request)?;
    let driver = WithPython(&drivers);
    let run = || collect(scoring.plan(), &driver, jobs, SeriesDetail::Full, &watched, &watched.stop);
    let (collected, interrupted) = watched.wait_for(py, run, progress.as_ref())?;
    if interrupted {
        return Err(PyKeyboardInterrupt::new_err("interrupted"));
    }
    let collected = collected.map_err(of_runner)?;
    if !collected.failures.is_empty() {
        let failures =
            collected.failures.iter().map(|failure| format!("{}: {}", failure.label, failure.cause));
        return Err(RunError::new_err(failures.collect::<Vec<_>>().join("; ")));
    }
    let scores = py.detach(|| scoring.scores(&collected.records)).map_err(of_request)?;
    serde_json::to_string(&scores).map_err(input)
}
