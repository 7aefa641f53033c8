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
        comparison.mean_on_trace(rows[*across], traces[*down], column.quantity)
    };
    let places = (0..traces.len()).flat_map(|down| (0..rows.len()).map(move |across| (across, down)));
    let cells: Vec<((usize, usize), f64)> =
        places.filter_map(|place| Some((place, value(&place)?))).collect();
    // Delays and rates differ by factors, shares by differences.
    let shade = |value: f64| if column.unit.is_empty() { value } else { libm::log10(value.max(1e-3)) };
    let shades = || cells.iter().map(|(_, value)| shade(*value));
    let (low, high) = (shades().fold(f64::INFINITY, f64::min), shades().fold(f64::NEG_INFINITY, f64::max));
    let dark = |value: f64| ((shade(value) - low) / f64::max(high - low, 1e-9) * 100.0).round() / 100.0;
    let top = traces.len() - 1;
    let mark = Mark {
        cells: cells.iter().map(|(_, value)| (dark(*value), three_digits(*value))).collect(),
        ..Mark::new(
            0,
            Shape::Cells,
            cells.iter().map(|((across, down), _)| (*across as f64, (top - down) as f64)).collect(),
        )
    };
    let names: Vec<&str> = traces.iter().rev().map(|trace| trace.name).collect();
    let inches = AXIS_INCHES + ROW_INCHES * traces.len() as f64;
    Some(Figure {
        title: format!("{} by trace", column.axis()),
        keys: vec![Key::new("", Style::reference(), usize::MAX)],
        panels: vec![Panel::new(Axis::names("", &labels), Axis::names("", &names), vec![mark], inches)],
        ..Figure::default()
    })
}
