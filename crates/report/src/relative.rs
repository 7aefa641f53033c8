//! Every row against a baseline, or against the same row of other results: ratios on each trace, then their geometric mean over
//! traces.

use crate::comparison::{Comparison, Quantity, Row};
use crate::tables::grid::{Cell, Grid, GridRow, varied_keys};
use cellcc_experiment::{DEFAULT_DRIVER, Record};
use cellcc_statistics::{Average, Certainty, FEWEST, Kind, mean};

/// What the columns mean that are no ratios of the scheme's value to the baseline's.
pub(crate) const NOTE: &str = "Power disadvantage: the baseline's power / the scheme's; above 1 is worse than the \
    baseline. Loss: the difference in percentage points, its mean. Resent: the packets of all traces / the baseline's.";

const THROUGHPUT: Quantity = |run| Some(run.total.throughput_mbit_s);
const MEAN_RTT: Quantity = |run| run.total.rtt_mean_ms;
const RESENT: Quantity = |run| Some(run.total.retransmitted_packets as f64);

/// How a row's value is held against the baseline's on the same trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    /// The row's / the baseline's.
    Ratio,
    /// The baseline's / the row's.
    Inverse,
    /// The row's - the baseline's.
    Difference,
}

/// Title, what of it, the quantity, and how it is held against the baseline's.
const COLUMNS: [(&str, &str, Quantity, Against); 8] = [
    ("Throughput", "", THROUGHPUT, Against::Ratio),
    ("RTT", "mean", MEAN_RTT, Against::Ratio),
    ("RTT", "p95", |run| run.total.rtt_p95_ms, Against::Ratio),
    ("Queueing", "mean", |run| run.total.queueing_delay_mean_ms, Against::Ratio),
    ("Queueing", "p95", |run| run.total.queueing_delay_p95_ms, Against::Ratio),
    ("Power", "disadv.", |run| run.total.power, Against::Inverse),
    ("Power95", "disadv.", |run| run.total.power95, Against::Inverse),
    ("Loss", "points", |run| Some(run.total.loss_ratio * 100.0), Against::Difference),
];

/// What the rows of a comparison are held against.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HeldAgainst<'a> {
    Nothing,
    /// One of its schemes.
    Scheme(&'a str),
    /// The same rows of other results, and what these are called.
    Results(&'a [Record], &'a str),
}

/// The tables of ratios, and of other results in sentences what has changed.
#[derive(Default)]
pub(crate) struct Relative {
    pub(crate) tables: Vec<Grid>,
    pub(crate) changes: Vec<String>,
}

/// A comparison, and that which has the rows that it is held against.
#[derive(Clone, Copy)]
struct Sides<'a, 'r> {
    these: &'a Comparison<'r>,
    those: &'a Comparison<'r>,
}

/// The averages, and over several traces how the ratios are spread. Each row is held against the baseline by the same
/// driver under the same variation; the limit, which is no scheme, and the baseline itself have no row.
pub(crate) fn relative<'r>(comparison: &Comparison<'r>, held_against: HeldAgainst<'r>) -> Relative {
    let rows = || comparison.rows.iter().copied().filter(|row| !row.is_limit());
    match held_against {
        HeldAgainst::Nothing => Relative::default(),
        HeldAgainst::Scheme(baseline) => {
            let base = |row: Row<'r>| (row, Row { scheme: baseline, ..row });
            let pairs: Vec<_> = rows()
                .filter(|row| row.scheme != baseline)
                .map(base)
                .filter(|(_, base)| comparison.rows.contains(base))
                .collect();
            let sides = Sides { these: comparison, those: comparison };
            Relative {
                tables: tables(sides, &pairs, &format!("Relative to {baseline}")),
                changes: Vec::new(),
            }
        }
        HeldAgainst::Results(records, name) => {
            let others = Comparison::new(records);
            let sides = Sides { these: comparison, those: &others };
            let pairs: Vec<_> =
                rows().filter(|row| others.rows.contains(row)).map(|row| (row, row)).collect();
            let changes = changes(sides, &pairs, name);
            Relative { tables: tables(sides, &pairs, &format!("Against {name}")), changes }
        }
    }
}

/// Which rows differ from those of other results by more than their intervals, which do not, and which have none to hold against.
fn changes(sides: Sides, pairs: &[(Row, Row)], name: &str) -> Vec<String> {
    let mut kinds: [Vec<String>; 5] = Default::default();
    let [beyond, everywhere, unknown, within, same] = &mut kinds;
    for &(row, base) in pairs {
        let (mut certain, mut alike, mut uncertain, mut is_same) = (Vec::new(), Vec::new(), Vec::new(), true);
        for ((title, of, _, against), average) in COLUMNS.iter().zip(averages(sides, row, base)) {
            let Some(Average { value, certainty, .. }) = average else { continue };
            let neutral = if *against == Against::Difference { 0.0 } else { 1.0 };
            let title = format!("{title} {of}").trim_end().to_owned();
            match certainty {
                Certainty::Interval { low, high } => {
                    is_same = false;
                    certain.extend((neutral < low || high < neutral).then_some(title));
                }
                _ if (value - neutral).abs() <= SAME => {}
                Certainty::NoSpread => alike.push(title),
                _ => uncertain.push(title),
            }
        }
        let of = |columns: &[String]| format!("{} ({})", row.label(), columns.join(", "));
        let (kind, columns) = match (&certain[..], &alike[..], &uncertain[..]) {
            ([], [], []) if is_same => (&mut *same, None),
            ([], [], []) => (&mut *within, None),
            ([], [], uncertain) => (&mut *unknown, Some(uncertain)),
            ([], alike, _) => (&mut *everywhere, Some(alike)),
            (certain, ..) => (&mut *beyond, Some(certain)),
        };
        kind.push(columns.map_or_else(|| row.label(), of));
    }
    let only = |these: &Comparison, those: &Comparison| {
        let rows = these.rows.iter().filter(|row| !row.is_limit() && !those.rows.contains(row));
        rows.map(Row::label).collect::<Vec<_>>()
    };
    let unlike = [only(sides.these, sides.those), only(sides.those, sides.these)];
    let what = [
        "Changed beyond the 95 % intervals".to_owned(),
        "Changed, the same on every trace".to_owned(),
        format!("Changed, on fewer traces than the {FEWEST} of an interval"),
        "Changed within the intervals".to_owned(),
        "The same".to_owned(),
        format!("Not in {name}"),
        format!("Only in {name}"),
    ];
    let sentences = what.into_iter().zip(kinds.into_iter().chain(unlike));
    let some = sentences.filter(|(_, rows)| !rows.is_empty());
    let sentence = |(what, mut rows): (String, Vec<String>)| {
        let more = rows.len().saturating_sub(MOST_NAMED);
        rows.truncate(MOST_NAMED);
        rows.extend((more > 0).then(|| format!("and {more} more")));
        format!("{what}: {}.", rows.join("; "))
    };
    some.map(sentence).collect()
}

fn tables(sides: Sides, pairs: &[(Row, Row)], title: &str) -> Vec<Grid> {
    let comparison = sides.these;
    if pairs.is_empty() {
        return Vec::new();
    }
    let several = comparison.traces.len() > 1;
    let of = match (several, comparison.seeds.len()) {
        (true, _) => ": geometric mean over traces of the ratio on each trace",
        (false, 0 | 1) => "",
        (false, _) => ": geometric mean over seeds of the ratio with each seed",
    };
    let averages = Grid {
        caption: format!("{title}{of}"),
        of: "Scheme",
        keys: varied_keys(comparison),
        columns: headed(COLUMNS.iter().map(|(title, of, ..)| (*title, *of)).chain([("Resent", "packets")])),
        rows: rows(comparison, pairs, |row, base| {
            let resent = pairs_of(sides, row, base, RESENT);
            let resent = resent.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
            let averages = averages(sides, row, base).into_iter().map(Cell::of);
            averages.chain([Cell::plain(ratio(resent.0, resent.1))]).collect()
        }),
    };
    if !several {
        return vec![averages.without_one_count(comparison.is_over_seeds())];
    }
    let spread = Grid {
        caption: format!("{title}: the ratios on the traces, from the smallest to the largest"),
        of: "Scheme",
        keys: varied_keys(comparison),
        columns: headed(
            [
                ("Mean RTT", "min"),
                ("Mean RTT", "25 %"),
                ("Mean RTT", "median"),
                ("Mean RTT", "75 %"),
                ("Mean RTT", "max"),
                ("Throughput", "min"),
                ("Throughput", "max"),
            ]
            .into_iter(),
        ),
        rows: rows(comparison, pairs, |row, base| {
            spread(sides, row, base).into_iter().map(Cell::plain).collect()
        }),
    };
    vec![averages.without_one_count(comparison.is_over_seeds()), spread]
}

fn headed<'a>(columns: impl Iterator<Item = (&'static str, &'a str)>) -> Vec<(&'static str, String)> {
    columns.map(|(title, of)| (title, of.to_owned())).collect()
}

fn rows(
    comparison: &Comparison,
    pairs: &[(Row, Row)],
    cells: impl Fn(Row, Row) -> Vec<Cell>,
) -> Vec<GridRow> {
    let keys = varied_keys(comparison);
    pairs.iter().map(|&(row, base)| GridRow::new(row, &keys, cells(row, base))).collect()
}

/// Rows that a sentence names; more are counted.
const MOST_NAMED: usize = 8;

/// Relative differences up to this come from summing in another order.
const SAME: f64 = 1e-9;

/// What drivers that run the same schemes are compared in, as the issue of a simulator's fidelity is put: how much is
/// carried, and how long it takes.
const FIDELITY: [(&str, &str, Quantity); 3] = [
    ("Throughput", "%", THROUGHPUT),
    ("RTT", "mean, %", MEAN_RTT),
    ("RTT", "p95, %", |run| run.total.rtt_p95_ms),
];

/// With more traces than this, only the means over them and the largest are shown.
const MOST_TRACES: usize = 30;

/// A table for each scheme that another driver ran as well as the simulator: by how many percent the simulator's results lie
/// above (or, where negative, below) the other driver's on each trace, and the mean and the largest of the sizes of that.
pub(crate) fn fidelity(comparison: &Comparison) -> Vec<Grid> {
    let others = comparison.rows.iter().filter(|row| row.driver != DEFAULT_DRIVER);
    let pairs = others.filter_map(|&other| {
        let simulated = Row { driver: DEFAULT_DRIVER, ..other };
        comparison.rows.contains(&simulated).then_some((simulated, other))
    });
    pairs.map(|(simulated, other)| fidelity_of(comparison, simulated, other)).collect()
}

fn fidelity_of(comparison: &Comparison, simulated: Row, other: Row) -> Grid {
    let percent = |trace, quantity| {
        let mean = |row| comparison.mean_on_trace(row, trace, quantity);
        Some((ratio(mean(simulated)?, mean(other)?)? - 1.0) * 100.0)
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
    let row = |(name, values): (String, Vec<Option<f64>>)| GridRow {
        name,
        values: Vec::new(),
        is_limit: false,
        cells: values.into_iter().map(Cell::plain).collect(),
    };
    Grid {
        caption: format!(
            "{}: by how much the results of the driver `{}` lie above those of `{}`",
            simulated.label(),
            simulated.driver,
            other.driver
        ),
        of: "Trace",
        keys: Vec::new(),
        columns: headed(FIDELITY.iter().map(|(title, of, _)| (*title, *of))),
        rows: shown.into_iter().chain(summary).map(row).collect(),
    }
}

/// Of each column, the average of what was paired by trace.
fn averages(sides: Sides, row: Row, base: Row) -> Vec<Option<Average>> {
    const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
    let averages = COLUMNS.iter().map(|(.., quantity, against)| {
        let pairs = pairs_of(sides, row, base, *quantity);
        let held = |&(this, base): &(f64, f64)| match against {
            Against::Ratio => ratio(this, base),
            Against::Inverse => ratio(base, this),
            Against::Difference => Some(this - base),
        };
        let values: Vec<f64> = pairs.iter().filter_map(held).collect();
        let kind = if *against == Against::Difference { Kind::Mean } else { Kind::Geometric };
        Average::of(kind, &values, ANY)
    });
    averages.collect()
}

fn spread(sides: Sides, row: Row, base: Row) -> Vec<Option<f64>> {
    let sorted = |quantity| {
        let pairs = pairs_of(sides, row, base, quantity);
        let mut ratios: Vec<f64> = pairs.iter().filter_map(|&(this, base)| ratio(this, base)).collect();
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

/// The quantity of the row and of the baseline on each trace that has both, each the mean over seeds; of a single trace,
/// with each seed that has both.
fn pairs_of(Sides { these, those }: Sides, row: Row, base: Row, quantity: Quantity) -> Vec<(f64, f64)> {
    let [only] = these.traces[..] else {
        let on =
            |trace| these.mean_on_trace(row, trace, quantity).zip(those.mean_on_trace(base, trace, quantity));
        return these.traces.iter().filter_map(|&trace| on(trace)).collect();
    };
    let with = |comparison: &Comparison, row, seed| {
        let run = comparison.runs(row, only).iter().find(|run| run.scenario.seed == seed)?;
        quantity(run)
    };
    these.seeds.iter().filter_map(|&seed| with(these, row, seed).zip(with(those, base, seed))).collect()
}

fn ratio(above: f64, below: f64) -> Option<f64> {
    (below > 0.0).then(|| above / below)
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
