//! Runs of data sets, and their outcomes.

use crate::metrics::{self, Scalars};
use cellcc_experiment::{Curve, Record, Scenario, Series, expand_braces, same_scheme, varied};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The runs of data sets, by the name of the data set.
pub type DataRuns = BTreeMap<String, Vec<Run>>;

/// A run of a data set, which may have been planned only.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its scheme, as tables have it.
    pub scheme: String,
    /// The varied conditions that it has.
    pub conditions: Vec<(String, String)>,
    /// Name of the driver.
    pub driver: String,
    /// The link.
    pub trace: String,
    /// The seed.
    pub seed: u64,
    /// Its outcome; none where it has not been run, or failed.
    pub outcome: Option<Arc<Outcome>>,
}

/// Parts of a Record that quantities need.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    pub(crate) total: Scalars,
    pub(crate) flows: Vec<Scalars>,
    pub(crate) series: Series,
    pub(crate) curves: Vec<Curve>,
}

impl From<Record> for Outcome {
    fn from(record: Record) -> Self {
        let (total, flows) = (metrics::of_run(&record), metrics::of_flows(&record));
        Self { total, flows, series: record.series, curves: record.curves }
    }
}

impl Run {
    /// The run of this Scenario.
    pub fn new(scenario: &Scenario, outcome: Option<Arc<Outcome>>) -> Self {
        Self {
            scheme: scenario.scheme.clone(),
            conditions: conditions(&scenario.variation),
            driver: scenario.driver.clone(),
            trace: scenario.trace.clone(),
            seed: scenario.seed,
            outcome,
        }
    }

    /// True if it has this scheme and all these conditions.
    pub(crate) fn is(&self, scheme: &str, wanted: &[(String, String)]) -> bool {
        same_scheme(&self.scheme, scheme) && wanted.iter().all(|(key, value)| self.has(key, value))
    }

    pub(crate) fn has(&self, key: &str, value: &str) -> bool {
        match key {
            "trace" => trace_is(&self.trace, value),
            "driver" => matches(&self.driver, value),
            "seed" => matches(&self.seed.to_string(), value),
            _ => self.conditions.iter().any(|(own, has)| own == key && has == value),
        }
    }
}

/// The parts of a variation; `path={ rtt = "5ms", queue = "800pkt" }` has `path.rtt=5ms` and `path.queue=800pkt`.
fn conditions(variation: &str) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    for (key, value) in varied(variation) {
        match toml::from_str::<toml::Table>(&format!("value = {value}"))
            .ok()
            .and_then(|mut table| table.remove("value"))
        {
            Some(toml::Value::Table(table)) => flatten(key, &table, &mut parts),
            _ => parts.push((key.to_owned(), value.to_owned())),
        }
    }
    parts
}

fn flatten(key: &str, table: &toml::Table, parts: &mut Vec<(String, String)>) {
    for (inner, value) in table {
        let key = format!("{key}.{inner}");
        match value {
            toml::Value::Table(table) => flatten(&key, table, parts),
            toml::Value::String(text) => parts.push((key, text.clone())),
            other => parts.push((key, other.to_string())),
        }
    }
}

/// True if a text has the form of this pattern, in which `*` stands for anything and `{a,b}` for either.
fn matches(text: &str, pattern: &str) -> bool {
    let is =
        |pattern: &str| glob::Pattern::new(pattern).map_or(text == pattern, |pattern| pattern.matches(text));
    expand_braces(pattern).map_or_else(|_| is(pattern), |patterns| patterns.iter().any(|pattern| is(pattern)))
}

/// True if a trace has this name: as it is, or its file's name with its endings or without.
fn trace_is(trace: &str, pattern: &str) -> bool {
    let file = trace.rsplit(['/', '\\']).next().unwrap_or(trace);
    let unpacked = file.strip_suffix(".gz").or_else(|| file.strip_suffix(".xz")).unwrap_or(file);
    let stem = [".mbps", ".mahi", ".csv"].iter().find_map(|kind| unpacked.strip_suffix(kind));
    [Some(trace), Some(file), Some(unpacked), stem].into_iter().flatten().any(|name| matches(name, pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varied_table_is_as_many_conditions_as_it_has_keys() {
        let found = conditions("path={ rtt = \"5ms\", reverse = { loss = \"1%\" } }, duration=9s");
        let texts: Vec<_> = found.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(texts, ["path.rtt=5ms", "path.reverse.loss=1%", "duration=9s"]);
        assert_eq!(conditions("path.queue=codel(limit=9pkt)")[0].1, "codel(limit=9pkt)");
    }

    #[test]
    fn a_trace_is_named_by_its_file_or_as_it_is() {
        for pattern in
            ["001-driving", "*driving*", "001-driving.mbps", "*/5g/001-driving.mbps.gz", "{*walk*,*driv*}"]
        {
            assert!(trace_is("a/5g/001-driving.mbps.gz", pattern), "{pattern}");
        }
        assert!(trace_is("rate=12Mbit/s", "rate=12Mbit/s") && trace_is("rate=12Mbit/s", "*12Mbit*"));
        assert!(!trace_is("a/2-walking.mbps", "*driving*"));
    }
}
