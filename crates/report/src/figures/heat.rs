//! One quantity on every trace, of every row: a heat map.

use crate::comparison::{Comparison, Row};
use crate::figure::{Axis, Figure, Key, Mark, Panel, Shape, Style};
use crate::tables::column::Column;
use crate::tables::number::three_digits;
use cellcc_experiment::Better;
use std::collections::BTreeMap;

/// More cells than this are a page by themselves.
const MOST_CELLS: usize = 3_000;
/// Height on paper, of a trace's row and of all else.
const ROW_INCHES: f64 = 0.15;
const AXIS_INCHES: f64 = 0.6;
/// Delays in ms and losses in % below this are equally good.
const LEAST: f64 = 0.1;

/// `None` where there is nothing to compare, or too much.
pub(crate) fn heat_map(comparison: &Comparison, column: &Column) -> Option<Figure> {
    let (rows, traces) = (&comparison.rows, &comparison.traces);
    if rows.len() < 2 || traces.len() < 2 || rows.len() * traces.len() > MOST_CELLS {
        return None;
    }
    let labels: Vec<String> = rows.iter().map(Row::label).collect();
    let value = |(across, down): &(usize, usize)| {
        comparison.mean_on_trace(rows[*across], traces[*down], |run| column.value(run))
    };
    let places = (0..traces.len()).flat_map(|down| (0..rows.len()).map(move |across| (across, down)));
    let cells: Vec<((usize, usize), f64)> =
        places.filter_map(|place| Some((place, value(&place)?))).collect();
    let ranks = ranks(&comparison.rows, column, &cells);
    let top = traces.len() - 1;
    let cells: Vec<Cell> =
        cells.iter().map(|((across, down), value)| ((*across as f64, (top - down) as f64), *value)).collect();
    let mark = match ranks {
        Some(ranks) => cells_as(Shape::Ranked, &cells, ranks.into_iter()),
        None => Shades::of(column, cells.iter().map(|cell| cell.1)).mark(&cells),
    };
    let names: Vec<&str> = traces.iter().rev().map(|trace| trace.name).collect();
    Some(Figure {
        title: format!("{} by trace", column.axis()),
        keys: comparison.keys.clone(),
        panels: vec![panel(Axis::names("", &labels), Axis::names("", &names), mark)],
        ..Figure::default()
    })
}

/// The rank of each value against the best scheme's on the same trace under the same condition: -1 for the best, 0 for half as good,
/// 1 for a quarter or less. `None` where neither more nor less is better.
fn ranks(rows: &[Row], column: &Column, cells: &[((usize, usize), f64)]) -> Option<Vec<f64>> {
    let goodness = |value: f64| match column.better {
        Better::More => value.max(f64::MIN_POSITIVE),
        Better::Less | Better::Neither => 1.0 / value.max(LEAST),
    };
    let mut best: BTreeMap<(usize, &str), f64> = BTreeMap::new();
    for ((across, down), value) in cells.iter().filter(|((across, _), _)| !rows[*across].is_limit()) {
        let best = best.entry((*down, rows[*across].variation)).or_default();
        *best = best.max(goodness(*value));
    }
    let rank = |((across, down), value): &((usize, usize), f64)| {
        // The limit's row may stand for all conditions: it is as good as the best.
        let best = best.get(&(*down, rows[*across].variation)).copied().unwrap_or(0.0);
        (libm::log2(best / goodness(*value)) - 1.0).clamp(-1.0, 1.0)
    };
    (column.better != Better::Neither).then(|| cells.iter().map(rank).collect())
}

/// Cells of these shades, with their values.
fn cells_as(shape: Shape, cells: &[Cell], shades: impl Iterator<Item = f64>) -> Mark {
    let rounded = |shade: f64| (shade * 100.0).round() / 100.0;
    Mark {
        cells: cells
            .iter()
            .zip(shades)
            .map(|((_, value), shade)| (rounded(shade), three_digits(*value)))
            .collect(),
        ..Mark::new(0, shape, cells.iter().map(|(place, _)| *place).collect())
    }
}

/// The key of cells, which have none: they show their values.
pub(crate) fn no_key() -> Key {
    Key::new("", Style::reference(), usize::MAX)
}

/// The plot of cells between two axes of names.
pub(crate) fn panel(x: Axis, y: Axis, mark: Mark) -> Panel {
    let inches = AXIS_INCHES + ROW_INCHES * y.ticks.len() as f64;
    Panel::new(x, y, vec![mark], inches)
}

/// The place of a cell, and its value.
pub(crate) type Cell = ((f64, f64), f64);

/// How dark the cells of a quantity are: the smallest value is white. Delays and rates differ by factors, shares by differences.
#[derive(Clone, Copy)]
pub(crate) struct Shades {
    are_factors: bool,
    low: f64,
    high: f64,
}

impl Shades {
    /// Those of these values.
    pub(crate) fn of(column: &Column, values: impl Iterator<Item = f64>) -> Self {
        let all =
            Self { are_factors: !column.below().is_empty(), low: f64::INFINITY, high: f64::NEG_INFINITY };
        values.map(|value| all.scaled(value)).fold(all, |shades, value| Self {
            low: shades.low.min(value),
            high: shades.high.max(value),
            ..shades
        })
    }

    fn scaled(self, value: f64) -> f64 {
        if self.are_factors { libm::log10(value.max(1e-3)) } else { value }
    }

    /// These cells, with their values.
    pub(crate) fn mark(self, cells: &[Cell]) -> Mark {
        let share = |value| (self.scaled(value) - self.low) / f64::max(self.high - self.low, 1e-9);
        cells_as(Shape::Cells, cells, cells.iter().map(|(_, value)| share(*value)))
    }
}
