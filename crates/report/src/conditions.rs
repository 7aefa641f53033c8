//! The conditions in which rows differ, and how a figure tells them apart: a colour is a scheme, and a mark, or a plot, is a
//! condition.

use crate::comparison::{Comparison, Row, distinct, label, label_by};
use crate::figure::{Figure, Key, MARKS, Panel, Shape, Style, is_many, styles};
use cellcc_experiment::{is_limit, row_name, varied};
use cellcc_units::{Bytes, Rate, Span};
use serde::Serialize;

/// Plots of a figure that stand side by side, where it has one for each condition.
const COLUMNS: usize = 3;

/// A varied condition and its values, in the order of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Condition<'a> {
    pub(crate) key: &'a str,
    pub(crate) values: Vec<&'a str>,
}

impl Condition<'_> {
    /// The amounts of its values and their unit, where all have the same one: packets and bytes, or times and numbers, have no
    /// common scale.
    pub(crate) fn numbers(&self) -> Option<(&str, Vec<f64>)> {
        let all: Vec<(&str, f64)> = self.values.iter().map(|value| quantity(value)).collect::<Option<_>>()?;
        let unit = all.first()?.0;
        let alike = all.iter().all(|(other, _)| *other == unit);
        alike.then(|| (unit, all.into_iter().map(|(_, amount)| amount).collect()))
    }

    /// The column of its values as numbers, with the unit in its name, `path_queue_packets`; `None` where they have no common unit,
    /// or are numbers as they are written.
    pub(crate) fn column(&self) -> Option<String> {
        let (unit, _) = self.numbers()?;
        let unit = match unit {
            "pkt" => "packets",
            "%" => "percent",
            unit => unit,
        };
        let is_word = !unit.is_empty() && unit.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        is_word.then(|| format!("{}_{unit}", self.key.replace('.', "_")))
    }

    /// The amount of one of its values.
    pub(crate) fn number(&self, value: &str) -> Option<f64> {
        let at = self.values.iter().position(|other| *other == value)?;
        self.numbers().map(|(_, numbers)| numbers[at])
    }
}

/// The unit of the quantity in a text, as a column's name has it, and its amount; packets and the like are counted.
fn quantity(text: &str) -> Option<(&str, f64)> {
    if let Ok(span) = text.parse::<Span>() {
        return Some(("ms", span.as_millis_f64()));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some(("mbit_s", rate.as_mbit_per_sec()));
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        return Some(("bytes", bytes.get() as f64));
    }
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some((unit, text.strip_suffix(unit)?.parse().ok()?))
}

/// The conditions of these variations, each value once.
pub(crate) fn conditions<'a>(variations: impl Iterator<Item = &'a str>) -> Vec<Condition<'a>> {
    let pairs = distinct(variations.flat_map(varied));
    let condition = |key| {
        let values = pairs.iter().filter(|(other, _)| *other == key).map(|(_, value)| *value);
        Condition { key, values: values.collect() }
    };
    distinct(pairs.iter().map(|(key, _)| *key)).into_iter().map(condition).collect()
}

/// The keys of lines, and those of rows: lines differ in colour and marks, the variations of a line in marks. Conditions that are
/// placed have no part in that.
pub(crate) fn keys(rows: &[Row], conditions: &[Condition], placed: &[&str]) -> (Vec<Key>, Vec<Key>) {
    let lines = distinct(rows.iter().map(|row| (row.scheme, row.driver)));
    let untold = &untold(conditions, placed);
    let variations = variations(rows, untold);
    let families: Vec<Option<&str>> = lines
        .iter()
        .map(|(scheme, _)| (!is_limit(scheme)).then(|| scheme.split('(').next().unwrap_or(scheme)))
        .collect();
    let styles = styles(&families);
    let key = |row: &Row| {
        let line = lines.iter().position(|&line| line == (row.scheme, row.driver)).unwrap_or(0);
        let rest = without(row.variation, untold);
        let variation = variations.iter().position(|variation| *variation == rest).unwrap_or(0);
        let pairs = varied(row.variation);
        let value = |Condition { key, values }: &Condition| {
            let (_, text) = pairs.iter().find(|(other, _)| other == key)?;
            values.iter().position(|value| value == text)
        };
        let told: Vec<String> = rest.iter().map(|(key, value)| format!("{key}={value}")).collect();
        // One condition needs no name.
        let told = if variations.len() < 2 { String::new() } else { told.join(", ") };
        Key {
            values: conditions.iter().map(value).collect(),
            ..Key::new(
                row_name(&label(row.scheme), row.driver, &told),
                styles[line].varied(variation, variations.len(), lines.len()),
                line,
            )
        }
    };
    let rows = rows.iter().map(key).collect();
    let label = |(line, &(scheme, driver)): (usize, &(&str, &str))| {
        Key::new(label_by(scheme, driver), styles[line], line)
    };
    (lines.iter().enumerate().map(label).collect(), rows)
}

/// The conditions that names and marks leave out: those that are placed, and those with one value.
fn untold<'a>(conditions: &[Condition<'a>], placed: &[&'a str]) -> Vec<&'a str> {
    let same =
        conditions.iter().filter(|condition| condition.values.len() < 2).map(|condition| condition.key);
    placed.iter().copied().chain(same).collect()
}

/// The pairs of key and value of a variation without those of these keys.
fn without<'a>(variation: &'a str, keys: &[&str]) -> Vec<(&'a str, &'a str)> {
    varied(variation).into_iter().filter(|(key, _)| !keys.contains(key)).collect()
}

/// The conditions of schemes' rows that marks tell apart.
fn variations<'a>(rows: &[Row<'a>], untold: &[&str]) -> Vec<Vec<(&'a str, &'a str)>> {
    distinct(rows.iter().filter(|row| !row.is_limit()).map(|row| without(row.variation, untold)))
}

/// A condition on paper: `queue 65pkt`.
pub(crate) fn in_words(pairs: &[(&str, &str)]) -> String {
    let words: Vec<String> = pairs.iter().map(|(key, value)| format!("{} {value}", last_part(key))).collect();
    words.join(", ")
}

/// The part of a condition's key that its user knows: `queue` of `path.queue`.
pub(crate) fn last_part(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

impl<'a> Comparison<'a> {
    /// Gives the values of these conditions plots or places of their own.
    pub(crate) fn set_placed(&mut self, keys: Vec<&'a str>) {
        self.placed = keys;
        self.set_rows(self.rows.clone());
    }

    /// The number of conditions that marks distinguish.
    pub(crate) fn told(&self) -> usize {
        variations(&self.rows, &untold(&self.conditions, &self.placed)).len()
    }

    /// The number of conditions for the marks of a figure, if they cannot distinguish as many: schemes that share colours need
    /// the marks for themselves.
    pub(crate) fn too_many_marks(&self) -> Option<usize> {
        let count = self.told();
        let most = if is_many(self.lines.len()) { 1 } else { MARKS };
        (count > most).then_some(count)
    }

    /// Keeps the rows of the first condition where there are more than `most`; gives its text.
    pub(crate) fn keep_few_conditions(&mut self, most: usize) -> Option<String> {
        let variations = distinct(self.schemes().map(|row| row.variation));
        let first = *variations.first().filter(|_| variations.len() > most)?;
        // The limit's row has no variation where it is the same under all.
        let is_kept = |row: &Row| row.variation.is_empty() || row.variation == first;
        self.set_rows(self.rows.iter().copied().filter(is_kept).collect());
        Some(in_words(&varied(first)))
    }

    /// The legend on paper of a figure with a mark for each row: the colours of lines, and the marks of conditions. Empty: each
    /// row has a name of its own.
    pub(crate) fn legend(&self) -> Vec<(Key, Shape)> {
        let variations = variations(&self.rows, &untold(&self.conditions, &self.placed));
        if variations.len() < 2 || is_many(self.lines.len()) {
            return Vec::new();
        }
        let colour = |line: &Key| {
            let shape = if line.style.is_reference() { Shape::Points } else { Shape::Cells };
            (line.clone(), shape)
        };
        let mark = |(at, pairs): (usize, &Vec<(&str, &str)>)| {
            (Key::new(in_words(pairs), Style::of_variation(at), usize::MAX), Shape::Points)
        };
        self.lines.iter().map(colour).chain(variations.iter().enumerate().map(mark)).collect()
    }

    /// The plots of a figure of these rows once for each value of these conditions, side by side and with the same axes.
    pub(crate) fn faceted(&self, facets: &[&str], mut figure: Figure) -> Figure {
        let places = |key: &Key| -> Vec<Option<usize>> {
            let of_facet = |(_, at): (&Condition, &Option<usize>)| *at;
            let all = self.conditions.iter().zip(&key.values);
            all.filter(|(condition, _)| facets.contains(&condition.key)).map(of_facet).collect()
        };
        let schemes = self.rows.iter().zip(&self.keys).filter(|(row, _)| !row.is_limit());
        let parts = distinct(schemes.map(|(_, key)| places(key)));
        if parts.len() < 2 {
            return figure;
        }
        let conditions: Vec<_> =
            self.conditions.iter().filter(|condition| facets.contains(&condition.key)).collect();
        let title = |part: &[Option<usize>]| {
            let pairs = conditions
                .iter()
                .zip(part)
                .filter_map(|(condition, at)| Some((condition.key, *condition.values.get((*at)?)?)));
            in_words(&pairs.collect::<Vec<_>>())
        };
        figure.hold_intervals();
        let (keys, panels) = (&figure.keys, figure.panels);
        let panel = |(panel, part): (&Panel, &Vec<Option<usize>>)| {
            // A mark without a value stands for all of them.
            let is_in = |key: &usize| {
                let places = keys.get(*key).map(&places).unwrap_or_default();
                places.iter().zip(part).all(|(place, at)| place.is_none() || place == at)
            };
            let marks = panel.marks.iter().filter(|mark| is_in(&mark.key)).cloned().collect();
            Panel { title: title(part), marks, ..panel.clone() }
        };
        let pairs = panels.iter().flat_map(|panel| parts.iter().map(move |part| (panel, part)));
        let columns = if panels.len() == 1 { parts.len().min(COLUMNS) } else { parts.len() };
        Figure { panels: pairs.map(panel).collect(), columns, keys: figure.keys.clone(), ..figure }
    }
}
