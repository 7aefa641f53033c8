//! The scalars of Records by their keys.

use cellcc_experiment::{METRICS, Metric, Record};
use std::collections::BTreeMap;

/// Scalars by their keys; those that a run has not got are not there.
pub(crate) type Scalars = BTreeMap<String, f64>;

/// The names of all scalars.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    METRICS.iter().map(|metric| metric.key)
}

/// The smallest and the largest value of a scalar.
pub(crate) fn range(name: &str) -> Option<(f64, f64)> {
    METRICS.iter().find(|metric| metric.key == name).map(|metric| metric.range)
}

pub(crate) fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

pub(crate) fn of_run(record: &Record) -> Scalars {
    scalars(|metric| metric.of_run(record))
}

pub(crate) fn of_flows(record: &Record) -> Vec<Scalars> {
    record.flows.iter().map(|flow| scalars(|metric| metric.of_flow(flow))).collect()
}

fn scalars(value: impl Fn(&Metric) -> Option<f64>) -> Scalars {
    METRICS.iter().filter_map(|metric| Some((metric.key.to_owned(), value(metric)?))).collect()
}
