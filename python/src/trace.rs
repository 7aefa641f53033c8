//! Links as traces: their capacity over time, and their statistics.

use crate::error::{input, of_request};
use cellcc_link::{Capacity, CapacityStats, Source};
use cellcc_runner::traces;
use cellcc_units::{Span, Time};
use pyo3::prelude::*;
use std::sync::Arc;

/// Over how long a link without an end is looked at, as in `cellcc trace info`.
const ENDLESS: Span = Span::from_secs(60);

/// A link's capacity over time.
#[pyclass(frozen, module = "cellcc")]
pub(crate) struct Trace {
    name: String,
    hash: String,
    capacity: Arc<Capacity>,
}

#[pymethods]
impl Trace {
    /// The link that this text names: a file, a synthetic link, a rate, steps, a join.
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let Source { name, capacity, hash, .. } = py.detach(|| traces::open(text)).map_err(input)?;
        Ok(Self { name, hash, capacity })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn sha256(&self) -> &str {
        &self.hash
    }

    /// The length of one period; none for a link without an end.
    #[getter]
    fn duration_s(&self) -> Option<f64> {
        self.capacity.period().map(|period| period.as_secs_f64())
    }

    /// The statistics of `cellcc trace info`, as JSON.
    fn stats_json(&self, py: Python<'_>) -> PyResult<String> {
        let stats = py.detach(|| CapacityStats::new(&self.capacity, ENDLESS));
        serde_json::to_string(&stats).map_err(input)
    }

    /// The mean rate in Mbit/s of each `bin` of the first `duration`; without a duration, of one period.
    #[pyo3(signature = (bin, duration=None))]
    fn rates_mbit_s(&self, py: Python<'_>, bin: &str, duration: Option<&str>) -> PyResult<Vec<f64>> {
        let bin: Span = bin.parse().map_err(input)?;
        if bin < Span::from_millis(1) {
            return Err(crate::error::InputError::new_err(format!(
                "bin={bin}: at least 1ms, the grain of traces"
            )));
        }
        let duration = duration.map(str::parse).transpose().map_err(input)?;
        let length = duration.or(self.capacity.period()).unwrap_or(ENDLESS);
        Ok(py.detach(|| {
            let starts =
                (0..length.as_nanos().div_ceil(bin.as_nanos())).map(|index| Time::ZERO + bin * index);
            starts.map(|start| self.capacity.rate_in(start, start + bin).as_mbit_per_sec()).collect()
        }))
    }
}

/// The traces that folders and patterns stand for, as a Scenario names them.
#[pyfunction]
pub(crate) fn expand(given: Vec<String>) -> PyResult<Vec<String>> {
    traces::expand(&given).map_err(of_request)
}

/// A time with its unit, in seconds.
#[pyfunction]
pub(crate) fn seconds(time: &str) -> PyResult<f64> {
    time.parse::<Span>().map(Span::as_secs_f64).map_err(input)
}
