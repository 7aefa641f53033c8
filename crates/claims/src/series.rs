//! Numbers computed from a part of the time series of a run.

use crate::expression::{ColumnUse, Operator, Reduction, Threshold, Window};
use crate::runs::Outcome;
use cellcc_experiment::Curve;
use cellcc_statistics::{mean, rank_correlation};
use cellcc_units::Span;

/// Share of the bins that are at most the 95th percentile.
const P95: f64 = 0.95;

/// The value; none where the run has no such column, or no bin of it in the window.
pub(crate) fn value(outcome: &Outcome, used: &ColumnUse) -> Option<f64> {
    let ColumnUse { reduction, window } = used;
    match reduction {
        Reduction::Mean(column) => mean(&bins(outcome, column, *window)?),
        Reduction::P95(column) => {
            let mut bins = bins(outcome, column, *window)?;
            bins.sort_unstable_by(f64::total_cmp);
            let rank = (bins.len() as f64 * P95).ceil() as usize;
            bins.get(rank.checked_sub(1)?).copied()
        }
        Reduction::Max(column) => bins(outcome, column, *window)?.into_iter().reduce(f64::max),
        Reduction::Deviation(column) => deviation(&bins(outcome, column, *window)?),
        Reduction::Peaks(column, above) => {
            let bins = bins(outcome, column, *window)?;
            let is_peak = |bins: &&[f64]| bins[1] > *above && bins[1] >= bins[0] && bins[1] > bins[2];
            mean(&bins.windows(3).filter(is_peak).map(|bins| bins[1]).collect::<Vec<_>>())
        }
        Reduction::Use => {
            let flows = (0..outcome.flows.len()).map(|flow| {
                let column = bins(outcome, &format!("flow{flow}.throughput_mbit_s"), *window);
                column.map(|bins| bins.iter().sum::<f64>())
            });
            let carried: f64 = flows.collect::<Option<Vec<f64>>>()?.iter().sum();
            Some(carried / bins(outcome, "capacity_mbit_s", *window)?.iter().sum::<f64>())
        }
        Reduction::Reached { column, operator, threshold, length } => {
            let bin = outcome.series.bin.as_secs_f64();
            let bins = raw(outcome, column, *window)?;
            let thresholds = match threshold {
                Threshold::Number(number) => vec![*number; bins.len()],
                Threshold::Column(factor, other) => {
                    raw(outcome, other, *window)?.into_iter().map(|value| factor * value).collect()
                }
            };
            let holds: Vec<bool> =
                bins.iter().zip(&thresholds).map(|(bin, than)| holds(*bin, *operator, *than)).collect();
            let needed = count(*length, outcome.series.bin).max(1);
            let first = holds.windows(needed).position(|window| window.iter().all(|holds| *holds));
            Some(first.map_or(f64::INFINITY, |index| index as f64 * bin))
        }
        Reduction::Slope { curve, from, to, within } => {
            let slope_and_capacity = |of: &Curve| {
                let slope = (height(of, *to)? - height(of, *from)?) / (to - from);
                let end = Span::from_secs_f64(of.time_s);
                let before = Window { from: end.saturating_sub(*within), to: Some(end) };
                Some((slope, mean(&bins(outcome, "capacity_mbit_s", before)?)?))
            };
            let curves = outcome.curves.iter().filter(|one| one.name == *curve && one.flow == 0);
            let (slopes, capacities): (Vec<f64>, Vec<f64>) = curves.filter_map(slope_and_capacity).unzip();
            rank_correlation(&slopes, &capacities)
        }
        Reduction::Prediction { column, is_line, ahead } => {
            let bins = bins(outcome, column, *window)?;
            let ahead = count(*ahead, outcome.series.bin).max(1);
            let predicted = |at: usize| {
                let step = if *is_line { bins[at] - bins[at - 1] } else { 0.0 };
                bins[at] + step * ahead as f64
            };
            let errors = (1..bins.len().saturating_sub(ahead)).map(|at| bins[at + ahead] - predicted(at));
            Some(root_mean_square(errors)? / deviation(&bins)?)
        }
        Reduction::Falls { column, from, to, within } => {
            let bins = raw(outcome, column, *window)?;
            let reach = count(*within, outcome.series.bin);
            let falls = |(index, high): (usize, &f64)| {
                *high >= *from && bins.iter().skip(index + 1).take(reach).any(|low| *low <= *to)
            };
            Some(f64::from(u8::from(bins.iter().enumerate().any(falls))))
        }
    }
}

fn deviation(bins: &[f64]) -> Option<f64> {
    let centre = mean(bins)?;
    root_mean_square(bins.iter().map(|bin| bin - centre))
}

fn root_mean_square(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    Some(mean(&numbers.map(|number| number * number).collect::<Vec<_>>())?.sqrt())
}

/// The column of this name, or that of flow 0.
pub(crate) fn column<'a>(outcome: &'a Outcome, name: &str) -> Option<&'a [f32]> {
    let series = &outcome.series;
    series.column(name).or_else(|| series.column(&format!("flow0.{name}")))
}

/// The bins in the window; NaN where there is nothing.
fn raw(outcome: &Outcome, name: &str, window: Window) -> Option<Vec<f64>> {
    let values = column(outcome, name)?;
    let bin = outcome.series.bin;
    let first = window.from.as_nanos().div_ceil(bin.as_nanos().max(1)) as usize;
    let last = window.to.map_or(values.len(), |to| count(to, bin)).min(values.len());
    Some(values.get(first..last)?.iter().map(|value| f64::from(*value)).collect())
}

/// The bins in the window over seconds, in at most `most` points: each is the mean of neighbours, NaN where there is nothing.
pub(crate) fn over_time(
    outcome: &Outcome,
    name: &str,
    window: Window,
    most: usize,
) -> Option<Vec<(f64, f64)>> {
    let values = raw(outcome, name, window)?;
    let bin = outcome.series.bin;
    let first = window.from.as_nanos().div_ceil(bin.as_nanos().max(1)) as usize;
    let width = values.len().div_ceil(most.max(1)).max(1);
    let point = |(index, bins): (usize, &[f64])| {
        let there: Vec<f64> = bins.iter().copied().filter(|value| !value.is_nan()).collect();
        ((first + index * width) as f64 * bin.as_secs_f64(), mean(&there).unwrap_or(f64::NAN))
    };
    Some(values.chunks(width).enumerate().map(point).collect())
}

/// The bins in the window that have a value.
fn bins(outcome: &Outcome, name: &str, window: Window) -> Option<Vec<f64>> {
    let bins: Vec<f64> = raw(outcome, name, window)?.into_iter().filter(|bin| !bin.is_nan()).collect();
    (!bins.is_empty()).then_some(bins)
}

/// The height of a curve at a place, in a straight line between its points.
fn height(curve: &Curve, at: f64) -> Option<f64> {
    let after = curve.points.iter().position(|(x, _)| f64::from(*x) >= at)?;
    let ((x1, y1), (x2, y2)) = (curve.points[after.saturating_sub(1)], curve.points[after]);
    let (x1, y1, x2, y2) = (f64::from(x1), f64::from(y1), f64::from(x2), f64::from(y2));
    if x2 == at { Some(y2) } else { (x1 < at).then(|| y1 + (y2 - y1) * (at - x1) / (x2 - x1)) }
}

/// Number of whole bins in a span.
fn count(span: Span, bin: Span) -> usize {
    (span.as_nanos() / bin.as_nanos().max(1)) as usize
}

pub(crate) fn holds(one: f64, operator: Operator, other: f64) -> bool {
    match operator {
        Operator::Less => one < other,
        Operator::AtMost => one <= other,
        Operator::More => one > other,
        Operator::AtLeast => one >= other,
        Operator::Equal => one == other,
        Operator::And => one != 0.0 && other != 0.0,
        Operator::Or => one != 0.0 || other != 0.0,
        Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::{Expression, What, parse};
    use cellcc_experiment::{Column, Series};

    fn of(text: &str) -> Option<f64> {
        let columns = [
            ("capacity_mbit_s", [10.0, 10.0, 20.0, 20.0, 20.0, 20.0, 20.0, 1.0]),
            ("flow0.throughput_mbit_s", [8.0, 8.0, 10.0, 19.0, 10.0, 18.0, 19.0, f32::NAN]),
        ];
        let columns = columns.map(|(name, values)| Column { name: name.into(), values: values.into() });
        let series = Series { bin: Span::from_millis(500), columns: columns.into() };
        let outcome = Outcome { series, flows: vec![Default::default()], ..Outcome::default() };
        let Expression::Run(run) = parse(text).unwrap() else { panic!("{text}") };
        let What::Columns(used) = run.what else { panic!("{text}") };
        value(&outcome, &used)
    }

    #[test]
    fn a_window_has_the_bins_that_lie_in_it() {
        assert_eq!(of("window_mean(x; throughput_mbit_s, 1s..2s)"), Some(14.5));
        assert_eq!(of("window_max(x; throughput_mbit_s, ..1s)"), Some(8.0));
        assert_eq!(of("window_p95(x; capacity_mbit_s)"), Some(20.0));
        assert_eq!(of("window_use(x; 1s..2s)"), Some(29.0 / 40.0));
        assert_eq!(of("window_peaks(x; throughput_mbit_s above 9)"), Some(19.0));
        assert_eq!(of("window_sd(x; throughput_mbit_s, 1s..2s)"), Some(4.5));
        assert_eq!(of("window_mean(x; throughput_mbit_s, 9s..)"), None, "there is nothing so late");
        assert_eq!(of("window_mean(x; other)"), None);
    }

    #[test]
    fn something_is_reached_where_it_holds_for_long_enough_and_else_never() {
        let share = "throughput_mbit_s >= 0.9 * capacity_mbit_s";
        assert_eq!(of(&format!("reached_s(x; {share}, 1s..)")), Some(0.5));
        assert_eq!(of(&format!("reached_s(x; {share}, 1s.., for 1s)")), Some(1.5));
        assert_eq!(of(&format!("reached_s(x; {share}, 1s.., for 2s)")), Some(f64::INFINITY));
    }

    #[test]
    fn the_error_of_a_prediction_is_in_standard_deviations() {
        // 10, 20, 20: to hold 20 is right, and a line goes on to 30. The deviation is the root of 200 / 9.
        assert_eq!(of("prediction_error(x; capacity_mbit_s by hold, 500ms..2s, within 500ms)"), Some(0.0));
        let line = of("prediction_error(x; capacity_mbit_s by line, 500ms..2s, within 500ms)").unwrap();
        assert!((line - 4.5_f64.sqrt()).abs() < 1e-12, "{line}");
        assert_eq!(of("prediction_error(x; capacity_mbit_s by hold, 500ms..2s, within 1s)"), None);
    }

    #[test]
    fn a_fall_is_one_within_its_time() {
        assert_eq!(of("falls(x; capacity_mbit_s 20 to 1, within 500ms)"), Some(1.0));
        assert_eq!(of("falls(x; capacity_mbit_s 21 to 1, within 4s)"), Some(0.0));
        assert_eq!(of("falls(x; throughput_mbit_s 19 to 9, within 1s)"), Some(0.0));
    }
}
