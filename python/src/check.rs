//! `check`: the cases of `cellcc check`, for Python.

use crate::error::{InputError, input, of_request, of_runner};
use crate::execution::jobs_of;
use crate::scheme::WithPython;
use crate::schemes;
use crate::watched::Watched;
use cellcc_claims::cases::{chosen, suites};
use cellcc_experiment::PlanFile;
use cellcc_runner::{Check, SeriesDetail, collect};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Checks a subject, and gives the output of `cellcc check --format json`.
#[pyfunction]
#[pyo3(signature = (subject, suites_named, cases_named, drivers, *, jobs=None, progress=None))]
pub(crate) fn check(
    py: Python<'_>,
    subject: &str,
    suites_named: Vec<String>,
    cases_named: Vec<String>,
    drivers: Vec<String>,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let watched = Watched::default();
    let file = PlanFile { schemes: vec![subject.into()], ..PlanFile::default() };
    let (registry, version) = schemes::registry_for(&file, &watched.problem);
    let checked = || Check::new(subject, &drivers, &registry, &version);
    let check = py.detach(checked).map_err(of_request)?;
    let all = suites().map_err(input)?;
    let cases = chosen(&all, &check.subject, &suites_named, &cases_named).map_err(InputError::new_err)?;
    let jobs = jobs_of(jobs)?;
    let run = || {
        check.findings(&cases, &version, |plan, drivers| {
            let driver = WithPython(drivers);
            collect(plan, &driver, jobs, SeriesDetail::Full, &watched, &watched.stop)
                .map(|collected| collected.by_run())
        })
    };
    let (found, interrupted) = watched.wait_for(py, run, progress.as_ref())?;
    if interrupted {
        return Err(PyKeyboardInterrupt::new_err("interrupted"));
    }
    serde_json::to_string(&found.map_err(of_runner)?).map_err(input)
}
