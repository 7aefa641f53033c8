//! How the delays of packets are distributed.

use crate::comparison::{Comparison, View};
use crate::figure::{Axis, Figure, Mark, Panel, Shape, TAIL_END, nines, share_of};
use crate::figures::HEIGHT_INCHES;
use cellcc_experiment::{Distribution, FlowRecord, Record};

/// Which distribution of a flow: its name in files, the title of its axis, and where it is.
pub(crate) type Delay = (&'static str, &'static str, fn(&FlowRecord) -> &Distribution);

pub(crate) const RTT: Delay = ("rtt-cdf", "RTT, ms", |flow| &flow.rtt);
pub(crate) const QUEUEING: Delay = ("queueing-delay-cdf", "Queueing delay, ms", |flow| &flow.queueing_delay);

/// Delays below this look alike, and zero has no place on a logarithmic axis.
const LEAST_DELAY_MS: f64 = 0.125;

/// The cumulative distribution of the delays of each row's packets in this many steps of even room on an axis for tails, the mean of those on the traces; `None`
/// if there are no measurements.
pub(crate) fn cumulative(
    comparison: &Comparison,
    view: View,
    (_, title, of): Delay,
    steps: usize,
) -> Option<Figure> {
    let traces = comparison.traces_in(&view);
    let mark = |(key, &row)| {
        let by_trace = traces.iter().map(|&trace| pooled(comparison.runs(row, trace), of));
        let places = || (0..=steps).map(|step| nines(TAIL_END) * step as f64 / steps as f64);
        let levels = Distribution::mean_cumulative(by_trace, places().map(share_of));
        let curve: Vec<(f64, f64)> =
            levels.iter().zip(places()).map(|((ms, _), place)| (ms.max(LEAST_DELAY_MS), place)).collect();
        (curve.last()?.0 > LEAST_DELAY_MS).then(|| Mark::new(key, Shape::Line, curve))
    };
    let marks: Vec<Mark> = comparison.rows.iter().enumerate().filter_map(mark).collect();
    let ends = marks.iter().flat_map(|mark| [mark.points.first(), mark.points.last()]);
    let x = Axis::delay(title, ends.flatten().map(|point| point.0));
    let share = if traces.len() > 1 { "Share of packets, mean of traces" } else { "Share of packets" };
    (!marks.is_empty()).then(|| Figure {
        title: format!("Cumulative distribution: {title}"),
        keys: comparison.keys.clone(),
        legend: comparison.legend(),
        panels: vec![Panel::new(x, Axis::tail(share), marks, HEIGHT_INCHES)],
        ..Figure::default()
    })
}

/// The delays of all packets of these runs, which are on one trace: packets of several traces are never pooled, as a fast link
/// would count for more than a slow one.
fn pooled(runs: &[&Record], delay: fn(&FlowRecord) -> &Distribution) -> Distribution {
    let mut all = Distribution::default();
    runs.iter().flat_map(|run| &run.flows).for_each(|flow| all.merge(delay(flow)));
    all
}
