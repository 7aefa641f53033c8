//! Labels at the points of a scatter plot, in the place of a legend.

use crate::drawing::svg::{letters, shortened};
use crate::figure::{Key, Mark, Panel, Shape};
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Room for a marker on either side of its centre, for a label above and below its middle, and between the two.
const MARKER: f64 = 18.0;
const HALF_LINE: f64 = 18.0;
const GAP: f64 = 26.0;
/// Letters of a label.
const LONGEST: usize = 28;

/// A text and where it stands: units of the drawing, from the upper left corner of the plot.
pub(crate) struct Label {
    pub(crate) text: String,
    pub(crate) at: (f64, f64),
    pub(crate) anchor: Pos,
}

/// What must not be covered.
#[derive(Clone, Copy)]
struct Taken {
    x: (f64, f64),
    y: (f64, f64),
}

impl Taken {
    fn meets(&self, other: &Self) -> bool {
        let overlap = |one: (f64, f64), other: (f64, f64)| one.0 < other.1 && other.0 < one.1;
        overlap(self.x, other.x) && overlap(self.y, other.y)
    }
}

/// A label for each point of a plot of this size, so that none covers another one, a marker or an interval. `None` where one of them has
/// no such place, and where there is more than points.
pub(crate) fn labels(panel: &Panel, keys: &[Key], (width, height): (f64, f64)) -> Option<Vec<Label>> {
    let is_point = |mark: &Mark| mark.shape == Shape::Points && mark.points.len() == 1;
    if !panel.marks.iter().all(is_point) {
        return None;
    }
    let place = |x: f64, y: f64| (panel.x.share(x) * width, (1.0 - panel.y.share(y)) * height);
    let mut taken: Vec<Taken> = Vec::new();
    for mark in &panel.marks {
        let (x, y) = mark.points[0];
        let (across, down) = place(x, y);
        taken.push(Taken { x: (across - MARKER, across + MARKER), y: (down - MARKER, down + MARKER) });
        let bar = |one: (f64, f64), other: (f64, f64)| Taken {
            x: (one.0.min(other.0) - 1.0, one.0.max(other.0) + 1.0),
            y: (one.1.min(other.1) - 1.0, one.1.max(other.1) + 1.0),
        };
        for [of_x, of_y] in &mark.intervals {
            taken.extend(of_x.map(|(low, high)| bar(place(low, y), place(high, y))));
            taken.extend(of_y.map(|(low, high)| bar(place(x, low), place(x, high))));
        }
    }
    let label = |mark: &Mark| {
        let text = shortened(&keys.get(mark.key)?.label, LONGEST);
        let (x, y) = place(mark.points[0].0, mark.points[0].1);
        let wide = letters(&text);
        let sides = [
            (HPos::Left, x + GAP, 0.0, y),
            (HPos::Right, x - GAP, 1.0, y),
            (HPos::Center, x, 0.5, y - MARKER - HALF_LINE),
            (HPos::Center, x, 0.5, y + MARKER + HALF_LINE),
        ];
        sides.into_iter().find_map(|(anchor, x, share, y)| {
            let left = x - share * wide;
            let room = Taken { x: (left, left + wide), y: (y - HALF_LINE, y + HALF_LINE) };
            let is_inside = left >= 0.0 && left + wide <= width && room.y.0 >= 0.0 && room.y.1 <= height;
            (is_inside && !taken.iter().any(|other| other.meets(&room))).then(|| {
                taken.push(room);
                Label { text: text.clone(), at: (x, y), anchor: Pos::new(anchor, VPos::Center) }
            })
        })
    };
    panel.marks.iter().map(label).collect()
}
