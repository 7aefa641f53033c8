//! The statistics that compare real traces with synthetic links. Every trace has the same weight, however long it is.

use super::SLOTS_PER_SECOND;

/// Below this a second counts as an outage.
const OUTAGE_MBIT: f64 = 1.0;

/// The largest jump of a trace grows with its length, so it is looked for in pieces of this many seconds.
const PIECE_SECONDS: usize = 180;

/// Seconds below which a piece says too little about its mean and its largest jump.
const SHORTEST_PIECE: usize = 100;

/// A trace as rates in Mbit/s.
pub(super) struct Series {
    pub(super) seconds: Vec<f64>,
    /// The 10-ms slots of every second, where the trace has them.
    pub(super) slots: Option<Vec<[f64; SLOTS_PER_SECOND]>>,
}

/// How far synthetic may lie from real.
pub(super) enum Tolerance {
    /// This share of the real value.
    Relative(f64),
    /// This much.
    Absolute(f64),
    /// Shown, not judged.
    Free,
}

pub(super) struct Statistic {
    pub(super) name: &'static str,
    pub(super) tolerance: Tolerance,
    /// `None` where the traces do not say.
    pub(super) of: fn(&[Series]) -> Option<f64>,
}

/// The tolerances were written down before any synthetic link was looked at.
pub(super) static STATISTICS: [Statistic; 13] = [
    Statistic { name: "mean, Mbit/s", tolerance: Tolerance::Relative(0.10), of: |t| Some(mean(t)) },
    Statistic { name: "std, Mbit/s", tolerance: Tolerance::Relative(0.15), of: |t| Some(deviation(t)) },
    Statistic {
        name: "std of the means of 180 s",
        tolerance: Tolerance::Free,
        of: |t| Some(spread_of_means(t)),
    },
    Statistic { name: "p5, Mbit/s", tolerance: Tolerance::Relative(0.15), of: |t| percentile(t, 0.05) },
    Statistic { name: "p50, Mbit/s", tolerance: Tolerance::Relative(0.15), of: |t| percentile(t, 0.50) },
    Statistic { name: "p95, Mbit/s", tolerance: Tolerance::Relative(0.15), of: |t| percentile(t, 0.95) },
    Statistic {
        name: "mean 1-s jump, Mbit/s",
        tolerance: Tolerance::Relative(0.25),
        of: |t| Some(mean_jump(t)),
    },
    Statistic {
        name: "largest 1-s jump in 180 s (median)",
        tolerance: Tolerance::Relative(0.25),
        of: largest_jump,
    },
    Statistic {
        name: "seconds below 1 Mbit/s, %",
        tolerance: Tolerance::Absolute(2.0),
        of: |t| Some(100.0 * over_seconds(t, |rate| f64::from(u8::from(rate < OUTAGE_MBIT)))),
    },
    Statistic {
        name: "mean length of such an outage, s",
        tolerance: Tolerance::Free,
        of: |t| Some(outage_length(t)),
    },
    Statistic { name: "CV of 10-ms rates", tolerance: Tolerance::Relative(0.20), of: |t| burstiness(t, 1) },
    Statistic { name: "CV of 20-ms rates", tolerance: Tolerance::Relative(0.20), of: |t| burstiness(t, 2) },
    Statistic { name: "CV of 100-ms rates", tolerance: Tolerance::Relative(0.20), of: |t| burstiness(t, 10) },
];

fn average(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// The mean of `value` over all seconds.
fn over_seconds(traces: &[Series], value: impl Fn(f64) -> f64) -> f64 {
    average(traces.iter().map(|trace| average(trace.seconds.iter().map(|&rate| value(rate)))))
}

pub(super) fn mean(traces: &[Series]) -> f64 {
    over_seconds(traces, |rate| rate)
}

fn deviation(traces: &[Series]) -> f64 {
    let mean = mean(traces);
    over_seconds(traces, |rate| (rate - mean) * (rate - mean)).sqrt()
}

/// Pieces of a trace that are long enough; a trace that is too short altogether gives none.
fn pieces(trace: &Series) -> impl Iterator<Item = &[f64]> {
    trace.seconds.chunks(PIECE_SECONDS).filter(|piece| piece.len() >= SHORTEST_PIECE)
}

fn spread_of_means(traces: &[Series]) -> f64 {
    let means =
        traces.iter().map(|trace| pieces(trace).map(|piece| average(piece.iter().copied())).collect());
    let means: Vec<Series> = means.map(|seconds| Series { seconds, slots: None }).collect();
    deviation(&means.into_iter().filter(|trace| !trace.seconds.is_empty()).collect::<Vec<_>>())
}

fn percentile(traces: &[Series], share: f64) -> Option<f64> {
    let weighted = |trace: &Series| {
        let weight = 1.0 / (trace.seconds.len() * traces.len()) as f64;
        trace.seconds.iter().map(|&rate| (rate, weight)).collect::<Vec<_>>()
    };
    let mut rates: Vec<(f64, f64)> = traces.iter().flat_map(weighted).collect();
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut below = 0.0;
    rates.into_iter().find_map(|(rate, weight)| {
        below += weight;
        (below >= share).then_some(rate)
    })
}

fn jumps(seconds: &[f64]) -> impl Iterator<Item = f64> {
    seconds.windows(2).map(|pair| (pair[1] - pair[0]).abs())
}

pub(super) fn mean_jump(traces: &[Series]) -> f64 {
    average(traces.iter().map(|trace| average(jumps(&trace.seconds))))
}

fn largest_jump(traces: &[Series]) -> Option<f64> {
    let pieces = traces.iter().flat_map(pieces);
    let mut largest: Vec<f64> = pieces.filter_map(|piece| jumps(piece).max_by(f64::total_cmp)).collect();
    largest.sort_by(f64::total_cmp);
    largest.get(largest.len() / 2).copied()
}

fn outage_length(traces: &[Series]) -> f64 {
    let runs = |trace: &Series| {
        let runs = trace.seconds.chunk_by(|a, b| (*a < OUTAGE_MBIT) == (*b < OUTAGE_MBIT));
        runs.filter(|run| run[0] < OUTAGE_MBIT).map(|run| run.len() as f64).collect::<Vec<_>>()
    };
    average(traces.iter().flat_map(runs))
}

/// The coefficient of variation of the rates of `together` slots within a second, averaged over the seconds that
/// are not outages.
fn burstiness(traces: &[Series], together: usize) -> Option<f64> {
    let of_second = |slots: &[f64; SLOTS_PER_SECOND]| {
        let mean = average(*slots);
        let rates = slots.chunks(together).map(|part| average(part.iter().copied()) / mean);
        (mean >= OUTAGE_MBIT).then(|| average(rates.map(|rate| (rate - 1.0) * (rate - 1.0))).sqrt())
    };
    let known: Vec<_> = traces.iter().filter_map(|trace| trace.slots.as_ref()).collect();
    (!known.is_empty())
        .then(|| average(known.iter().map(|seconds| average(seconds.iter().filter_map(of_second)))))
}
