//! The scalars of Records by their names.

use cellcc_experiment::{Metrics, Record};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Scalars by their keys; those that a run has not got are not there.
pub(crate) type Scalars = BTreeMap<String, f64>;

/// Of a run, besides its [`Metrics`].
const OF_RUN: [&str; 1] = ["jain_index"];
/// Of a flow, besides them.
const OF_FLOW: [&str; 1] = ["convergence_time_s"];

static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| match serde_json::to_value(Metrics::default()) {
    Ok(Value::Object(object)) => object.into_iter().map(|(key, _)| key).collect(),
    _ => Vec::new(),
});

/// The names of all scalars.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(String::as_str).chain(OF_RUN).chain(OF_FLOW)
}

pub(crate) fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

pub(crate) fn of_run(record: &Record) -> Scalars {
    let mut scalars = scalars(&record.total);
    scalars.extend(record.jain_index.map(|jain| (OF_RUN[0].to_owned(), jain)));
    scalars
}

pub(crate) fn of_flows(record: &Record) -> Vec<Scalars> {
    let of = |flow: &cellcc_experiment::FlowRecord| {
        let mut scalars = scalars(&flow.metrics);
        scalars.extend(flow.convergence_time_s.map(|time| (OF_FLOW[0].to_owned(), time)));
        scalars
    };
    record.flows.iter().map(of).collect()
}

fn scalars(metrics: &Metrics) -> Scalars {
    let Ok(Value::Object(object)) = serde_json::to_value(metrics) else { return Scalars::new() };
    object.into_iter().filter_map(|(key, value)| Some((key, value.as_f64()?))).collect()
}
