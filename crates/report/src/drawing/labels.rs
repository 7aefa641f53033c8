//! Names at the points of a panel, in the place of a legend.

use crate::drawing::panel::{Chart, Drawn, LONGEST_NAME, MARKER, TEXT, centred, letters, shortened};
use crate::figure::{Figure, Panel, Shape};
use plotters::prelude::Text;

/// From a point to its name.
const GAP: f64 = 6.0;
/// Where a name may be: on a side of its point, across and down; the first ones are the best.
const SIDES: [(f64, f64); 8] =
    [(1.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, -1.0), (-1.0, 1.0)];

/// A part of the drawing, in its units: its corners, across and down.
#[derive(Debug, Clone, Copy)]
struct Part {
    from: [f64; 2],
    to: [f64; 2],
}

impl Part {
    /// A line between two places, with a margin.
    fn along(one: [f64; 2], other: [f64; 2], margin: [f64; 2]) -> Self {
        Self {
            from: [0, 1].map(|at| one[at].min(other[at]) - margin[at]),
            to: [0, 1].map(|at| one[at].max(other[at]) + margin[at]),
        }
    }

    fn size(self) -> f64 {
        [0, 1].map(|at| f64::max(self.to[at] - self.from[at], 0.0)).iter().product()
    }

    /// How much of it lies on the other one.
    fn on(self, other: Self) -> f64 {
        let from = [0, 1].map(|at| self.from[at].max(other.from[at]));
        let to = [0, 1].map(|at| self.to[at].min(other.to[at]));
        Self { from, to }.size()
    }
}

/// Draws the name of each key once, at the last point of the first of its marks, where it covers the least: points, intervals,
/// names, and the area outside the axes.
pub(super) fn draw(chart: &Chart, panel: &Panel, figure: &Figure) -> Drawn {
    let area = chart.plotting_area();
    let place = |point: (f64, f64)| {
        let (x, y) = area.map_coordinate(&point);
        [f64::from(x), f64::from(y)]
    };
    let (across, down) = area.get_pixel_range();
    let [from, to] = [[across.start, down.start], [across.end, down.end]].map(|corner| corner.map(f64::from));
    let inside = Part { from, to };
    let marks = || panel.marks.iter().filter(|mark| matches!(mark.shape, Shape::Points | Shape::Path));
    let mut taken = Vec::new();
    for mark in marks() {
        let points = mark.known_points().map(place);
        taken.extend(points.map(|at| Part::along(at, at, [MARKER; 2])));
        let intervals = mark.interval_lines().map(|ends| ends.map(place));
        taken.extend(intervals.map(|[from, to]| Part::along(from, to, [GAP / 2.0; 2])));
    }
    for (at, key) in figure.keys.iter().enumerate().filter(|(_, key)| !key.label.is_empty()) {
        let first = marks().find(|mark| mark.key == at);
        let Some(point) = first.and_then(|mark| mark.known_points().next_back()) else { continue };
        let name = shortened(&key.label, LONGEST_NAME);
        let [x, y] = place(point);
        let half = [letters(&name) / 2.0, f64::from(TEXT) / 2.0];
        let [across, down] = half.map(|half| MARKER + GAP + half);
        let centres = SIDES.map(|(right, below)| [x + right * across, y + below * down]);
        let covered = |centre: &[f64; 2]| {
            let part = Part::along(*centre, *centre, half);
            part.size() - part.on(inside) + taken.iter().map(|other| part.on(*other)).sum::<f64>()
        };
        let best = centres.into_iter().min_by(|one, other| covered(one).total_cmp(&covered(other)));
        let best = best.expect("there are eight");
        taken.push(Part::along(best, best, half));
        area.use_screen_coord().draw(&Text::new(name, (best[0] as i32, best[1] as i32), centred()))?;
    }
    Ok(())
}
