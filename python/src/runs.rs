//! What came out of a plan: its Records, and what is made of them.

use crate::error::{input, of_runner};
use crate::table::Table;
use cellcc_experiment::Record;
use cellcc_report::TableFormat;
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
        let title = if title.is_empty() { "Comparison of congestion controls".into() } else { title };
        Self { title, baseline, records, failures }
    }

    fn record(&self, index: usize) -> PyResult<&Record> {
        self.records.get(index).ok_or_else(|| {
            PyIndexError::new_err(format!("there is no run {index}; there are {}", self.records.len()))
        })
    }

    /// The scheme that the others are held against: the one given, or that of the plan where it has runs.
    fn baseline<'a>(&'a self, given: Option<&str>) -> PyResult<Option<&'a str>> {
        match given {
            Some(given) => cellcc_report::baseline(&self.records, given).map(Some).map_err(input),
            None if self.baseline.is_empty() => Ok(None),
            None => Ok(cellcc_report::baseline(&self.records, &self.baseline).ok()),
        }
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
        let baseline = self.baseline(baseline)?;
        Ok(py.detach(|| cellcc_report::html(&self.title, &self.records, baseline)))
    }

    /// The table for a terminal of this width.
    #[pyo3(signature = (width=cellcc_report::DEFAULT_WIDTH, baseline=None))]
    fn text(&self, py: Python<'_>, width: usize, baseline: Option<&str>) -> PyResult<String> {
        let baseline = self.baseline(baseline)?;
        Ok(py.detach(|| cellcc_report::table(&self.records, TableFormat::Table, baseline, width)))
    }
}

/// The runs that `compare` or `merge` left in a folder.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, folder: PathBuf) -> PyResult<Runs> {
    let Results { info, records } = py.detach(|| Results::read(&folder)).map_err(of_runner)?;
    Ok(Runs::new(info.title, info.baseline, records, info.failures))
}
