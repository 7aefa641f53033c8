//! Rates with their unit in each row, one row per second, as NYU-METS writes them: `3.97,Mbits/sec`. Units differ by row.

use super::forms::{Content, Given};
use super::series::{capacity, rate};
use super::units::rate_unit;
use super::{Problem, TraceError, data_lines, shown};
use cellcc_units::{Span, split_number};

/// NYU-METS (Mei et al., "Realtime mobile bandwidth prediction using LSTM neural network and Bayesian fusion", 2020): iperf's
/// report of each second.
const EVERY: Span = Span::from_secs(1);

/// True for a number with a unit of rates.
pub(super) fn is_row(line: &str) -> bool {
    mbit(line).is_some()
}

fn mbit(line: &str) -> Option<f64> {
    let (number, unit) = split_number(line)?;
    Some(number * rate_unit(unit)?)
}

pub(super) fn read(given: &Given<'_>) -> Result<Content, TraceError> {
    const EXPECTED: &str = "a rate with its unit, such as `3.97,Mbits/sec`";
    let row = |(line, text): (u64, &str)| {
        let mbit = mbit(text).ok_or_else(|| Problem::NotANumber { text: shown(text), expected: EXPECTED });
        let rate = mbit.and_then(rate).map_err(|problem| given.at(line, problem))?;
        Ok((EVERY, rate))
    };
    capacity(given.name, data_lines(given.text).map(row).collect::<Result<_, TraceError>>()?)
        .map(Content::from)
}
