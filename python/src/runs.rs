//! What came out of a plan: its Records, and what is made of them.

use crate::error::{input, of_runner};
use crate::table::Table;
use cellcc_experiment::Record;
use cellcc_link::TraceCache;
use cellcc_report::{ExplainError, Explanation, Report, TableFormat, TableOptions, least_delays};
use cellcc_runner::{Failure, Results};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Finished runs, in plan order.
#[pyclass(frozen, module = "cellcc")]
pub(crate) struct Runs {
    title: String,
    baseline: String,
    records: Vec<Record>,
    failures: Vec<Failure>,
}

impl Runs {
    pub(crate) fn new(title: String, baseline: String, records: Vec<Record>, failures: Vec<Failure>) -> Self {
        Self { title, baseline, records, failures }
    }

    fn record(&self, index: usize) -> PyResult<&Record> {
        self.records.get(index).ok_or_else(|| {
            PyIndexError::new_err(format!("there is no run {index}; there are {}", self.records.len()))
        })
    }

    /// Their report, held against the scheme given, or that of the plan where it has runs.
    fn report<'a>(&'a self, baseline: Option<&'a str>) -> PyResult<Report<'a>> {
        let report = Report::new(&self.title, &self.records, &self.baseline);
        baseline.map_or(Ok(report), |given| report.against(given).map_err(input))
    }
}

#[pymethods]
impl Runs {
    fn __len__(&self) -> usize {
        self.records.len()
    }

    /// What every run's failure was, with the run's name before it.
    #[getter]
    fn failures(&self) -> Vec<String> {
        self.failures.iter().map(|failure| format!("{}: {}", failure.label, failure.cause)).collect()
    }

    /// A row a run.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::of_runs(&self.records))
    }

    /// A Record, as the line in `runs.jsonl` has it before the hashes.
    fn record_json(&self, index: usize) -> PyResult<String> {
        serde_json::to_string(self.record(index)?).map_err(input)
    }

    /// The time series of a run.
    fn series(&self, py: Python<'_>, index: usize) -> PyResult<Table> {
        let record = self.record(index)?;
        py.detach(|| Table::of_series(&record.series))
    }

    /// The report: one HTML document that loads nothing.
    #[pyo3(signature = (baseline=None))]
    fn html(&self, py: Python<'_>, baseline: Option<&str>) -> PyResult<String> {
        let report = self.report(baseline)?;
        Ok(py.detach(|| report.html()))
    }

    /// The table for a terminal of this width.
    #[pyo3(signature = (width=cellcc_report::DEFAULT_WIDTH, baseline=None))]
    fn text(&self, py: Python<'_>, width: usize, baseline: Option<&str>) -> PyResult<String> {
        let report = self.report(baseline)?;
        Ok(py.detach(|| report.table(TableFormat::Table, width, &TableOptions::default())))
    }

    /// What `cellcc explain --format json` prints of these runs.
    #[pyo3(signature = (against=None))]
    fn explain_json(&self, py: Python<'_>, against: Option<&str>) -> PyResult<String> {
        let explained = || -> Result<_, ExplainError> {
            let explanation = Explanation::new(&self.records, &TraceCache::default())?;
            Ok(match against {
                Some(scheme) => serde_json::to_string(&explanation.against(scheme)?),
                None => serde_json::to_string(&explanation.delays(&least_delays(explanation.parts())?)),
            })
        };
        py.detach(explained).map_err(input)?.map_err(input)
    }
}

/// The runs that `compare` or `merge` left in a folder.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, folder: PathBuf) -> PyResult<Runs> {
    let Results { info, records } = py.detach(|| Results::read(&folder)).map_err(of_runner)?;
    Ok(Runs::new(info.title, info.baseline, records, info.failures))
}
