//! The columns of the summary tables: the metrics of runs.

use crate::ReportError;
use crate::figure::Axis;
use cellcc_experiment::{Better, Metric, Record, Shown};
use std::ops::Deref;
use std::str::FromStr;

/// A column of the summary tables: a metric of runs, chosen by its name, `rtt-p95`, or by its key, `rtt_p95_ms`.
#[derive(Debug, Clone, Copy)]
pub struct Column(&'static Metric);

pub(crate) const POWER: Column = Column::of("power");
pub(crate) const UTILISATION: Column = Column::of("utilisation");
pub(crate) const THROUGHPUT: Column = Column::of("throughput_mbit_s");
pub(crate) const RTT_MEAN: Column = Column::of("rtt_mean_ms");
pub(crate) const RTT_P95: Column = Column::of("rtt_p95_ms");
pub(crate) const QUEUEING_MEAN: Column = Column::of("queueing_delay_mean_ms");
pub(crate) const QUEUEING_P95: Column = Column::of("queueing_delay_p95_ms");

impl Deref for Column {
    type Target = Metric;

    fn deref(&self) -> &Metric {
        self.0
    }
}

impl Column {
    /// The column of the metric of this key.
    pub(crate) const fn of(key: &str) -> Self {
        Self(Metric::named(key))
    }

    /// All, in the order of tables.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Metric::in_tables().map(|(metric, _)| Self(metric))
    }

    /// The columns of a table without a choice.
    pub(crate) fn usual() -> impl Iterator<Item = (Self, Shown)> {
        let usual = Metric::in_tables().filter(|(_, shown)| *shown != Shown::WhenAskedFor);
        usual.map(|(metric, shown)| (Self(metric), shown))
    }

    /// The names of all, in the order of tables.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::all().map(|column| column.0.name)
    }

    /// Its value for a run, in its unit.
    pub(crate) fn value(&self, run: &Record) -> Option<f64> {
        Some(self.of_run(run)? * self.times())
    }

    /// The range in which its values lie.
    pub(crate) fn range(&self) -> (f64, f64) {
        let (least, most) = self.0.range;
        (least * self.times(), most * self.times())
    }

    /// Factor from the stored value to its unit.
    fn times(&self) -> f64 {
        if self.unit == "%" { 100.0 } else { 1.0 }
    }

    /// The statistic and the unit; empty where there are none.
    pub(crate) fn below(&self) -> String {
        let parts = [self.statistic, self.unit].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(", ")
    }

    /// The smaller, the better.
    pub(crate) fn badness(&self, value: f64) -> f64 {
        if self.better == Better::More { -value } else { value }
    }

    /// True for times that differ by factors rather than by differences.
    pub(crate) fn is_delay(&self) -> bool {
        self.unit == "ms"
    }

    /// An axis that has room for these values.
    pub(crate) fn axis_of(&self, title: String, values: impl Iterator<Item = f64> + Clone) -> Axis {
        if self.is_delay() { Axis::delay(title, values) } else { Axis::around(title, values) }
    }

    /// The title of an axis.
    pub(crate) fn axis(&self) -> String {
        let what = match self.title {
            "Queueing" => "queueing delay",
            "One way" => "one-way delay",
            title => title,
        };
        match (self.statistic, self.unit) {
            ("", "") => what.into(),
            ("", unit) => format!("{what}, {unit}"),
            ("mean", unit) => format!("Mean {what}, {unit}"),
            ("p50", unit) => format!("Median of the {what}, {unit}"),
            ("max", unit) => format!("Largest {what}, {unit}"),
            (percentile, unit) => format!("{}th percentile of the {what}, {unit}", &percentile[1..]),
        }
    }
}

/// The columns of these records without a choice.
pub(crate) fn columns(records: &[Record]) -> Vec<Column> {
    let is_known = |column: &Column| records.iter().any(|run| column.value(run).is_some());
    let is_shown = |(column, shown): &(Column, Shown)| *shown == Shown::Always || is_known(column);
    Column::usual().filter(is_shown).map(|(column, _)| column).collect()
}

impl FromStr for Column {
    type Err = ReportError;

    fn from_str(text: &str) -> Result<Self, ReportError> {
        let found = Self::all().find(|column| [column.name, column.key].contains(&text.trim()));
        let error = || ReportError::Column {
            given: text.chars().take(60).collect(),
            known: Self::names().collect::<Vec<_>>().join(", "),
        };
        found.ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_asked_for_by_its_name_or_by_the_key_of_its_metric() {
        for column in Column::all() {
            assert_eq!(column.name.parse::<Column>().unwrap().key, column.key);
            assert_eq!(column.key.parse::<Column>().unwrap().key, column.key);
        }
        let error = "rtt-95".parse::<Column>().unwrap_err().to_string();
        assert!(
            error.starts_with("`rtt-95` is not a column of the table; did you mean `rtt-p95`?"),
            "{error}"
        );
    }
}
