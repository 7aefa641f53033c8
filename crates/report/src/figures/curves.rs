//! Curves that change in the course of a run, coloured by time: Verus' delay profile (Verus paper, Figures 5 and 7b).

use crate::comparison::{Comparison, Trace};
use crate::figure::thin::spread;
use crate::figure::{Axis, Figure, Key, Mark, Panel, Shape, Style};
use crate::figures::time::{POINTS, points, titled};
use cellcc_experiment::{Curve, Record};
use std::collections::BTreeSet;

/// Snapshots of one curve: more colours look alike.
const MOST_SNAPSHOTS: usize = 40;
/// Points of one snapshot.
const MOST_POINTS: usize = 60;
/// Heights on paper, of the curve and of the throughput below it.
const INCHES: [f64; 2] = [2.2, 1.4];

/// Early to late: blue, violet, red, orange; all of them strong enough on white and on black.
const EARLY_TO_LATE: [(u8, u8, u8); 4] =
    [(0x2f, 0x6f, 0xd0), (0x93, 0x57, 0xc9), (0xdd, 0x50, 0x6e), (0xf0, 0x96, 0x1e)];

/// The curve at one moment.
struct Snapshot {
    time_s: f64,
    colour: (u8, u8, u8),
    points: Vec<(f64, f64)>,
}

/// The curves on a trace, rows in their order: the name of each figure, and the figure of one curve of one flow in the first
/// run of its row.
pub(crate) fn curves(comparison: &Comparison, trace: Trace) -> Vec<(String, Figure)> {
    let mut figures = Vec::new();
    for (row, key) in comparison.rows.iter().zip(&comparison.keys) {
        let Some(&run) = comparison.runs(*row, trace).first() else { continue };
        let kinds: BTreeSet<(usize, &str)> =
            run.curves.iter().map(|curve| (curve.flow, curve.name.as_str())).collect();
        for (flow, name) in kinds {
            let all: Vec<&Curve> =
                run.curves.iter().filter(|curve| curve.flow == flow && curve.name == name).collect();
            let measured = run.curves.iter().filter(|curve| {
                is_measured(&curve.name) && (curve.flow, &curve.x, &curve.y) == (flow, &all[0].x, &all[0].y)
            });
            let used = used_range(&measured.collect::<Vec<_>>());
            let snapshots = snapshots(&all, is_measured(name), used);
            let label = match &run.flows[..] {
                [_, _, ..] => format!("{}, flow {}", key.label, flow + 1),
                _ => key.label.clone(),
            };
            let figure = figure(run, all[0], &snapshots, key);
            figures.push((
                format!("{name} {label}"),
                Figure { title: format!("{label}: {}", titled(name)), ..figure },
            ));
        }
    }
    figures
}

/// The curve above, and below it the flow's throughput in the colours of the same moments.
fn figure(run: &Record, curve: &Curve, snapshots: &[Snapshot], row: &Key) -> Figure {
    let named = [0, snapshots.len() / 2, snapshots.len() - 1];
    let key = |(index, snapshot): (usize, &Snapshot)| {
        let label = if named.contains(&index) { format!("{:.1} s", snapshot.time_s) } else { String::new() };
        let key = Key::new(label, Style::coloured(snapshot.colour), row.group);
        Key { values: row.values.clone(), ..key }
    };
    let shape = if is_measured(&curve.name) { Shape::Dots } else { Shape::Line };
    let above: Vec<Mark> =
        snapshots.iter().enumerate().map(|(index, it)| Mark::new(index, shape, it.points.clone())).collect();
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let values = || above.iter().flat_map(|mark| &mark.points).map(of);
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((left, right), (bottom, top)) = (ends(|point| point.0), ends(|point| point.1));
    let column = run.series.column(&format!("flow{}.throughput_mbit_s", curve.flow)).unwrap_or_default();
    let throughput = points(&run.series, column, POINTS);
    let step_s = throughput.get(1).map_or(0.0, |point| point.0);
    let part = |(index, snapshot): (usize, &Snapshot)| {
        let from = if index == 0 { 0.0 } else { snapshot.time_s };
        let to = snapshots.get(index + 1).map_or(f64::INFINITY, |next| next.time_s);
        // One step beyond: the parts of the line meet.
        let part = throughput.iter().filter(|point| (from..=to + step_s).contains(&point.0)).copied();
        Mark::new(index, Shape::Line, part.collect())
    };
    let below = snapshots.iter().enumerate().map(part).collect();
    let [high, low] = INCHES;
    Figure {
        keys: snapshots.iter().enumerate().map(key).collect(),
        panels: vec![
            Panel::new(
                Axis::linear(titled(&curve.x), left, right),
                Axis::linear(titled(&curve.y), bottom.min(0.0), top.max(1e-3) * 1.05),
                above,
                high,
            ),
            Panel::new(
                Axis::time(0.0, throughput.last().map_or(1e-3, |point| point.0)),
                Axis::from_zero(titled("throughput_mbit_s"), throughput.iter().map(|point| point.1)),
                below,
                low,
            ),
        ],
        ..Figure::default()
    }
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
/// The first snapshot is left out: it holds the search of slow start, which would set the scale of the figure (as the paper's
/// Figure 7b, "excluding slow start").
fn fresh(all: &[&Curve], index: usize) -> Vec<(f32, f32)> {
    let Some(before) = index.checked_sub(1) else { return Vec::new() };
    let mut old = all[before].points.iter().peekable();
    let is_fresh = |&(x, y): &(f32, f32)| {
        while old.next_if(|old| old.0 < x).is_some() {}
        old.next_if(|old| old.0 == x).is_none_or(|old| old.1 != y)
    };
    all[index].points.iter().copied().filter(is_fresh).collect()
}

/// From the smallest to the largest x that was measured again; `None` if nothing was.
fn used_range(measured: &[&Curve]) -> Option<(f32, f32)> {
    let mut used = shown(measured).into_iter().flat_map(|index| fresh(measured, index)).map(|(x, _)| x);
    let first = used.next()?;
    Some(used.fold((first, first), |(low, high), x| (low.min(x), high.max(x))))
}

/// Fresh ones of measured points; of other curves the part in the used range, where one is known: beyond it a curve follows
/// from points of long ago.
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
}
