//! Results of each flow, and of the flows of a user or of a scheme together.

use crate::comparison::{Comparison, Row, Trace};
use crate::tables::grid::{Cell, Grid, GridRow, titles};
use cellcc_experiment::{Distribution, FlowRecord, Record};
use cellcc_statistics::{Average, Kind, mean};
use std::collections::BTreeMap;

/// Flows of one row that the table shows one by one; the others are in CSV and JSON.
const MOST_FLOWS: usize = 12;

/// Some flows of a run, by their numbers, under one name.
struct Group {
    name: String,
    flows: Vec<usize>,
}

/// A scalar of some flows of a run.
type OfFlows = fn(&Record, &[usize]) -> Option<f64>;

/// Title, unit, whether it is only shown where it exists, and the scalar.
const COLUMNS: [(&str, &str, bool, OfFlows); 8] = [
    ("Throughput", "Mbit/s", false, |run, flows| sum(run, flows, |flow| flow.metrics.throughput_mbit_s)),
    ("Share", "%", false, share),
    ("RTT", "mean, ms", false, |run, flows| Some(delays(run, flows, |flow| &flow.rtt).summary()?.mean_ms)),
    ("Queueing", "mean, ms", false, |run, flows| {
        Some(delays(run, flows, |flow| &flow.queueing_delay).summary()?.mean_ms)
    }),
    ("Queueing", "p95, ms", false, |run, flows| {
        Some(delays(run, flows, |flow| &flow.queueing_delay).summary()?.p95_ms)
    }),
    ("Loss", "%", false, loss),
    ("Completion", "s", true, |run, flows| of_one(run, flows, |flow| flow.metrics.completion_time_s)),
    ("Converged", "after, s", true, |run, flows| of_one(run, flows, |flow| flow.convergence_time_s)),
];

/// One row per flow, then one row per scheme and per user with several flows; `None` where no run has several flows.
pub(crate) fn grid(comparison: &Comparison) -> Option<Grid> {
    let of_several = |row| comparison.runs_of(row).find(|run| run.flows.len() > 1);
    let several = comparison.rows.iter().filter_map(|&row| Some((row, of_several(row)?)));
    let several: Vec<(Row, &Record)> = several.collect();
    let is_shown = |(_, _, optional, of): &&(&str, &str, bool, OfFlows)| {
        !optional || several.iter().any(|&(row, _)| exists(comparison, row, *of))
    };
    let shown: Vec<_> = COLUMNS.iter().filter(is_shown).collect();
    let mut rows = Vec::new();
    for &(row, run) in &several {
        for Group { name, flows } in groups(run) {
            let name = if several.len() > 1 { format!("{}: {name}", row.label()) } else { name };
            let cells = shown.iter().map(|(.., of)| Cell::of(average(comparison, row, &flows, *of)));
            rows.push(GridRow::named(name, cells.collect()));
        }
    }
    let over = comparison.averages_over().map(|(count, of)| format!(": means over {count} {of}"));
    let grid = Grid {
        caption: format!("Flows{}", over.unwrap_or_default()),
        of: vec!["Flow".into()],
        columns: titles(shown.iter().map(|(title, unit, ..)| (*title, *unit))),
        rows,
    };
    (!several.is_empty()).then(|| grid.without_one_count(comparison))
}

/// The name of each flow of a run: flows of one scheme have numbers.
pub(crate) fn names(run: &Record) -> Vec<String> {
    let schemes = grouped(run, |flow| run.flows[flow].scheme.as_str());
    let mut names = vec![String::new(); run.flows.len()];
    for (scheme, flows) in schemes {
        for (number, &flow) in flows.iter().enumerate() {
            names[flow] = if flows.len() == 1 { scheme.into() } else { format!("{scheme} {}", number + 1) };
        }
    }
    names
}

/// The share of a flow in its run's total delivery of a second, in percent.
pub(crate) fn share(run: &Record, flows: &[usize]) -> Option<f64> {
    let all: f64 = run.flows.iter().map(|flow| flow.metrics.throughput_mbit_s).sum();
    let these = sum(run, flows, |flow| flow.metrics.throughput_mbit_s)?;
    (all > 0.0).then(|| these / all * 100.0)
}

fn groups(run: &Record) -> Vec<Group> {
    let user = |flow: usize| run.scenario.flows.get(flow).map_or(0, |setup| setup.user);
    let users = grouped(run, user);
    let schemes = grouped(run, |flow| run.flows[flow].scheme.as_str());
    let several_users = users.len() > 1;
    let single = names(run).into_iter().enumerate().take(MOST_FLOWS).map(|(flow, name)| {
        let name = if several_users { format!("{name} (user {})", user(flow)) } else { name };
        Group { name, flows: vec![flow] }
    });
    let of_schemes = schemes.into_iter().map(|(scheme, flows)| (scheme.to_owned(), flows));
    let of_users = users.into_iter().map(|(user, flows)| (format!("user {user}"), flows));
    // A sum is shown only of several flows, and not of all.
    let sums = of_schemes.chain(of_users).filter(|(_, flows)| (2..run.flows.len()).contains(&flows.len()));
    single
        .chain(sums.map(|(of, flows)| Group { name: format!("{of}, all {}", flows.len()), flows }))
        .collect()
}

fn grouped<K: Ord>(run: &Record, key: impl Fn(usize) -> K) -> BTreeMap<K, Vec<usize>> {
    let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    (0..run.flows.len()).for_each(|flow| groups.entry(key(flow)).or_default().push(flow));
    groups
}

fn exists(comparison: &Comparison, row: Row, of: OfFlows) -> bool {
    comparison.runs_of(row).any(|run| (0..run.flows.len()).any(|flow| of(run, &[flow]).is_some()))
}

/// The mean over traces of the mean over seeds; of a single trace, over seeds.
fn average(comparison: &Comparison, row: Row, flows: &[usize], of: OfFlows) -> Option<Average> {
    const ANY: (f64, f64) = (0.0, f64::INFINITY);
    let has_all = |run: &&&Record| flows.iter().all(|flow| *flow < run.flows.len());
    let on_trace = |&trace: &Trace| -> Vec<f64> {
        comparison.runs(row, trace).iter().filter(has_all).filter_map(|run| of(run, flows)).collect()
    };
    let values: Vec<f64> = match &comparison.traces[..] {
        [only] => on_trace(only),
        traces => traces.iter().filter_map(|trace| mean(&on_trace(trace))).collect(),
    };
    Average::of(Kind::Mean, &values, ANY)
}

fn sum(run: &Record, flows: &[usize], of: impl Fn(&FlowRecord) -> f64) -> Option<f64> {
    Some(flows.iter().map(|&flow| of(&run.flows[flow])).sum())
}

fn delays(run: &Record, flows: &[usize], of: impl Fn(&FlowRecord) -> &Distribution) -> Distribution {
    let mut all = Distribution::default();
    flows.iter().for_each(|&flow| all.merge(of(&run.flows[flow])));
    all
}

fn loss(run: &Record, flows: &[usize]) -> Option<f64> {
    let sent = sum(run, flows, |flow| flow.metrics.sent_packets as f64)?;
    let lost = sum(run, flows, |flow| flow.metrics.lost_packets as f64)?;
    (sent > 0.0).then(|| lost / sent * 100.0)
}

fn of_one(run: &Record, flows: &[usize], of: impl Fn(&FlowRecord) -> Option<f64>) -> Option<f64> {
    let [flow] = flows else { return None };
    of(&run.flows[*flow])
}
