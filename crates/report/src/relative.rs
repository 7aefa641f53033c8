//! Every row beside a baseline: ratios on each trace, then their mean over traces.

use crate::comparison::{Comparison, Quantity, Row};
use crate::statistics::mean;
use cellcc_experiment::DEFAULT_DRIVER;

/// A table of ratios or differences; `None` where there is none.
pub(crate) struct RatioTable {
    pub(crate) caption: String,
    /// What the rows are.
    pub(crate) of: &'static str,
    /// Title, and what of it.
    pub(crate) columns: Vec<(&'static str, &'static str)>,
    pub(crate) rows: Vec<(String, Vec<Option<f64>>)>,
}

/// What the columns of power mean.
pub(crate) const POWER_NOTE: &str =
    "Power disadvantage: the baseline's power / the scheme's; above 1 is worse than the baseline.";

const THROUGHPUT: Quantity = |run| Some(run.total.throughput_mbit_s);
const MEAN_RTT: Quantity = |run| run.total.rtt_mean_ms;

/// Title, what of it, the quantity, and whether the baseline's is divided by the scheme's instead.
const COLUMNS: [(&str, &str, Quantity, bool); 7] = [
    ("Throughput", "", THROUGHPUT, false),
    ("RTT", "mean", MEAN_RTT, false),
    ("RTT", "p95", |run| run.total.rtt_p95_ms, false),
    ("Queueing", "mean", |run| run.total.queueing_delay_mean_ms, false),
    ("Queueing", "p95", |run| run.total.queueing_delay_p95_ms, false),
    ("Power", "disadv.", |run| run.total.power, true),
    ("Power95", "disadv.", |run| run.total.power95, true),
];

/// The means, and over several traces how the ratios are spread. Each row is held against the baseline by the same driver
/// under the same variation; the limit, which is no scheme, and the baseline itself have no row.
pub(crate) fn tables(comparison: &Comparison, baseline: &str) -> Vec<RatioTable> {
    let pairs: Vec<(Row, Row)> = comparison
        .rows
        .iter()
        .filter(|row| !row.is_limit() && row.scheme != baseline)
        .filter_map(|&row| {
            let base = Row { scheme: baseline, ..row };
            comparison.rows.contains(&base).then_some((row, base))
        })
        .collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let several = comparison.traces.len() > 1;
    let of = if several { ": mean over traces of the ratio on each trace" } else { "" };
    let means = RatioTable {
        caption: format!("Relative to {baseline}{of}"),
        of: "Scheme",
        columns: COLUMNS.iter().map(|(title, of, ..)| (*title, *of)).chain([("Resent", "packets")]).collect(),
        rows: pairs.iter().map(|&(row, base)| (row.label(), means(comparison, row, base))).collect(),
    };
    if !several {
        return vec![means];
    }
    let spread = RatioTable {
        caption: format!(
            "Relative to {baseline}: the ratios on the traces, from the smallest to the largest"
        ),
        of: "Scheme",
        columns: vec![
            ("Mean RTT", "min"),
            ("Mean RTT", "25 %"),
            ("Mean RTT", "median"),
            ("Mean RTT", "75 %"),
            ("Mean RTT", "max"),
            ("Throughput", "min"),
            ("Throughput", "max"),
        ],
        rows: pairs.iter().map(|&(row, base)| (row.label(), spread(comparison, row, base))).collect(),
    };
    vec![means, spread]
}

/// What drivers that run the same schemes are compared in, as the issue of a simulator's fidelity is put: how much is
/// carried, and how long it takes.
const FIDELITY: [(&str, &str, Quantity); 3] = [
    ("Throughput", "%", THROUGHPUT),
    ("RTT", "mean, %", MEAN_RTT),
    ("RTT", "p95, %", |run| run.total.rtt_p95_ms),
];

/// With more traces than this, only the means over them and the largest are shown.
const MOST_TRACES: usize = 30;

/// A table for each scheme that another driver ran beside the simulator: by how many percent the simulator's results lie
/// above (or, where negative, below) the other driver's on each trace, and the mean and the largest of the sizes of that.
pub(crate) fn fidelity(comparison: &Comparison) -> Vec<RatioTable> {
    let others = comparison.rows.iter().filter(|row| row.driver != DEFAULT_DRIVER);
    let pairs = others.filter_map(|&other| {
        let simulated = Row { driver: DEFAULT_DRIVER, ..other };
        comparison.rows.contains(&simulated).then_some((simulated, other))
    });
    pairs.map(|(simulated, other)| fidelity_of(comparison, simulated, other)).collect()
}

fn fidelity_of(comparison: &Comparison, simulated: Row, other: Row) -> RatioTable {
    let percent = |trace, quantity| {
        let mean = |row| comparison.on_trace(row, trace, quantity).map(|estimate| estimate.mean);
        Some((ratio(mean(simulated)?, mean(other)?, false)? - 1.0) * 100.0)
    };
    let by_trace: Vec<_> = comparison
        .traces
        .iter()
        .map(|trace| {
            (trace.name.to_owned(), FIDELITY.map(|(.., quantity)| percent(*trace, quantity)).to_vec())
        })
        .collect();
    let over_traces = |of: fn(&[f64]) -> Option<f64>| {
        let sizes = |column: usize| -> Vec<f64> {
            by_trace.iter().filter_map(|(_, values)| values[column]).map(f64::abs).collect()
        };
        (0..FIDELITY.len()).map(|column| of(&sizes(column))).collect::<Vec<_>>()
    };
    let largest = |sizes: &[f64]| sizes.iter().copied().reduce(f64::max);
    let summary = [
        ("mean, signs aside".to_owned(), over_traces(mean)),
        ("largest, signs aside".to_owned(), over_traces(largest)),
    ];
    let shown = if by_trace.len() > MOST_TRACES { Vec::new() } else { by_trace.clone() };
    RatioTable {
        caption: format!(
            "{}: by how much the results of the driver `{}` lie above those of `{}`",
            simulated.label(),
            simulated.driver,
            other.driver
        ),
        of: "Trace",
        columns: FIDELITY.iter().map(|(title, of, _)| (*title, *of)).collect(),
        rows: shown.into_iter().chain(summary).collect(),
    }
}

fn means(comparison: &Comparison, row: Row, base: Row) -> Vec<Option<f64>> {
    COLUMNS
        .iter()
        .map(|(_, _, quantity, inverse)| {
            let pairs = pairs(comparison, row, base, *quantity);
            mean(&pairs.iter().filter_map(|&(this, base)| ratio(this, base, *inverse)).collect::<Vec<_>>())
        })
        .chain([retransmissions(comparison, row, base)])
        .collect()
}

fn spread(comparison: &Comparison, row: Row, base: Row) -> Vec<Option<f64>> {
    let sorted = |quantity| {
        let pairs = pairs(comparison, row, base, quantity);
        let mut ratios: Vec<f64> =
            pairs.iter().filter_map(|&(this, base)| ratio(this, base, false)).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    };
    let (rtt, throughput) = (sorted(MEAN_RTT), sorted(THROUGHPUT));
    let of_rtt = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| at_rank(&rtt, share));
    of_rtt.into_iter().chain([0.0, 1.0].map(|share| at_rank(&throughput, share))).collect()
}

/// The value that this share of the sorted values do not exceed: nearest rank.
fn at_rank(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The quantity of the row and of the baseline on each trace that has both, each the mean over seeds.
fn pairs(comparison: &Comparison, row: Row, base: Row, quantity: Quantity) -> Vec<(f64, f64)> {
    let at = |row, trace| comparison.on_trace(row, trace, quantity).map(|estimate| estimate.mean);
    comparison.traces.iter().filter_map(|&trace| at(row, trace).zip(at(base, trace))).collect()
}

fn ratio(this: f64, base: f64, inverse: bool) -> Option<f64> {
    let (above, below) = if inverse { (base, this) } else { (this, base) };
    (below > 0.0).then(|| above / below)
}

/// The mean of the ratios, or where the baseline retransmitted nothing on some trace, total over total.
fn retransmissions(comparison: &Comparison, row: Row, base: Row) -> Option<f64> {
    let pairs = pairs(comparison, row, base, |run| Some(run.total.retransmitted_packets as f64));
    let ratios: Option<Vec<f64>> = pairs.iter().map(|&(this, base)| ratio(this, base, false)).collect();
    match ratios {
        Some(ratios) => mean(&ratios),
        None => {
            let totals = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
            ratio(totals.0, totals.1, false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_quarters_of_the_traces_are_at_or_below_the_value_at_75_percent() {
        assert_eq!(at_rank(&[0.2, 0.3, 0.6, 0.9], 0.75), Some(0.6));
        assert_eq!(at_rank(&[0.2, 0.3, 0.6, 0.9], 0.0), Some(0.2));
        assert_eq!(at_rank(&[0.2, 0.3, 0.6], 1.0), Some(0.6));
        assert_eq!(at_rank(&[], 0.5), None);
    }
}
