//! A plan whose shares run in other processes, on other machines: its shares, one at a time, and their joining.

use crate::error::{InputError, input, of_request, of_runner};
use crate::{execution, options, schemes};
use cellcc_experiment::{Driver, PlannedRun, Recordings, RunId};
use cellcc_runner::{
    Drivers, Existing, OutputFolder, Request, Runner, SeriesDetail, Shard, collect, plan_sha256,
};
use cellcc_units::{Bytes, Span, input, output};
use cellcc_version::VERSION;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io::{self, ErrorKind};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// The request, resolved and checked.
#[pyclass(frozen, module = "cellcc")]
pub(crate) struct Plan {
    driver: Drivers,
    plan: cellcc_experiment::Plan,
    /// The content of `scenario.toml`: all that another process needs to make the same plan.
    scenario: String,
    /// The expected time of each run.
    expected: Vec<Span>,
}

#[pymethods]
impl Plan {
    /// The plan of these keyword arguments.
    #[new]
    #[pyo3(signature = (options, *, scenario=None))]
    fn new(py: Python<'_>, options: &Bound<'_, PyDict>, scenario: Option<PathBuf>) -> PyResult<Self> {
        Self::of(py, &options::request(scenario.as_deref(), options)?)
    }

    /// The plan that another process has written as `scenario`.
    #[staticmethod]
    fn from_text(py: Python<'_>, scenario: &str) -> PyResult<Self> {
        Self::of(py, &Request::parse("the plan", scenario).map_err(of_request)?)
    }

    fn __len__(&self) -> usize {
        self.plan.runs.len()
    }

    #[getter]
    fn scenario(&self) -> &str {
        &self.scenario
    }

    /// The hash of the ids of all its runs.
    #[getter]
    fn sha256(&self) -> String {
        plan_sha256(&self.ids())
    }

    /// The ids of its runs, in order.
    #[getter]
    fn run_ids(&self) -> Vec<String> {
        self.ids().iter().map(RunId::to_string).collect()
    }

    /// How many shares it makes if each is to take `seconds` of a processor that takes `pace` times as long as expected.
    fn share_count(&self, seconds: f64, pace: f64) -> usize {
        Shard::count_for(&self.expected, Span::from_secs_f64((seconds / pace.max(1e-6)).max(0.0)))
    }

    /// Runs the share `shard` into the folder `out`, one run at a time.
    fn run_share(
        &self,
        py: Python<'_>,
        shard: &str,
        out: PathBuf,
        series: &str,
        command: Vec<String>,
    ) -> PyResult<()> {
        let shard: Shard = shard.parse().map_err(input)?;
        let series: SeriesDetail = series.parse().map_err(InputError::new_err::<String>)?;
        let run = || {
            let runner = Runner {
                out: OutputFolder::create(&out)?,
                jobs: NonZeroUsize::MIN,
                shard: Some(shard),
                existing: Existing::Replace,
                series,
                command,
                scenario: self.scenario.clone(),
            };
            runner.run(&self.plan, &self.driver, &(), &AtomicBool::new(false))
        };
        py.detach(run).map(drop).map_err(of_runner)
    }

    /// Runs the run that is in the middle by its expected time, keeps nothing of it, and gives that time in seconds.
    fn run_median(&self, py: Python<'_>) -> PyResult<f64> {
        let mut by_time: Vec<(Span, &PlannedRun)> =
            self.expected.iter().copied().zip(&self.plan.runs).collect();
        by_time.sort_by_key(|(expected, _)| *expected);
        let Some(&(expected, run)) = by_time.get(by_time.len() / 2) else { return Ok(0.0) };
        let one = cellcc_experiment::Plan { runs: vec![run.clone()], ..self.plan.clone() };
        let stop = AtomicBool::new(false);
        py.detach(|| collect(&one, &self.driver, NonZeroUsize::MIN, SeriesDetail::Off, &(), &stop))
            .map_err(of_runner)?;
        Ok(expected.as_secs_f64())
    }
}

impl Plan {
    fn of(py: Python<'_>, request: &Request) -> PyResult<Self> {
        py.detach(|| {
            let (registry, version) = schemes::registry_for(&request.file, &Default::default());
            if version != VERSION {
                return Err(InputError::new_err(
                    "schemes: a scheme written in Python is known to this process alone; run it with cellcc.compare(...)",
                ));
            }
            let drivers = &request.file.drivers;
            let driver = Drivers::with_registry(&registry, drivers, &Recordings::default());
            let driver = driver.map_err(of_request)?;
            let plan = request.plan(&driver, &version).map_err(of_request)?;
            if driver.real_time(&plan).is_some() {
                return Err(InputError::new_err(
                    "driver: shares run at the same time, and a run in real time needs the machine for itself; run it with \
                     cellcc.compare(...)",
                ));
            }
            let expected = plan.runs.iter().map(|run| driver.expected_time(&run.scenario)).collect();
            let scenario = request.scenario_toml().map_err(of_request)?;
            Ok(Self { driver, plan, scenario, expected })
        })
    }

    fn ids(&self) -> Vec<RunId> {
        self.plan.runs.iter().map(|run| run.id).collect()
    }
}

/// Joins the folders of all shards of a plan into the folder `out`, replaces its content, and writes the report.
#[pyfunction]
pub(crate) fn merge(py: Python<'_>, shares: Vec<PathBuf>, out: PathBuf) -> PyResult<()> {
    let merge = || execution::write_report(&cellcc_runner::merge(&shares, &out, Existing::Replace)?.out);
    py.detach(merge).map(drop).map_err(of_runner)
}

/// The largest JSON of a folder of shares or results: the ids of ten million runs.
const MOST_JSON: Bytes = Bytes::new(256_000_000);

/// Writes a file as the command does: whole or not at all, and never through a link.
#[pyfunction]
pub(crate) fn write_file(path: PathBuf, content: &[u8]) -> PyResult<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    Ok(output::write(&path, content).map_err(named)?)
}

/// The text of a file that cellcc keeps in a folder; a `FileNotFoundError` if it is missing.
#[pyfunction]
pub(crate) fn read_kept(path: PathBuf) -> PyResult<String> {
    input::read_kept_text(&path, MOST_JSON).map_err(|error| match error {
        input::InputError::Unreadable(error) if error.kind() == ErrorKind::NotFound => error.into(),
        other => InputError::new_err(format!("{}: {other}", path.display())),
    })
}
