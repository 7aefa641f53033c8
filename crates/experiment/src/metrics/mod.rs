//! The scalars of runs and flows: one table, from which Records, tables, claims, Python and docs/metrics.md are read.

mod derived;
mod json;
mod table;
#[cfg(test)]
mod tests;

pub use table::{METRICS, Metrics};

use crate::{FlowRecord, Record};
use cellcc_statistics::Kind;
use serde::Serialize;

/// A scalar of a run, of a flow or of both: a row of [`METRICS`].
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The key in Records, CSV, JSON, Parquet and claims.
    pub key: &'static str,
    /// The short name of its column, in lower-case letters and with hyphens: `rtt-p95`.
    pub name: &'static str,
    /// The heading of its column.
    pub title: &'static str,
    /// Statistic of a distribution: `p95`; empty for all else.
    pub statistic: &'static str,
    /// The unit in tables; empty where there is none. A metric in `%` is a share of 1 everywhere else.
    pub unit: &'static str,
    /// The smallest and the largest value.
    pub range: (f64, f64),
    /// The average over traces and seeds that it asks for.
    pub average: Kind,
    /// The better direction.
    pub better: Better,
    /// The cases without a value, and their form in a Record.
    pub absent: Absent,
    meaning: &'static str,
    of: Of,
}

/// The better values of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The larger ones.
    More,
    /// The smaller ones.
    Less,
    /// Neither.
    Neither,
}

/// The cases in which a metric has no value, and their form in a Record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// Every run has a value.
    Never,
    /// The value is `null` in these cases.
    Null(&'static str),
    /// The key is left out in these cases.
    LeftOut(&'static str),
}

/// The cases in which a table shows a metric's column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Shown in every table.
    Always,
    /// Shown if a run has a value.
    WhereKnown,
    /// Shown on request.
    WhenAskedFor,
}

/// A metric's value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A count.
    Count(u64),
    /// Any other number; never NaN.
    Number(f64),
}

/// Place of a metric's value.
#[derive(Debug, Clone, Copy)]
enum Of {
    /// Among the [`Metrics`] of a run and of each flow.
    Both { is_count: bool, get: fn(&Metrics) -> Option<Value>, set: fn(&mut Metrics, Option<Value>) },
    /// Only in the Record of the run.
    Run(fn(&Record) -> Option<f64>),
    /// Only in the Record of each flow.
    Flow(fn(&FlowRecord) -> Option<f64>),
}

impl Metric {
    /// The metric of this key.
    ///
    /// # Panics
    /// No metric has this key; in a constant, the build fails.
    pub const fn named(key: &str) -> &'static Self {
        let mut at = 0;
        while at < METRICS.len() {
            if is_same(METRICS[at].key, key) {
                return &METRICS[at];
            }
            at += 1;
        }
        panic!("the table has no metric of this key")
    }

    /// The metric's definition.
    pub fn meaning(&self) -> &'static str {
        self.meaning.trim_start()
    }

    /// The metrics of runs in the order of tables, and when a table shows them.
    pub fn in_tables() -> impl Iterator<Item = (&'static Self, Shown)> {
        let usual = table::IN_TABLES.iter().map(|(key, shown)| (Self::named(key), *shown));
        let is_usual = |metric: &&Self| table::IN_TABLES.iter().any(|(key, _)| *key == metric.key);
        let others = METRICS.iter().filter(move |metric| !is_usual(metric) && metric.is_of_runs());
        usual.chain(others.map(|metric| (metric, Shown::WhenAskedFor)))
    }

    /// True for a metric that runs have.
    pub fn is_of_runs(&self) -> bool {
        !matches!(self.of, Of::Flow(_))
    }

    /// True for a number of things.
    pub fn is_count(&self) -> bool {
        matches!(self.of, Of::Both { is_count: true, .. })
    }

    /// The value among the metrics of a run or of a flow; `None` if it is absent, or stored elsewhere.
    pub fn get(&self, metrics: &Metrics) -> Option<Value> {
        let Of::Both { get, .. } = self.of else { return None };
        get(metrics)
    }

    /// The value for a run.
    pub fn of_run(&self, run: &Record) -> Option<f64> {
        match self.of {
            Of::Both { get, .. } => get(&run.total).map(Value::number),
            Of::Run(get) => get(run),
            Of::Flow(_) => None,
        }
    }

    /// The value for a flow.
    pub fn of_flow(&self, flow: &FlowRecord) -> Option<f64> {
        match self.of {
            Of::Both { get, .. } => get(&flow.metrics).map(Value::number),
            Of::Run(_) => None,
            Of::Flow(get) => get(flow),
        }
    }

    /// True where a Record has the key among these metrics.
    pub fn is_written(&self, metrics: &Metrics) -> bool {
        let is_left_out = matches!(self.absent, Absent::LeftOut(_)) && self.get(metrics).is_none();
        matches!(self.of, Of::Both { .. }) && !is_left_out
    }
}

impl Metrics {
    /// Sets the metric of this key.
    ///
    /// # Panics
    /// The table has no such key for runs and flows.
    pub(crate) fn set(&mut self, key: &str, value: f64) {
        let Of::Both { set, .. } = Metric::named(key).of else { panic!("`{key}` is not among `Metrics`") };
        set(self, Some(Value::Number(value)));
    }
}

impl Value {
    /// The value as a floating-point number.
    pub fn number(self) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Number(number) => number,
        }
    }
}

/// The types that fields of [`Metrics`] have.
trait Scalar {
    const IS_COUNT: bool;

    fn value(&self) -> Option<Value>;

    fn of(value: Option<Value>) -> Self;
}

impl Scalar for f64 {
    const IS_COUNT: bool = false;

    fn value(&self) -> Option<Value> {
        (!self.is_nan()).then_some(Value::Number(*self))
    }

    fn of(value: Option<Value>) -> Self {
        value.map_or(f64::NAN, Value::number)
    }
}

impl Scalar for u64 {
    const IS_COUNT: bool = true;

    fn value(&self) -> Option<Value> {
        Some(Value::Count(*self))
    }

    fn of(value: Option<Value>) -> Self {
        match value {
            Some(Value::Count(count)) => count,
            Some(Value::Number(number)) => number as u64,
            None => 0,
        }
    }
}

impl<T: Scalar> Scalar for Option<T> {
    const IS_COUNT: bool = T::IS_COUNT;

    fn value(&self) -> Option<Value> {
        self.as_ref().and_then(T::value)
    }

    fn of(value: Option<Value>) -> Self {
        value.map(|value| T::of(Some(value)))
    }
}

/// `==`, which constants have not.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
