//! Mahimahi's format: one delivery opportunity per line, in milliseconds.

use super::{Problem, TraceError, data_lines, shown};
use crate::capacity::{Capacity, CapacityError};

const EXPECTED: &str = "a whole number of milliseconds, as each line of a Mahimahi trace is";

pub(super) fn parse(file: &str, text: &str) -> Result<Capacity, TraceError> {
    let mut problem = None;
    let mut before = 0;
    let millis = data_lines(text).map_while(|(line, field)| {
        let read = milli(field).and_then(|milli| in_order(before, milli));
        read.map(|milli| before = milli).map_err(|cause| problem = Some((line, cause))).ok()?;
        Some(before)
    });
    let capacity = Capacity::from_opportunities(millis);
    if let Some((line, problem)) = problem {
        return Err(TraceError::at(file, line, problem));
    }
    capacity.map_err(|cause| TraceError::whole(file, Problem::Capacity(cause)))
}

fn milli(field: &str) -> Result<u64, Problem> {
    let not_a_number = || Problem::NotANumber { text: shown(field), expected: EXPECTED };
    if field.is_empty() || !field.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(not_a_number());
    }
    // Digits only: what does not fit is too large.
    field.parse().map_err(|_| Problem::Capacity(CapacityError::TooLong))
}

fn in_order(before: u64, now: u64) -> Result<u64, Problem> {
    if now < before {
        let (now, before) = (format!("{now} ms"), format!("{before} ms"));
        return Err(Problem::Order { now, before });
    }
    Ok(now)
}
