//! What schemes get against how long it takes.

use crate::comparison::{Comparison, View};
use crate::figure::{Axis, Figure, Mark, Panel, Shape};
use crate::figures::HEIGHT_INCHES;
use crate::tables::column::Column;
use cellcc_statistics::{Average, Certainty};

/// A point a row: right and up is better. (Of the queueing delay the limit has next to none, which would leave the schemes a
/// corner of a logarithmic axis: files show the RTT.)
pub(crate) fn scatter(comparison: &Comparison, view: View, delay: &Column, got: &Column) -> Figure {
    let points: Vec<_> = comparison
        .rows
        .iter()
        .enumerate()
        .filter_map(|(key, &row)| {
            let at = |column: &Column| comparison.in_view(row, view, column.measure);
            Some((key, at(delay), at(got)?))
        })
        .collect();
    let delay_of = |delay: &Option<Average>| delay.map(|it| it.value).filter(|ms| *ms > 0.0);
    let x = Axis::delay(delay.axis(), points.iter().filter_map(|(_, delay, _)| delay_of(delay))).leftwards();
    let y = Axis::around(got.axis(), points.iter().map(|(.., got)| got.value));
    let mark = |(key, delay, got): &(usize, Option<_>, Average)| match delay_of(delay) {
        Some(ms) => Mark {
            intervals: intervals([delay.map(|it| it.certainty), Some(got.certainty)]),
            ..Mark::new(*key, Shape::Points, vec![(ms, got.value)])
        },
        // Who never got an answer has no place on a logarithmic axis: a line across.
        None => Mark::new(*key, Shape::Dashed, vec![(x.from, got.value), (x.to, got.value)]),
    };
    let marks = points.iter().map(mark).collect();
    Figure {
        title: format!("{} against the {}", got.axis(), delay.axis()),
        keys: comparison.keys.clone(),
        panels: vec![Panel::new(x, y, marks, HEIGHT_INCHES)],
        ..Figure::default()
    }
}

/// Those of one point; none where neither is known.
fn intervals(certainties: [Option<Certainty>; 2]) -> Vec<[Option<(f64, f64)>; 2]> {
    let both = certainties.map(|certainty| match certainty {
        Some(Certainty::Interval { low, high }) => Some((low, high)),
        _ => None,
    });
    if both == [None, None] { Vec::new() } else { vec![both] }
}
