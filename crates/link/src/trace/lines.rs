//! Formats of plain lines: Mahimahi's, with one delivery opportunity per line, in milliseconds; and rates over time, with a
//! time and a rate, separated by white space.

use super::forms::{Content, Given};
use super::series::{A_RATE, A_TIME, Series, number, rate};
use super::{Problem, TraceError, data_lines, shown};
use crate::capacity::{Capacity, CapacityError};

/// Seconds and Mbit/s, separated by white space.
pub(super) fn rates(given: &Given<'_>) -> Result<Content, TraceError> {
    let mut series = Series::new(given.name);
    for (line, fields) in data_lines(given.text) {
        let at = |problem| given.at(line, problem);
        let columns: Vec<&str> = fields.split_whitespace().collect();
        let &[time, mbit] = columns.as_slice() else {
            return Err(at(Problem::Fields(shown(fields), columns.len())));
        };
        let mbit = number(mbit, A_RATE).and_then(rate).map_err(at)?;
        series.push(Some(line), number(time, A_TIME).map_err(at)?, mbit)?;
    }
    series.capacity().map(Content::from)
}

const WHOLE_MILLISECONDS: &str = "a whole number of milliseconds, as each line of a Mahimahi trace is";

/// Mahimahi's opportunities.
pub(super) fn mahimahi(given: &Given<'_>) -> Result<Content, TraceError> {
    let mut problem = None;
    let mut before = 0;
    let millis = data_lines(given.text).map_while(|(line, field)| {
        let read = milli(field).and_then(|milli| in_order(before, milli));
        read.map(|milli| before = milli).map_err(|cause| problem = Some((line, cause))).ok()?;
        Some(before)
    });
    let capacity = Capacity::from_opportunities(millis);
    if let Some((line, problem)) = problem {
        return Err(given.at(line, problem));
    }
    capacity.map(Content::from).map_err(|cause| given.whole(Problem::Capacity(cause)))
}

fn milli(field: &str) -> Result<u64, Problem> {
    let not_a_number = || Problem::NotANumber { text: shown(field), expected: WHOLE_MILLISECONDS };
    if field.is_empty() || !field.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(not_a_number());
    }
    // Digits only: a number that does not fit is too large.
    field.parse().map_err(|_| Problem::Capacity(CapacityError::TooLong))
}

fn in_order(before: u64, now: u64) -> Result<u64, Problem> {
    if now < before {
        let (now, before) = (format!("{now} ms"), format!("{before} ms"));
        return Err(Problem::Order { now, before });
    }
    Ok(now)
}
