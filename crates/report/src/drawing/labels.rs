//! Names at the points of a panel, in the place of a legend.

use crate::drawing::svg::{Chart, Drawn, LONGEST_NAME, MARKER, TEXT, letters, shortened, text};
use crate::figure::{Figure, Panel, Shape};
use plotters::prelude::Text;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// From a point to its name.
const GAP: f64 = 6.0;

/// A part of the drawing, in its units.
#[derive(Debug, Clone, Copy)]
struct Part {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Part {
    fn around((x, y): (f64, f64), width: f64, height: f64) -> Self {
        Self {
            left: x - width / 2.0,
            top: y - height / 2.0,
            right: x + width / 2.0,
            bottom: y + height / 2.0,
        }
    }

    /// A line.
    fn along(from: (f64, f64), to: (f64, f64)) -> Self {
        Self {
            left: from.0.min(to.0) - GAP / 2.0,
            top: from.1.min(to.1) - GAP / 2.0,
            right: from.0.max(to.0) + GAP / 2.0,
            bottom: from.1.max(to.1) + GAP / 2.0,
        }
    }

    fn size(self) -> f64 {
        f64::max(self.right - self.left, 0.0) * f64::max(self.bottom - self.top, 0.0)
    }

    /// How much of it lies on the other one.
    fn on(self, other: Self) -> f64 {
        let both = Self {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        };
        both.size()
    }
}

/// Draws the name of each key once, at the last point of the first of its marks, where it covers the least: points,
/// intervals, names, and what is outside the axes.
pub(super) fn draw(chart: &Chart, panel: &Panel, figure: &Figure) -> Drawn {
    let area = chart.plotting_area();
    let place = |point: &(f64, f64)| {
        let (x, y) = area.map_coordinate(point);
        (f64::from(x), f64::from(y))
    };
    let (across, down) = area.get_pixel_range();
    let inside = Part {
        left: f64::from(across.start),
        top: f64::from(down.start),
        right: f64::from(across.end),
        bottom: f64::from(down.end),
    };
    let is_number = |(x, y): &&(f64, f64)| x.is_finite() && y.is_finite();
    let is_point = |shape: Shape| matches!(shape, Shape::Points | Shape::Path);
    let marks = || panel.marks.iter().filter(|mark| is_point(mark.shape));
    let mut taken: Vec<Part> = marks()
        .flat_map(|mark| mark.points.iter().filter(is_number))
        .map(|point| Part::around(place(point), 2.0 * MARKER, 2.0 * MARKER))
        .collect();
    for mark in marks() {
        for (&(x, y), [across, along]) in mark.points.iter().zip(&mark.intervals) {
            let ends = [
                across.map(|(low, high)| [(low, y), (high, y)]),
                along.map(|(low, high)| [(x, low), (x, high)]),
            ];
            taken.extend(ends.into_iter().flatten().map(|[from, to]| Part::along(place(&from), place(&to))));
        }
    }
    for (at, key) in figure.keys.iter().enumerate().filter(|(_, key)| !key.label.is_empty()) {
        let Some(point) =
            marks().find(|mark| mark.key == at).and_then(|mark| mark.points.iter().rfind(is_number))
        else {
            continue;
        };
        let name = shortened(&key.label, LONGEST_NAME);
        let (x, y) = place(point);
        let (wide, high) = (letters(&name), f64::from(TEXT));
        let (beside, over) = (MARKER + GAP + wide / 2.0, MARKER + GAP + high / 2.0);
        let places = [
            (beside, 0.0),
            (-beside, 0.0),
            (0.0, -over),
            (0.0, over),
            (beside, -over),
            (beside, over),
            (-beside, -over),
            (-beside, over),
        ]
        .map(|(right, down)| Part::around((x + right, y + down), wide, high));
        let covered = |part: &Part| {
            part.size() - part.on(inside) + taken.iter().map(|other| part.on(*other)).sum::<f64>()
        };
        let best = places.into_iter().min_by(|one, other| covered(one).total_cmp(&covered(other)));
        let best = best.expect("there are eight");
        taken.push(best);
        let centre = ((best.left + best.right) / 2.0, (best.top + best.bottom) / 2.0);
        let style = text().pos(Pos::new(HPos::Center, VPos::Center));
        area.use_screen_coord().draw(&Text::new(name, (centre.0 as i32, centre.1 as i32), style))?;
    }
    Ok(())
}
