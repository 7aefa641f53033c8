//! The results of a plan: its Records, and their tables and figures.

use crate::error::{input, of_runner};
use crate::table::Table;
use cellcc_experiment::Record;
use cellcc_link::TraceCache;
use cellcc_report::{
    ExplainError, Explanation, Paper, Plot, Report, TableFormat, TableOptions, least_delays,
};
use cellcc_runner::{Failure, Results};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::error::Error;
use std::path::PathBuf;
use std::str::FromStr;

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

    /// Every run's failure, with the run's name before it.
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

    /// The figure for a paper as `file`: `svg`, `pdf` or `png`. The words are those of `cellcc plot`; `shape` has its kind and its
    /// facet.
    #[pyo3(signature = (file, x, y, shape, schemes, only, titles, sizes, font=None, *, labels=false, intervals=true))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn plot(
        &self,
        py: Python<'_>,
        file: &str,
        x: Option<String>,
        y: Vec<String>,
        shape: (Option<String>, Option<String>),
        schemes: Vec<String>,
        only: Vec<String>,
        titles: (Option<String>, Vec<String>),
        sizes: (Option<String>, Option<String>, Option<String>),
        font: Option<Vec<u8>>,
        labels: bool,
        intervals: bool,
    ) -> PyResult<Vec<u8>> {
        let length = |text: Option<String>| text.map(|text| text.parse()).transpose().map_err(input);
        let (width, height, font_size) = (length(sizes.0)?, length(sizes.1)?, length(sizes.2)?);
        let plot = Plot {
            x,
            y: parsed(&y)?,
            kind: shape.0.map(|kind| kind.parse()).transpose().map_err(input)?,
            facet: shape.1,
            schemes: parsed(&schemes)?,
            only: parsed(&only)?,
            x_title: titles.0,
            y_titles: titles.1,
            no_intervals: !intervals,
            paper: Paper { width, height, font_size, labels },
            font,
            made_by: format!("cellcc {}", cellcc_version::VERSION),
        };
        py.detach(|| plot.file(&plot.figure(&self.title, &self.records)?, file)).map_err(input)
    }

    /// The table for a terminal of this width.
    #[pyo3(signature = (width=cellcc_report::DEFAULT_WIDTH, baseline=None))]
    fn text(&self, py: Python<'_>, width: usize, baseline: Option<&str>) -> PyResult<String> {
        let report = self.report(baseline)?;
        Ok(py.detach(|| report.table(TableFormat::Table, width, &TableOptions::default())))
    }

    /// The output of `cellcc explain --format json` for these runs.
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

fn parsed<T: FromStr<Err: Error>>(texts: &[String]) -> PyResult<Vec<T>> {
    texts.iter().map(|text| text.parse().map_err(input)).collect()
}

/// The runs that `compare` or `merge` left in a folder.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, folder: PathBuf) -> PyResult<Runs> {
    let Results { info, records } = py.detach(|| Results::read(&folder)).map_err(of_runner)?;
    Ok(Runs::new(info.title, info.baseline, records, info.failures))
}
