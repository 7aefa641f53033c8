//! One row a run: JSON and CSV.

use crate::comparison::Comparison;
use crate::flows;
use cellcc_experiment::{Metrics, Record, varied};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A run as JSON has it: flat, units in the keys.
#[derive(Serialize)]
struct Row<'a> {
    scheme: &'a str,
    /// Which of the varied conditions; empty where nothing is varied.
    variation: &'a str,
    trace: &'a str,
    seed: u64,
    driver: &'a str,
    /// Names the run's files in `series/` and `curves/`.
    id: &'a str,
    duration_s: f64,
    path_rtt_ms: f64,
    path_queue: String,
    /// By varied condition, its value as the plan writes it.
    #[serde(flatten)]
    varied: BTreeMap<&'a str, &'a str>,
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
    /// Tells flows of one scheme apart.
    name: String,
    /// Of the cell.
    user: usize,
    /// Of what all flows of the run delivered together in a second.
    throughput_share: Option<f64>,
    convergence_time_s: Option<f64>,
    #[serde(flatten)]
    metrics: &'a Metrics,
}

/// One array of objects, one per run, in their order here; `flows` where there are several. The comparison is theirs.
pub(crate) fn json(records: &[&Record], comparison: &Comparison) -> String {
    let names = trace_names(comparison);
    let rows: Vec<Row> = records.iter().map(|record| row(record, &names)).collect();
    let mut text = serde_json::to_string_pretty(&rows).expect("rows have only string keys");
    text.push('\n');
    text
}

/// What each trace is called: as in the tables, so that no two have one name.
fn trace_names<'a>(comparison: &Comparison<'a>) -> BTreeMap<&'a str, &'a str> {
    comparison.traces.iter().map(|trace| (trace.key, trace.name)).collect()
}

fn row<'a>(record: &'a Record, names: &BTreeMap<&str, &'a str>) -> Row<'a> {
    Row {
        scheme: &record.scenario.scheme,
        variation: &record.scenario.variation,
        trace: names[record.scenario.trace.as_str()],
        seed: record.scenario.seed,
        driver: &record.driver,
        id: &record.id,
        duration_s: record.scenario.duration.as_secs_f64(),
        path_rtt_ms: record.scenario.path.rtt.as_millis_f64(),
        path_queue: record.scenario.path.queue.to_string(),
        varied: varied(&record.scenario.variation).into_iter().collect(),
        total: &record.total,
        jain_index: record.jain_index,
        notes: &record.notes,
        flows: flow_rows(record),
    }
}

/// The flows, where there are several.
fn flow_rows(record: &Record) -> Vec<FlowRow<'_>> {
    if record.flows.len() < 2 {
        return Vec::new();
    }
    let flow = |(index, name): (usize, String)| {
        let flow = &record.flows[index];
        FlowRow {
            scheme: &flow.scheme,
            name,
            user: record.scenario.flows.get(index).map_or(0, |setup| setup.user),
            throughput_share: flows::share(record, &[index]).map(|percent| percent / 100.0),
            convergence_time_s: flow.convergence_time_s,
            metrics: &flow.metrics,
        }
    };
    flows::names(record).into_iter().enumerate().map(flow).collect()
}

/// A header, then the columns of [`json`], a row a run; notes are joined by `; `. Where runs have several flows, their columns
/// follow, `flow0.name`, empty in runs with fewer.
pub(crate) fn csv(records: &[&Record], comparison: &Comparison) -> String {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    let metrics = metric_names();
    let most_flows =
        records.iter().map(|record| record.flows.len()).max().filter(|most| *most > 1).unwrap_or(0);
    let own = ["scheme", "name", "user", "throughput_share", "convergence_time_s"].map(String::from);
    let of_flow: Vec<String> = own.into_iter().chain(metrics.iter().cloned()).collect();
    let keys: BTreeSet<&str> =
        records.iter().flat_map(|record| varied(&record.scenario.variation)).map(|(key, _)| key).collect();
    let header =
        ["scheme", "variation", "trace", "seed", "driver", "id", "duration_s", "path_rtt_ms", "path_queue"]
            .into_iter()
            .chain(keys.iter().copied())
            .chain(metrics.iter().map(String::as_str))
            .chain(["jain_index", "notes"])
            .map(String::from);
    let of_flows =
        (0..most_flows).flat_map(|flow| of_flow.iter().map(move |name| format!("flow{flow}.{name}")));
    writer.write_record(header.chain(of_flows)).expect("memory takes every row");
    let names = trace_names(comparison);
    for record in records {
        let row = row(record, &names);
        let notes = row.notes.join("; ");
        let flow = |flow: &FlowRow| {
            let own = (flow.scheme.to_owned(), flow.name.clone(), flow.user);
            (own, (flow.throughput_share, flow.convergence_time_s), flow.metrics.clone())
        };
        let empty = vec![""; (most_flows - row.flows.len()) * of_flow.len()];
        let flows: Vec<_> = row.flows.iter().map(flow).collect();
        writer
            .serialize((
                (row.scheme, row.variation, row.trace, row.seed, row.driver),
                (row.id, row.duration_s, row.path_rtt_ms, row.path_queue),
                keys.iter().map(|key| row.varied.get(key).copied().unwrap_or_default()).collect::<Vec<_>>(),
                row.total,
                row.jain_index,
                notes,
                flows,
                empty,
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
