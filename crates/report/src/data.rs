//! What the report's script draws from, kept to a size that does not grow with the number of Records.

use crate::comparison::{Comparison, Quantity, Row, Trace, label_by};
use crate::curves::{Panel, panels};
use crate::delays::{Delay, pooled};
use crate::drawing::style::StyleJson;
use crate::drawing::thin::{spread, thin};
use crate::flows;
use crate::sweep::Sweep;
use crate::tables::column::{throughput, utilisation};
use cellcc_experiment::{Distribution, LIMIT, Record, Series};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Values of all time series together: at about five characters each, half of the report's 5 MB.
const SERIES_VALUES: usize = 450_000;
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
/// Points of a cumulative distribution: averaged, and for one trace.
const CDF_POINTS: usize = 200;
const CDF_POINTS_OF_TRACE: usize = 40;

/// The report's data.
#[derive(Serialize)]
pub(crate) struct Data<'a> {
    schemes: Vec<SchemeJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sweep: Option<SweepJson<'a>>,
    /// The averages first, then traces.
    views: Vec<View<'a>>,
    series: Vec<TraceSeries<'a>>,
    /// What was left out of the file, as sentences.
    #[serde(skip)]
    pub(crate) left_out: Vec<String>,
}

/// Which rows make the lines over the one condition that is varied.
#[derive(Serialize)]
struct SweepJson<'a> {
    key: &'a str,
    values: Vec<&'a str>,
    lines: Vec<SweepLineJson>,
}

#[derive(Serialize)]
struct SweepLineJson {
    #[serde(flatten)]
    scheme: SchemeJson,
    /// By value, the index of the row.
    rows: Vec<Option<usize>>,
}

/// A row of the tables.
#[derive(Serialize)]
struct SchemeJson {
    label: String,
    limit: bool,
    #[serde(flatten)]
    style: StyleJson,
}

/// Averages, or one trace: per scheme its place in the scatter plots and its distributions.
#[derive(Serialize)]
struct View<'a> {
    name: &'a str,
    schemes: Vec<Option<Cell>>,
}

#[derive(Serialize)]
struct Cell {
    utilisation: Short,
    throughput: Short,
    queueing_mean: Short,
    queueing_p95: Short,
    rtt_mean: Short,
    rtt_p95: Short,
    /// Delays in ms at evenly spaced probabilities from 0 to 1.
    queueing_cdf: Vec<Short>,
    rtt_cdf: Vec<Short>,
}

/// The time series of the first seed on one trace.
#[derive(Serialize)]
struct TraceSeries<'a> {
    name: &'a str,
    capacity: Line,
    lines: Vec<FlowLines>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    curves: Vec<CurveJson>,
}

/// A curve of one flow at several moments.
#[derive(Serialize)]
struct CurveJson {
    scheme: usize,
    label: String,
    /// The number of its flow within the run.
    flow: usize,
    name: String,
    x: String,
    y: String,
    dots: bool,
    snapshots: Vec<SnapshotJson>,
}

#[derive(Serialize)]
struct SnapshotJson {
    time_s: Short,
    colour: String,
    points: Vec<(Short, Short)>,
}

#[derive(Serialize)]
struct FlowLines {
    scheme: usize,
    /// What to call it beside the scheme, where a run has several flows.
    flow: Option<String>,
    /// The number of the flow within the run.
    index: usize,
    /// By the name of the quantity: `rtt_ms`, `reminis.mu`.
    columns: BTreeMap<String, Line>,
}

/// Values at even steps of time.
#[derive(Serialize)]
struct Line {
    step_s: f64,
    values: Vec<Short>,
}

/// A number written with four significant digits; null where there is none.
struct Short(f64);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_finite() {
            return serializer.serialize_none();
        }
        let rounded: f64 = format!("{:.3e}", self.0).parse().unwrap_or(self.0);
        // Integers without ".0": a quarter of the characters.
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

impl<'a> Data<'a> {
    pub(crate) fn new(comparison: &Comparison<'a>) -> Self {
        let styles = comparison.styled_rows().map(|(row, style)| SchemeJson {
            label: row.label(),
            limit: row.is_limit(),
            style: style.to_json(),
        });
        let mut left_out = Vec::new();
        Self {
            schemes: styles.collect(),
            sweep: Sweep::new(comparison).map(|sweep| sweep_json(comparison, sweep)),
            views: views(comparison, &mut left_out),
            series: all_series(comparison, &mut left_out),
            left_out,
        }
    }
}

fn sweep_json<'a>(comparison: &Comparison<'a>, sweep: Sweep<'a>) -> SweepJson<'a> {
    let index = |row: Row| comparison.rows.iter().position(|other| *other == row);
    let lines = sweep.lines.iter().map(|line| SweepLineJson {
        scheme: SchemeJson {
            label: label_by(line.scheme, line.driver),
            limit: line.scheme == LIMIT,
            style: line.style.to_json(),
        },
        rows: line.rows.iter().map(|row| row.and_then(index)).collect(),
    });
    SweepJson { key: sweep.key, lines: lines.collect(), values: sweep.values }
}

fn views<'a>(comparison: &Comparison<'a>, left_out: &mut Vec<String>) -> Vec<View<'a>> {
    let traces = &comparison.traces;
    let mut views = Vec::new();
    if traces.len() != 1 {
        let cell = |row| {
            let at = |quantity| comparison.mean(row, quantity);
            let traces = comparison.traces.iter().map(|&trace| comparison.runs(row, trace));
            cell(at, traces, CDF_POINTS)
        };
        views.push(View { name: "", schemes: comparison.rows.iter().map(|&row| cell(row)).collect() });
    }
    let kept = spread(traces.len(), MOST_CELLS / comparison.rows.len().max(1));
    if kept.len() < traces.len() {
        left_out.push(format!(
            "{} of {} traces can be chosen one by one; the averages are over all.",
            kept.len(),
            traces.len()
        ));
    }
    for trace in kept.into_iter().map(|index| traces[index]) {
        let cell = |row| {
            let at = |quantity| comparison.mean_on_trace(row, trace, quantity);
            cell(at, std::iter::once(comparison.runs(row, trace)), CDF_POINTS_OF_TRACE)
        };
        views
            .push(View { name: trace.name, schemes: comparison.rows.iter().map(|&row| cell(row)).collect() });
    }
    views
}

fn cell<'a>(
    at: impl Fn(Quantity) -> Option<f64>,
    runs_by_trace: impl Iterator<Item = &'a [&'a Record]> + Clone,
    points: usize,
) -> Option<Cell> {
    let short = |quantity| Short(at(quantity).unwrap_or(f64::NAN));
    let cdf = |delay: Delay| {
        let by_trace: Vec<Distribution> = runs_by_trace.clone().map(|runs| pooled(runs, delay)).collect();
        let points = Distribution::mean_cumulative(&by_trace, points);
        points.into_iter().map(|(delay_ms, _)| Short(delay_ms)).collect()
    };
    Some(Cell {
        utilisation: short(utilisation),
        throughput: Short(at(throughput)?),
        queueing_mean: short(|run| run.total.queueing_delay_mean_ms),
        queueing_p95: short(|run| run.total.queueing_delay_p95_ms),
        rtt_mean: short(|run| run.total.rtt_mean_ms),
        rtt_p95: short(|run| run.total.rtt_p95_ms),
        queueing_cdf: cdf(|flow| &flow.queueing_delay),
        rtt_cdf: cdf(|flow| &flow.rtt),
    })
}

fn all_series<'a>(comparison: &Comparison<'a>, left_out: &mut Vec<String>) -> Vec<TraceSeries<'a>> {
    let first_runs = |trace| {
        let runs = comparison.rows.iter().enumerate();
        let runs = runs.filter_map(move |(index, &row)| Some((index, *comparison.runs(row, trace).first()?)));
        runs.filter(|(_, run)| !run.series.columns.is_empty())
    };
    let traces: Vec<Trace> =
        comparison.traces.iter().copied().filter(|&trace| first_runs(trace).next().is_some()).collect();
    let columns = |trace| first_runs(trace).map(|(_, run)| run.series.columns.len()).sum::<usize>();
    let columns_per_trace = traces.iter().map(|&trace| columns(trace)).max().unwrap_or(0).max(1);
    let affordable = (SERIES_VALUES / (columns_per_trace * FEWEST_POINTS)).clamp(1, MOST_SERIES_TRACES);
    let kept = spread(traces.len(), affordable);
    let points = (SERIES_VALUES / (columns_per_trace * kept.len().max(1))).min(MOST_POINTS);
    describe_left_out(comparison, traces.len(), kept.len(), left_out);
    let longest = traces.iter().flat_map(|&trace| first_runs(trace)).flat_map(|(_, run)| &run.series.columns);
    if longest.map(|column| column.values.len()).max().unwrap_or(0) > points {
        left_out.push(format!(
            "Each line is thinned to {points} points that keep every minimum and maximum; the full ones are in the folder series/."
        ));
    }
    let most_curves = (MOST_CURVES / kept.len().max(1)).max(1);
    let curves = kept.iter().map(|&index| panels(comparison, traces[index]).len()).max().unwrap_or(0);
    if curves > most_curves {
        left_out.push(format!(
            "Curves are shown of the first {most_curves} of {curves} flows and schemes of a trace; all are in the folder curves/."
        ));
    }
    let one = |trace: Trace<'a>| TraceSeries {
        name: trace.name,
        capacity: first_runs(trace)
            .find_map(|(_, run)| Some(line(&run.series, run.series.column("capacity_mbit_s")?, points)))
            .unwrap_or(Line { step_s: 1.0, values: Vec::new() }),
        // The limit's line would cover the edge of the capacity.
        lines: first_runs(trace)
            .filter(|(_, run)| run.scenario.scheme != LIMIT)
            .flat_map(|(index, run)| flow_lines(index, run, points))
            .collect(),
        curves: panels(comparison, trace).into_iter().take(most_curves).map(curve_json).collect(),
    };
    kept.into_iter().map(|index| one(traces[index])).collect()
}

fn curve_json(panel: Panel) -> CurveJson {
    let snapshots = panel.snapshots.into_iter().map(|snapshot| {
        let (r, g, b) = snapshot.colour;
        SnapshotJson {
            time_s: Short(snapshot.time_s),
            colour: format!("#{r:02x}{g:02x}{b:02x}"),
            points: snapshot.points.into_iter().map(|(x, y)| (Short(x), Short(y))).collect(),
        }
    });
    CurveJson {
        scheme: panel.row,
        label: panel.label,
        flow: panel.flow,
        name: panel.name.into(),
        x: panel.x.into(),
        y: panel.y.into(),
        dots: panel.dots,
        snapshots: snapshots.collect(),
    }
}

fn describe_left_out(comparison: &Comparison, traces: usize, kept: usize, left_out: &mut Vec<String>) {
    if traces == 0 {
        left_out.push("The Records came without time series.".into());
        return;
    }
    if kept < traces {
        left_out.push(format!("Time series are shown for {kept} of {traces} traces, spread evenly; all are in the folder series/."));
    }
    if comparison.seeds.len() > 1 {
        left_out.push(format!(
            "Time series are of the first of {} seeds; all are in the folder series/.",
            comparison.seeds.len()
        ));
    }
    let flows = comparison.rows.iter().flat_map(|&row| comparison.runs_of(row)).map(|run| run.flows.len());
    if flows.max().unwrap_or(0) > MOST_FLOWS {
        left_out.push(format!(
            "Time series are of the first {MOST_FLOWS} flows of a run; all are in the folder series/."
        ));
    }
}

fn flow_lines(scheme: usize, run: &Record, points: usize) -> Vec<FlowLines> {
    let names = flows::names(run);
    let flow = |index: usize| {
        let prefix = format!("flow{index}.");
        let columns = run.series.columns.iter().filter_map(|column| {
            let name = column.name.strip_prefix(&prefix)?;
            Some((name.to_owned(), line(&run.series, &column.values, points)))
        });
        FlowLines {
            scheme,
            flow: (run.flows.len() > 1).then(|| names[index].clone()),
            index,
            columns: columns.collect(),
        }
    };
    let shared = run.series.column("jain_index").map(|values| FlowLines {
        scheme,
        flow: None,
        index: 0,
        columns: BTreeMap::from([("jain_index".to_owned(), line(&run.series, values, points))]),
    });
    (0..run.flows.len().min(MOST_FLOWS)).map(flow).chain(shared).collect()
}

fn line(series: &Series, values: &[f32], points: usize) -> Line {
    let (values, steps) = thin(values, points);
    Line {
        step_s: series.bin.as_secs_f64() * steps,
        values: values.into_iter().map(|value| Short(f64::from(value))).collect(),
    }
}
