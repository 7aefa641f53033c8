//! Output of iperf3, as text and as JSON: the rate of each interval. One of several streams is in their sum.

use super::forms::{Content, Given};
use super::json::from_json;
use super::series::{A_RATE, A_TIME, capacity, measured, number, rate};
use super::units::rate_unit;
use super::{Problem, TraceError, shown};
use cellcc_units::{Rate, Span};
use serde::Deserialize;

/// An interval: seconds from when to when, and Mbit/s.
#[derive(Debug, Clone, Copy)]
struct Interval {
    start: f64,
    end: f64,
    mbit: f64,
}

/// iperf3's JSON (esnet/iperf, `iperf_json_printf` of the intervals' `sum`).
pub(super) fn json(given: &Given<'_>) -> Result<Content, TraceError> {
    #[derive(Deserialize)]
    struct Report {
        intervals: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        sum: Sum,
    }
    #[derive(Deserialize)]
    struct Sum {
        start: f64,
        end: f64,
        bits_per_second: f64,
        #[serde(default)]
        omitted: bool,
    }
    let Report { intervals } = from_json(given)?;
    let sums = intervals.into_iter().map(|entry| entry.sum).filter(|sum| !sum.omitted);
    let intervals = sums.map(|Sum { start, end, bits_per_second, .. }| Interval {
        start,
        end,
        mbit: bits_per_second / 1e6,
    });
    content(given, &intervals.collect::<Vec<_>>())
}

/// The lines `[  5]   0.00-1.00   sec  5.62 MBytes  47.1 Mbits/sec` up to the summary.
pub(super) fn text(given: &Given<'_>) -> Result<Content, TraceError> {
    let (mut single, mut sums) = (Vec::new(), Vec::new());
    let mut streams: Vec<&str> = Vec::new();
    for (line, text) in (1..).zip(given.text.lines()) {
        let Some((stream, rest)) = text.trim().strip_prefix('[').and_then(|text| text.split_once(']')) else {
            continue;
        };
        let is_interval = rest.contains(" sec ") && rest.contains("bits/sec") && !rest.contains("(omitted)");
        let is_summary = rest.ends_with("sender") || rest.ends_with("receiver");
        if !is_interval || is_summary {
            continue;
        }
        let interval = interval(rest).map_err(|problem| given.at(line, problem))?;
        if stream.contains("SUM") {
            sums.push(interval);
        } else {
            if !streams.contains(&stream) {
                streams.push(stream);
            }
            single.push(interval);
        }
    }
    match (sums.is_empty(), streams.len()) {
        (false, _) => content(given, &sums),
        (true, 0 | 1) => content(given, &single),
        (true, _) => Err(given.whole(Problem::SeveralTests)),
    }
}

fn interval(fields: &str) -> Result<Interval, Problem> {
    const EXPECTED: &str = "an interval of iperf3, such as `0.00-1.00   sec  5.62 MBytes  47.1 Mbits/sec`";
    let not_one = || Problem::NotANumber { text: shown(fields.trim()), expected: EXPECTED };
    // TX-C and RX-C of `--bidir` are part of the stream's name.
    let fields: Vec<&str> = fields.split_whitespace().skip_while(|field| field.starts_with('[')).collect();
    let &[span, "sec", _, _, rate, unit, ..] = fields.as_slice() else { return Err(not_one()) };
    let (start, end) = span.split_once('-').ok_or_else(not_one)?;
    let factor = rate_unit(unit).ok_or_else(not_one)?;
    Ok(Interval {
        start: number(start, A_TIME)?,
        end: number(end, A_TIME)?,
        mbit: number(rate, A_RATE)? * factor,
    })
}

/// The capacity of intervals; before a gap the rate holds on, which a note says.
fn content(given: &Given<'_>, intervals: &[Interval]) -> Result<Content, TraceError> {
    let whole = |problem| given.whole(problem);
    let mut steps: Vec<(Span, Rate)> = Vec::new();
    let mut missing = 0.0;
    for (index, interval) in intervals.iter().enumerate() {
        let start = measured(interval.start, A_TIME).map_err(whole)?;
        let end = measured(interval.end, A_TIME).map_err(whole)?;
        let until = intervals.get(index + 1).map_or(end, |next| next.start);
        if until < start {
            return Err(whole(Problem::SeveralTests));
        }
        missing += (until - end).max(0.0);
        let rate = measured(interval.mbit, A_RATE).and_then(rate).map_err(whole)?;
        steps.push((Span::from_secs_f64(until - start), rate));
    }
    if steps.is_empty() {
        return Err(whole(Problem::Empty));
    }
    // Ends and starts of intervals differ by rounding.
    let notes = match missing > 0.05 {
        true => vec![format!("intervals of {missing:.1} s are missing; the rate before each holds on")],
        false => Vec::new(),
    };
    Ok(Content { capacity: Some(capacity(given.name, steps)?), notes, ..Content::default() })
}
