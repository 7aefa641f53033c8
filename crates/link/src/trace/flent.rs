//! The data files of flent: series at even steps, with null where a series has no value.

use super::forms::{Content, Given};
use super::json::from_json;
use super::series::{A_DELAY, A_RATE, A_TIME, Series, measured, rate};
use super::{Delays, Problem, TraceError};
use cellcc_units::{Rate, Span};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The series of rates, in Mbit/s, the best first (tohojo/flent, folder `flent/tests`).
const RATES: [&str; 4] = ["TCP download sum", "TCP download", "TCP upload sum", "TCP upload"];
const PING: &str = "Ping (ms) ICMP";

#[derive(Debug, Deserialize)]
struct Data {
    /// Seconds.
    x_values: Vec<f64>,
    results: BTreeMap<String, Vec<Option<f64>>>,
}

pub(super) fn read(given: &Given<'_>) -> Result<Content, TraceError> {
    let data: Data = from_json(given)?;
    let has_values = |name: &&&str| data.points(name).next().is_some();
    let found: Vec<&&str> = RATES.iter().filter(has_values).collect();
    let capacity = found.first().map(|name| {
        let mut series: Series<'_, Rate> = Series::new(given.name);
        data.fill(given, name, &mut series, |mbit| rate(measured(mbit, A_RATE)?))?;
        series.capacity()
    });
    let delays = has_values(&&PING).then(|| {
        let mut series: Series<'_, Span> = Series::new(given.name);
        data.fill(given, PING, &mut series, |ms| Ok(Span::from_secs_f64(measured(ms, A_DELAY)? / 1e3)))?;
        series.finish()
    });
    if capacity.is_none() && delays.is_none() {
        let names = data.results.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(
            given.whole(Problem::NoSeries { names: super::shown(&names), expected: RATES.join(", ") })
        );
    }
    let others = found.iter().skip(1).map(|name| format!("the file also has `{name}`, which is left out"));
    Ok(Content {
        capacity: capacity.transpose()?,
        delays: delays.transpose()?.map(|steps| Delays { steps, are_round_trips: true }),
        notes: others.collect(),
    })
}

impl Data {
    /// The values of a series that are there, with their times.
    fn points(&self, name: &str) -> impl Iterator<Item = (f64, f64)> {
        let values = self.results.get(name).map(Vec::as_slice).unwrap_or_default();
        self.x_values.iter().zip(values).filter_map(|(&secs, &value)| Some((secs, value?)))
    }

    fn fill<V: Copy>(
        &self,
        given: &Given<'_>,
        name: &str,
        series: &mut Series<'_, V>,
        value: impl Fn(f64) -> Result<V, Problem>,
    ) -> Result<(), TraceError> {
        let whole = |problem| given.whole(problem);
        self.points(name).try_for_each(|(secs, number)| {
            series.push(None, measured(secs, A_TIME).map_err(whole)?, value(number).map_err(whole)?)
        })
    }
}
