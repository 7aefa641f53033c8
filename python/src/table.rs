//! Tables of columns, handed over to pandas, Polars and others by the Arrow PyCapsule interface, without copying.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use cellcc_experiment::{METRICS, Metric, Record, Series, Value};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// A table of columns.
#[pyclass(frozen, module = "cellcc")]
pub(crate) struct Table(RecordBatch);

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The values of a column as a list; `None` where there is none.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = self.0.column_by_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let any = column.as_any();
        if let Some(texts) = any.downcast_ref::<StringArray>() {
            return texts.iter().collect::<Vec<_>>().into_pyobject(py);
        }
        if let Some(counts) = any.downcast_ref::<UInt64Array>() {
            return counts.iter().collect::<Vec<_>>().into_pyobject(py);
        }
        if let Some(numbers) = any.downcast_ref::<Float32Array>() {
            return numbers.iter().collect::<Vec<_>>().into_pyobject(py);
        }
        let numbers = any.downcast_ref::<Float64Array>().map(|numbers| numbers.iter().collect::<Vec<_>>());
        numbers.into_pyobject(py)
    }

    /// The Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer pass over a wish that it cannot fulfil.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl Table {
    fn new(columns: Vec<(String, ArrayRef)>) -> PyResult<Self> {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, values)| (name, values, true)),
        );
        batch.map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// A row a run, in the order of the Records.
    pub(crate) fn of_runs(records: &[Record]) -> PyResult<Self> {
        let text = |name: &str, of: fn(&Record) -> &str| -> (String, ArrayRef) {
            (name.into(), Arc::new(StringArray::from_iter_values(records.iter().map(of))))
        };
        let seeds = UInt64Array::from_iter_values(records.iter().map(|record| record.scenario.seed));
        let mut columns = vec![
            text("scheme", |record| &record.scenario.scheme),
            text("variation", |record| &record.scenario.variation),
            text("trace", |record| record.trace_name()),
            ("seed".into(), Arc::new(seeds)),
            text("driver", |record| &record.driver),
        ];
        let metrics = METRICS.iter().filter(|metric| metric.is_of_runs());
        columns.extend(metrics.map(|metric| metric_column(metric, records)));
        let notes = records.iter().map(|record| record.notes.join("; "));
        columns.push(("notes".into(), Arc::new(StringArray::from_iter_values(notes))));
        columns.push(text("link", |record| &record.scenario.trace));
        columns.push(text("id", |record| &record.id));
        columns.push(text("version", |record| &record.version));
        Self::new(columns)
    }

    /// A row a bin: `time_s`, where the bin begins, and then every quantity; no value where there is none.
    pub(crate) fn of_series(series: &Series) -> PyResult<Self> {
        let rows = series.columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
        let times = (0..rows as u64).map(|row| (series.bin * row).as_secs_f64());
        let mut columns: Vec<(String, ArrayRef)> =
            vec![("time_s".into(), Arc::new(Float64Array::from_iter_values(times)))];
        for column in &series.columns {
            let value = |row| column.values.get(row).copied().filter(|value: &f32| !value.is_nan());
            let values: Float32Array = (0..rows).map(value).collect();
            columns.push((column.name.clone(), Arc::new(values)));
        }
        Self::new(columns)
    }
}

/// The column of a metric; a count stays a count.
fn metric_column(metric: &Metric, records: &[Record]) -> (String, ArrayRef) {
    let values: ArrayRef = if metric.is_count() {
        let count = |record: &Record| match metric.get(&record.total)? {
            Value::Count(count) => Some(count),
            Value::Number(_) => None,
        };
        Arc::new(records.iter().map(count).collect::<UInt64Array>())
    } else {
        Arc::new(records.iter().map(|record| metric.of_run(record)).collect::<Float64Array>())
    };
    (metric.key.into(), values)
}
