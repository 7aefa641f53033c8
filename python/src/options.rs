//! Keyword arguments over a Scenario: each is a key of the Scenario file, and has the last word.

use crate::error::{InputError, of_request};
use cellcc_experiment::PlanFile;
use cellcc_runner::Request;
use cellcc_units::Span;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::path::Path;
use std::time::Duration;
use toml::{Table, Value};

/// What is asked for: the Scenario file, or the quick start, and over it `options`, from dotted keys (`path.rtt`) to values.
pub(crate) fn request(scenario: Option<&Path>, options: &Bound<'_, PyDict>) -> PyResult<Request> {
    let mut given = Vec::new();
    for (key, value) in options {
        given.push((key.extract::<String>()?, value_of(&value)?));
    }
    let has = |wanted: &str| given.iter().any(|(key, _)| key == wanted);
    let mut request = match scenario {
        Some(path) => Request::read(path),
        None => Request::quick_start(has("schemes") || has("traces"), several_seeds(&given)),
    }
    .map_err(of_request)?;
    request.file = with(&request.file, given)?;
    request.spell_out().map_err(of_request)?;
    request.check().map_err(of_request)?;
    Ok(request)
}

fn several_seeds(given: &[(String, Value)]) -> bool {
    let text = given.iter().find(|(key, _)| key == "seeds").and_then(|(_, value)| value.as_str());
    let seeds = text.and_then(|text| text.parse::<cellcc_experiment::Seeds>().ok());
    seeds.is_some_and(|seeds| seeds.as_slice().len() > 1)
}

fn with(file: &PlanFile, given: Vec<(String, Value)>) -> PyResult<PlanFile> {
    if given.is_empty() {
        return Ok(file.clone());
    }
    let refused = |error: &dyn std::fmt::Display| InputError::new_err(error.to_string());
    let base = Table::try_from(file).map_err(|error| refused(&error))?;
    let whole = given.iter().fold(base.clone(), |table, (key, value)| set(table, key, value.clone()));
    whole.try_into().map_err(|error: toml::de::Error| {
        // The message of a table does not say which key it is about: the first that is refused by itself.
        let alone = |key: &str, value: &Value| set(base.clone(), key, value.clone()).try_into::<PlanFile>();
        let key = given.iter().find(|(key, value)| alone(key, value).is_err()).map(|(key, _)| key.as_str());
        let key = key.map(|key| key.rsplit('.').next().unwrap_or(key)).unwrap_or_default();
        refused(&format!("{key}: {}", error.message().replace('\n', ", ")))
    })
}

/// The table with this value at its dotted key. What is given is varied no more.
fn set(mut table: Table, key: &str, value: Value) -> Table {
    if let Some(Value::Table(vary)) = table.get_mut("vary") {
        vary.remove(key);
    }
    let mut place = &mut table;
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            place.insert(part.into(), value);
            break;
        }
        let inner = place.entry(part).or_insert_with(|| Value::Table(Table::new()));
        match inner {
            Value::Table(inner) => place = inner,
            _ => break,
        }
    }
    table
}

/// A value as a Scenario file has it: a `timedelta` as text with its unit.
fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
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
        let values = value.try_iter()?.map(|item| value_of(&item?)).collect::<PyResult<_>>()?;
        return Ok(Value::Array(values));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let entries = table.iter().map(|(key, value)| Ok((key.extract::<String>()?, value_of(&value)?)));
        return Ok(Value::Table(entries.collect::<PyResult<_>>()?));
    }
    Err(InputError::new_err(format!(
        "{} is no value of a Scenario; write a text with its unit such as '20ms', a number, a timedelta, a list or a dict",
        value.repr()?
    )))
}
