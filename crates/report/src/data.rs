//! The figures that the page holds, kept to a size that does not grow with the number of Records.

use crate::comparison::{Comparison, Trace, View};
use crate::conditions::Condition;
use crate::figure::encode::Short;
use crate::figure::thin::spread;
use crate::figure::{DASHES, Figure, Key, markers};
use crate::figures::curves::curves;
use crate::figures::delays::{self, cumulative};
use crate::figures::heat::heat_map;
use crate::figures::scatter::{over_others, scatter};
use crate::figures::sweep::sweep;
use crate::figures::time::{Detail, first_runs, inside, over_time, quantities};
use crate::relative::HeldAgainst;
use crate::tables::column::{
    Column, QUEUEING_MEAN, QUEUEING_P95, RTT_MEAN, RTT_P95, THROUGHPUT, UTILISATION,
};
use cellcc_experiment::{Better, Record};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// Values of all time series in a page by itself: at about five characters each, a third of the report's 5 MB.
const SERIES_VALUES: usize = 300_000;
/// The limit in a page with other files next to it: for twenty schemes on sixty traces it takes 3 MB at most.
const SERIES_VALUES_IN_FOLDER: usize = 70_000;
/// Values of all time series in the file next to the page: about 40 MB.
const VALUES_APART: usize = 8_000_000;
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
const CDF_STEPS_OF_TRACE: usize = 30;

/// The scatter plot's delays: the quantity, its statistic, and the column. The first ones are shown first.
const DELAYS: [(&str, &str, Column); 4] = [
    ("RTT", "p95", RTT_P95),
    ("RTT", "mean", RTT_MEAN),
    ("queueing", "p95", QUEUEING_P95),
    ("queueing", "mean", QUEUEING_MEAN),
];

/// The input of the report's script.
#[derive(Serialize)]
pub(crate) struct Data<'a> {
    markers: Vec<String>,
    dashes: [&'static [u32]; 4],
    /// The choices of the legend, by group.
    lines: Vec<Key>,
    /// The choices of the pickers.
    conditions: &'a [Condition<'a>],
    /// By column of the summary, "more" or "less"; empty: neither.
    better: Vec<&'static str>,
    #[serde(flatten)]
    sheet: Sheet,
    runs: Runs,
    /// Traces whose series stand in the file next to the page; `null`: there is no folder.
    apart: Option<Vec<String>>,
    /// The omissions of the file, as sentences.
    #[serde(skip)]
    pub(crate) left_out: Vec<String>,
}

/// Figures and their keys.
#[derive(Serialize, Default)]
struct Sheet {
    /// Each list once; in the page, the first one is that of the summary's rows.
    keys: Vec<Vec<Key>>,
    figures: Vec<InSlot>,
}

/// A figure, the place on the page that it belongs to, and for which choices it is shown there.
#[derive(Serialize)]
struct InSlot {
    slot: &'static str,
    pick: BTreeMap<&'static str, String>,
    /// The place of its own ones in [`Sheet::keys`].
    keys: usize,
    #[serde(flatten)]
    figure: Figure,
}

/// The table of all runs.
#[derive(Serialize)]
struct Runs {
    columns: Vec<String>,
    rows: Vec<Run>,
}

/// A run: the place of its row in the summary, its trace, its seed, and one value per column.
#[derive(Serialize)]
struct Run(usize, String, u64, Vec<Short>);

impl Runs {
    fn new(comparison: &Comparison, columns: &[Column]) -> Self {
        let rows = comparison.rows.iter().enumerate();
        let runs = rows.flat_map(|(at, row)| comparison.runs_of(*row).map(move |run| (at, run)));
        let row = |(at, run): (usize, &Record)| {
            let value = |column: &Column| Short(column.value(run).unwrap_or(f64::NAN));
            let trace = comparison.trace_name(run).to_owned();
            let values = columns.iter().map(value).collect();
            Run(at, trace, run.scenario.seed, values)
        };
        let rows = runs.take(MOST_RUNS).map(row).collect();
        Self { columns: columns.iter().map(|column| column.axis()).collect(), rows }
    }
}

impl Sheet {
    fn add<const N: usize>(
        &mut self,
        slot: &'static str,
        pick: [(&'static str, &str); N],
        mut figure: Figure,
    ) {
        figure.hold_intervals();
        let known = self.keys.iter().position(|keys| *keys == figure.keys);
        let keys = known.unwrap_or_else(|| {
            self.keys.push(figure.keys.clone());
            self.keys.len() - 1
        });
        let pick = pick.into_iter().map(|(name, choice)| (name, choice.to_owned())).collect();
        self.figures.push(InSlot { slot, pick, keys, figure });
    }

    /// The series over time on a trace, from the first seed.
    fn add_series(&mut self, comparison: &Comparison, trace: Trace, detail: Detail, most_curves: usize) {
        let pick = [("series", trace.name)];
        self.add("time", pick, over_time(comparison, trace, &quantities(), detail));
        for figure in inside(comparison, trace, detail) {
            self.add("inside", pick, figure);
        }
        for (_, figure) in curves(comparison, trace).into_iter().take(most_curves) {
            self.add("curves", pick, figure);
        }
    }
}

impl<'a> Data<'a> {
    /// The content of a page by itself or, `in_folder`, of one that has the file [`series_script`] next to it.
    pub(crate) fn new(
        comparison: &'a Comparison,
        columns: &[Column],
        held_against: HeldAgainst,
        in_folder: bool,
    ) -> Self {
        let better = |column: &Column| match column.better {
            Better::More => "more",
            Better::Less => "less",
            Better::Neither => "",
        };
        let mut data = Self {
            markers: markers(),
            dashes: DASHES,
            lines: comparison.lines.clone(),
            conditions: &comparison.conditions,
            better: columns.iter().map(better).collect(),
            sheet: Sheet { keys: vec![comparison.keys.clone()], figures: Vec::new() },
            runs: Runs::new(comparison, columns),
            apart: in_folder.then(Vec::new),
            left_out: Vec::new(),
        };
        if !comparison.rows.is_empty() {
            data.add_views(comparison, held_against);
            for column in columns {
                if let Some(figure) = heat_map(comparison, column) {
                    data.sheet.add("heat", [("cells", column.axis().as_str())], figure);
                }
            }
            data.add_series(comparison);
        }
        data
    }

    /// The averages first, then traces one by one.
    fn add_views(&mut self, comparison: &Comparison, held_against: HeldAgainst) {
        let others = match held_against {
            HeldAgainst::Results(records, name) => Some((Comparison::new(records), name)),
            HeldAgainst::Nothing | HeldAgainst::Scheme(_) => None,
        };
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
            for (delay, statistic, column) in DELAYS.into_iter().filter(|delay| comparison.has(&delay.2)) {
                for got in gets(comparison) {
                    let picks =
                        [("view", name), ("delay", delay), ("statistic", statistic), ("vertical", got.title)];
                    let figure = match &others {
                        Some((others, name)) => over_others(comparison, (others, name), view, &column, &got),
                        None => scatter(comparison, view, &column, &got),
                    };
                    self.sheet.add("scatter", picks, figure);
                }
            }
            let steps = if view == View::All { CDF_STEPS } else { CDF_STEPS_OF_TRACE };
            for (delay, which) in [("RTT", delays::RTT), ("queueing", delays::QUEUEING)] {
                if let Some(figure) = cumulative(comparison, view, which, steps) {
                    self.sheet.add("cdf", [("view", name), ("delay", delay)], figure);
                }
            }
            if let Some((_, figure)) = sweep(comparison, view) {
                self.sheet.add("sweep", [("view", name)], figure);
            }
        }
    }

    /// The series over time, from the first seed on some traces.
    fn add_series(&mut self, comparison: &Comparison) {
        let places = Places::new(comparison, self.apart.is_some());
        for &trace in &places.within {
            self.sheet.add_series(comparison, trace, places.detail, places.most_curves);
        }
        if let Some(apart) = &mut self.apart {
            apart.extend(places.apart.iter().map(|trace| trace.name.to_owned()));
        }
        self.left_out.extend(places.left_out(comparison, self.apart.is_some()));
    }
}

/// The places of each trace's time series, and their detail.
struct Places<'a> {
    /// In the page.
    within: Vec<Trace<'a>>,
    /// In the file next to the page; nowhere, for a page by itself.
    apart: Vec<Trace<'a>>,
    /// Traces that have series.
    all: usize,
    detail: Detail,
    most_curves: usize,
}

impl<'a> Places<'a> {
    fn new(comparison: &Comparison<'a>, in_folder: bool) -> Self {
        let values = if in_folder { SERIES_VALUES_IN_FOLDER } else { SERIES_VALUES };
        let with_series = |trace: &&Trace| first_runs(comparison, **trace).next().is_some();
        let traces: Vec<Trace> = comparison.traces.iter().filter(with_series).copied().collect();
        let columns = |&trace: &Trace| {
            first_runs(comparison, trace).map(|(.., run)| run.series.columns.len()).sum::<usize>()
        };
        let columns_per_trace = traces.iter().map(columns).max().unwrap_or(0).max(1);
        let affordable = |values: usize| values / (columns_per_trace * FEWEST_POINTS);
        let within = spread(traces.len(), affordable(values).clamp(1, MOST_SERIES_TRACES));
        let others: Vec<Trace> =
            (0..traces.len()).filter(|at| !within.contains(at)).map(|at| traces[at]).collect();
        let apart = spread(others.len(), affordable(VALUES_APART));
        let points = values / (columns_per_trace * within.len().max(1));
        Self {
            most_curves: (MOST_CURVES / within.len().max(1)).max(1),
            within: within.into_iter().map(|at| traces[at]).collect(),
            apart: apart.into_iter().map(|at| others[at]).collect(),
            all: traces.len(),
            detail: Detail { points: points.min(MOST_POINTS), flows: MOST_FLOWS },
        }
    }

    /// The omitted part of the series, as sentences.
    fn left_out(&self, comparison: &Comparison, in_folder: bool) -> Vec<String> {
        if self.all == 0 {
            return vec!["The Records came without time series.".into()];
        }
        let mut sentences = Vec::new();
        let mut say = |is_so: bool, sentence: String| sentences.extend(is_so.then_some(sentence));
        let shown = self.within.len() + if in_folder { self.apart.len() } else { 0 };
        let (all, seeds, points) = (self.all, comparison.seeds.len(), self.detail.points);
        say(shown < all, format!("Time series are shown for {shown} of {all} traces, spread evenly."));
        say(seeds > 1, format!("Time series show the first of {seeds} seeds."));
        let flows = comparison.all_runs().map(|run| run.flows.len()).max().unwrap_or(0);
        say(flows > MOST_FLOWS, format!("Time series show the first {MOST_FLOWS} flows of a run."));
        let columns = comparison.all_runs().flat_map(|run| &run.series.columns);
        let longest = columns.map(|column| column.values.len()).max();
        let thinned = format!("Each line is thinned to {points} points that keep every minimum and maximum.");
        say(longest.unwrap_or(0) > points, thinned);
        if !sentences.is_empty() {
            sentences.push("All are in the folder series/.".into());
        }
        let curves = |&trace: &Trace| curves(comparison, trace).len();
        let (most, all) = (self.most_curves, self.within.iter().map(curves).max().unwrap_or(0));
        if all > most {
            sentences.push(format!(
                "Curves are shown of the first {most} of {all} flows and schemes of a trace; all are in the folder curves/."
            ));
        }
        sentences
    }
}

/// The file next to a page in a folder: a script, as a page that is opened from a disk may not read files; `None` where the
/// page has all series. It hands over the figures of each trace as text, and the page reads those that it shows.
pub(crate) fn series_script(comparison: &Comparison) -> Option<String> {
    let Places { apart, detail, most_curves, .. } = Places::new(comparison, true);
    let sheet = |trace: &Trace| {
        let mut sheet = Sheet::default();
        sheet.add_series(comparison, *trace, detail, most_curves);
        (trace.name.to_owned(), serde_json::to_string(&sheet).expect("the keys are strings"))
    };
    let sheets: BTreeMap<String, String> = apart.par_iter().map(sheet).collect();
    let json = serde_json::to_string(&sheets).expect("the keys are strings");
    (!sheets.is_empty()).then(|| format!("cellccPart({{\"series\": {json}}});\n"))
}

/// The gains of schemes, the first one shown first; the share of unknown links is also unknown.
fn gets(comparison: &Comparison) -> Vec<Column> {
    let (first, share) = (comparison.gets(), UTILISATION);
    let is_known =
        comparison.schemes().flat_map(|row| comparison.runs_of(row)).any(|run| share.value(run).is_some());
    let second = if first.key == share.key { THROUGHPUT } else { share };
    [first, second].into_iter().filter(|column| is_known || column.key != share.key).collect()
}
