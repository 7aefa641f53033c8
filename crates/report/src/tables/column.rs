//! The columns of the summary tables.

use crate::comparison::Quantity;
use cellcc_experiment::Record;
use cellcc_statistics::Kind;

/// A scalar of runs, the average that it asks for, and the range in which its values lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    pub(crate) quantity: Quantity,
    pub(crate) average: Kind,
    pub(crate) range: (f64, f64),
}

/// A column of the summary tables.
pub(crate) struct Column {
    /// What it is.
    pub(crate) title: &'static str,
    /// Statistic and unit; empty where there are none.
    pub(crate) unit: &'static str,
    pub(crate) measure: Measure,
    /// Only shown where a run has a value.
    optional: bool,
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

const fn always(title: &'static str, unit: &'static str, measure: Measure) -> Column {
    Column { title, unit, measure, optional: false }
}

const fn optional(title: &'static str, unit: &'static str, measure: Measure) -> Column {
    Column { title, unit, measure, optional: true }
}

/// The share that was used of what the link offered; `None` where nobody knows what that was.
pub(crate) fn utilisation(run: &Record) -> Option<f64> {
    Some(run.total.utilisation).filter(|share| !share.is_nan())
}

pub(crate) fn throughput(run: &Record) -> Option<f64> {
    Some(run.total.throughput_mbit_s)
}

/// In the order of tables.
pub(crate) const COLUMNS: [Column; 12] = [
    optional("Utilisation", "", Measure::mean(SHARE, utilisation)),
    always("Throughput", "Mbit/s", Measure::mean(AT_LEAST_ZERO, throughput)),
    always("RTT", "mean, ms", Measure::mean(AT_LEAST_ZERO, |run| run.total.rtt_mean_ms)),
    always("RTT", "p95, ms", Measure::mean(AT_LEAST_ZERO, |run| run.total.rtt_p95_ms)),
    always("Queueing", "mean, ms", Measure::mean(AT_LEAST_ZERO, |run| run.total.queueing_delay_mean_ms)),
    always("Queueing", "p95, ms", Measure::mean(AT_LEAST_ZERO, |run| run.total.queueing_delay_p95_ms)),
    always("Loss", "%", Measure::mean(PERCENT, |run| Some(run.total.loss_ratio * 100.0))),
    always("Power", "Mbit/s/ms", Measure::geometric(|run| run.total.power)),
    optional("D3", "", Measure::geometric(|run| run.total.d3)),
    optional("Jain", "", Measure::mean(SHARE, |run| run.jain_index)),
    optional("Completion", "s", Measure::mean(AT_LEAST_ZERO, |run| run.total.completion_time_s)),
    optional(
        "Late frames",
        "%",
        Measure::mean(PERCENT, |run| run.total.deadline_miss_ratio.map(|ratio| ratio * 100.0)),
    ),
];

/// The columns that these records have.
pub(crate) fn columns(records: &[Record]) -> Vec<&'static Column> {
    COLUMNS
        .iter()
        .filter(|column| {
            !column.optional || records.iter().any(|run| (column.measure.quantity)(run).is_some())
        })
        .collect()
}
