//! `compare`: what is asked for becomes a plan, the plan is run, and its runs are given to Python.

use crate::error::{InputError, input, of_request, of_runner};
use crate::options;
use crate::runs::Runs;
use crate::scheme::SimWithPython;
use crate::schemes;
use crate::watched::Watched;
use cellcc_experiment::{DEFAULT_DRIVER, Driver, Plan, Record};
use cellcc_report::{Report, ReportFile};
use cellcc_runner::{
    Collected, Existing, Host, Outcome, OutputFolder, Request, Results, Runner, RunnerError, SeriesDetail,
    Shard, collect,
};
use cellcc_sim::SimDriver;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::num::NonZeroUsize;
use std::path::PathBuf;

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
    let execution = Execution {
        jobs: jobs_of(jobs)?,
        series: series.parse().map_err(InputError::new_err::<String>)?,
        shard: shard.map(str::parse).transpose().map_err(input)?,
        existing: existing_of(existing)?,
        out,
    };
    if execution.shard.is_some() && execution.out.is_none() {
        return Err(InputError::new_err("shard: name the folder for its results with out=..., too"));
    }
    let watched = Watched::default();
    let (driver, plan) = py.detach(|| {
        let (registry, version) = schemes::registry_for(&request.file, &watched.problem);
        let driver = SimWithPython(SimDriver::new(registry));
        request.plan(&driver, &version).map(|plan| (driver, plan)).map_err(of_request)
    })?;
    let run = || execution.run(&request, &plan, &driver, &watched);
    let (ran, interrupted) = watched.wait_for(py, run, progress.as_ref())?;
    let Collected { records, failures, .. } = ran.map_err(of_runner)?;
    let (finished, planned) = watched.counts();
    Ok((Runs::new(plan.title, plan.baseline, records, failures), interrupted, finished, planned))
}

/// Python runs the simulator only.
pub(crate) fn refuse_other_drivers(request: &Request) -> PyResult<()> {
    let other = request.file.drivers.iter().find(|name| *name != DEFAULT_DRIVER);
    other.map_or(Ok(()), |other| {
        Err(InputError::new_err(format!(
            "drivers: Python runs the simulator, `sim`, only; for {other}: cellcc compare --driver {other}"
        )))
    })
}

/// How to run a plan.
struct Execution {
    jobs: NonZeroUsize,
    series: SeriesDetail,
    shard: Option<Shard>,
    existing: Existing,
    /// The output folder; none: the results stay in memory.
    out: Option<PathBuf>,
}

impl Execution {
    /// The finished runs, also where Ctrl-C came before the others.
    fn run(
        self,
        request: &Request,
        plan: &Plan,
        driver: &dyn Driver,
        watched: &Watched,
    ) -> Result<Collected, RunnerError> {
        let Self { jobs, series, shard, existing, out } = self;
        let Some(out) = out else {
            return collect(plan, driver, jobs, series, watched, &watched.stop);
        };
        let unwritable = |error| RunnerError::Unwritable {
            path: out.join("scenario.toml"),
            source: std::io::Error::other(error),
        };
        let runner = Runner {
            scenario: request.scenario_toml().map_err(unwritable)?,
            out: OutputFolder::create(&out)?,
            jobs,
            shard,
            existing,
            series,
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        };
        let Outcome { failures, interrupted, .. } = runner.run(plan, driver, watched, &watched.stop)?;
        let records =
            if interrupted { Results::read_unfinished(&out)?.records } else { write_report(&runner.out)? };
        Ok(Collected { records, failures, interrupted })
    }
}

/// Writes the report of a finished folder into it, as the command line does, and gives the Records.
pub(crate) fn write_report(out: &OutputFolder) -> Result<Vec<Record>, RunnerError> {
    let Results { info, records } = Results::read(out.path())?;
    // A share shows a part of every trace: its report would mislead.
    if info.shard.is_none() {
        for ReportFile { name, content } in Report::new(&info.title, &records, &info.baseline).files() {
            let written = out.write(&name, content.as_bytes());
            written.map_err(|source| RunnerError::Write { path: out.path().join(name), source })?;
        }
    }
    Ok(records)
}

pub(crate) fn jobs_of(given: Option<usize>) -> PyResult<NonZeroUsize> {
    const MOST: usize = 1024;
    let jobs =
        NonZeroUsize::new(given.unwrap_or_else(|| Host::this().cpus)).filter(|jobs| jobs.get() <= MOST);
    jobs.ok_or_else(|| {
        InputError::new_err(format!("jobs={} is out of range; write 1 to {MOST}", given.unwrap_or_default()))
    })
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
