//! The schemes' gain and delay over the parameters that a plan varies: lines, or for two with many values heat maps.

use crate::comparison::{Comparison, Row, View, distinct};
use crate::conditions::{Condition, in_words};
use crate::figure::{Axis, Figure, Key, Mark, Panel, Scale, Shape, shorter};
use crate::figures::HEIGHT_INCHES;
use crate::figures::heat::{Cell, Shades, no_key, panel};
use crate::figures::scatter::interval;
use crate::tables::column::{Column, RTT_MEAN, RTT_P95};
use cellcc_experiment::varied;

/// Height on paper of one of several panels.
const PANEL_INCHES: f64 = 1.65;
/// Over more values of the second condition there are heat maps, and no small multiples.
const MOST_COLUMNS: usize = 6;
/// Values that span more than this many times the smallest stand by their logarithms.
const LOGARITHMIC_SPAN: f64 = 8.0;

/// The name of the figure's file, and the figure: one line per scheme over one parameter; for two, the one with fewer values
/// makes plots side by side. `None` of more, or of none.
pub(crate) fn sweep(comparison: &Comparison, view: View) -> Option<(String, Figure)> {
    let mut conditions = conditions(comparison)?;
    conditions.sort_by_key(|condition| std::cmp::Reverse(condition.values.len()));
    let quantities = [comparison.gets(), RTT_MEAN, RTT_P95];
    let keys: Vec<&str> = conditions.iter().map(|condition| condition.key).collect();
    let figure = over(comparison, view, &conditions, &quantities)?;
    Some((format!("sweep {}", keys.join(" ")), figure))
}

/// These quantities over the condition of this key, and side by side for each value of the other one, where there is one.
pub(crate) fn over_condition(comparison: &Comparison, key: &str, quantities: &[Column]) -> Option<Figure> {
    let mut conditions = conditions(comparison)?;
    conditions.sort_by_key(|condition| condition.key != key);
    over(comparison, View::All, &conditions, quantities)
}

/// A plot a quantity, and side by side one for each value of the second condition.
fn over(
    comparison: &Comparison,
    view: View,
    conditions: &[Condition],
    quantities: &[Column],
) -> Option<Figure> {
    let along = conditions.first()?;
    let across = conditions.get(1);
    let multiples: Vec<Option<&str>> =
        across.map_or(vec![None], |condition| condition.values.iter().copied().map(Some).collect());
    if let Some(across) = across.filter(|across| across.values.len() > MOST_COLUMNS) {
        return Some(heat_maps(comparison, view, along, across, quantities));
    }
    let (places, x) = along.axis();
    let marks = |across: Option<&str>, column: &Column| -> Vec<Mark> {
        let lines = comparison.lines.iter().map(|line| {
            let point = |(value, at): (&&str, &f64)| {
                let row = row_at(comparison, line.group, [Some(*value), across])?;
                let average = comparison.in_view(row, view, column)?;
                let has_place = average.value > 0.0 || !column.is_delay();
                has_place.then_some(((*at, average.value), [None, interval(average)]))
            };
            let (points, intervals) = along.values.iter().zip(&places).filter_map(point).unzip();
            Mark::new(line.group, Shape::Path, points).with_intervals(intervals)
        });
        lines.filter(|mark| !mark.points.is_empty()).collect()
    };
    let inches = if quantities.len() == 1 { HEIGHT_INCHES } else { PANEL_INCHES };
    let mut panels = Vec::new();
    for (index, column) in quantities.iter().enumerate() {
        let row: Vec<Vec<Mark>> = multiples.iter().map(|across| marks(*across, column)).collect();
        let values = || row.iter().flatten().flat_map(|mark| &mark.points).map(|point| point.1);
        let title = if index == 0 { column.axis() } else { shorter(&column.axis()) };
        let y = column.axis_of(title, values());
        panels.extend(row.into_iter().zip(&multiples).map(|(marks, value)| {
            let title = across.zip(*value).map(|(condition, value)| in_words(&[(condition.key, value)]));
            Panel { title: title.unwrap_or_default(), ..Panel::new(x.clone(), y.clone(), marks, inches) }
        }));
    }
    Some(Figure {
        title: title(conditions),
        keys: comparison.lines.clone(),
        panels,
        columns: multiples.len(),
        ..Figure::default()
    })
}

/// For each scheme and quantity the values under both conditions. A quantity's shades have one meaning for all schemes.
fn heat_maps(
    comparison: &Comparison,
    view: View,
    along: &Condition,
    across: &Condition,
    quantities: &[Column],
) -> Figure {
    let value = |line: &Key, column: &Column, (x, y): (usize, usize)| {
        let row = row_at(comparison, line.group, [Some(along.values[x]), Some(across.values[y])])?;
        Some(((x as f64, y as f64), comparison.in_view(row, view, column)?.value))
    };
    let places = || (0..across.values.len()).flat_map(|y| (0..along.values.len()).map(move |x| (x, y)));
    let cells = |line: &Key, column: &Column| -> Vec<Cell> {
        places().filter_map(|place| value(line, column, place)).collect()
    };
    let shades = quantities.iter().map(|column| {
        let all = comparison.lines.iter().flat_map(|line| cells(line, column));
        Shades::of(column, all.map(|(_, value)| value))
    });
    let shades: Vec<Shades> = shades.collect();
    let axis = |condition: &Condition| Axis::names(condition.key, &condition.values);
    let panels = comparison.lines.iter().flat_map(|line| {
        let quantities = quantities.iter().zip(&shades);
        quantities.map(|(column, shades)| Panel {
            title: format!("{}: {}", line.label, shorter(&column.axis())),
            ..panel(axis(along), axis(across), shades.mark(&cells(line, column)))
        })
    });
    Figure {
        title: title([along, across]),
        keys: vec![no_key()],
        panels: panels.collect(),
        columns: quantities.len(),
        ..Figure::default()
    }
}

/// The title of a figure over these.
fn title<'a>(conditions: impl IntoIterator<Item = &'a Condition<'a>>) -> String {
    let keys: Vec<&str> = conditions.into_iter().map(|condition| condition.key).collect();
    format!("Over {}", keys.join(" and "))
}

/// One or two conditions with several values each.
fn conditions<'a>(comparison: &Comparison<'a>) -> Option<Vec<Condition<'a>>> {
    let variations =
        comparison.rows.iter().map(|row| row.variation).filter(|variation| !variation.is_empty());
    let variations = distinct(variations);
    let conditions = comparison.conditions.iter().filter(|condition| condition.values.len() > 1);
    let conditions: Vec<_> = conditions.cloned().collect();
    // Keys that change together are no grid.
    let combinations: usize = conditions.iter().map(|condition| condition.values.len()).product();
    (combinations == variations.len() && (1..=2).contains(&conditions.len())).then_some(conditions)
}

/// The row of a line under these values; the limit's has no variation where it is the same under all.
fn row_at<'a>(comparison: &Comparison<'a>, line: usize, values: [Option<&str>; 2]) -> Option<Row<'a>> {
    let rows = comparison.rows.iter().zip(&comparison.keys).filter(|(_, key)| key.group == line);
    let has = |row: &Row| {
        let pairs = varied(row.variation);
        pairs.is_empty() || values.iter().flatten().all(|value| pairs.iter().any(|(_, other)| other == value))
    };
    rows.map(|(row, _)| *row).find(has)
}

impl Condition<'_> {
    /// The place of each value, and the axis: numbers of one kind in their true scale, all else as names.
    fn axis(&self) -> (Vec<f64>, Axis) {
        let Some((_, numbers)) = self.numbers() else {
            let places = (0..self.values.len()).map(|at| at as f64);
            return (places.collect(), Axis::names(self.key, &self.values));
        };
        let texts = self.values.iter().map(|&text| text.to_owned());
        let mut ticks: Vec<(f64, String)> = numbers.iter().copied().zip(texts).collect();
        ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (low, high) = (ticks[0].0, ticks[ticks.len() - 1].0);
        let axis = if low > 0.0 && high / low > LOGARITHMIC_SPAN {
            let room = libm::pow(high / low, 0.04);
            Axis { scale: Scale::Log, ..Axis::linear(self.key, low / room, high * room) }
        } else {
            let room = (high - low) * 0.04;
            Axis::linear(self.key, low - room, high + room)
        };
        (numbers, Axis { ticks, ..axis })
    }
}
