//! Tables of columns, handed over to pandas, Polars and others by the Arrow PyCapsule interface, without copying.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use cellcc_experiment::{Metrics, Record, Series};
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
        columns.extend(metric_columns(records.iter().map(|record| &record.total)));
        let fairness: Float64Array = records.iter().map(|record| record.jain_index).collect();
        let notes = records.iter().map(|record| record.notes.join("; "));
        columns.push(("jain_index".into(), Arc::new(fairness)));
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

/// A column for each scalar, in the order of [`Metrics`]. A scalar that is added there does not compile until it is here.
fn metric_columns<'a>(metrics: impl Iterator<Item = &'a Metrics> + Clone) -> Vec<(String, ArrayRef)> {
    macro_rules! columns {
        ($($name:ident: $kind:ident),* $(,)?) => {{
            let _ = |Metrics { $($name: _),* }: Metrics| ();
            vec![$((stringify!($name).to_owned(), $kind(metrics.clone().map(|m| m.$name.into())))),*]
        }};
    }
    columns![
        throughput_mbit_s: numbers,
        utilisation: numbers,
        queueing_delay_mean_ms: numbers,
        queueing_delay_p50_ms: numbers,
        queueing_delay_p95_ms: numbers,
        queueing_delay_p99_ms: numbers,
        queueing_delay_max_ms: numbers,
        one_way_delay_mean_ms: numbers,
        one_way_delay_p50_ms: numbers,
        one_way_delay_p95_ms: numbers,
        one_way_delay_p99_ms: numbers,
        one_way_delay_max_ms: numbers,
        rtt_mean_ms: numbers,
        rtt_p50_ms: numbers,
        rtt_p95_ms: numbers,
        rtt_p99_ms: numbers,
        rtt_max_ms: numbers,
        sent_packets: counts,
        lost_packets: counts,
        loss_ratio: numbers,
        marking_ratio: numbers,
        p_base_mean: numbers,
        classic_starvation_s: numbers,
        retransmitted_packets: counts,
        sent_acks: counts,
        power: numbers,
        power95: numbers,
        d3: numbers,
        completion_time_s: numbers,
        frames: counts,
        deadline_miss_ratio: numbers,
        frame_delay_p50_ms: numbers,
        frame_delay_p95_ms: numbers,
        freezes: counts,
        freeze_ratio: numbers,
        media_rate_mbit_s: numbers,
        rate_switches: counts,
        frames_discarded: counts,
        startup_s: numbers,
        qoe_lin: numbers,
    ]
}

/// NaN, which stands for what nobody knows, is no value.
fn numbers(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.map(|value| value.filter(|value| !value.is_nan())).collect::<Float64Array>())
}

fn counts(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(values.collect::<UInt64Array>())
}
