//! One row a run: JSON and CSV.

use crate::comparison::Comparison;
use crate::flows;
use cellcc_experiment::{METRICS, Metric, Metrics, Record, varied};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The common columns of a run; `id` names its files in `series/` and `curves/`. The varied conditions and the metrics follow.
const OF_RUN: [&str; 9] =
    ["scheme", "variation", "trace", "seed", "driver", "id", "duration_s", "path_rtt_ms", "path_queue"];
/// The columns of a flow before its metrics: its name tells flows of one scheme apart, its user is the cell's, and its share is
/// that of all flows' delivery in a second.
const OF_FLOW: [&str; 5] = ["scheme", "name", "user", "throughput_share", "convergence_time_s"];

/// Names, which have the units, and values in this order.
struct Fields(Vec<(String, Value)>);

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A run as JSON has it.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    fields: Fields,
    notes: &'a [String],
    /// Where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flows: Vec<Fields>,
}

impl<'a> Row<'a> {
    fn new(run: &'a Record, comparison: &Comparison, columns: &[&Metric]) -> Self {
        let scenario = &run.scenario;
        let own = [
            json!(scenario.scheme),
            json!(scenario.variation),
            // As in the tables, so that no two have one name.
            json!(comparison.trace_name(run)),
            json!(scenario.seed),
            json!(run.driver),
            json!(run.id),
            json!(scenario.duration.as_secs_f64()),
            json!(scenario.path.rtt.as_millis_f64()),
            json!(scenario.path.queue.to_string()),
        ];
        let conditions: BTreeMap<&str, &str> = varied(&scenario.variation).into_iter().collect();
        let conditions = conditions.into_iter().map(|(key, value)| (key.to_owned(), json!(value)));
        let own = named(OF_RUN, own).chain(conditions).chain(metrics(&run.total, columns));
        let flows = if run.flows.len() > 1 { flows::names(run) } else { Vec::new() };
        let flows = flows.iter().enumerate().map(|(at, name)| flow(run, at, name, columns));
        Self {
            fields: Fields(own.chain(named(["jain_index"], [json!(run.jain_index)])).collect()),
            notes: &run.notes,
            flows: flows.collect(),
        }
    }
}

fn flow(run: &Record, at: usize, name: &str, columns: &[&Metric]) -> Fields {
    let flow = &run.flows[at];
    let own = [
        json!(flow.scheme),
        json!(name),
        json!(run.scenario.flows.get(at).map_or(0, |setup| setup.user)),
        json!(flows::share(run, &[at]).map(|percent| percent / 100.0)),
        json!(flow.convergence_time_s),
    ];
    Fields(named(OF_FLOW, own).chain(metrics(&flow.metrics, columns)).collect())
}

fn named<const N: usize>(names: [&str; N], values: [Value; N]) -> impl Iterator<Item = (String, Value)> {
    names.map(str::to_owned).into_iter().zip(values)
}

fn metrics(metrics: &Metrics, columns: &[&Metric]) -> impl Iterator<Item = (String, Value)> {
    columns.iter().map(|metric| (metric.key.to_owned(), json!(metric.get(metrics))))
}

/// The metrics that all Records have, in their order, and then those that only some have.
fn in_rows(records: &[&Record]) -> Vec<&'static Metric> {
    let flows = records.iter().flat_map(|run| run.flows.iter().map(|flow| &flow.metrics));
    let all = records.iter().map(|run| &run.total).chain(flows);
    let mut columns: Vec<&Metric> = Vec::new();
    for metrics in std::iter::once(&Metrics::default()).chain(all) {
        let is_new =
            |metric: &&Metric| metric.is_written(metrics) && columns.iter().all(|it| it.key != metric.key);
        columns.extend(METRICS.iter().filter(is_new).collect::<Vec<_>>());
    }
    columns
}

pub(super) fn written(writer: csv::Writer<Vec<u8>>) -> String {
    let bytes = writer.into_inner().expect("memory takes every row");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One array of objects, one per run, in their order here; `flows` where there are several. The comparison is theirs.
pub(crate) fn json(records: &[&Record], comparison: &Comparison) -> String {
    let columns = in_rows(records);
    let rows: Vec<Row> = records.iter().map(|run| Row::new(run, comparison, &columns)).collect();
    serde_json::to_string_pretty(&rows).expect("rows have only string keys") + "\n"
}

/// A header, then the columns of [`json`], one row per run; notes are joined by `; `. Where runs have several flows, their columns
/// follow, `flow0.name`, empty in runs with fewer.
pub(crate) fn csv(records: &[&Record], comparison: &Comparison) -> String {
    let columns = in_rows(records);
    let most_flows = records.iter().map(|run| run.flows.len()).max().filter(|most| *most > 1).unwrap_or(0);
    let keys: BTreeSet<&str> =
        records.iter().flat_map(|run| varied(&run.scenario.variation)).map(|(key, _)| key).collect();
    let metrics = || columns.iter().map(|metric| metric.key);
    let of_flow = |at| OF_FLOW.into_iter().chain(metrics()).map(move |name| format!("flow{at}.{name}"));
    let of_run = OF_RUN.into_iter().chain(keys).chain(metrics()).chain(["jain_index", "notes"]);
    let header: Vec<String> = of_run.map(str::to_owned).chain((0..most_flows).flat_map(of_flow)).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&header).expect("memory takes every row");
    for run in records {
        let Row { fields: Fields(mut fields), notes, flows } = Row::new(run, comparison, &columns);
        fields.push(("notes".into(), notes.join("; ").into()));
        for (at, Fields(flow)) in flows.into_iter().enumerate() {
            fields.extend(flow.into_iter().map(|(name, value)| (format!("flow{at}.{name}"), value)));
        }
        let values: BTreeMap<String, Value> = fields.into_iter().collect();
        let cell = |name: &String| match values.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(number) => number.to_string(),
        };
        writer.write_record(header.iter().map(cell)).expect("a row is as long as the header");
    }
    written(writer)
}
