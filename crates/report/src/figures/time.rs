//! Values over time: those of runs, and those of other lines.

use crate::comparison::{Comparison, Row, Trace, distinct};
use crate::figure::thin::thin;
use crate::figure::{Axis, Figure, Key, Mark, Panel, Shape, Style};
use crate::figures::HEIGHT_INCHES;
use crate::flows;
use cellcc_control::{Registry, ShownValue};
use cellcc_experiment::{Record, Series, is_limit};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Points of a line on paper: more would touch in a column.
pub(crate) const POINTS: usize = 400;
/// Height of one of several panels on paper.
const PANEL_INCHES: f64 = 1.8;
const LOW_PANEL_INCHES: f64 = 1.4;

/// The quantities over time of every run: the name of the column, and the title of its axis.
const QUANTITIES: [(&str, &str); 7] = [
    ("throughput_mbit_s", "Throughput, Mbit/s"),
    ("rtt_ms", "RTT, ms"),
    ("queueing_delay_ms", "Queueing delay, ms"),
    ("window_packets", "Window, packets"),
    ("media_rate_mbit_s", "Media rate, Mbit/s"),
    ("buffer_s", "Player's buffer, s"),
    ("jain_index", "Jain's index, by second"),
];

/// Delays and windows that span more than this many times the smallest stand by their logarithms.
const LOGARITHMIC_SPAN: f64 = 50.0;
/// Such an axis spans so many times its lower end at most: smaller values stand there.
const LARGEST_SPAN: f64 = 1e3;

/// The column of all flows together.
const SHARED: &str = "jain_index";

/// How much of the runs is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detail {
    /// Points of a line.
    pub(crate) points: usize,
    /// Flows of a run.
    pub(crate) flows: usize,
}

/// The first seed's run of each row on a trace, with the place of the row, where it has its series.
pub(crate) fn first_runs<'a>(
    comparison: &'a Comparison,
    trace: Trace<'a>,
) -> impl Iterator<Item = (usize, Row<'a>, &'a Record)> {
    let runs = comparison.rows.iter().enumerate();
    let runs = runs.filter_map(move |(at, &row)| Some((at, row, *comparison.runs(row, trace).first()?)));
    runs.filter(|(.., run)| !run.series.columns.is_empty())
}

/// The quantities of every run, one panel each, over the capacity of the link.
pub(crate) fn over_time(comparison: &Comparison, trace: Trace, wanted: &[&str], detail: Detail) -> Figure {
    let mut figure =
        of_columns(comparison, trace, &format!("Over time, on {}", trace.name), detail, |_, name| {
            let name = flow_and_name(name).map_or(name, |(_, name)| name);
            QUANTITIES.iter().position(|(column, _)| *column == name && wanted.contains(column))
        });
    let capacity = first_runs(comparison, trace).find_map(|(.., run)| {
        Some(points(&run.series, run.series.column("capacity_mbit_s")?, detail.points))
    });
    if let Some((panel, capacity)) = figure.panels.first_mut().zip(capacity) {
        let top = capacity.iter().map(|point| point.1).fold(panel.y.to, f64::max);
        panel.y.to = top;
        panel.marks.insert(0, Mark::new(figure.keys.len(), Shape::Area, capacity));
        figure.keys.push(Key::new("capacity of the link", Style::reference(), usize::MAX));
    }
    figure
}

/// All that every run has.
pub(crate) fn quantities() -> [&'static str; 7] {
    QUANTITIES.map(|(name, _)| name)
}

/// The schemes' internal values: one figure per scheme, one panel per value, in the order of the scheme's entry in the registry.
pub(crate) fn inside(comparison: &Comparison, trace: Trace, detail: Detail) -> Vec<Figure> {
    let columns = first_runs(comparison, trace).flat_map(|(.., run)| {
        run.series.columns.iter().filter_map(|column| scheme_and_name(run, &column.name))
    });
    let mut shown: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (scheme, name) in distinct(columns) {
        if !quantities().contains(&name) {
            shown.entry(scheme).or_default().push(name);
        }
    }
    let one = |(scheme, mut names): (&str, Vec<&str>)| {
        let entry = REGISTRY.schemes().iter().find(|info| info.name == scheme);
        let place = |name: &&str| entry?.shows.iter().position(|shown| shown.name == *name);
        names.sort_by_key(|name| place(name).unwrap_or(usize::MAX));
        of_columns(comparison, trace, scheme, detail, |run, column| {
            let (of, name) = scheme_and_name(run, column)?;
            names.iter().position(|other| of == scheme && *other == name)
        })
    };
    shown.into_iter().map(one).collect()
}

/// The registry says what schemes show.
static REGISTRY: LazyLock<Registry> = LazyLock::new(cellcc_experiment::registry);

/// The registry's description of a value of a scheme, or of a scheme within it: `nacap(base=bbr)`.
fn known(scheme: &str, name: &str) -> Option<ShownValue> {
    let mut words = scheme.split(['(', ')', '=', ',']);
    words.find_map(|word| {
        let info = REGISTRY.schemes().iter().find(|info| info.name == word.trim())?;
        info.shows.iter().find(|shown| shown.name == name).copied()
    })
}

/// The flow of a column, and the name of the column without it.
fn flow_and_name(column: &str) -> Option<(usize, &str)> {
    let (flow, name) = column.strip_prefix("flow")?.split_once('.')?;
    Some((flow.parse().ok()?, name))
}

/// The scheme of a flow's column, without its arguments, and the name of the column without the flow.
fn scheme_and_name<'a>(run: &'a Record, column: &'a str) -> Option<(&'a str, &'a str)> {
    let (flow, name) = flow_and_name(column)?;
    Some((run.flows.get(flow)?.scheme.split('(').next()?, name))
}

/// The columns that have a place, each as a panel; those of all flows are one line per run.
fn of_columns(
    comparison: &Comparison,
    trace: Trace,
    title: &str,
    detail: Detail,
    place: impl Fn(&Record, &str) -> Option<usize>,
) -> Figure {
    let mut panels: Vec<(usize, Shown, Vec<Mark>)> = Vec::new();
    // The limit's line would cover the edge of the capacity.
    for (key, _, run) in first_runs(comparison, trace).filter(|(.., run)| !is_limit(&run.scenario.scheme)) {
        let names = flows::names(run);
        for column in &run.series.columns {
            let flow = flow_and_name(&column.name).map(|(flow, _)| flow);
            let is_shown = flow.map_or(column.name == SHARED, |flow| flow < detail.flows);
            let Some(at) = place(run, &column.name).filter(|_| is_shown) else { continue };
            let mut mark = Mark::new(key, Shape::Line, points(&run.series, &column.values, detail.points));
            if let (Some(flow), [_, _, ..]) = (flow, &names[..]) {
                mark.name.clone_from(&names[flow]);
            }
            match panels.iter_mut().find(|(other, ..)| *other == at) {
                Some((.., marks)) => marks.push(mark),
                None => panels.push((at, Shown::new(run, &column.name), vec![mark])),
            }
        }
    }
    panels.sort_by_key(|(at, ..)| *at);
    let end = panels.iter().flat_map(|(.., marks)| marks).filter_map(|mark| mark.points.last());
    let x = Axis::time(0.0, end.map(|point| point.0).fold(1e-3, f64::max));
    let panel = |(index, (_, shown, marks)): (usize, (usize, Shown, Vec<Mark>))| {
        let values = marks.iter().flat_map(|mark| &mark.points).map(|point| point.1);
        let inches = if index == 0 { PANEL_INCHES } else { LOW_PANEL_INCHES };
        let y = match shown.states {
            [] => axis(shown.title, values),
            states => Axis::names(shown.title, states),
        };
        Panel::new(x.clone(), y, marks, inches)
    };
    Figure {
        title: title.into(),
        keys: comparison.keys.clone(),
        legend: comparison.legend(),
        panels: panels.into_iter().enumerate().map(panel).collect(),
        ..Figure::default()
    }
}

/// The axis of values over time.
fn axis(title: String, values: impl Iterator<Item = f64> + Clone) -> Axis {
    let known = values.clone().filter(|value| value.is_finite() && *value > 0.0);
    let (low, high) = (known.clone().fold(f64::INFINITY, f64::min), known.clone().fold(0.0, f64::max));
    let held = known.map(|value| value.max(high / LARGEST_SPAN));
    match title.rsplit_once(", ") {
        Some((_, "ms")) if high > low * LOGARITHMIC_SPAN => Axis::delay(title, held),
        Some((_, "packets")) if high > low * LOGARITHMIC_SPAN => Axis::logarithmic(title, held),
        _ => Axis::from_zero(title, values),
    }
}

/// The labels of a column's axis: its title, and the names of its values if it is a state.
struct Shown {
    title: String,
    states: &'static [&'static str],
}

impl Shown {
    fn new(run: &Record, column: &str) -> Self {
        let (flow, name) = flow_and_name(column).unzip();
        let title = titled(name.unwrap_or(column));
        let flow = flow.and_then(|flow| run.flows.get(flow));
        match flow.zip(name).and_then(|(flow, name)| known(&flow.scheme, name)) {
            Some(known) => Self { title: format!("{title}: {}", known.meaning), states: known.states },
            None => Self { title, states: &[] },
        }
    }
}

/// The title of an axis: `delay_ms` as `delay, ms`.
pub(crate) fn titled(name: &str) -> String {
    if let Some((_, title)) = QUANTITIES.iter().find(|(column, _)| *column == name) {
        return (*title).into();
    }
    const UNITS: [(&str, &str); 6] = [
        ("_mbit_s", ", Mbit/s"),
        ("_packets", ", packets"),
        ("_pkt", ", packets"),
        ("_ms", ", ms"),
        ("_s", ", s"),
        ("_kB", ", kB"),
    ];
    let unit = UNITS.iter().find_map(|(ending, unit)| Some((name.strip_suffix(ending)?, *unit)));
    let (name, unit) = unit.unwrap_or((name, ""));
    name.replace('_', " ") + unit
}

/// A column as points of seconds and values.
pub(crate) fn points(series: &Series, values: &[f32], most: usize) -> Vec<(f64, f64)> {
    stepped(values, 0.0, series.bin.as_secs_f64(), most)
}

/// Values at equal distances in time, thinned.
fn stepped(values: &[f32], start_s: f64, step_s: f64, most: usize) -> Vec<(f64, f64)> {
    let (values, steps) = thin(values, most);
    let point = |(index, value)| (start_s + index as f64 * step_s * steps, f64::from(value));
    values.into_iter().enumerate().map(point).collect()
}

/// Values at equal distances in time, which are not of Records.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeLine {
    /// For the legend.
    pub name: String,
    /// How it is drawn.
    pub shape: Shape,
    /// The time of the first value, in seconds.
    pub start_s: f64,
    /// Seconds from one value to the next, above zero.
    pub step_s: f64,
    /// The values; NaN where there is none.
    pub values: Vec<f32>,
}

impl Figure {
    /// Lines over time above zero; long ones are thinned, and keep their peaks.
    pub fn over_time(title: &str, y_title: &str, lines: &[TimeLine]) -> Self {
        let mark = |(key, line): (usize, &TimeLine)| {
            Mark::new(key, line.shape, stepped(&line.values, line.start_s, line.step_s, POINTS))
        };
        let marks: Vec<Mark> = lines.iter().enumerate().map(mark).collect();
        // An area has a colour of its own.
        let areas = lines.iter().filter(|line| line.shape == Shape::Area).count();
        let key =
            |(at, line): (usize, &TimeLine)| Key::new(&line.name, Style::nth(at.saturating_sub(areas)), at);
        let points = || marks.iter().flat_map(|mark| &mark.points);
        let start_s = lines.iter().map(|line| line.start_s).reduce(f64::min).unwrap_or(0.0);
        let x = Axis::time(start_s, points().map(|point| point.0).fold(start_s, f64::max));
        let y = Axis::from_zero(y_title, points().map(|point| point.1));
        Self {
            title: title.into(),
            keys: lines.iter().enumerate().map(key).collect(),
            panels: vec![Panel::new(x, y, marks, HEIGHT_INCHES)],
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(values: Vec<f32>) -> String {
        let line = TimeLine { name: "delay".into(), shape: Shape::Line, start_s: 0.0, step_s: 0.001, values };
        let level = TimeLine {
            name: "p95".into(),
            shape: Shape::Dashed,
            step_s: 1.0,
            values: vec![4.0; 2],
            ..line.clone()
        };
        Figure::over_time("<a log>", "Delay, ms", &[line, level]).svg()
    }

    #[test]
    fn an_hour_of_milliseconds_makes_a_small_figure() {
        let svg = figure((0..3_600_000).map(|index| (index % 97) as f32).collect());
        assert!(svg.len() < 60_000, "{}", svg.len());
        assert!(svg.contains("<title>&lt;a log&gt;</title>"));
    }

    #[test]
    fn nothing_but_gaps_is_a_figure_too() {
        for values in [vec![], vec![f32::NAN; 10], vec![1.0]] {
            assert!(crate::png(&figure(values)).is_ok());
        }
    }

    #[test]
    fn an_axis_says_its_unit_apart() {
        assert_eq!(titled("delay_ms"), "delay, ms");
        assert_eq!(titled("gain"), "gain");
    }
}
