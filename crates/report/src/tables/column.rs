//! The columns of the summary tables.

use crate::ReportError;
use crate::comparison::Quantity;
use crate::figure::Axis;
use cellcc_experiment::Record;
use cellcc_statistics::Kind;
use std::str::FromStr;

/// A column of the summary tables.
#[derive(Debug)]
pub(crate) struct Column {
    /// How it is asked for: by its short name, or by that in Records, CSV and JSON.
    pub(crate) key: &'static str,
    metric: &'static str,
    /// What it is.
    pub(crate) title: &'static str,
    /// Statistic and unit; empty where there are none.
    pub(crate) unit: &'static str,
    pub(crate) quantity: Quantity,
    /// The average that it asks for, and the range in which its values lie.
    pub(crate) average: Kind,
    pub(crate) range: (f64, f64),
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
const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// The key, in lower-case letters and with hyphens, and the name in Records; title and unit; a quantity of which the mean is taken.
const fn column(
    [key, metric]: [&'static str; 2],
    title: &'static str,
    unit: &'static str,
    range: (f64, f64),
    quantity: Quantity,
) -> Column {
    let (average, shown, is_gain) = (Kind::Mean, Shown::Always, false);
    Column { key, metric, title, unit, quantity, average, range, shown, is_gain }
}

/// A time of this name among the metrics.
macro_rules! time {
    ($key:literal, $title:literal, $unit:literal, $metric:ident) => {
        column([$key, stringify!($metric)], $title, $unit, AT_LEAST_ZERO, |run| run.total.$metric)
    };
}

/// The share that was used of what the link offered; `None` where nobody knows what that was.
pub(crate) fn utilisation(run: &Record) -> Option<f64> {
    Some(run.total.utilisation).filter(|share| !share.is_nan())
}

pub(crate) fn throughput(run: &Record) -> Option<f64> {
    Some(run.total.throughput_mbit_s)
}

fn count(count: Option<u64>) -> Option<f64> {
    count.map(|count| count as f64)
}

impl Column {
    const fn gain(self) -> Self {
        Self { is_gain: true, ..self }
    }

    const fn geometric(self) -> Self {
        Self { average: Kind::Geometric, ..self }
    }

    const fn where_known(self) -> Self {
        Self { shown: Shown::WhereKnown, ..self }
    }

    const fn when_asked_for(self) -> Self {
        Self { shown: Shown::WhenAskedFor, ..self }
    }

    /// True for a column that is shown without being asked for.
    pub(crate) fn is_usual(&self) -> bool {
        self.shown != Shown::WhenAskedFor
    }

    /// The smaller, the better.
    pub(crate) fn badness(&self, value: f64) -> f64 {
        if self.is_gain { -value } else { value }
    }

    /// True for times that differ by factors rather than by differences.
    pub(crate) fn is_delay(&self) -> bool {
        self.unit.ends_with("ms") && !self.is_gain
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
        match self.unit.split_once(", ") {
            Some(("mean", unit)) => format!("Mean {what}, {unit}"),
            Some(("p50", unit)) => format!("Median of the {what}, {unit}"),
            Some(("max", unit)) => format!("Largest {what}, {unit}"),
            Some((percentile, unit)) => format!("{}th percentile of the {what}, {unit}", &percentile[1..]),
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

/// In the order of tables; those that are shown without being asked for come first.
pub(crate) static COLUMNS: [Column; 33] = [
    column(["utilisation"; 2], "Utilisation", "", SHARE, utilisation).gain().where_known(),
    column(["throughput", "throughput_mbit_s"], "Throughput", "Mbit/s", AT_LEAST_ZERO, throughput).gain(),
    time!("rtt", "RTT", "mean, ms", rtt_mean_ms).where_known(),
    time!("rtt-p95", "RTT", "p95, ms", rtt_p95_ms).where_known(),
    time!("queueing", "Queueing", "mean, ms", queueing_delay_mean_ms),
    time!("queueing-p95", "Queueing", "p95, ms", queueing_delay_p95_ms),
    column(["loss", "loss_ratio"], "Loss", "%", PERCENT, |run| Some(run.total.loss_ratio * 100.0)),
    column(["power"; 2], "Power", "Mbit/s/ms", AT_LEAST_ZERO, |run| run.total.power).geometric().gain(),
    column(["jain", "jain_index"], "Jain", "", SHARE, |run| run.jain_index).gain().where_known(),
    time!("completion", "Completion", "s", completion_time_s).where_known(),
    column(["late-frames", "deadline_miss_ratio"], "Late frames", "%", PERCENT, |run| {
        run.total.deadline_miss_ratio.map(|ratio| ratio * 100.0)
    })
    .where_known(),
    time!("frame-delay-p95", "Frame delay", "p95, ms", frame_delay_p95_ms).where_known(),
    column(["media-rate", "media_rate_mbit_s"], "Media", "Mbit/s", AT_LEAST_ZERO, |run| {
        run.total.media_rate_mbit_s
    })
    .gain()
    .where_known(),
    time!("startup", "Startup", "s", startup_s).where_known(),
    column(["freezes"; 2], "Freezes", "", AT_LEAST_ZERO, |run| count(run.total.freezes)).where_known(),
    column(["frozen", "freeze_ratio"], "Frozen", "%", PERCENT, |run| {
        run.total.freeze_ratio.map(|ratio| ratio * 100.0)
    })
    .where_known(),
    column(["switches", "rate_switches"], "Switches", "", AT_LEAST_ZERO, |run| {
        count(run.total.rate_switches)
    })
    .where_known(),
    column(["qoe", "qoe_lin"], "QoE", "Mbit/s", ANY, |run| run.total.qoe_lin).gain().where_known(),
    column(["d3"; 2], "D3", "", AT_LEAST_ZERO, |run| run.total.d3).geometric().when_asked_for(),
    column(["power95"; 2], "Power95", "Mbit/s/ms", AT_LEAST_ZERO, |run| run.total.power95)
        .geometric()
        .gain()
        .when_asked_for(),
    time!("rtt-p50", "RTT", "p50, ms", rtt_p50_ms).when_asked_for(),
    time!("rtt-p99", "RTT", "p99, ms", rtt_p99_ms).when_asked_for(),
    time!("rtt-max", "RTT", "max, ms", rtt_max_ms).when_asked_for(),
    time!("queueing-p50", "Queueing", "p50, ms", queueing_delay_p50_ms).when_asked_for(),
    time!("queueing-p99", "Queueing", "p99, ms", queueing_delay_p99_ms).when_asked_for(),
    time!("queueing-max", "Queueing", "max, ms", queueing_delay_max_ms).when_asked_for(),
    time!("one-way", "One way", "mean, ms", one_way_delay_mean_ms).when_asked_for(),
    time!("one-way-p50", "One way", "p50, ms", one_way_delay_p50_ms).when_asked_for(),
    time!("one-way-p95", "One way", "p95, ms", one_way_delay_p95_ms).when_asked_for(),
    time!("one-way-p99", "One way", "p99, ms", one_way_delay_p99_ms).when_asked_for(),
    time!("one-way-max", "One way", "max, ms", one_way_delay_max_ms).when_asked_for(),
    column(["resent", "retransmitted_packets"], "Resent", "packets", AT_LEAST_ZERO, |run| {
        Some(run.total.retransmitted_packets as f64)
    })
    .when_asked_for(),
    column(["lost", "lost_packets"], "Lost", "packets", AT_LEAST_ZERO, |run| {
        Some(run.total.lost_packets as f64)
    })
    .when_asked_for(),
];

/// The columns that these records have where none is asked for.
pub(crate) fn columns(records: &[Record]) -> Vec<&'static Column> {
    let is_known = |column: &Column| records.iter().any(|run| (column.quantity)(run).is_some());
    let is_shown = |column: &&Column| match column.shown {
        Shown::Always => true,
        Shown::WhereKnown => is_known(column),
        Shown::WhenAskedFor => false,
    };
    COLUMNS.iter().filter(is_shown).collect()
}

/// A column of the table that is asked for by its name, `rtt-p95`, or by that of its metric, `rtt_p95_ms`.
#[derive(Debug, Clone, Copy)]
pub struct TableColumn(pub(crate) &'static Column);

impl TableColumn {
    /// The names of all, in the order of tables.
    pub fn names() -> impl Iterator<Item = &'static str> {
        COLUMNS.iter().map(|column| column.key)
    }
}

impl FromStr for TableColumn {
    type Err = ReportError;

    fn from_str(text: &str) -> Result<Self, ReportError> {
        let found = COLUMNS.iter().find(|column| [column.key, column.metric].contains(&text.trim()));
        let error = || ReportError::Column {
            given: text.chars().take(60).collect(),
            known: Self::names().collect::<Vec<_>>().join(", "),
        };
        found.map(Self).ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_experiment::Metrics;

    #[test]
    fn a_column_is_asked_for_by_its_name_or_by_that_of_its_metric() {
        for column in &COLUMNS {
            assert_eq!(column.key.parse::<TableColumn>().unwrap().0.key, column.key);
            assert_eq!(column.metric.parse::<TableColumn>().unwrap().0.key, column.key);
            // A Record with a field that there is not is refused.
            let mut metrics = serde_json::to_value(Metrics::default()).unwrap();
            metrics[column.metric] = 1.into();
            let is_metric = serde_json::from_value::<Metrics>(metrics).is_ok();
            assert!(is_metric || column.metric == "jain_index", "{}", column.metric);
        }
        let error = "rtt-95".parse::<TableColumn>().unwrap_err().to_string();
        assert!(
            error.starts_with("`rtt-95` is not a column of the table; did you mean `rtt-p95`?"),
            "{error}"
        );
    }
}
