//! A table of averages with their intervals, before it is drawn as text or HTML.

use crate::comparison::{Comparison, Row, label_by};
use crate::tables::column::Column;
use crate::tables::number::{self, NONE, three_digits};
use cellcc_experiment::varied;
use cellcc_statistics::{Average, Certainty, Kind};
use std::collections::BTreeSet;

/// A table: a name and cells in each row.
pub(crate) struct Grid {
    /// What the table is; empty for the first one.
    pub(crate) caption: String,
    /// What the rows are, and the varied conditions of which they have a value each.
    pub(crate) of: &'static str,
    pub(crate) keys: Vec<String>,
    /// Title, and statistic and unit below it.
    pub(crate) columns: Vec<(&'static str, String)>,
    pub(crate) rows: Vec<GridRow>,
}

pub(crate) struct GridRow {
    pub(crate) name: String,
    /// By varied condition.
    pub(crate) values: Vec<String>,
    /// The limit's row stands apart.
    pub(crate) is_limit: bool,
    pub(crate) cells: Vec<Cell>,
}

/// A value as text, and what stands below it: its interval, or why there is none.
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

    /// What is no number.
    pub(crate) fn text(value: String) -> Self {
        Self { value, below: None, is_best: false }
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
    pub(crate) fn without_one_count(self, is_over_seeds: bool) -> Self {
        let counts: BTreeSet<Option<usize>> = self
            .below()
            .filter(|below| is_over_seeds || !matches!(below, Below::NoSpread | Below::Unbounded))
            .map(|below| if let Below::Count(count) = below { Some(*count) } else { None })
            .collect();
        if counts.len() == 1 && !counts.contains(&None) {
            return self.without_intervals();
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
    let mut keys: Vec<String> = Vec::new();
    for (key, _) in comparison.rows.iter().flat_map(|row| varied(row.variation)) {
        if !keys.iter().any(|known| known == key) {
            keys.push(key.into());
        }
    }
    keys
}

impl GridRow {
    /// Of a row: its conditions stand in columns of their own.
    pub(crate) fn new(row: Row, keys: &[String], cells: Vec<Cell>) -> Self {
        let pairs = varied(row.variation);
        let value =
            |key: &String| pairs.iter().find(|(other, _)| other == key).map_or(NONE, |(_, value)| *value);
        let values = keys.iter().map(|key| value(key).to_owned()).collect();
        Self { name: label_by(row.scheme, row.driver), values, is_limit: row.is_limit(), cells }
    }
}

/// The averages of every row; with the best value of a column first, where it is given. The limit stays last.
pub(crate) fn averages(comparison: &Comparison, columns: &[&Column], sort: Option<&Column>) -> Grid {
    let is_over_several = comparison.averages_over().is_some();
    let heading = |column: &&Column| {
        let geometric = is_over_several && column.measure.average == Kind::Geometric;
        let unit = [column.unit, if geometric { "geometric" } else { "" }];
        let unit: Vec<_> = unit.into_iter().filter(|part| !part.is_empty()).collect();
        (column.title, unit.join(", "))
    };
    let keys = varied_keys(comparison);
    let of = |&row: &Row| columns.iter().map(|column| comparison.average(row, column.measure)).collect();
    let mut rows: Vec<(Row, Vec<Option<Average>>)> =
        comparison.rows.iter().map(|row| (*row, of(row))).collect();
    if let Some(column) = sort {
        let badness = |(row, _): &(Row, Vec<Option<Average>>)| {
            let average = comparison.average(*row, column.measure);
            (row.is_limit(), average.map_or(f64::INFINITY, |average| column.badness(average.value)))
        };
        let mut keyed: Vec<_> = rows.into_iter().map(|row| (badness(&row), row)).collect();
        keyed.sort_by(|((limit, one), _), ((other_limit, other), _)| {
            limit.cmp(other_limit).then(one.total_cmp(other))
        });
        rows = keyed.into_iter().map(|(_, row)| row).collect();
    }
    let best: Vec<Option<f64>> = (0..columns.len()).map(|at| best(columns[at], &rows, at)).collect();
    let row = |(row, averages): (Row, Vec<Option<Average>>)| {
        let cell = |(at, average): (usize, Option<Average>)| {
            let is_best = !row.is_limit() && best[at].is_some() && best[at] == average.map(|it| it.value);
            Cell { is_best, ..Cell::of(average) }
        };
        GridRow::new(row, &keys, averages.into_iter().enumerate().map(cell).collect())
    };
    let grid = Grid {
        caption: caption(comparison, columns),
        of: "Scheme",
        columns: columns.iter().map(heading).collect(),
        rows: rows.into_iter().map(row).collect(),
        keys,
    };
    grid.without_one_count(comparison.is_over_seeds())
}

/// The best value of a column, where the schemes differ in it.
fn best(column: &Column, rows: &[(Row, Vec<Option<Average>>)], at: usize) -> Option<f64> {
    let values =
        || rows.iter().filter(|(row, _)| !row.is_limit()).filter_map(|(_, all)| Some(all[at]?.value));
    let by_badness = |one: &f64, other: &f64| column.badness(*one).total_cmp(&column.badness(*other));
    let (best, worst) = (values().min_by(by_badness)?, values().max_by(by_badness)?);
    (best < worst || worst < best).then_some(best)
}

/// What the averages are; empty where nothing is averaged.
fn caption(comparison: &Comparison, columns: &[&Column]) -> String {
    let Some((count, of)) = comparison.averages_over() else { return String::new() };
    let has_geometric = columns.iter().any(|column| column.measure.average == Kind::Geometric);
    let geometric = if has_geometric { "; geometric means where the column says so" } else { "" };
    format!("Means over {count} {of}{geometric}")
}
