//! Curves that change in the course of a run, coloured by time: Verus' delay profile (Verus paper, Figures 5 and 7b).

use crate::comparison::{Comparison, Trace};
use crate::drawing::plot::{Area, Drawn, STROKE, Sample, chart, legend, linear, short};
use crate::drawing::style::SchemeStyle;
use crate::drawing::thin::{spread, thin};
use cellcc_experiment::{Curve, Record};
use plotters::prelude::*;

/// Snapshots of one curve: more colours cannot be told apart.
const MOST_SNAPSHOTS: usize = 40;
/// Points of one snapshot.
const MOST_POINTS: usize = 60;
/// Radius of a measured point.
const DOT: u32 = 4;
/// Points of the throughput below, in a figure for a paper.
const THROUGHPUT_POINTS: usize = 400;

/// Early to late: blue, violet, red, orange; all of them strong enough on white and on black.
const EARLY_TO_LATE: [(u8, u8, u8); 4] =
    [(0x2f, 0x6f, 0xd0), (0x93, 0x57, 0xc9), (0xdd, 0x50, 0x6e), (0xf0, 0x96, 0x1e)];

/// One curve of one flow in the first run of a row: its snapshots, evenly thinned.
pub(crate) struct Panel<'a> {
    /// The row's place among all rows.
    pub(crate) row: usize,
    pub(crate) run: &'a Record,
    pub(crate) label: String,
    pub(crate) flow: usize,
    pub(crate) name: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    /// Drawn as dots: measured points, not a curve through them.
    pub(crate) dots: bool,
    pub(crate) snapshots: Vec<Snapshot>,
}

/// The curve at one moment.
pub(crate) struct Snapshot {
    pub(crate) time_s: f64,
    pub(crate) colour: (u8, u8, u8),
    pub(crate) points: Vec<(f64, f64)>,
}

/// What there is to show on a trace, rows in their order.
pub(crate) fn panels<'a>(comparison: &Comparison<'a>, trace: Trace) -> Vec<Panel<'a>> {
    let mut panels = Vec::new();
    for (index, &row) in comparison.rows.iter().enumerate() {
        let Some(&run) = comparison.runs(row, trace).first() else { continue };
        let mut kinds: Vec<(usize, &str)> =
            run.curves.iter().map(|curve| (curve.flow, curve.name.as_str())).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for (flow, name) in kinds {
            let all: Vec<&Curve> =
                run.curves.iter().filter(|curve| curve.flow == flow && curve.name == name).collect();
            let dots = is_measured(name);
            let measured = run.curves.iter().filter(|curve| {
                is_measured(&curve.name) && (curve.flow, &curve.x, &curve.y) == (flow, &all[0].x, &all[0].y)
            });
            let used = used_range(&measured.collect::<Vec<_>>());
            let of_flow = match &run.flows[..] {
                [_, _, ..] => format!(", flow {}", flow + 1),
                _ => String::new(),
            };
            panels.push(Panel {
                row: index,
                run,
                label: format!("{}{of_flow}", row.label()),
                flow,
                name,
                x: &all[0].x,
                y: &all[0].y,
                dots,
                snapshots: snapshots(&all, dots, used),
            });
        }
    }
    panels
}

/// By its name, a curve is points that were measured.
fn is_measured(name: &str) -> bool {
    name.ends_with("_points")
}

/// The places in `all` of the snapshots that are shown.
fn shown(all: &[&Curve]) -> Vec<usize> {
    spread(all.len(), MOST_SNAPSHOTS)
}

/// The points of a snapshot that were not there, or had another value, in the one before it: those measured in between.
/// Of the first snapshot none: it holds the search of slow start, which would set the scale of the figure (as the
/// paper's Figure 7b, "excluding slow start").
fn fresh(all: &[&Curve], index: usize) -> Vec<(f32, f32)> {
    let Some(before) = index.checked_sub(1) else { return Vec::new() };
    let mut old = all[before].points.iter().peekable();
    let is_fresh = |&(x, y): &(f32, f32)| {
        while old.next_if(|old| old.0 < x).is_some() {}
        old.next_if(|old| old.0 == x).is_none_or(|old| old.1 != y)
    };
    all[index].points.iter().copied().filter(is_fresh).collect()
}

/// From the smallest to the largest x that was measured anew; none where nothing was.
fn used_range(measured: &[&Curve]) -> Option<(f32, f32)> {
    let mut used = shown(measured).into_iter().flat_map(|index| fresh(measured, index)).map(|(x, _)| x);
    let first = used.next()?;
    Some(used.fold((first, first), |(low, high), x| (low.min(x), high.max(x))))
}

/// Of measured points those that are fresh; of other curves what lies in the range that is used, where one is known:
/// beyond it a curve follows from points of long ago.
fn snapshots(all: &[&Curve], dots: bool, used: Option<(f32, f32)>) -> Vec<Snapshot> {
    let (first, last) = (all[0].time_s, all[all.len() - 1].time_s);
    let snapshots = shown(all).into_iter().map(|index| {
        let curve = all[index];
        let points: Vec<(f32, f32)> = match used {
            Some(_) if dots => fresh(all, index),
            Some((low, high)) => {
                curve.points.iter().copied().filter(|(x, _)| (low..=high).contains(x)).collect()
            }
            None => curve.points.clone(),
        };
        let mut kept = spread(points.len(), MOST_POINTS);
        kept.extend(points.len().checked_sub(1).filter(|last| !kept.contains(last)));
        Snapshot {
            time_s: curve.time_s,
            colour: colour_at((curve.time_s - first) / f64::max(last - first, 1e-9)),
            points: kept
                .into_iter()
                .map(|kept| (f64::from(points[kept].0), f64::from(points[kept].1)))
                .collect(),
        }
    });
    snapshots.collect()
}

/// The colour of a moment, 0 for the earliest to 1 for the latest.
fn colour_at(share: f64) -> (u8, u8, u8) {
    let place = share.clamp(0.0, 1.0) * (EARLY_TO_LATE.len() - 1) as f64;
    let index = (place as usize).min(EARLY_TO_LATE.len() - 2);
    let (from, to) = (EARLY_TO_LATE[index], EARLY_TO_LATE[index + 1]);
    let mix = |from: u8, to: u8| {
        (f64::from(from) + (f64::from(to) - f64::from(from)) * (place - index as f64)).round() as u8
    };
    (mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

/// `delay_ms` as the title of an axis: `delay, ms`.
fn titled(name: &str) -> String {
    const UNITS: [(&str, &str); 4] =
        [("_mbit_s", "Mbit/s"), ("_packets", "packets"), ("_ms", "ms"), ("_s", "s")];
    let unit = UNITS.iter().find_map(|(ending, unit)| Some((name.strip_suffix(ending)?, unit)));
    match unit {
        Some((name, unit)) => format!("{}, {unit}", name.replace('_', " ")),
        None => name.replace('_', " "),
    }
}

impl Panel<'_> {
    /// The curve above, and below it the flow's throughput in the colours of the same moments.
    pub(crate) fn draw(&self, area: &Area) -> Drawn {
        let moments = [0, self.snapshots.len() / 2, self.snapshots.len() - 1].map(|at| &self.snapshots[at]);
        let entry = |snapshot: &&Snapshot| {
            let style = SchemeStyle { colour: Some(snapshot.colour), marker: &[], dash: &[] };
            (format!("{} s", short((snapshot.time_s * 10.0).round() / 10.0)), style, Sample::MarkedLine)
        };
        let area = legend(area, &moments.iter().map(entry).collect::<Vec<_>>())?;
        let (upper, lower) = area.split_vertically((f64::from(area.dim_in_pixel().1) * 0.6) as i32);
        let ends = |of: fn(&(f64, f64)) -> f64| {
            let values = || self.snapshots.iter().flat_map(|snapshot| &snapshot.points).map(of);
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
        };
        let ((left, right), (bottom, top)) = (ends(|point| point.0), ends(|point| point.1));
        let mut curves = chart(
            &upper,
            (linear(left, right.max(left + 1e-3)), &titled(self.x), &short),
            (linear(bottom.min(0.0), top.max(1e-3) * 1.05), &titled(self.y)),
        )?;
        for Snapshot { colour: (r, g, b), points, .. } in &self.snapshots {
            let colour = RGBColor(*r, *g, *b);
            if self.dots {
                curves.draw_series(points.iter().map(|&at| Circle::new(at, DOT, colour.filled())))?;
            } else {
                curves.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(STROKE)))?;
            }
        }
        self.draw_throughput(&lower)
    }

    fn draw_throughput(&self, area: &Area) -> Drawn {
        let name = format!("flow{}.throughput_mbit_s", self.flow);
        let (values, steps) = thin(self.run.series.column(&name).unwrap_or_default(), THROUGHPUT_POINTS);
        let step_s = self.run.series.bin.as_secs_f64() * steps;
        let points: Vec<(f64, f64)> = values
            .into_iter()
            .enumerate()
            .map(|(index, value)| (index as f64 * step_s, f64::from(value)))
            .collect();
        let end = points.last().map_or(1e-3, |point| point.0.max(1e-3));
        let top = points.iter().map(|point| point.1).fold(1e-3, f64::max);
        let axes = (linear(0.0, end), linear(0.0, top * 1.05));
        let mut chart = chart(area, (axes.0, "Time, s", &short), (axes.1, "Throughput, Mbit/s"))?;
        for (index, snapshot) in self.snapshots.iter().enumerate() {
            let from = if index == 0 { 0.0 } else { snapshot.time_s };
            let to = self.snapshots.get(index + 1).map_or(f64::INFINITY, |next| next.time_s);
            // One step beyond: the parts of the line meet.
            let part = points.iter().filter(|point| (from..=to + step_s).contains(&point.0)).copied();
            let (r, g, b) = snapshot.colour;
            chart.draw_series(LineSeries::new(part, RGBColor(r, g, b).stroke_width(STROKE)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_runs_from_blue_to_orange() {
        assert_eq!(colour_at(0.0), EARLY_TO_LATE[0]);
        assert_eq!(colour_at(1.0), EARLY_TO_LATE[3]);
        assert_eq!(colour_at(1.0 / 3.0), EARLY_TO_LATE[1]);
    }

    fn points(time_s: f64, points: &[(f32, f32)]) -> Curve {
        Curve {
            time_s,
            flow: 0,
            name: "delay_points".into(),
            x: "window_packets".into(),
            y: "delay_ms".into(),
            points: points.to_vec(),
        }
    }

    #[test]
    fn points_that_nobody_measures_any_more_do_not_set_the_scale() {
        // Slow start went up to 200 packets; since then the flow stays at 5 to 7.
        let all = [
            points(1.0, &[(5.0, 20.0), (6.0, 21.0), (200.0, 500.0)]),
            points(2.0, &[(5.0, 22.0), (6.0, 21.0), (7.0, 30.0), (200.0, 500.0)]),
            points(3.0, &[(5.0, 22.0), (6.0, 24.0), (7.0, 30.0), (200.0, 500.0)]),
        ];
        let all: Vec<&Curve> = all.iter().collect();
        assert_eq!(fresh(&all, 1), [(5.0, 22.0), (7.0, 30.0)]);
        assert_eq!(used_range(&all), Some((5.0, 7.0)));
        let seen = |dots| snapshots(&all, dots, used_range(&all))[2].points.clone();
        assert_eq!(seen(true), [(6.0, 24.0)]);
        assert_eq!(seen(false), [(5.0, 22.0), (6.0, 24.0), (7.0, 30.0)]);
        assert_eq!(used_range(&all[..1]), None, "a single snapshot is shown whole");
    }

    #[test]
    fn an_axis_says_its_unit_apart() {
        assert_eq!(titled("delay_ms"), "delay, ms");
        assert_eq!(titled("window_packets"), "window, packets");
        assert_eq!(titled("gain"), "gain");
    }
}
