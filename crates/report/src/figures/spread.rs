//! Values by scheme as bars and boxes, and their distribution over the traces.

use crate::comparison::{Comparison, Row, View};
use crate::figure::{Axis, Figure, Mark, Panel, Shape, share_of};
use crate::figures::HEIGHT_INCHES;
use crate::figures::delays::{self, cumulative};
use crate::figures::scatter::interval;
use crate::relative::at_rank;
use crate::tables::column::{Column, QUEUEING_MEAN, RTT_MEAN};

/// The part of a place that its bars take together, and the part of a bar's room that it takes.
const TAKEN: f64 = 0.8;
const BAR: f64 = 0.8;
/// Steps of a distribution of packets' delays.
const STEPS: usize = 200;

/// The values of a scheme at a place: the ends of its bar or box, its mark, and the line through it.
struct Stand {
    bar: (f64, f64),
    mark: f64,
    line: Option<(f64, f64)>,
}

/// Averages, from zero up, with their intervals.
pub(crate) fn bars(comparison: &Comparison, column: &Column, key: Option<&str>) -> Figure {
    let of = |row: Row| {
        let average = comparison.average(row, column)?;
        Some(Stand { bar: (0.0, average.value), mark: average.value, line: interval(average) })
    };
    by_place(comparison, key, Axis::from_zero, (column.axis(), column.axis()), of)
}

/// Boxes from the first to the third quartile of the traces (of a single trace, the seeds), the mark being the median, and the line
/// from 5 to 95 %.
pub(crate) fn boxes(comparison: &Comparison, column: &Column, key: Option<&str>) -> Figure {
    let of = |row: Row| {
        let mut values = values(comparison, row, column);
        values.sort_by(f64::total_cmp);
        let at = |share| at_rank(&values, share);
        Some(Stand { bar: (at(0.25)?, at(0.75)?), mark: at(0.5)?, line: at(0.05).zip(at(0.95)) })
    };
    let title = format!("{}: median, quartiles, and 5 to 95 %", column.axis());
    let axis = |title: String, ends: std::vec::IntoIter<f64>| column.axis_of(title, ends);
    by_place(comparison, key, axis, (title, column.axis()), of)
}

/// The values on the traces; of a single trace, those of its seeds.
fn values(comparison: &Comparison, row: Row, column: &Column) -> Vec<f64> {
    match comparison.traces[..] {
        [_] => comparison.runs_of(row).filter_map(|run| column.value(run)).collect(),
        _ => comparison.by_trace(row, column),
    }
}

/// The schemes side by side at each value of a condition, or at one place.
fn by_place(
    comparison: &Comparison,
    key: Option<&str>,
    axis: impl Fn(String, std::vec::IntoIter<f64>) -> Axis,
    (title, y_title): (String, String),
    of: impl Fn(Row) -> Option<Stand>,
) -> Figure {
    let condition = comparison.conditions.iter().position(|condition| Some(condition.key) == key);
    let names = condition.map_or(vec![""], |at| comparison.conditions[at].values.clone());
    let step = TAKEN / comparison.lines.len() as f64;
    let (mut marks, mut ends) = (Vec::new(), Vec::new());
    for (at, (row, key)) in comparison.rows.iter().zip(&comparison.keys).enumerate() {
        let Some(Stand { bar, mark, line }) = of(*row) else { continue };
        // The limit's row may stand for all values.
        let own = condition.and_then(|condition| key.values[condition]);
        let places = (0..names.len()).filter(|place| own.is_none_or(|own| own == *place));
        let shift = (key.group as f64 - (comparison.lines.len() as f64 - 1.0) / 2.0) * step;
        let centres: Vec<f64> = places.map(|place| place as f64 + shift).collect();
        let half = step * BAR / 2.0;
        let corners = centres.iter().flat_map(|x| [(x - half, bar.0), (x + half, bar.1)]).collect();
        let points: Vec<_> = centres.iter().map(|x| (*x, mark)).collect();
        let intervals = vec![[None, line]; points.len()];
        ends.extend([bar, line.unwrap_or(bar)].into_iter().flat_map(|(low, high)| [low, high]));
        marks.push(Mark::new(at, Shape::Bar, corners));
        marks.push(Mark::new(at, Shape::Points, points).with_intervals(intervals));
    }
    let y = axis(y_title, ends.into_iter());
    Figure {
        title,
        keys: comparison.keys.clone(),
        legend: comparison.legend(),
        panels: vec![Panel::new(Axis::names(key.unwrap_or(""), &names), y, marks, HEIGHT_INCHES)],
        ..Figure::default()
    }
}

/// The share of values up to each one, or above it: of packets for the mean RTT and queueing delay, of traces for all else. `None`
/// where no run has a value.
pub(crate) fn distribution(comparison: &Comparison, column: &Column, is_above: bool) -> Option<Figure> {
    let delay = [(RTT_MEAN, delays::RTT), (QUEUEING_MEAN, delays::QUEUEING)];
    let of_packets = delay.into_iter().find(|(mean, _)| mean.key == column.key);
    let mut figure = match of_packets {
        Some((_, delay)) => {
            let mut figure = cumulative(comparison, View::All, delay, STEPS)?;
            let points = figure.panels.iter_mut().flat_map(|panel| &mut panel.marks);
            points.flat_map(|mark| &mut mark.points).for_each(|point| point.1 = share_of(point.1));
            figure
        }
        None => over_traces(comparison, column)?,
    };
    let panel = &mut figure.panels[0];
    let of = if of_packets.is_some() { "packets" } else { "traces" };
    panel.y = Axis::linear(format!("Share of {of}"), 0.0, 1.0);
    if is_above {
        for mark in &mut panel.marks {
            mark.points.iter_mut().for_each(|point| point.1 = 1.0 - point.1);
            mark.points.retain(|point| point.1 > 0.0);
        }
        let shares = panel.marks.iter().flat_map(|mark| &mark.points).map(|point| point.1);
        panel.y = Axis::logarithmic(format!("Share of {of} above"), shares);
    }
    Some(figure)
}

/// The share of traces up to each of their values.
fn over_traces(comparison: &Comparison, column: &Column) -> Option<Figure> {
    let mark = |(at, &row): (usize, &Row)| {
        let mut values = values(comparison, row, column);
        values.sort_by(f64::total_cmp);
        let share = |count: usize| count as f64 / values.len() as f64;
        let steps = values.iter().enumerate();
        let steps = steps.flat_map(|(at, value)| [(*value, share(at)), (*value, share(at + 1))]);
        Mark::new(at, Shape::Line, steps.collect())
    };
    let marks: Vec<Mark> =
        comparison.rows.iter().enumerate().map(mark).filter(|mark| !mark.points.is_empty()).collect();
    let values: Vec<f64> = marks.iter().flat_map(|mark| &mark.points).map(|point| point.0).collect();
    let x = column.axis_of(column.axis(), values.iter().copied());
    (!marks.is_empty()).then(|| Figure {
        title: format!("Distribution over the traces: {}", column.axis()),
        keys: comparison.keys.clone(),
        legend: comparison.legend(),
        panels: vec![Panel::new(x, Axis::linear("", 0.0, 1.0), marks, HEIGHT_INCHES)],
        ..Figure::default()
    })
}
