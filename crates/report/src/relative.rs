//! Every row against a baseline, or against the same row of other results: ratios on each trace, then their geometric mean over
//! traces.

use crate::comparison::{Comparison, Row, Trace};
use crate::tables::column::{Column, POWER, QUEUEING_MEAN, QUEUEING_P95, RTT_MEAN, RTT_P95, THROUGHPUT};
use crate::tables::grid::{Cell, Grid, GridRow, titles};
use crate::tables::number::three_digits;
use cellcc_experiment::{DEFAULT_DRIVER, Record};
use cellcc_statistics::{Average, Certainty, Kind, mean};

/// The meaning of the columns that are no ratios of the scheme's value to the baseline's.
pub(crate) const NOTE: &str = "Power disadvantage: the baseline's power / the scheme's; above 1 is worse than the \
    baseline. Loss: the difference in percentage points, its mean. Resent: the packets of all traces / the baseline's.";

/// Its packets are added up over the traces.
const RESENT: Column = Column::of("retransmitted_packets");

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

/// Metrics compared with the baseline's.
const COLUMNS: [Column; 8] = [
    THROUGHPUT,
    RTT_MEAN,
    RTT_P95,
    QUEUEING_MEAN,
    QUEUEING_P95,
    POWER,
    Column::of("power95"),
    Column::of("loss_ratio"),
];

impl Against {
    /// Shares, which may be zero, by their difference; quantities with a geometric mean, where more is better, by the factor
    /// that is missing.
    fn of(column: &Column) -> Self {
        match (column.unit, column.average) {
            ("%", _) => Self::Difference,
            (_, Kind::Geometric) => Self::Inverse,
            (_, Kind::Mean) => Self::Ratio,
        }
    }

    /// The heading of a column, and the lines below it: the statistic, and the unit of the comparison.
    fn heading(column: &Column) -> (&'static str, String) {
        let below = match Self::of(column) {
            Self::Ratio if column.statistic.is_empty() => "ratio".into(),
            Self::Ratio => format!("{}, ratio", column.statistic),
            Self::Inverse => "disadv., ratio".into(),
            Self::Difference => "points".into(),
        };
        (column.title, below)
    }
}

/// The reference of a comparison's rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HeldAgainst<'a> {
    Nothing,
    /// One of its schemes.
    Scheme(&'a str),
    /// Matching rows of other results, and their name.
    Results(&'a [Record], &'a str),
}

/// The tables of ratios, and sentences on changes from other results.
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
    match held_against {
        HeldAgainst::Nothing => Relative::default(),
        HeldAgainst::Scheme(baseline) => {
            let others = comparison.schemes().filter(|row| row.scheme != baseline);
            let pairs = others.map(|row| (row, Row { scheme: baseline, ..row }));
            let pairs: Vec<_> = pairs.filter(|(_, base)| comparison.rows.contains(base)).collect();
            let sides = Sides { these: comparison, those: comparison };
            let tables = tables(sides, &pairs, &format!("Relative to {baseline}"));
            Relative { tables, changes: Vec::new() }
        }
        HeldAgainst::Results(records, name) => {
            let others = Comparison::new(records);
            let sides = Sides { these: comparison, those: &others };
            let common = comparison.schemes().filter(|row| others.rows.contains(row));
            let pairs: Vec<_> = common.map(|row| (row, row)).collect();
            let tables = tables(sides, &pairs, &format!("Against {name}"));
            Relative { tables, changes: changes(sides, &pairs, name) }
        }
    }
}

/// Which rows differ from those of other results by more than their intervals, which do not, and which have none to hold against.
fn changes(sides: Sides, pairs: &[(Row, Row)], name: &str) -> Vec<String> {
    let (beyond, everywhere, unknown, within, same, not_there, only_there) = (0, 1, 2, 3, 4, 5, 6);
    let what = [
        "Changed beyond the 95 % intervals".to_owned(),
        "Changed, the same on every trace".to_owned(),
        "Changed, on too few traces for an interval".to_owned(),
        "Changed within the intervals".to_owned(),
        "Unchanged".to_owned(),
        format!("Not in {name}"),
        format!("Only in {name}"),
    ];
    let mut rows = what.each_ref().map(|_| Vec::new());
    for &(row, base) in pairs {
        // The columns of the first three kinds that differ so.
        let mut columns: [Vec<String>; 3] = Default::default();
        let mut is_same = true;
        for (column, average) in COLUMNS.iter().zip(averages(sides, row, base)) {
            let Some(Average { value, certainty, .. }) = average else { continue };
            let neutral = if Against::of(column) == Against::Difference { 0.0 } else { 1.0 };
            let kind = match certainty {
                Certainty::Interval { low, high } | Certainty::Skewed { low, high, .. } => {
                    is_same = false;
                    if (low..=high).contains(&neutral) { within } else { beyond }
                }
                _ if (value - neutral).abs() <= SAME => same,
                Certainty::NoSpread => everywhere,
                _ => unknown,
            };
            if let Some(columns) = columns.get_mut(kind) {
                columns.push(change(column, value, certainty));
            }
        }
        let unmoved = if is_same { same } else { within };
        let kind = columns.iter().position(|columns| !columns.is_empty()).unwrap_or(unmoved);
        let names = columns.get(kind).map(|columns| format!(" ({})", columns.join(", ")));
        rows[kind].push(row.label() + &names.unwrap_or_default());
    }
    let only = |these: &Comparison, those: &Comparison| {
        let rows = these.schemes().filter(|row| !those.rows.contains(row));
        rows.map(|row| row.label()).collect()
    };
    rows[not_there] = only(sides.these, sides.those);
    rows[only_there] = only(sides.those, sides.these);
    let sentences = |(kind, (what, mut rows)): (usize, (String, Vec<String>))| -> Vec<String> {
        let more = rows.len().saturating_sub(MOST_NAMED);
        rows.truncate(MOST_NAMED);
        rows.extend((more > 0).then(|| format!("and {more} more")));
        // A row with its columns is a sentence of its own.
        let at_once = if kind <= unknown { 1 } else { rows.len().max(1) };
        rows.chunks(at_once).map(|rows| format!("{what}: {}.", rows.join("; "))).collect()
    };
    what.into_iter().zip(rows).enumerate().flat_map(sentences).collect()
}

/// By how much a column changed, and the ends of the interval where it is known: `RTT p95 -13.0 % (-15.1 to -10.9)`.
fn change(column: &Column, value: f64, certainty: Certainty) -> String {
    let against = Against::of(column);
    let (unit, size): (_, fn(f64) -> f64) = match against {
        Against::Ratio => ("%", |ratio| (ratio - 1.0) * 100.0),
        Against::Inverse => ("%", |ratio| (1.0 / ratio - 1.0) * 100.0),
        Against::Difference => ("points", |points| points),
    };
    let signed = |value: f64| match three_digits(size(value)) {
        text if text.starts_with('-') || text == "0" => text,
        text => format!("+{text}"),
    };
    // The inverse of the upper end is the lower one.
    let ordered = |(low, high)| if against == Against::Inverse { (high, low) } else { (low, high) };
    let interval = certainty
        .interval()
        .map(ordered)
        .map(|(low, high)| format!(" ({} to {})", signed(low), signed(high)));
    let name = format!("{} {}", column.title, column.statistic);
    format!("{} {} {unit}{}", name.trim_end(), signed(value), interval.unwrap_or_default())
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
    let of_averages = pairs.iter().map(|&(row, base)| {
        let resent = pairs_of(sides, row, base, &RESENT);
        let resent = resent.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        let averages = averages(sides, row, base).into_iter().map(Cell::of);
        (row, averages.chain([Cell::plain(ratio(resent.0, resent.1))]).collect())
    });
    let columns = COLUMNS.iter().map(Against::heading).chain([(RESENT.title, "ratio".into())]);
    let averages =
        Grid::of_rows(comparison, format!("{title}{of}"), columns, of_averages).without_one_count(comparison);
    let of_spread = pairs
        .iter()
        .map(|&(row, base)| (row, spread(sides, row, base).into_iter().map(Cell::plain).collect()));
    let caption = format!("{title}: the ratios on the traces, from the smallest to the largest");
    let spread = several.then(|| Grid::of_rows(comparison, caption, SPREAD.into_iter(), of_spread));
    std::iter::once(averages).chain(spread).collect()
}

/// The shown statistics of the ratios on the traces.
const SPREAD: [(&str, &str); 7] = [
    ("Mean RTT", "min, ratio"),
    ("Mean RTT", "25 %, ratio"),
    ("Mean RTT", "median, ratio"),
    ("Mean RTT", "75 %, ratio"),
    ("Mean RTT", "max, ratio"),
    ("Throughput", "min, ratio"),
    ("Throughput", "max, ratio"),
];

/// Rows that a sentence names; more are counted.
const MOST_NAMED: usize = 8;

/// Relative differences up to this come from summing in another order.
const SAME: f64 = 1e-9;

/// The measures of comparing drivers that run the same schemes: throughput, and delay.
const FIDELITY: [(&str, Column); 3] = [("%", THROUGHPUT), ("mean, %", RTT_MEAN), ("p95, %", RTT_P95)];

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
    let percent = |trace: Trace, column: Column| {
        let mean = |row| comparison.mean_on_trace(row, trace, |run| column.value(run));
        Some((ratio(mean(simulated)?, mean(other)?)? - 1.0) * 100.0)
    };
    let of_trace = |trace: &Trace| FIDELITY.map(|(_, column)| percent(*trace, column));
    let by_trace: Vec<_> = comparison.traces.iter().map(of_trace).collect();
    let sizes = |column: usize| -> Vec<f64> {
        by_trace.iter().filter_map(|values| values[column]).map(f64::abs).collect()
    };
    let row = |(name, values): (&str, [Option<f64>; 3])| {
        GridRow::named(name.into(), values.into_iter().map(Cell::plain).collect())
    };
    let largest = |sizes: Vec<f64>| sizes.into_iter().reduce(f64::max);
    let summary = [
        ("mean, signs aside", [0, 1, 2].map(|column| mean(&sizes(column)))),
        ("largest, signs aside", [0, 1, 2].map(|column| largest(sizes(column)))),
    ];
    let shown = comparison.traces.iter().map(|trace| trace.name).zip(by_trace.iter().copied());
    let shown = shown.filter(|_| by_trace.len() <= MOST_TRACES);
    let (name, this, that) = (simulated.label(), simulated.driver, other.driver);
    Grid {
        caption: format!(
            "{name}: by how much the results of the driver `{this}` lie above those of `{that}`"
        ),
        of: vec!["Trace".into()],
        columns: titles(FIDELITY.iter().map(|(below, column)| (column.title, *below))),
        rows: shown.chain(summary).map(row).collect(),
    }
}

/// The average, for each column, of the pairs by trace.
fn averages(sides: Sides, row: Row, base: Row) -> Vec<Option<Average>> {
    const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
    let averages = COLUMNS.iter().map(|column| {
        let (against, pairs) = (Against::of(column), pairs_of(sides, row, base, column));
        let held = |&(this, base): &(f64, f64)| match against {
            Against::Ratio => ratio(this, base),
            Against::Inverse => ratio(base, this),
            Against::Difference => Some(this - base),
        };
        let values: Vec<f64> = pairs.iter().filter_map(held).collect();
        let kind = if against == Against::Difference { Kind::Mean } else { Kind::Geometric };
        Average::of(kind, &values, ANY)
    });
    averages.collect()
}

fn spread(sides: Sides, row: Row, base: Row) -> Vec<Option<f64>> {
    let sorted = |column| {
        let pairs = pairs_of(sides, row, base, column);
        let mut ratios: Vec<f64> = pairs.iter().filter_map(|&(this, base)| ratio(this, base)).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    };
    let (rtt, throughput) = (sorted(&RTT_MEAN), sorted(&THROUGHPUT));
    let of_rtt = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| at_rank(&rtt, share));
    of_rtt.into_iter().chain([0.0, 1.0].map(|share| at_rank(&throughput, share))).collect()
}

/// The value that this share of the sorted values do not exceed: nearest rank.
pub(crate) fn at_rank(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The quantity of the row and of the baseline on each trace that has both, each the mean over seeds; of a single trace,
/// with each seed that has both.
fn pairs_of(Sides { these, those }: Sides, row: Row, base: Row, column: &Column) -> Vec<(f64, f64)> {
    let [only] = these.traces[..] else {
        let mean = |of: &Comparison, row, trace| of.mean_on_trace(row, trace, |run| column.value(run));
        let on = |trace| mean(these, row, trace).zip(mean(those, base, trace));
        return these.traces.iter().filter_map(|&trace| on(trace)).collect();
    };
    let with = |comparison: &Comparison, row, seed| {
        let run = comparison.runs(row, only).iter().find(|run| run.scenario.seed == seed)?;
        column.value(run)
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
