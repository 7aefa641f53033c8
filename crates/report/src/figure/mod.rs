//! A figure, before anything draws it: [`Figure::svg`] for paper and [`Figure::html`] for a page; the report's script
//! draws the same value.

mod axis;
pub(crate) mod encode;
mod paper;
mod style;
pub(crate) mod thin;

pub use axis::{Axis, Scale};
pub(crate) use axis::{TAIL_END, nines, share_of, shortened_titles, shorter};
pub use paper::{Length, Paper};
pub use style::Style;
pub(crate) use style::{DASHES, MARKS, is_many, markers, styles};

use crate::drawing::markup::escape;
use serde::Serialize;

/// From one of several intervals above the same place to the next, as a share of the axis, and the share that all have together.
const APART: f64 = 0.012;
const SLOT: f64 = 0.06;

/// Panels over a common key.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Figure {
    /// The stem of its file's name: lower-case letters, digits and hyphens.
    #[serde(skip)]
    pub name: String,
    /// Its subject, for those who cannot see it and for the text below it.
    pub title: String,
    /// The meaning of colours and marks; a key that no mark refers to is not shown. A page has each list of keys once.
    #[serde(skip)]
    pub keys: Vec<Key>,
    /// The legend on paper, where colours and marks have meanings of their own; empty: the keys.
    #[serde(skip)]
    pub legend: Vec<(Key, Shape)>,
    /// Plots, in the order of reading.
    pub panels: Vec<Panel>,
    /// How many panels stand side by side; 0 counts as 1.
    pub columns: usize,
    /// Notes for its reader, for the text below it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The meaning of a colour and a mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Key {
    /// Its name; without one it is not shown.
    pub label: String,
    /// How it looks.
    #[serde(flatten)]
    pub style: Style,
    /// Keys of one group are chosen together in the report: the variations of a scheme.
    pub group: usize,
    /// By varied condition, the place of its value; `None`: it stands for all values. Empty: nothing is varied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) values: Vec<Option<usize>>,
}

/// One plot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panel {
    /// Its difference from its neighbours; empty if it is the only one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// From back to front.
    pub marks: Vec<Mark>,
    /// Height on paper, with its axes.
    pub inches: f64,
}

/// An element that is drawn in one go.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// The place of its key in [`Figure::keys`].
    #[serde(rename = "k")]
    pub key: usize,
    /// Its difference from other marks of its key, for a page's tooltip.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How its points are drawn.
    #[serde(rename = "s")]
    pub shape: Shape,
    /// Places; a line has a gap where one is not a number.
    #[serde(flatten, serialize_with = "encode::points")]
    pub points: Vec<(f64, f64)>,
    /// By point, the 95 % intervals of x and y; empty: none is known.
    #[serde(rename = "i", skip_serializing_if = "Vec::is_empty", serialize_with = "encode::intervals")]
    pub intervals: Vec<[Option<(f64, f64)>; 2]>,
    /// By point, how dark a cell is: 0 to 1, and its text; for [`Shape::Ranked`] its rank: -1 for the best to 1. For cells only.
    #[serde(rename = "c", skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<(f64, String)>,
}

/// How points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A marker and its label at each.
    Points,
    /// A line, with a few markers on paper.
    Line,
    /// A line with a marker at each.
    Path,
    /// A dashed line.
    Dashed,
    /// The area below them.
    Area,
    /// A dot at each.
    Dots,
    /// A square of one by one round each.
    Cells,
    /// A square of one by one round each, whose colour ranks its value.
    Ranked,
    /// A bar from each point to the next, its opposite corner; for paper only.
    Bar,
}

pub(crate) fn is_number((x, y): &(f64, f64)) -> bool {
    x.is_finite() && y.is_finite()
}

impl Mark {
    /// Points of a key.
    pub fn new(key: usize, shape: Shape, points: Vec<(f64, f64)>) -> Self {
        Self { key, name: String::new(), shape, points, intervals: Vec::new(), cells: Vec::new() }
    }

    /// With the intervals of each point; where none is known, without.
    pub(crate) fn with_intervals(self, intervals: Vec<[Option<(f64, f64)>; 2]>) -> Self {
        let is_known = intervals.iter().flatten().any(Option::is_some);
        Self { intervals: if is_known { intervals } else { Vec::new() }, ..self }
    }

    /// Points that are numbers.
    pub(crate) fn known_points(&self) -> impl DoubleEndedIterator<Item = (f64, f64)> + Clone {
        self.points.iter().copied().filter(is_number)
    }

    /// The ends of the intervals.
    pub(crate) fn interval_lines(&self) -> impl Iterator<Item = [(f64, f64); 2]> {
        self.points.iter().zip(&self.intervals).flat_map(|(&(x, y), [across, along])| {
            let across = across.map(|(low, high)| [(low, y), (high, y)]);
            across.into_iter().chain(along.map(|(low, high)| [(x, low), (x, high)]))
        })
    }
}

impl Panel {
    /// A plot of this height on paper, without a title.
    pub fn new(x: Axis, y: Axis, marks: Vec<Mark>, inches: f64) -> Self {
        Self { title: String::new(), x, y, marks, inches }
    }

    /// The ends of its intervals along an axis, and the places of its points.
    fn extent(&self, at: usize) -> [Vec<f64>; 2] {
        let intervals = self.marks.iter().flat_map(|mark| &mark.intervals).filter_map(|both| both[at]);
        let points = self.marks.iter().flat_map(|mark| mark.points.iter());
        let ends = intervals.flat_map(|(low, high)| [low, high]).collect();
        [ends, points.map(|point| [point.0, point.1][at]).collect()]
    }
}

impl Key {
    /// A key of its own group.
    pub fn new(label: impl Into<String>, style: Style, group: usize) -> Self {
        Self { label: label.into(), style, group, values: Vec::new() }
    }
}

impl Figure {
    /// An HTML `figure` with the drawing, the title and the notes in it, which loads nothing.
    pub fn html(&self) -> String {
        let words = std::iter::once(&self.title).chain(&self.notes).filter(|text| !text.is_empty());
        let caption = words.map(|text| escape(text)).collect::<Vec<_>>().join("<br>");
        format!("<figure>{}<figcaption>{caption}</figcaption></figure>\n", self.svg())
    }

    /// Makes axes as long as their intervals, where there are some: plots side by side keep one vertical axis.
    pub(crate) fn hold_intervals(&mut self) {
        for row in self.panels.chunks_mut(self.columns.max(1)) {
            for at in [0, 1] {
                let extents: Vec<_> = row.iter().map(|panel| panel.extent(at)).collect();
                if extents.iter().all(|[ends, _]| ends.is_empty()) {
                    continue;
                }
                let all = || extents.iter().flatten().flatten().copied();
                for panel in row.iter_mut() {
                    let axis = if at == 0 { &mut panel.x } else { &mut panel.y };
                    *axis = axis.holding(all());
                }
            }
        }
    }

    /// Moves points with intervals that stand above the same place a little apart, in the order of their marks.
    pub(crate) fn set_apart(&mut self) {
        for Panel { x, marks, .. } in &mut self.panels {
            let is_moved = |mark: &Mark| mark.shape == Shape::Path && !mark.intervals.is_empty();
            let count = marks.iter().filter(|mark| is_moved(mark)).count();
            let step = f64::min(APART, SLOT / count.max(1) as f64);
            for (at, mark) in marks.iter_mut().filter(|mark| is_moved(mark)).enumerate() {
                let shift = (at as f64 - (count as f64 - 1.0) / 2.0) * step;
                mark.points.iter_mut().for_each(|point| point.0 = x.shifted(point.0, shift));
            }
        }
    }

    /// The entries of its legend on paper: the keys that marks refer to, each with the shape of the first of them, or its own.
    pub(crate) fn shown_keys(&self) -> Vec<(&Key, Shape)> {
        let marks = || self.panels.iter().flat_map(|panel| &panel.marks);
        let keys = self.keys.iter().enumerate().filter(|(_, key)| !key.label.is_empty());
        let used = keys.filter_map(|(at, key)| Some((key, marks().find(|mark| mark.key == at)?.shape)));
        let own = self.legend.iter().map(|(key, shape)| (key, *shape));
        // Areas have no part in the legend of rows; rows in several plots have one entry.
        let used = used.filter(|(_, shape)| self.legend.is_empty() || *shape == Shape::Area);
        let mut entries: Vec<(&Key, Shape)> = Vec::new();
        for (key, shape) in own.chain(used) {
            let is_same = |(other, _): &(&Key, Shape)| (&other.label, other.style) == (&key.label, key.style);
            if !entries.iter().any(is_same) {
                entries.push((key, shape));
            }
        }
        entries
    }
}
