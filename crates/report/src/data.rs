//! The figures that the page holds, kept to a size that does not grow with the number of Records.

use crate::comparison::{Comparison, Trace, View};
use crate::figure::encode::Short;
use crate::figure::thin::spread;
use crate::figure::{Figure, Key, Panel, dashes, markers};
use crate::figures::curves::curves;
use crate::figures::delays::{self, cumulative};
use crate::figures::heat::heat_map;
use crate::figures::scatter::scatter;
use crate::figures::sweep::sweep;
use crate::figures::time::{Detail, first_runs, inside, over_time, quantities};
use crate::tables::column::{
    COLUMNS, Column, QUEUEING_MEAN, QUEUEING_P95, RTT_MEAN, RTT_P95, THROUGHPUT, UTILISATION, utilisation,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Values of all time series together: at about five characters each, a third of the report's 5 MB.
const SERIES_VALUES: usize = 300_000;
/// A time series of fewer points than this shows too little: then fewer traces are kept.
const FEWEST_POINTS: usize = 400;
/// A time series of more points than this does not look different.
const MOST_POINTS: usize = 3_000;
/// Traces whose time series are kept.
const MOST_SERIES_TRACES: usize = 12;
/// Pairs of scheme and trace that are shown one by one, each with its distributions: about 1 MB.
const MOST_CELLS: usize = 2_500;
/// Flows of one run that are drawn one by one.
const MOST_FLOWS: usize = 4;
/// Curves, each of at most 40 snapshots of 60 points: about 25 kB each.
const MOST_CURVES: usize = 24;
/// Runs in the table of all runs: about 100 bytes each.
const MOST_RUNS: usize = 5_000;
/// Steps of a cumulative distribution: averaged, and for one trace.
const CDF_STEPS: usize = 200;
const CDF_STEPS_OF_TRACE: usize = 40;

/// The scatter plot's delays: the quantity, its statistic, and the column. The first ones are shown first.
const DELAYS: [(&str, &str, usize); 4] = [
    ("RTT", "p95", RTT_P95),
    ("RTT", "mean", RTT_MEAN),
    ("queueing", "p95", QUEUEING_P95),
    ("queueing", "mean", QUEUEING_MEAN),
];

/// What the report's script draws.
#[derive(Serialize)]
pub(crate) struct Data {
    markers: Vec<String>,
    dashes: [&'static [u32]; 4],
    /// What the legend chooses among, by group.
    lines: Vec<Key>,
    /// The keys of figures: each list once.
    keys: Vec<Vec<Key>>,
    figures: Vec<Placed>,
    runs: Runs,
    /// What was left out of the file, as sentences.
    #[serde(skip)]
    pub(crate) left_out: Vec<String>,
}

/// A figure, the place on the page that it belongs to, and for which choices it is shown there.
#[derive(Serialize)]
struct Placed {
    slot: &'static str,
    pick: BTreeMap<&'static str, String>,
    title: String,
    /// Its place in [`Data::keys`].
    keys: usize,
    columns: usize,
    panels: Vec<Panel>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// The table of all runs.
#[derive(Serialize)]
struct Runs {
    columns: Vec<String>,
    rows: Vec<Run>,
}

/// A run: its row's name and group, its trace, its seed, and a value a column.
#[derive(Serialize)]
struct Run(String, usize, String, u64, Vec<Short>);

impl Runs {
    fn new(comparison: &Comparison, columns: &[&Column]) -> Self {
        let mut rows = Vec::new();
        for (row, key) in comparison.rows.iter().zip(&comparison.keys) {
            for &trace in &comparison.traces {
                for run in comparison.runs(*row, trace) {
                    let value = |column: &&Column| Short((column.measure.quantity)(run).unwrap_or(f64::NAN));
                    let values = columns.iter().map(value).collect();
                    rows.push(Run(
                        key.label.clone(),
                        key.group,
                        trace.name.to_owned(),
                        run.scenario.seed,
                        values,
                    ));
                }
            }
        }
        rows.truncate(MOST_RUNS);
        Self { columns: columns.iter().map(|column| column.axis()).collect(), rows }
    }
}

impl Data {
    pub(crate) fn new(comparison: &Comparison, columns: &[&Column]) -> Self {
        let mut data = Self {
            markers: markers(),
            dashes: dashes(),
            lines: comparison.lines.clone(),
            keys: Vec::new(),
            figures: Vec::new(),
            runs: Runs::new(comparison, columns),
            left_out: Vec::new(),
        };
        if !comparison.rows.is_empty() {
            data.add_views(comparison);
            for column in columns {
                if let Some(figure) = heat_map(comparison, column) {
                    data.add("heat", [("cells", column.axis().as_str())], figure);
                }
            }
            data.add_series(comparison);
        }
        data
    }

    fn add<const N: usize>(&mut self, slot: &'static str, pick: [(&'static str, &str); N], figure: Figure) {
        let known = self.keys.iter().position(|keys| *keys == figure.keys);
        let keys = known.unwrap_or_else(|| {
            self.keys.push(figure.keys);
            self.keys.len() - 1
        });
        let pick = pick.into_iter().map(|(name, choice)| (name, choice.to_owned())).collect();
        let Figure { title, panels, columns, notes, .. } = figure;
        self.figures.push(Placed { slot, pick, title, keys, columns: columns.max(1), panels, notes });
    }

    /// The averages first, then traces one by one.
    fn add_views(&mut self, comparison: &Comparison) {
        let traces = &comparison.traces;
        let kept = spread(traces.len(), MOST_CELLS / comparison.rows.len());
        if kept.len() < traces.len() {
            self.left_out.push(format!(
                "{} of {} traces can be chosen one by one; the averages are over all.",
                kept.len(),
                traces.len()
            ));
        }
        let average = format!("average over {} traces", traces.len());
        let all = (traces.len() != 1).then_some((average.as_str(), View::All));
        let single = kept.into_iter().map(|index| (traces[index].name, View::On(traces[index])));
        for (name, view) in all.into_iter().chain(single) {
            for (delay, statistic, column) in DELAYS {
                for got in gets(comparison) {
                    let picks =
                        [("view", name), ("delay", delay), ("statistic", statistic), ("vertical", got.title)];
                    self.add("scatter", picks, scatter(comparison, view, &COLUMNS[column], got));
                }
            }
            let steps = if view == View::All { CDF_STEPS } else { CDF_STEPS_OF_TRACE };
            for (delay, which) in [("RTT", delays::RTT), ("queueing", delays::QUEUEING)] {
                self.add(
                    "cdf",
                    [("view", name), ("delay", delay)],
                    cumulative(comparison, view, which, steps),
                );
            }
            if let Some((_, figure)) = sweep(comparison, view) {
                self.add("sweep", [("view", name)], figure);
            }
        }
    }

    /// What is over time, of the first seed on some traces.
    fn add_series(&mut self, comparison: &Comparison) {
        let with_series = |trace: &&Trace| first_runs(comparison, **trace).next().is_some();
        let traces: Vec<Trace> = comparison.traces.iter().filter(with_series).copied().collect();
        let columns = |&trace: &Trace| {
            first_runs(comparison, trace).map(|(.., run)| run.series.columns.len()).sum::<usize>()
        };
        let columns_per_trace = traces.iter().map(columns).max().unwrap_or(0).max(1);
        let affordable = (SERIES_VALUES / (columns_per_trace * FEWEST_POINTS)).clamp(1, MOST_SERIES_TRACES);
        let kept = spread(traces.len(), affordable);
        let points = (SERIES_VALUES / (columns_per_trace * kept.len().max(1))).min(MOST_POINTS);
        self.left_out.extend(left_out_of_series(comparison, traces.len(), kept.len()));
        let runs = traces.iter().flat_map(|&trace| first_runs(comparison, trace));
        let longest = runs.flat_map(|(.., run)| &run.series.columns).map(|column| column.values.len()).max();
        if longest.unwrap_or(0) > points {
            self.left_out.push(format!(
                "Each line is thinned to {points} points that keep every minimum and maximum; the full ones are in the folder series/."
            ));
        }
        let detail = Detail { points, flows: MOST_FLOWS };
        let most_curves = (MOST_CURVES / kept.len().max(1)).max(1);
        let mut curves_of_trace = 0;
        for trace in kept.into_iter().map(|index| traces[index]) {
            let pick = [("series", trace.name)];
            self.add("time", pick, over_time(comparison, trace, &quantities(), detail));
            for figure in inside(comparison, trace, detail) {
                self.add("inside", pick, figure);
            }
            let all = curves(comparison, trace);
            curves_of_trace = curves_of_trace.max(all.len());
            for (_, figure) in all.into_iter().take(most_curves) {
                self.add("curves", pick, figure);
            }
        }
        if curves_of_trace > most_curves {
            self.left_out.push(format!(
                "Curves are shown of the first {most_curves} of {curves_of_trace} flows and schemes of a trace; all are in the \
                 folder curves/."
            ));
        }
    }
}

/// What schemes get, the first one shown first; a share of links that nobody knows is not known, either.
fn gets(comparison: &Comparison) -> Vec<&'static Column> {
    let first = comparison.gets();
    let mut runs =
        comparison.rows.iter().filter(|row| !row.is_limit()).flat_map(|&row| comparison.runs_of(row));
    let is_known = runs.any(|run| utilisation(run).is_some());
    let both = [&COLUMNS[UTILISATION], &COLUMNS[THROUGHPUT]].into_iter();
    let mut gets: Vec<_> =
        both.filter(|column| is_known || column.title != COLUMNS[UTILISATION].title).collect();
    gets.sort_by_key(|column| column.title != first.title);
    gets
}

fn left_out_of_series(comparison: &Comparison, traces: usize, kept: usize) -> Vec<String> {
    if traces == 0 {
        return vec!["The Records came without time series.".into()];
    }
    let mut sentences = Vec::new();
    if kept < traces {
        sentences.push(format!(
            "Time series are shown for {kept} of {traces} traces, spread evenly; all are in the folder series/."
        ));
    }
    if comparison.seeds.len() > 1 {
        sentences.push(format!(
            "Time series are of the first of {} seeds; all are in the folder series/.",
            comparison.seeds.len()
        ));
    }
    let flows = comparison.rows.iter().flat_map(|&row| comparison.runs_of(row)).map(|run| run.flows.len());
    if flows.max().unwrap_or(0) > MOST_FLOWS {
        sentences.push(format!(
            "Time series are of the first {MOST_FLOWS} flows of a run; all are in the folder series/."
        ));
    }
    sentences
}
