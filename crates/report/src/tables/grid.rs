//! A table of averages with their intervals, before it is drawn as text or HTML.

use crate::comparison::{Comparison, Row};
use crate::tables::column::Column;
use crate::tables::number::{self, NONE, three_digits};
use cellcc_statistics::{Average, Certainty, Kind};
use std::collections::BTreeSet;

/// A table: a name and cells in each row.
pub(crate) struct Grid {
    /// What the table is; empty for the first one.
    pub(crate) caption: String,
    /// What the rows are.
    pub(crate) of: &'static str,
    /// Title, and statistic and unit below it.
    pub(crate) columns: Vec<(&'static str, String)>,
    pub(crate) rows: Vec<GridRow>,
}

pub(crate) struct GridRow {
    pub(crate) name: String,
    /// The limit's row stands apart.
    pub(crate) is_limit: bool,
    pub(crate) cells: Vec<Cell>,
}

/// A value as text, and what stands below it: its interval, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub(crate) value: String,
    pub(crate) below: Option<Below>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Below {
    Interval(String),
    /// Too few values for one: how many.
    Count(usize),
    /// The values are all the same.
    NoSpread,
    /// Nearly all of them are the same.
    Unbounded,
}

impl Cell {
    pub(crate) fn of(average: Option<Average>) -> Self {
        let Some(Average { value, count, certainty, .. }) = average else {
            return Self { value: NONE.into(), below: None };
        };
        let below = match certainty {
            Certainty::Interval { low, high } => Some(Below::Interval(number::interval(low, high))),
            Certainty::Single => None,
            Certainty::NoSpread => Some(Below::NoSpread),
            Certainty::TooFew => Some(Below::Count(count)),
            Certainty::Unbounded => Some(Below::Unbounded),
        };
        Self { value: three_digits(value), below }
    }

    /// A value without an interval.
    pub(crate) fn plain(value: Option<f64>) -> Self {
        Self { value: value.map_or(NONE.into(), three_digits), below: None }
    }
}

impl Below {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Interval(text) => text.clone(),
            Self::Count(count) => format!("n = {count}"),
            Self::NoSpread | Self::Unbounded => NONE.into(),
        }
    }
}

impl Grid {
    /// Drops the counts if there is no interval and every count is 1; a note says so. Over seeds a scheme without randomness
    /// keeps its dash, and the others keep their counts.
    pub(crate) fn without_one_count(mut self, is_over_seeds: bool) -> Self {
        let counts: BTreeSet<Option<usize>> = self
            .below()
            .filter(|below| is_over_seeds || !matches!(below, Below::NoSpread | Below::Unbounded))
            .map(|below| if let Below::Count(count) = below { Some(*count) } else { None })
            .collect();
        if counts.len() == 1 && !counts.contains(&None) {
            self.rows.iter_mut().flat_map(|row| &mut row.cells).for_each(|cell| cell.below = None);
        }
        self
    }

    /// All that stands below values.
    pub(crate) fn below(&self) -> impl Iterator<Item = &Below> {
        self.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.below.as_ref())
    }
}

/// The averages of every row.
pub(crate) fn averages(comparison: &Comparison, columns: &[&Column]) -> Grid {
    let is_over_several = comparison.averages_over().is_some();
    let heading = |column: &&Column| {
        let geometric = is_over_several && column.measure.average == Kind::Geometric;
        let unit = [column.unit, if geometric { "geometric" } else { "" }];
        let unit: Vec<_> = unit.into_iter().filter(|part| !part.is_empty()).collect();
        (column.title, unit.join(", "))
    };
    let row = |&row: &Row| GridRow {
        name: row.label(),
        is_limit: row.is_limit(),
        cells: columns.iter().map(|column| Cell::of(comparison.average(row, column.measure))).collect(),
    };
    let grid = Grid {
        caption: caption(comparison, columns),
        of: "Scheme",
        columns: columns.iter().map(heading).collect(),
        rows: comparison.rows.iter().map(row).collect(),
    };
    grid.without_one_count(comparison.is_over_seeds())
}

/// What the averages are; empty where nothing is averaged.
fn caption(comparison: &Comparison, columns: &[&Column]) -> String {
    let Some((count, of)) = comparison.averages_over() else { return String::new() };
    let has_geometric = columns.iter().any(|column| column.measure.average == Kind::Geometric);
    let geometric = if has_geometric { "; geometric means where the column says so" } else { "" };
    format!("Means over {count} {of}{geometric}")
}
