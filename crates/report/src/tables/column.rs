//! The columns of the summary tables.

use crate::ReportError;
use crate::comparison::Quantity;
use cellcc_experiment::Record;
use cellcc_statistics::Kind;
use std::str::FromStr;

/// A scalar of runs, the average that it asks for, and the range in which its values lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    pub(crate) quantity: Quantity,
    pub(crate) average: Kind,
    pub(crate) range: (f64, f64),
}

/// A column of the summary tables.
#[derive(Debug)]
pub(crate) struct Column {
    /// How it is asked for.
    pub(crate) key: &'static str,
    /// What it is.
    pub(crate) title: &'static str,
    /// Statistic and unit; empty where there are none.
    pub(crate) unit: &'static str,
    pub(crate) measure: Measure,
    shown: Shown,
    /// The largest value is the best.
    pub(crate) is_gain: bool,
}

/// When a column is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Always,
    /// Where a run has a value.
    WhereKnown,
    WhenAskedFor,
}

/// Times, rates and amounts.
const AT_LEAST_ZERO: (f64, f64) = (0.0, f64::INFINITY);
const SHARE: (f64, f64) = (0.0, 1.0);
const PERCENT: (f64, f64) = (0.0, 100.0);

impl Measure {
    const fn mean(range: (f64, f64), quantity: Quantity) -> Self {
        Self { quantity, average: Kind::Mean, range }
    }

    const fn geometric(quantity: Quantity) -> Self {
        Self { quantity, average: Kind::Geometric, range: AT_LEAST_ZERO }
    }
}

/// In lower-case letters and with hyphens, the key; title and unit; the measure.
const fn column(key: &'static str, title: &'static str, unit: &'static str, measure: Measure) -> Column {
    Column { key, title, unit, measure, shown: Shown::Always, is_gain: false }
}

impl Column {
    const fn gain(self) -> Self {
        Self { is_gain: true, ..self }
    }

    /// True for a column that is shown without being asked for.
    pub(crate) fn is_usual(&self) -> bool {
        self.shown != Shown::WhenAskedFor
    }

    const fn where_known(self) -> Self {
        Self { shown: Shown::WhereKnown, ..self }
    }

    const fn when_asked_for(self) -> Self {
        Self { shown: Shown::WhenAskedFor, ..self }
    }
}

/// The share that was used of what the link offered; `None` where nobody knows what that was.
pub(crate) fn utilisation(run: &Record) -> Option<f64> {
    Some(run.total.utilisation).filter(|share| !share.is_nan())
}

pub(crate) fn throughput(run: &Record) -> Option<f64> {
    Some(run.total.throughput_mbit_s)
}

impl Column {
    /// The title of an axis.
    pub(crate) fn axis(&self) -> String {
        let what = if self.title == "Queueing" { "queueing delay" } else { self.title };
        match self.unit.split_once(", ") {
            Some(("mean", unit)) => format!("Mean {what}, {unit}"),
            Some((_, unit)) => format!("95th percentile of the {what}, {unit}"),
            None if self.unit.is_empty() => what.into(),
            None => format!("{what}, {}", self.unit),
        }
    }
}

/// Places of columns that figures show.
pub(crate) const POWER: usize = 7;
pub(crate) const UTILISATION: usize = 0;
pub(crate) const THROUGHPUT: usize = 1;
pub(crate) const RTT_MEAN: usize = 2;
pub(crate) const RTT_P95: usize = 3;
pub(crate) const QUEUEING_MEAN: usize = 4;
pub(crate) const QUEUEING_P95: usize = 5;

/// In the order of tables.
pub(crate) static COLUMNS: [Column; 12] = [
    column("utilisation", "Utilisation", "", Measure::mean(SHARE, utilisation)).gain().where_known(),
    column("throughput", "Throughput", "Mbit/s", Measure::mean(AT_LEAST_ZERO, throughput)).gain(),
    column("rtt", "RTT", "mean, ms", Measure::mean(AT_LEAST_ZERO, |run| run.total.rtt_mean_ms)),
    column("rtt-p95", "RTT", "p95, ms", Measure::mean(AT_LEAST_ZERO, |run| run.total.rtt_p95_ms)),
    column(
        "queueing",
        "Queueing",
        "mean, ms",
        Measure::mean(AT_LEAST_ZERO, |run| run.total.queueing_delay_mean_ms),
    ),
    column(
        "queueing-p95",
        "Queueing",
        "p95, ms",
        Measure::mean(AT_LEAST_ZERO, |run| run.total.queueing_delay_p95_ms),
    ),
    column("loss", "Loss", "%", Measure::mean(PERCENT, |run| Some(run.total.loss_ratio * 100.0))),
    column("power", "Power", "Mbit/s/ms", Measure::geometric(|run| run.total.power)).gain(),
    column("d3", "D3", "", Measure::geometric(|run| run.total.d3)).when_asked_for(),
    column("jain", "Jain", "", Measure::mean(SHARE, |run| run.jain_index)).gain().where_known(),
    column("completion", "Completion", "s", Measure::mean(AT_LEAST_ZERO, |run| run.total.completion_time_s))
        .where_known(),
    column(
        "late-frames",
        "Late frames",
        "%",
        Measure::mean(PERCENT, |run| run.total.deadline_miss_ratio.map(|ratio| ratio * 100.0)),
    )
    .where_known(),
];

/// The columns that these records have where none is asked for.
pub(crate) fn columns(records: &[Record]) -> Vec<&'static Column> {
    let is_known = |column: &Column| records.iter().any(|run| (column.measure.quantity)(run).is_some());
    let is_shown = |column: &&Column| match column.shown {
        Shown::Always => true,
        Shown::WhereKnown => is_known(column),
        Shown::WhenAskedFor => false,
    };
    COLUMNS.iter().filter(is_shown).collect()
}

/// A column of the table that is asked for by its name: `rtt-p95`.
#[derive(Debug, Clone, Copy)]
pub struct TableColumn(pub(crate) &'static Column);

impl FromStr for TableColumn {
    type Err = ReportError;

    fn from_str(text: &str) -> Result<Self, ReportError> {
        let keys = || COLUMNS.iter().map(|column| column.key).collect::<Vec<_>>().join(", ");
        let found = COLUMNS.iter().find(|column| column.key == text.trim());
        found.map(Self).ok_or_else(|| ReportError::Column(text.chars().take(60).collect(), keys()))
    }
}
