//! Curves that change in the course of a run, coloured by time: Verus' delay profile (Verus paper, Figures 5 and 7b).

use crate::comparison::{Comparison, Trace};
use crate::plot::{Area, Drawn, STROKE, Sample, chart, legend, linear, short};
use crate::style::SchemeStyle;
use crate::thin::{spread, thin};
use cellcc_experiment::{Curve, Record};
use plotters::prelude::*;

/// Snapshots of one curve: more colours cannot be told apart.
const MOST_SNAPSHOTS: usize = 40;
/// Points of one snapshot.
const MOST_POINTS: usize = 60;
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
                snapshots: snapshots(&all),
            });
        }
    }
    panels
}

fn snapshots(all: &[&Curve]) -> Vec<Snapshot> {
    let kept = spread(all.len(), MOST_SNAPSHOTS);
    let (first, last) = (all[0].time_s, all[all.len() - 1].time_s);
    let shown = kept.into_iter().map(|index| {
        let curve = all[index];
        let mut points: Vec<usize> = spread(curve.points.len(), MOST_POINTS);
        points.extend(curve.points.len().checked_sub(1).filter(|last| !points.contains(last)));
        let point = |index: usize| (f64::from(curve.points[index].0), f64::from(curve.points[index].1));
        Snapshot {
            time_s: curve.time_s,
            colour: colour_at((curve.time_s - first) / f64::max(last - first, 1e-9)),
            points: points.into_iter().map(point).collect(),
        }
    });
    shown.collect()
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
        let ((left, right), (_, top)) = (ends(|point| point.0), ends(|point| point.1));
        let mut curves = chart(
            &upper,
            (linear(left, right.max(left + 1e-3)), &titled(self.x), &short),
            (linear(0.0, top.max(1e-3) * 1.05), &titled(self.y)),
        )?;
        for Snapshot { colour: (r, g, b), points, .. } in &self.snapshots {
            let stroke = RGBColor(*r, *g, *b).stroke_width(STROKE);
            curves.draw_series(LineSeries::new(points.iter().copied(), stroke))?;
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

    #[test]
    fn an_axis_says_its_unit_apart() {
        assert_eq!(titled("delay_ms"), "delay, ms");
        assert_eq!(titled("window_packets"), "window, packets");
        assert_eq!(titled("gain"), "gain");
    }
}
