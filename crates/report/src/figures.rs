//! The figures for a paper, one SVG each.

use crate::Figure;
use crate::comparison::{Comparison, Quantity, Row, Trace};
use crate::curves::panels;
use crate::delays::{Delay, pooled};
use crate::drawing::plot::{
    Area, CAPACITY, Chart, DASH, Drawn, GAP, LINE_MARKER, MARKER, Marker, Octaves, STROKE, Sample, chart,
    colour, document, legend, legend_inches, linear, short,
};
use crate::drawing::style::SchemeStyle;
use crate::drawing::thin::thin;
use crate::sweep::Sweep;
use cellcc_experiment::{Distribution, Record};
use plotters::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// With more traces than this, only the average over them is drawn, but for time series.
const MOST_TRACES: usize = 6;
/// Time series are drawn for the first few traces.
const MOST_SERIES_TRACES: usize = 3;
/// Curves of one trace that are drawn.
const MOST_CURVES: usize = 6;
/// Points of a line: more cannot be told apart in a column.
pub(crate) const POINTS: usize = 400;
/// Markers on a line, so that it is known without its colour.
const MARKERS: usize = 6;
/// Delays below this look alike, and zero has no place on a logarithmic axis.
const LEAST_DELAY_MS: f64 = 0.125;
/// Letters of a figure's name. File systems allow 255 bytes, some encrypting ones 143; the ending needs a few.
const LONGEST_NAME: usize = 120;
pub(crate) const HEIGHT_INCHES: f64 = 2.4;
const TALL_INCHES: f64 = 3.6;
const SWEEP_INCHES: f64 = 5.2;

pub(crate) fn figures(title: &str, records: &[Record]) -> Vec<Figure> {
    let comparison = Comparison::new(records);
    if comparison.rows.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = comparison.rows.iter().map(Row::label).collect();
    let more_inches = legend_inches(names.iter().map(String::as_str));
    let (height, tall) = (HEIGHT_INCHES + more_inches, TALL_INCHES + more_inches);
    let mut figures = Figures { title, taken: BTreeSet::new(), figures: Vec::new() };
    let averaged = |row: Row, quantity| comparison.mean(row, quantity);
    figures.add("throughput-delay", "", height, |area| scatter(area, &comparison, averaged));
    let few_traces = (2..=MOST_TRACES).contains(&comparison.traces.len());
    if few_traces {
        for &trace in &comparison.traces {
            let on = |row: Row, quantity| comparison.mean_on_trace(row, trace, quantity);
            figures.add("throughput-delay", trace.name, height, |area| scatter(area, &comparison, on));
        }
    }
    if let Some(sweep) = Sweep::new(&comparison) {
        let names = sweep.labels();
        let height = SWEEP_INCHES + legend_inches(names.iter().map(String::as_str));
        figures.add("sweep", sweep.key, height, |area| sweep.draw(area, &comparison));
    }
    for (name, title, of) in DELAYS {
        figures.add(name, "", height, |area| cdf(area, &comparison, &comparison.traces, title, of));
        if few_traces {
            for trace in &comparison.traces {
                let only = std::slice::from_ref(trace);
                figures.add(name, trace.name, height, |area| cdf(area, &comparison, only, title, of));
            }
        }
    }
    let with_series = |trace: &&Trace| first_runs(&comparison, **trace).next().is_some();
    for &trace in comparison.traces.iter().filter(with_series).take(MOST_SERIES_TRACES) {
        figures.add("time-series", trace.name, tall, |area| time_series(area, &comparison, trace));
    }
    for &trace in comparison.traces.iter().take(MOST_SERIES_TRACES) {
        for panel in panels(&comparison, trace).into_iter().take(MOST_CURVES) {
            let of = format!("{} {} {}", panel.name, panel.label, trace.name);
            figures.add("curve", &of, TALL_INCHES, |area| panel.draw(area));
        }
    }
    figures.figures
}

/// The figures so far.
struct Figures<'a> {
    title: &'a str,
    taken: BTreeSet<String>,
    figures: Vec<Figure>,
}

impl Figures<'_> {
    fn add(&mut self, kind: &str, trace: &str, height_inches: f64, draw: impl FnOnce(&Area) -> Drawn) {
        let stem = file_stem(&format!("{kind} {trace}"));
        let mut name = stem.clone();
        let mut copy = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{stem}-{copy}");
            copy += 1;
        }
        let title = format!("{}: {kind} {trace}", self.title);
        self.figures.push(Figure { name, svg: document(title.trim(), height_inches, draw) });
    }
}

/// The name of a figure's file without its ending: `text` in safe letters. A long text is cut, and a hash of all of it
/// keeps it apart from others that begin alike.
fn file_stem(text: &str) -> String {
    let slug = slug(text);
    if slug.len() <= LONGEST_NAME {
        return slug;
    }
    let digest = Sha256::digest(text.as_bytes());
    let hash: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let kept = slug[..LONGEST_NAME - hash.len() - 1].trim_end_matches('-');
    format!("{kept}-{hash}")
}

/// Lower-case letters, digits and single hyphens, all of them ASCII.
fn slug(text: &str) -> String {
    let hyphens: String =
        text.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    hyphens.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

fn lines<'a>(rows: impl Iterator<Item = (Row<'a>, SchemeStyle)>) -> Vec<(String, SchemeStyle, Sample)> {
    rows.map(|(row, style)| (row.label(), style, Sample::MarkedLine)).collect()
}

/// What schemes get against the 95th percentile of the RTT; right and up is better. (Of the queueing delay the limit has
/// next to none, which would leave the schemes a corner of a logarithmic axis.)
fn scatter(area: &Area, comparison: &Comparison, at: impl Fn(Row, Quantity) -> Option<f64>) -> Drawn {
    let gets = comparison.gets();
    let points: Vec<(f64, f64, Row, SchemeStyle)> = comparison
        .styled_rows()
        .filter_map(|(row, style)| {
            let delay = at(row, |run| run.total.rtt_p95_ms).unwrap_or(0.0);
            Some((delay, at(row, gets.quantity)?, row, style))
        })
        .collect();
    let delays: Vec<f64> = points.iter().map(|(delay, ..)| *delay).filter(|delay| *delay > 0.0).collect();
    let highest = points.iter().map(|(_, got, ..)| *got).fold(0.0, f64::max);
    let lowest = points.iter().map(|(_, got, ..)| *got).fold(highest, f64::min);
    let room = f64::max(highest - lowest, 0.05) * 0.12;
    let sample = |delay| if delay > 0.0 { Sample::Marker } else { Sample::DashedLine };
    let entries: Vec<_> =
        points.iter().map(|(delay, _, row, style)| (row.label(), *style, sample(*delay))).collect();
    let area = legend(area, &entries)?;
    let x = Octaves::around(&delays, 0.15, true);
    let edges = [delay_range(&x).start, delay_range(&x).end];
    let mut chart = chart(
        &area,
        (x, "95th percentile of the RTT, ms", &short),
        (linear(f64::max(lowest - room, 0.0), highest + room), gets.title),
    )?;
    for (delay, got, _, style) in points {
        if delay > 0.0 {
            chart.draw_series([Marker { at: (delay, got), style, radius: MARKER }])?;
        } else {
            // A scheme that never got an answer has no place on a logarithmic axis: a line across.
            let across = edges.map(|edge| (edge, got));
            chart.draw_series(DashedLineSeries::new(
                across,
                DASH,
                GAP,
                colour(style).stroke_width(STROKE),
            ))?;
        }
    }
    Ok(())
}

fn delay_range(axis: &Octaves) -> std::ops::Range<f64> {
    plotters::coord::ranged1d::Ranged::range(axis)
}

const DELAYS: [(&str, &str, Delay); 2] = [
    ("queueing-delay-cdf", "Queueing delay, ms", |flow| &flow.queueing_delay),
    ("rtt-cdf", "RTT, ms", |flow| &flow.rtt),
];

/// The cumulative distribution of the delays of a row's packets, the mean of those on these traces.
fn cdf(area: &Area, comparison: &Comparison, traces: &[Trace], title: &str, delay: Delay) -> Drawn {
    let curves: Vec<_> = comparison
        .styled_rows()
        .filter_map(|(row, style)| {
            let by_trace: Vec<Distribution> =
                traces.iter().map(|&trace| pooled(comparison.runs(row, trace), delay)).collect();
            let curve: Vec<(f64, f64)> = Distribution::mean_cumulative(&by_trace, POINTS / 2)
                .iter()
                .map(|(ms, share)| (ms.max(LEAST_DELAY_MS), *share))
                .collect();
            (curve.last()?.0 > LEAST_DELAY_MS).then_some((row, style, curve))
        })
        .collect();
    let ends: Vec<f64> = curves
        .iter()
        .flat_map(|(.., curve)| [curve.first(), curve.last()])
        .flatten()
        .map(|point| point.0)
        .collect();
    let area = legend(area, &lines(curves.iter().map(|(row, style, _)| (*row, *style))))?;
    let x = Octaves::around(&ends, 0.0, false);
    let mut chart = chart(&area, (x, title, &short), (linear(0.0, 1.02), share_of_packets(traces)))?;
    let count = curves.len();
    for (index, (_, style, curve)) in curves.into_iter().enumerate() {
        line(&mut chart, curve, style, index as f64 / count as f64)?;
    }
    Ok(())
}

/// The title of a distribution's vertical axis.
fn share_of_packets(traces: &[Trace]) -> &'static str {
    if traces.len() > 1 { "Share of packets, mean of traces" } else { "Share of packets" }
}

/// A line with a few markers, shifted by `phase` (0 to 1) of their distance so that those of two lines do not meet.
pub(crate) fn line<'a, X>(
    chart: &mut Chart<'a, X>,
    points: Vec<(f64, f64)>,
    style: SchemeStyle,
    phase: f64,
) -> Drawn
where
    X: plotters::coord::ranged1d::Ranged<ValueType = f64>,
{
    let apart = (points.len() / MARKERS).max(1);
    let first = (apart as f64 * (0.1 + 0.8 * phase)) as usize;
    let marked: Vec<_> = points.iter().copied().skip(first).step_by(apart).collect();
    // A gap in the values is a gap in the line.
    for part in points.split(|(_, value)| value.is_nan()) {
        chart.draw_series(LineSeries::new(part.iter().copied(), colour(style).stroke_width(STROKE)))?;
    }
    // At the least delay the lines lie on each other.
    let marked = marked.into_iter().filter(|(x, value)| !value.is_nan() && *x != LEAST_DELAY_MS);
    chart.draw_series(marked.map(|at| Marker { at, style, radius: LINE_MARKER }))?;
    Ok(())
}

/// The first seed's run of each row, where it has its series.
fn first_runs<'a>(
    comparison: &'a Comparison,
    trace: Trace<'a>,
) -> impl Iterator<Item = (Row<'a>, &'a Record, SchemeStyle)> {
    comparison
        .styled_rows()
        .filter_map(move |(row, style)| Some((row, *comparison.runs(row, trace).first()?, style)))
        .filter(|(_, run, _)| !run.series.columns.is_empty())
}

/// Throughput over the link's capacity, and below it the queueing delay; of the first flow where there are several.
fn time_series(area: &Area, comparison: &Comparison, trace: Trace) -> Drawn {
    let runs: Vec<_> = first_runs(comparison, trace).collect();
    let schemes: Vec<_> = runs.iter().filter(|(row, ..)| !row.is_limit()).copied().collect();
    let area = legend(area, &lines(schemes.iter().map(|(row, _, style)| (*row, *style))))?;
    let (upper, lower) = area.split_vertically((area.dim_in_pixel().1 / 2) as i32);
    let capacity = runs.iter().find_map(|(_, run, _)| points(run, "capacity_mbit_s")).unwrap_or_default();
    for (panel, column, title, capacity) in [
        (upper, "flow0.throughput_mbit_s", "Throughput, Mbit/s", capacity),
        (lower, "flow0.queueing_delay_ms", "Queueing delay, ms", Vec::new()),
    ] {
        let lines: Vec<_> =
            schemes.iter().filter_map(|(_, run, style)| Some((points(run, column)?, *style))).collect();
        let all = || lines.iter().flat_map(|(points, _)| points).chain(&capacity);
        let end = all().map(|(second, _)| *second).fold(1e-3, f64::max);
        let top = all().map(|(_, value)| *value).filter(|value| value.is_finite()).fold(1e-3, f64::max);
        let mut chart =
            chart(&panel, (linear(0.0, end), "Time, s", &short), (linear(0.0, top * 1.05), title))?;
        chart.draw_series(AreaSeries::new(capacity, 0.0, CAPACITY))?;
        let count = lines.len();
        for (index, (points, style)) in lines.into_iter().enumerate() {
            line(&mut chart, points, style, index as f64 / count as f64)?;
        }
    }
    Ok(())
}

/// A column as points of seconds and values.
fn points(run: &Record, column: &str) -> Option<Vec<(f64, f64)>> {
    let (values, steps) = thin(run.series.column(column)?, POINTS);
    let step_s = run.series.bin.as_secs_f64() * steps;
    Some(
        values
            .into_iter()
            .enumerate()
            .map(|(index, value)| (index as f64 * step_s, f64::from(value)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figures_name_is_safe_as_a_files_name() {
        assert_eq!(file_stem("time-series ../A b/rate=1Mbit"), "time-series-a-b-rate-1mbit");
    }

    #[test]
    fn a_links_long_text_makes_a_short_name_of_its_own() {
        let link = |last: &str| format!("time-series step={}{last}", "12Mbit/s:10s,".repeat(40));
        let (one, other) = (file_stem(&link("1Mbit/s:1s")), file_stem(&link("2Mbit/s:1s")));
        assert!(
            one.len() <= LONGEST_NAME && one.starts_with("time-series-step-12mbit-s-10s-12mbit"),
            "{one}"
        );
        assert_ne!(one, other, "they differ in their last letters only");
        assert_eq!(one, file_stem(&link("1Mbit/s:1s")), "the same figure has the same name");
    }
}
