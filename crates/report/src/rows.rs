//! One row a run: JSON and CSV.

use crate::comparison::Comparison;
use cellcc_experiment::{Metrics, Record};
use serde::Serialize;
use std::collections::BTreeMap;

/// A run as JSON has it: flat, units in the keys.
#[derive(Serialize)]
struct Row<'a> {
    scheme: &'a str,
    /// Which of the varied conditions; empty where nothing is varied.
    variation: &'a str,
    trace: &'a str,
    seed: u64,
    driver: &'a str,
    #[serde(flatten)]
    total: &'a Metrics,
    jain_index: Option<f64>,
    notes: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flows: Vec<FlowRow<'a>>,
}

#[derive(Serialize)]
struct FlowRow<'a> {
    scheme: &'a str,
    #[serde(flatten)]
    metrics: &'a Metrics,
}

/// One array of objects, one per run, in the order of the Records; `flows` where there are several.
pub(crate) fn json(records: &[Record]) -> String {
    let names = trace_names(records);
    let rows: Vec<Row> = records.iter().map(|record| row(record, &names)).collect();
    let mut text = serde_json::to_string_pretty(&rows).expect("rows have only string keys");
    text.push('\n');
    text
}

/// What each trace is called: as in the tables, so that no two have one name.
fn trace_names(records: &[Record]) -> BTreeMap<&str, &str> {
    Comparison::new(records).traces.iter().map(|trace| (trace.key, trace.name)).collect()
}

fn row<'a>(record: &'a Record, names: &BTreeMap<&str, &'a str>) -> Row<'a> {
    let flows: &[_] = if record.flows.len() > 1 { &record.flows } else { &[] };
    Row {
        scheme: &record.scenario.scheme,
        variation: &record.scenario.variation,
        trace: names[record.scenario.trace.as_str()],
        seed: record.scenario.seed,
        driver: &record.driver,
        total: &record.total,
        jain_index: record.jain_index,
        notes: &record.notes,
        flows: flows.iter().map(|flow| FlowRow { scheme: &flow.scheme, metrics: &flow.metrics }).collect(),
    }
}

/// A header, then the columns of [`json`] without `flows`, a row a run; notes are joined by `; `.
pub(crate) fn csv(records: &[Record]) -> String {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    let metrics = metric_names();
    let header = ["scheme", "variation", "trace", "seed", "driver"]
        .into_iter()
        .chain(metrics.iter().map(String::as_str))
        .chain(["jain_index", "notes"]);
    writer.write_record(header).expect("memory takes every row");
    let names = trace_names(records);
    for record in records {
        let row = row(record, &names);
        let notes = row.notes.join("; ");
        writer
            .serialize((
                (row.scheme, row.variation, row.trace, row.seed, row.driver),
                row.total,
                row.jain_index,
                notes,
            ))
            .expect("a row is flat, and memory takes every row");
    }
    let bytes = writer.into_inner().expect("memory takes every row");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The names of the fields of [`Metrics`], in their order.
fn metric_names() -> Vec<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.serialize(Metrics::default()).expect("metrics are flat, and memory takes every row");
    let bytes = writer.into_inner().expect("memory takes every row");
    let header = String::from_utf8_lossy(&bytes);
    header.lines().next().unwrap_or_default().split(',').map(str::to_owned).collect()
}
