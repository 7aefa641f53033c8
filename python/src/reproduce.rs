//! `reproduce`: the claims of `cellcc reproduce`, for Python.

use crate::error::{InputError, of_request, of_runner};
use crate::execution::{Execution, Ran, write};
use crate::scheme::WithPython;
use crate::schemes;
use crate::watched::Watched;
use cellcc_report::{ClaimFigure, ClaimRow, claims_page};
use cellcc_runner::reproduce::{Library, Outcomes, Reproduced, Reproduction, SCENARIO, Wanted};
use cellcc_runner::{OutputFolder, RunnerError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Judges claims of the repository in a folder; `schemes` has pairs of a scheme's name and of the one from Python in its place. Gives `scorecard.json`, and every run's failure.
#[pyfunction]
#[pyo3(signature = (claims, repository, scale, schemes, *, jobs=None, out=None, existing="refuse", progress=None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn reproduce(
    py: Python<'_>,
    claims: Vec<String>,
    repository: PathBuf,
    scale: &str,
    schemes: Vec<(String, String)>,
    jobs: Option<usize>,
    out: Option<PathBuf>,
    existing: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let scale = scale.parse().map_err(InputError::new_err::<String>)?;
    let execution = Execution::new(jobs, "sampled", None, existing, out)?;
    let library = py.detach(|| Library::read(&repository)).map_err(of_request)?;
    // No page is requested.
    let read_command = &|_: &[String]| Err("only the command line checks pages".to_owned());
    let watched = Watched::default();
    let (registry, version) = schemes::registry_in_place(&schemes, &watched.problem)?;
    let (version, registry) = (version.as_str(), &registry);
    let wanted = || Wanted { claims: &claims, pages: None, scale, version, registry, read_command };
    let reproduction = py.detach(|| Reproduction::new(&library, &wanted())).map_err(of_request)?;
    let driver = WithPython(reproduction.driver());
    let run = || execution.run(Ok(SCENARIO.into()), reproduction.plan(), &driver, &watched);
    let (ran, interrupted) = watched.wait_for(py, run, progress.as_ref())?;
    let ran = ran.map_err(of_runner)?;
    if interrupted {
        return Err(PyKeyboardInterrupt::new_err("interrupted"));
    }
    let (outcomes, failures, out) = match ran {
        Ran::InFolder { out, failures, .. } => (Outcomes::read(out.path()), failures, Some(out)),
        Ran::InMemory(collected) => {
            let mut outcomes = Outcomes::default();
            collected.records.into_iter().for_each(|record| outcomes.add(record));
            (Ok(outcomes), collected.failures, None)
        }
    };
    let outcomes = outcomes.map_err(of_runner)?;
    let reproduced = py.detach(|| reproduction.judge(&outcomes)).map_err(of_request)?;
    if let Some(out) = out {
        keep(&reproduced, version, &out).map_err(of_runner)?;
    }
    let failures = failures.iter().map(|failure| format!("{}: {}", failure.label, failure.cause));
    Ok((reproduced.scorecard(version), failures.collect()))
}

/// Writes the scorecard and the page of claims, as the command line does.
fn keep(reproduced: &Reproduced, version: &str, out: &OutputFolder) -> Result<(), RunnerError> {
    let rows: Vec<ClaimRow> = reproduced.judgements.iter().map(|one| (&one.judged).into()).collect();
    let figures: Vec<ClaimFigure> = reproduced.figures.iter().map(Into::into).collect();
    write(out, "scorecard.json", &reproduced.scorecard(version))?;
    write(out, "claims.html", &claims_page(&rows, &figures))
}
