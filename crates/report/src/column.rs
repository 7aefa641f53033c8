//! The columns of the summary tables.

use crate::comparison::Quantity;
use cellcc_experiment::Record;

/// A column of the summary tables.
pub(crate) struct Column {
    /// What it is.
    pub(crate) title: &'static str,
    /// Statistic and unit; empty where there are none.
    pub(crate) unit: &'static str,
    pub(crate) quantity: Quantity,
    /// Only shown where a run has a value.
    optional: bool,
}

const fn always(title: &'static str, unit: &'static str, quantity: Quantity) -> Column {
    Column { title, unit, quantity, optional: false }
}

const fn optional(title: &'static str, unit: &'static str, quantity: Quantity) -> Column {
    Column { title, unit, quantity, optional: true }
}

/// In the order of tables.
const COLUMNS: [Column; 12] = [
    always("Utilisation", "", |run| Some(run.total.utilisation)),
    always("Throughput", "Mbit/s", |run| Some(run.total.throughput_mbit_s)),
    always("RTT", "mean, ms", |run| run.total.rtt_mean_ms),
    always("RTT", "p95, ms", |run| run.total.rtt_p95_ms),
    always("Queueing", "mean, ms", |run| run.total.queueing_delay_mean_ms),
    always("Queueing", "p95, ms", |run| run.total.queueing_delay_p95_ms),
    always("Loss", "%", |run| Some(run.total.loss_ratio * 100.0)),
    always("Power", "Mbit/s/ms", |run| run.total.power),
    optional("D3", "", |run| run.total.d3),
    optional("Jain", "", |run| run.jain_index),
    optional("Completion", "s", |run| run.total.completion_time_s),
    optional("Late frames", "%", |run| run.total.deadline_miss_ratio.map(|ratio| ratio * 100.0)),
];

/// The columns that these records have.
pub(crate) fn columns(records: &[Record]) -> Vec<&'static Column> {
    COLUMNS
        .iter()
        .filter(|column| !column.optional || records.iter().any(|run| (column.quantity)(run).is_some()))
        .collect()
}
