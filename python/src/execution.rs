//! How a plan is run: into a folder, or in memory.

use crate::error::{InputError, input};
use crate::watched::Watched;
use cellcc_experiment::{Driver, Plan, Record};
use cellcc_report::{Report, ReportFile};
use cellcc_runner::{
    Collected, Existing, Failure, Host, OutputFolder, RequestError, Results, Runner, RunnerError,
    SeriesDetail, SeriesOf, Shard, collect,
};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// How to run a plan.
pub(crate) struct Execution {
    jobs: NonZeroUsize,
    series: SeriesDetail,
    shard: Option<Shard>,
    existing: Existing,
    /// The output folder; none: the results stay in memory.
    out: Option<PathBuf>,
}

/// Where the results are.
pub(crate) enum Ran {
    InFolder { out: OutputFolder, failures: Vec<Failure>, interrupted: bool },
    InMemory(Collected),
}

impl Execution {
    pub(crate) fn new(
        jobs: Option<usize>,
        series: &str,
        shard: Option<&str>,
        existing: &str,
        out: Option<PathBuf>,
    ) -> PyResult<Self> {
        if shard.is_some() && out.is_none() {
            return Err(InputError::new_err("shard: also name the folder for its results with out=..."));
        }
        Ok(Self {
            jobs: jobs_of(jobs)?,
            series: series.parse().map_err(InputError::new_err::<String>)?,
            shard: shard.map(str::parse).transpose().map_err(input)?,
            existing: existing_of(existing)?,
            out,
        })
    }

    /// Runs the plan; `scenario` is the content of `scenario.toml`.
    pub(crate) fn run(
        self,
        scenario: Result<String, RequestError>,
        plan: &Plan,
        driver: &dyn Driver,
        watched: &Watched,
    ) -> Result<Ran, RunnerError> {
        let Self { jobs, series, shard, existing, out } = self;
        let Some(out) = out else {
            return collect(plan, driver, jobs, series, watched, &watched.stop).map(Ran::InMemory);
        };
        let unwritable = |error| RunnerError::Unwritable {
            path: out.join("scenario.toml"),
            source: std::io::Error::other(error),
        };
        let runner = Runner {
            scenario: scenario.map_err(unwritable)?,
            out: OutputFolder::create(&out)?,
            jobs,
            shard,
            existing,
            series,
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        };
        let outcome = runner.run(plan, driver, watched, &watched.stop)?;
        let (failures, interrupted) = (outcome.failures, outcome.interrupted);
        Ok(Ran::InFolder { out: runner.out, failures, interrupted })
    }
}

impl Ran {
    /// The finished runs, also where Ctrl-C came before the others; a finished folder gets its report, as by the command line.
    pub(crate) fn collected(self) -> Result<Collected, RunnerError> {
        let (out, failures, interrupted) = match self {
            Self::InMemory(collected) => return Ok(collected),
            Self::InFolder { out, failures, interrupted } => (out, failures, interrupted),
        };
        let records = match interrupted {
            true => Results::read_unfinished(out.path(), SeriesOf::EveryRun)?.records,
            false => write_report(&out)?,
        };
        Ok(Collected { records, failures, interrupted })
    }
}

/// Writes the report of a finished folder into it, as the command line does, and gives the Records.
pub(crate) fn write_report(out: &OutputFolder) -> Result<Vec<Record>, RunnerError> {
    let Results { info, records } = Results::read(out.path())?;
    // A share shows a part of every trace: its report would mislead.
    if info.shard.is_none() {
        for ReportFile { name, content } in Report::new(&info.title, &records, &info.baseline).files() {
            write(out, &name, &content)?;
        }
    }
    Ok(records)
}

/// Writes a file into the folder.
pub(crate) fn write(out: &OutputFolder, name: &str, content: &str) -> Result<(), RunnerError> {
    let written = out.write(name, content.as_bytes());
    written.map_err(|source| RunnerError::Write { path: out.path().join(name), source })
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
