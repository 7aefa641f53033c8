//! `check`: the cases of `cellcc check`, for Python.

use crate::compare::jobs_of;
use crate::error::{InputError, input, of_runner};
use crate::scheme::SimWithPython;
use crate::schemes;
use crate::watched::Watched;
use cellcc_claims::cases::{Subject, check as check_cases, chosen, suites};
use cellcc_experiment::{DEFAULT_DRIVER, PlanFile};
use cellcc_runner::{SeriesDetail, collect};
use cellcc_sim::SimDriver;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Checks a scheme in the simulator, and gives what `cellcc check --format json` prints.
#[pyfunction]
#[pyo3(signature = (subject, suites_named, cases_named, *, jobs=None, progress=None))]
pub(crate) fn check(
    py: Python<'_>,
    subject: &str,
    suites_named: Vec<String>,
    cases_named: Vec<String>,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let watched = Watched::default();
    let file = PlanFile { schemes: vec![subject.into()], ..PlanFile::default() };
    let (registry, version) = schemes::registry_for(&file, &watched.problem);
    let subject = Subject::new(&registry.parse(subject).map_err(input)?);
    let all = suites().map_err(input)?;
    let cases = chosen(&all, &subject, &suites_named, &cases_named).map_err(InputError::new_err)?;
    let (jobs, drivers) = (jobs_of(jobs)?, [DEFAULT_DRIVER.to_owned()]);
    let driver = SimWithPython(SimDriver::new(registry));
    let run = || {
        check_cases(&cases, &subject, &drivers, &driver, &version, |plan| {
            collect(&plan, &driver, jobs, SeriesDetail::Full, &watched, &watched.stop)
                .map(|collected| collected.by_run())
        })
    };
    let (found, interrupted) = watched.wait_for(py, run, progress.as_ref())?;
    if interrupted {
        return Err(PyKeyboardInterrupt::new_err("interrupted"));
    }
    serde_json::to_string(&found.map_err(of_runner)?).map_err(input)
}
