//! The schemes' gain against their delay.

use crate::comparison::{Comparison, View};
use crate::figure::{Figure, Key, Mark, Panel, Shape};
use crate::figures::HEIGHT_INCHES;
use crate::tables::column::Column;
use cellcc_experiment::Better;
use cellcc_statistics::{Average, Certainty};

/// A point a row: right and up is better. (The limit has next to no queueing delay, which would leave the schemes a corner of a
/// logarithmic axis: files show the RTT.)
pub(crate) fn scatter(comparison: &Comparison, view: View, across: &Column, got: &Column) -> Figure {
    let points: Vec<_> = comparison
        .rows
        .iter()
        .enumerate()
        .filter_map(|(key, &row)| {
            let at = |column: &Column| comparison.in_view(row, view, column);
            Some((key, at(across), at(got)?))
        })
        .collect();
    let place = |average: &Option<Average>| {
        average.map(|it| it.value).filter(|value| *value > 0.0 || !across.is_delay())
    };
    let x = across.axis_of(across.axis(), points.iter().filter_map(|(_, average, _)| place(average)));
    let x = if across.better == Better::More { x } else { x.leftwards() };
    let y = got.axis_of(got.axis(), points.iter().map(|(.., got)| got.value));
    let mark = |(key, average, got): &(usize, Option<_>, Average)| match place(average) {
        Some(value) => Mark::new(*key, Shape::Points, vec![(value, got.value)])
            .with_intervals(vec![[average.and_then(interval), interval(*got)]]),
        // A scheme without an answer has no place on a logarithmic axis: a line across.
        None => Mark::new(*key, Shape::Dashed, vec![(x.from, got.value), (x.to, got.value)]),
    };
    let marks = points.iter().map(mark).collect();
    Figure {
        title: format!("{} against the {}", got.axis(), across.axis()),
        keys: comparison.keys.clone(),
        legend: comparison.legend(),
        panels: vec![Panel::new(x, y, marks, HEIGHT_INCHES)],
        ..Figure::default()
    }
}

/// The scatter plot of these rows, and behind it in grey the points of the same rows of other results, which have this name.
pub(crate) fn over_others(
    comparison: &Comparison,
    (others, name): (&Comparison, &str),
    view: View,
    across: &Column,
    got: &Column,
) -> Figure {
    let [mut figure, behind] = [comparison, others].map(|of| scatter(of, view, across, got));
    let mut grey = Vec::new();
    for mark in behind.panels[0].marks.iter().filter(|mark| mark.shape == Shape::Points) {
        let same = comparison.rows.iter().position(|row| *row == others.rows[mark.key]);
        let Some(key) = same.map(|at| comparison.keys[at].clone()) else { continue };
        grey.push(Mark::new(figure.keys.len(), Shape::Points, mark.points.clone()));
        figure.keys.push(Key { label: format!("{} in {name}", key.label), style: key.style.grey(), ..key });
    }
    let panel = &mut figure.panels[0];
    grey.append(&mut panel.marks);
    panel.marks = grey;
    let points = || panel.marks.iter().flat_map(|mark| mark.points.iter());
    let (x, y) = (panel.x.holding(points().map(|at| at.0)), panel.y.holding(points().map(|at| at.1)));
    (panel.x, panel.y) = (x, y);
    figure
}

/// Its ends, where they are known.
pub(super) fn interval(average: Average) -> Option<(f64, f64)> {
    let Certainty::Interval { low, high } = average.certainty else { return None };
    Some((low, high))
}
