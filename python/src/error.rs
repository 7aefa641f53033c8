//! Errors with the words of the command line.

use cellcc_runner::{RequestError, RunnerError, with_causes};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::error::Error;

create_exception!(
    cellcc,
    InputError,
    PyValueError,
    "The arguments are invalid; the message says what to write instead."
);
create_exception!(cellcc, RunError, PyRuntimeError, "Runs failed; `result` holds the others.");

/// Bad input, with its causes in one line.
pub(crate) fn input(error: impl Error) -> PyErr {
    InputError::new_err(with_causes(&error))
}

pub(crate) fn of_request(error: RequestError) -> PyErr {
    InputError::new_err(error.to_string())
}

pub(crate) fn of_runner(error: RunnerError) -> PyErr {
    if error.is_input() { input(error) } else { RunError::new_err(with_causes(&error)) }
}
