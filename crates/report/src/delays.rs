//! The delays of packets on a trace.

use cellcc_experiment::{Distribution, FlowRecord, Record};

/// Which distribution of a flow.
pub(crate) type Delay = fn(&FlowRecord) -> &Distribution;

/// The delays of all packets of these runs, which are on one trace: packets of several traces are never pooled, as a fast
/// link has more of them than a slow one.
pub(crate) fn pooled(runs: &[&Record], delay: Delay) -> Distribution {
    let mut all = Distribution::default();
    runs.iter().flat_map(|run| &run.flows).for_each(|flow| all.merge(delay(flow)));
    all
}
