//! One row a run: JSON and CSV.

use crate::comparison::Comparison;
use crate::conditions::{Condition, conditions};
use crate::flows;
use cellcc_experiment::{METRICS, Metric, Metrics, Record, varied};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;

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

/// The conditions that runs differ in, by their keys. Each has a column of texts, and after these one of numbers where its values
/// have a unit.
pub(super) struct Varied<'a> {
    conditions: Vec<Condition<'a>>,
    /// Columns that a table has anyway.
    taken: &'static [&'static str],
}

impl<'a> Varied<'a> {
    pub(super) fn of(records: impl Iterator<Item = &'a Record>, taken: &'static [&'static str]) -> Self {
        let mut conditions = conditions(records.map(|run| run.scenario.variation.as_str()));
        conditions.sort_by_key(|condition| condition.key);
        Self { conditions, taken }
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> Vec<String> {
        let texts = self.conditions.iter().map(|condition| condition.key.to_owned());
        texts.chain(self.numeric().map(|(name, _)| name)).collect()
    }

    /// The values of a run in these columns; null where it has none.
    pub(super) fn cells(&self, run: &Record) -> Vec<Value> {
        let pairs = varied(&run.scenario.variation);
        let value = |of: &Condition| pairs.iter().find(|(key, _)| *key == of.key).map(|(_, value)| *value);
        let number = |(_, of): (String, &Condition)| json!(value(of).and_then(|value| of.number(value)));
        self.conditions.iter().map(|of| json!(value(of))).chain(self.numeric().map(number)).collect()
    }

    /// The conditions with a column of numbers, and its name.
    fn numeric(&self) -> impl Iterator<Item = (String, &Condition<'a>)> {
        let named = self.conditions.iter().filter_map(|condition| Some((condition.column()?, condition)));
        named.filter(|(name, _)| !self.taken.contains(&name.as_str()))
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
    fn new(run: &'a Record, comparison: &Comparison, varied: &Varied, columns: &[&Metric]) -> Self {
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
        let conditions = varied.names().into_iter().zip(varied.cells(run));
        let conditions = conditions.filter(|(_, value)| !value.is_null());
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
    let varied = Varied::of(records.iter().copied(), &OF_RUN);
    let rows: Vec<Row> = records.iter().map(|run| Row::new(run, comparison, &varied, &columns)).collect();
    serde_json::to_string_pretty(&rows).expect("rows have only string keys") + "\n"
}

/// A header, then the columns of [`json`], one row per run; notes are joined by `; `. Where runs have several flows, their columns
/// follow, `flow0.name`, empty in runs with fewer.
pub(crate) fn csv(records: &[&Record], comparison: &Comparison) -> String {
    let columns = in_rows(records);
    let most_flows = records.iter().map(|run| run.flows.len()).max().filter(|most| *most > 1).unwrap_or(0);
    let varied = Varied::of(records.iter().copied(), &OF_RUN);
    let conditions = varied.names();
    let metrics = || columns.iter().map(|metric| metric.key);
    let of_flow = |at| OF_FLOW.into_iter().chain(metrics()).map(move |name| format!("flow{at}.{name}"));
    let conditions = conditions.iter().map(String::as_str);
    let of_run = OF_RUN.into_iter().chain(conditions).chain(metrics()).chain(["jain_index", "notes"]);
    let header: Vec<String> = of_run.map(str::to_owned).chain((0..most_flows).flat_map(of_flow)).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&header).expect("memory takes every row");
    for run in records {
        let Row { fields: Fields(mut fields), notes, flows } = Row::new(run, comparison, &varied, &columns);
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
