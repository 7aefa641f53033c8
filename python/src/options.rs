//! Keyword arguments over a Scenario: each is a key of the Scenario file, and has the last word.

use crate::error::{InputError, of_request};
use cellcc_experiment::conditions::{Command, rows};
use cellcc_runner::Request;
use cellcc_units::{DEEPEST, Span};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::path::Path;
use std::time::Duration;
use toml::{Table, Value};

/// The keyword arguments that are flags of `cellcc compare`, and the keys of a Scenario that they set.
#[pyfunction]
pub(crate) fn conditions() -> Vec<(String, &'static str)> {
    rows().filter_map(|row| Some((row.flag(Command::Compare)?.replace('-', "_"), row.key))).collect()
}

/// The request: the Scenario file, or the quick start, and over it `options`, from dotted keys (`path.rtt`) to values.
pub(crate) fn request(scenario: Option<&Path>, options: &Bound<'_, PyDict>) -> PyResult<Request> {
    let mut given = Table::new();
    for (key, value) in options {
        given.insert(key.extract()?, value_of(&value, 0)?);
    }
    let checked = || {
        let base = scenario.map_or_else(|| Request::quick_start(&given), Request::read)?;
        let request = base.with(&given)?;
        request.check().map(|()| request)
    };
    checked().map_err(of_request)
}

/// A value as a Scenario file has it, in so many others: a `timedelta` as text with its unit.
fn value_of(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    // A list may hold itself.
    if depth > DEEPEST {
        return Err(InputError::new_err(format!(
            "no value of a Scenario has more than {DEEPEST} lists in one another"
        )));
    }
    let inner = |value: &Bound<'_, PyAny>| value_of(value, depth + 1);
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    if let Ok(flag) = value.extract::<bool>() {
        return Ok(Value::Boolean(flag));
    }
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Value::Integer(number));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Value::Float(number));
    }
    if let Ok(duration) = value.extract::<Duration>() {
        let nanos = u64::try_from(duration.as_nanos())
            .map_err(|_| InputError::new_err(format!("{value} is too long a time")))?;
        return Ok(Value::String(Span::from_nanos(nanos).to_string()));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let values = value.try_iter()?.map(|item| inner(&item?)).collect::<PyResult<_>>()?;
        return Ok(Value::Array(values));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let entries = table.iter().map(|(key, value)| Ok((key.extract::<String>()?, inner(&value)?)));
        return Ok(Value::Table(entries.collect::<PyResult<_>>()?));
    }
    Err(InputError::new_err(format!(
        "{} is no value of a Scenario; write a text with its unit such as '20ms', a number, a timedelta, a list or a dict",
        value.repr()?
    )))
}
