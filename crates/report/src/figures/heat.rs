//! One quantity on every trace, of every row: a heat map.

use crate::comparison::{Comparison, Row};
use crate::figure::{Axis, Figure, Key, Mark, Panel, Shape, Style};
use crate::tables::column::Column;
use crate::tables::number::three_digits;

/// More cells than this are a page by themselves.
const MOST_CELLS: usize = 3_000;
/// Height on paper, of a trace's row and of all else.
const ROW_INCHES: f64 = 0.15;
const AXIS_INCHES: f64 = 0.6;

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
    let top = traces.len() - 1;
    let cells: Vec<Cell> =
        cells.iter().map(|((across, down), value)| ((*across as f64, (top - down) as f64), *value)).collect();
    let mark = Shades::of(column, cells.iter().map(|cell| cell.1)).mark(&cells);
    let names: Vec<&str> = traces.iter().rev().map(|trace| trace.name).collect();
    Some(Figure {
        title: format!("{} by trace", column.axis()),
        keys: vec![no_key()],
        panels: vec![panel(Axis::names("", &labels), Axis::names("", &names), mark)],
        ..Figure::default()
    })
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
        let dark = |value| (share(value) * 100.0).round() / 100.0;
        Mark {
            cells: cells.iter().map(|(_, value)| (dark(*value), three_digits(*value))).collect(),
            ..Mark::new(0, Shape::Cells, cells.iter().map(|(place, _)| *place).collect())
        }
    }
}
