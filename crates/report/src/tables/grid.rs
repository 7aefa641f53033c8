//! A table of averages with their intervals, before it is drawn as text or HTML.

use crate::comparison::{Comparison, Row, label_by};
use crate::tables::column::Column;
use crate::tables::number::{self, NONE, three_digits};
use cellcc_experiment::{Better, varied};
use cellcc_statistics::{Average, Certainty, Kind};
use std::collections::BTreeSet;

/// A table: names and cells in each row.
pub(crate) struct Grid {
    /// The subject of the table; empty for the first one.
    pub(crate) caption: String,
    /// The keys of rows: a scheme, and the varied conditions.
    pub(crate) of: Vec<String>,
    /// Title, and statistic and unit below it.
    pub(crate) columns: Vec<(String, String)>,
    pub(crate) rows: Vec<GridRow>,
}

pub(crate) struct GridRow {
    /// Its name, and its value of each varied condition.
    pub(crate) of: Vec<String>,
    /// The limit's row stands apart.
    pub(crate) is_limit: bool,
    pub(crate) cells: Vec<Cell>,
}

/// A value as text, and the line below it: its interval, or the reason for none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub(crate) value: String,
    pub(crate) below: Option<Below>,
    /// No other scheme has a better value in this column.
    pub(crate) is_best: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Below {
    Interval(String),
    /// The median and the quartiles, where the interval says less.
    Quartiles(String),
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
            return Self::text(NONE.into());
        };
        let below = match certainty {
            Certainty::Interval { low, high } => Some(Below::Interval(number::interval(low, high))),
            Certainty::Skewed { quartiles: [first, median, third], .. } => {
                let quartiles = number::interval(first, third);
                Some(Below::Quartiles(format!("median {}, {quartiles}", three_digits(median))))
            }
            Certainty::Single => None,
            Certainty::NoSpread => Some(Below::NoSpread),
            Certainty::TooFew => Some(Below::Count(count)),
            Certainty::Unbounded => Some(Below::Unbounded),
        };
        Self { below, ..Self::text(three_digits(value)) }
    }

    /// A value without an interval.
    pub(crate) fn plain(value: Option<f64>) -> Self {
        Self::text(value.map_or(NONE.into(), three_digits))
    }

    /// A cell without a number.
    pub(crate) fn text(value: String) -> Self {
        Self { value, below: None, is_best: false }
    }
}

impl Below {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Interval(text) | Self::Quartiles(text) => text.clone(),
            Self::Count(count) => format!("n = {count}"),
            Self::NoSpread | Self::Unbounded => NONE.into(),
        }
    }
}

impl GridRow {
    /// A row that is not in a comparison.
    pub(crate) fn named(name: String, cells: Vec<Cell>) -> Self {
        Self { of: vec![name], is_limit: false, cells }
    }
}

impl Grid {
    /// Rows of a comparison; the conditions in which they differ have columns of their own.
    pub(crate) fn of_rows<'a>(
        comparison: &Comparison,
        caption: String,
        columns: impl Iterator<Item = (&'static str, impl Into<String>)>,
        rows: impl Iterator<Item = (Row<'a>, Vec<Cell>)>,
    ) -> Self {
        let keys = varied_keys(comparison);
        let row = |(row, cells): (Row, Vec<Cell>)| {
            let name = std::iter::once(label_by(row.scheme, row.driver));
            let of = name.chain(values(row.variation, &keys)).collect();
            GridRow { of, is_limit: row.is_limit(), cells }
        };
        let rows = rows.map(row).collect();
        let of = std::iter::once("Scheme".to_owned()).chain(keys).collect();
        Self { caption, of, columns: titles(columns), rows }
    }

    /// Drops the counts if there is no interval and every count is the same, and else those of all traces; a note says so. Over
    /// seeds a scheme without randomness keeps its dash, and the others keep their counts.
    pub(crate) fn without_one_count(mut self, comparison: &Comparison) -> Self {
        let is_over_seeds = comparison.is_over_seeds();
        let counts: BTreeSet<Option<usize>> = self
            .below()
            .filter(|below| is_over_seeds || !matches!(below, Below::NoSpread | Below::Unbounded))
            .map(|below| if let Below::Count(count) = below { Some(*count) } else { None })
            .collect();
        if counts.len() == 1 && !counts.contains(&None) {
            return self.without_intervals();
        }
        if !is_over_seeds {
            let all = Some(Below::Count(comparison.traces.len()));
            let cells = self.rows.iter_mut().flat_map(|row| &mut row.cells);
            cells.filter(|cell| cell.below == all).for_each(|cell| cell.below = None);
        }
        self
    }

    /// Nothing below values.
    pub(crate) fn without_intervals(mut self) -> Self {
        self.rows.iter_mut().flat_map(|row| &mut row.cells).for_each(|cell| cell.below = None);
        self
    }

    /// All that stands below values.
    pub(crate) fn below(&self) -> impl Iterator<Item = &Below> {
        self.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.below.as_ref())
    }
}

/// Conditions that rows differ in, in the order of the plan.
pub(crate) fn varied_keys(comparison: &Comparison) -> Vec<String> {
    comparison.conditions.iter().map(|condition| condition.key.into()).collect()
}

/// Its value of each of these conditions.
pub(crate) fn values(variation: &str, keys: &[String]) -> impl Iterator<Item = String> {
    let pairs = varied(variation);
    let value = move |key: &String| pairs.iter().find(|(other, _)| other == key).map_or(NONE, |pair| pair.1);
    keys.iter().map(value).map(str::to_owned)
}

/// Titles of columns, each with the line below it.
pub(crate) fn titles(
    columns: impl Iterator<Item = (&'static str, impl Into<String>)>,
) -> Vec<(String, String)> {
    columns.map(|(title, below)| (title.to_owned(), below.into())).collect()
}

/// The averages of every row; with the best value of a column first, where it is given. The limit stays last.
pub(crate) fn averages(comparison: &Comparison, columns: &[Column], sort: Option<Column>) -> Grid {
    let of_row = comparison.rows.iter().map(|&row| {
        let average = |column: &Column| comparison.average(row, column);
        let badness = |column: Column| average(&column).map_or(f64::INFINITY, |it| column.badness(it.value));
        let averages: Vec<Option<Average>> = columns.iter().map(average).collect();
        (row.is_limit(), sort.map_or(0.0, badness), row, averages)
    });
    let mut rows: Vec<_> = of_row.collect();
    rows.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let best = |(at, column): (usize, &Column)| {
        let schemes = rows.iter().filter(|(is_limit, ..)| !is_limit);
        best(column, schemes.filter_map(|(.., averages)| Some(averages[at]?.value)).collect())
    };
    let best: Vec<Option<f64>> = columns.iter().enumerate().map(best).collect();
    let cells = |(is_limit, _, row, averages): (bool, f64, _, Vec<Option<Average>>)| {
        let cell = |(average, best): (Option<Average>, &Option<f64>)| {
            let is_best = !is_limit && best.is_some() && *best == average.map(|it| it.value);
            Cell { is_best, ..Cell::of(average) }
        };
        (row, averages.into_iter().zip(&best).map(cell).collect())
    };
    let is_geometric = |column: &Column| column.average == Kind::Geometric;
    let (mut caption, mut geometric) = (String::new(), "");
    if let Some((count, of)) = comparison.averages_over() {
        let has_geometric = columns.iter().any(is_geometric);
        let more = if has_geometric { "; geometric means where the column says so" } else { "" };
        (caption, geometric) = (format!("Means over {count} {of}{more}"), "geometric");
    }
    let heading = |column: &Column| {
        let parts = [column.below(), String::from(if is_geometric(column) { geometric } else { "" })];
        let below: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        (column.title, below.join(", "))
    };
    let grid = Grid::of_rows(comparison, caption, columns.iter().map(heading), rows.into_iter().map(cells));
    grid.without_one_count(comparison)
}

/// The best of the values in a column, where they differ and one way is better.
fn best(column: &Column, mut values: Vec<f64>) -> Option<f64> {
    if column.better == Better::Neither {
        return None;
    }
    values.sort_by(|one, other| column.badness(*one).total_cmp(&column.badness(*other)));
    let (best, worst) = (*values.first()?, *values.last()?);
    (best < worst || worst < best).then_some(best)
}
