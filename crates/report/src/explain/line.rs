//! A scheme against the line that another one draws when its knob is turned.

use super::UseAndDelay;
use cellcc_statistics::{mean, percentile_interval, resamples};

/// The delay of a scheme and that of the line at the same use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtLine {
    /// The line's delay in milliseconds at the scheme's use: between two settings in proportion, as if some of the traces had the
    /// one and the rest the other.
    pub line_ms: f64,
    /// The scheme's delay divided by that.
    pub ratio: f64,
    /// The 95 % interval of the ratio over traces ([`percentile_interval`]). None for fewer than ten traces.
    pub interval: Option<(f64, f64)>,
}

/// Holds a `scheme` against a `line` of settings. Each has a point for each trace, in the same order. None where the line's
/// mean uses do not reach to both sides of the scheme's.
pub fn at_line(scheme: &[UseAndDelay], line: &[Vec<UseAndDelay>]) -> Option<AtLine> {
    if scheme.is_empty() {
        return None;
    }
    let traces: Vec<usize> = (0..scheme.len()).collect();
    let line = line.iter().map(Vec::as_slice).collect::<Vec<_>>();
    let at = means(scheme, &traces);
    let points = sorted(&line, &traces);
    let (first, last) = (points.first()?, points.last()?);
    if !(first.utilisation..=last.utilisation).contains(&at.utilisation) {
        return None;
    }
    let line_ms = delay_at(&points, at.utilisation)?;
    Some(AtLine { line_ms, ratio: at.queueing_ms / line_ms, interval: interval(scheme, &line) })
}

fn interval(scheme: &[UseAndDelay], line: &[&[UseAndDelay]]) -> Option<(f64, f64)> {
    let ratio = |drawn: Vec<Vec<usize>>| {
        let at = means(scheme, &drawn[0]);
        Some(at.queueing_ms / delay_at(&sorted(line, &drawn[0]), at.utilisation)?)
    };
    percentile_interval(resamples(&[scheme.len()]).map(ratio).collect::<Option<_>>()?)
}

fn means(points: &[UseAndDelay], traces: &[usize]) -> UseAndDelay {
    let of = |value: fn(&UseAndDelay) -> f64| {
        let values: Vec<f64> = traces.iter().filter_map(|&trace| points.get(trace)).map(value).collect();
        mean(&values).unwrap_or(0.0)
    };
    UseAndDelay { utilisation: of(|point| point.utilisation), queueing_ms: of(|point| point.queueing_ms) }
}

/// The settings' means, from little use to much.
fn sorted(line: &[&[UseAndDelay]], traces: &[usize]) -> Vec<UseAndDelay> {
    let mut points: Vec<UseAndDelay> = line.iter().map(|setting| means(setting, traces)).collect();
    points.sort_unstable_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
    points
}

/// Along the piece of the line that has this use, or that is nearest to it: a resample may lie beyond the ends.
fn delay_at(points: &[UseAndDelay], utilisation: f64) -> Option<f64> {
    let pieces = points.len().checked_sub(2)?;
    let after =
        points.iter().skip(1).take(pieces).take_while(|point| point.utilisation < utilisation).count();
    let (from, to) = (points[after], points[after + 1]);
    let share = (utilisation - from.utilisation) / (to.utilisation - from.utilisation).max(f64::MIN_POSITIVE);
    Some(from.queueing_ms + share * (to.queueing_ms - from.queueing_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(utilisation: f64, queueing_ms: f64) -> UseAndDelay {
        UseAndDelay { utilisation, queueing_ms }
    }

    /// The line on `count` traces, each with more delay than the one before.
    fn on_traces(count: usize, utilisation: f64, queueing_ms: f64) -> Vec<UseAndDelay> {
        (0..count).map(|trace| at(utilisation, queueing_ms * (1.0 + trace as f64))).collect()
    }

    fn line(count: usize) -> Vec<Vec<UseAndDelay>> {
        [(0.98, 8.0), (0.90, 2.0), (0.94, 4.0)].map(|(use_, delay)| on_traces(count, use_, delay)).into()
    }

    #[test]
    fn between_two_settings_the_line_is_straight() {
        let found = at_line(&[at(0.96, 12.0)], &line(1)).unwrap();
        assert!((found.line_ms - 6.0).abs() < 1e-9 && (found.ratio - 2.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found.interval, None, "one trace");
        for (use_, delay) in [(0.90, 2.0), (0.94, 4.0), (0.98, 8.0)] {
            assert!((at_line(&[at(use_, 1.0)], &line(1)).unwrap().line_ms - delay).abs() < 1e-9);
        }
    }

    #[test]
    fn beyond_its_ends_there_is_no_line() {
        for use_ in [0.89, 0.99] {
            assert_eq!(at_line(&[at(use_, 1.0)], &line(1)), None);
        }
        assert_eq!(at_line(&[at(0.9, 1.0)], &line(1)[1..2]), None, "one setting is no line");
        assert_eq!(at_line(&[], &line(0)), None);
    }

    #[test]
    fn traces_are_drawn_for_all_settings_alike_so_that_what_they_have_in_common_is_not_in_the_interval() {
        let (low, high) = at_line(&on_traces(20, 0.94, 6.0), &line(20)).unwrap().interval.unwrap();
        assert!((low - 1.5).abs() < 1e-9 && (high - 1.5).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn the_interval_is_as_wide_as_traces_differ_from_each_other() {
        let scheme: Vec<_> = (0..40).map(|trace| at(0.94, if trace % 2 == 0 { 2.0 } else { 6.0 })).collect();
        let flat: Vec<_> = line(1).iter().map(|setting| vec![setting[0]; 40]).collect();
        let found = at_line(&scheme, &flat).unwrap();
        // The standard error of the mean of 40 values of 4 +- 2 is 0.316, and the line has 4.
        let (low, high) = found.interval.unwrap();
        assert!((found.ratio - 1.0).abs() < 1e-9);
        assert!(
            (low - (1.0 - 1.96 * 0.079)).abs() < 0.02 && (high - (1.0 + 1.96 * 0.079)).abs() < 0.02,
            "{low} {high}"
        );
    }
}
