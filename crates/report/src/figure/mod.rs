//! A figure, before anything draws it: [`Figure::svg`] for paper and [`Figure::html`] for a page; the report's script
//! draws the same value.

mod axis;
pub(crate) mod encode;
mod paper;
mod style;
pub(crate) mod thin;

pub use axis::{Axis, Scale};
pub(crate) use axis::{TAIL_END, nines, share_of};
pub use paper::{Length, Paper};
pub use style::Style;
pub(crate) use style::{DASHES, markers, styles};

use crate::drawing::markup::escape;
use serde::Serialize;

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

    /// Makes the axes as long as the intervals, where there are some.
    pub(crate) fn hold_intervals(&mut self) {
        let intervals = |at: usize| {
            let all = self.marks.iter().flat_map(|mark| &mark.intervals).filter_map(move |both| both[at]);
            all.flat_map(|(low, high)| [low, high])
        };
        let points = || self.marks.iter().flat_map(|mark| mark.points.iter().copied());
        let ends = [intervals(0).collect::<Vec<_>>(), intervals(1).collect()];
        let values =
            [points().map(|point| point.0).collect::<Vec<_>>(), points().map(|point| point.1).collect()];
        for (axis, (ends, values)) in [&mut self.x, &mut self.y].into_iter().zip(ends.iter().zip(&values)) {
            if ends.is_empty() {
                continue;
            }
            let (all, title) = (ends.iter().chain(values).copied(), axis.title.clone());
            let longer =
                if axis.scale == Scale::Log { Axis::delay(title, all) } else { Axis::around(title, all) };
            *axis = Axis { leftwards: axis.leftwards, ..longer };
        }
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

    /// The keys that marks refer to, each with the shape of the first of them.
    pub(crate) fn shown_keys(&self) -> Vec<(&Key, Shape)> {
        let marks = || self.panels.iter().flat_map(|panel| &panel.marks);
        let keys = self.keys.iter().enumerate().filter(|(_, key)| !key.label.is_empty());
        keys.filter_map(|(at, key)| Some((key, marks().find(|mark| mark.key == at)?.shape))).collect()
    }
}
