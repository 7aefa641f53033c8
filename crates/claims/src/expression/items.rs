//! Parts of a run's value: its metric, and the items after the scheme.

use super::{Aggregate, ColumnUse, ExpressionError, Function, Operator, Reduction, Threshold, What, Window};
use crate::metrics;
use cellcc_units::{Span, instead};

/// Comparisons, the longer signs first.
pub(super) const COMPARISONS: [(&str, Operator); 5] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::More),
    ("==", Operator::Equal),
];

/// A metric by its name.
pub(crate) fn metric(at: usize, name: &str) -> Result<What, ExpressionError> {
    let (flow, key) = match name.strip_prefix("flow").and_then(|rest| rest.split_once('.')) {
        Some((index, key)) => {
            let index = index.parse().map_err(|_| {
                ExpressionError::new(at, format!("`{name}`: flows are `flow0`, `flow1`, ..."))
            })?;
            (Some(index), key)
        }
        None => (None, name),
    };
    if metrics::is_known(key) {
        return Ok(What::Metric { flow, key: key.to_owned() });
    }
    let functions =
        Aggregate::NAMES.iter().map(|(name, _)| *name).chain(Function::NAMES.iter().map(|(name, _)| *name));
    let functions = functions.chain(Reduction::NAMES).chain(["over", "pairs", "spearman"]);
    let known: Vec<&str> = metrics::names().chain(functions).collect();
    Err(ExpressionError::new(
        at,
        format!("`{key}` is no metric and no function{}", instead(key, "there are", &known.join(", "))),
    ))
}

/// Items after the scheme.
#[derive(Default)]
pub(super) struct Items {
    pub(super) conditions: Vec<(String, String)>,
    pub(super) window: Option<Window>,
    /// The column with its comparison or numbers, as text.
    pub(super) other: Option<String>,
    length: Option<Span>,
}

impl Items {
    pub(super) fn add(&mut self, at: usize, item: &str) -> Result<(), ExpressionError> {
        let wrong = |problem: String| ExpressionError::new(at, problem);
        let span = |text: &str| span(text).map_err(wrong);
        if let Some(text) = item.strip_prefix("for ").or_else(|| item.strip_prefix("within ")) {
            self.length = Some(span(text)?);
        } else if let Some((key, value)) = condition(item) {
            self.conditions.push((key.to_owned(), value.to_owned()));
        } else if let Some((from, to)) = item.split_once("..") {
            let from = if from.trim().is_empty() { Span::ZERO } else { span(from)? };
            let to = if to.trim().is_empty() { None } else { Some(span(to)?) };
            self.window = Some(Window { from, to });
        } else if self.other.is_none() && !item.is_empty() {
            self.other = Some(item.to_owned());
        } else {
            return Err(wrong(format!(
                "`{item}` is not a condition such as `path.queue=33pkt`, a part of the run such as `10s..20s`, or one column"
            )));
        }
        Ok(())
    }

    pub(super) fn columns(&self, at: usize, function: &str) -> Result<ColumnUse, ExpressionError> {
        let window = self.window.unwrap_or(Window { from: Span::ZERO, to: None });
        let column = || {
            self.other.clone().ok_or_else(|| {
                ExpressionError::new(
                    at,
                    format!("`{function}` names no column, such as `{function}(cubic; rtt_ms, 10s..20s)`"),
                )
            })
        };
        let reduction = match function {
            "window_mean" => Reduction::Mean(column()?),
            "window_p95" => Reduction::P95(column()?),
            "window_max" => Reduction::Max(column()?),
            "window_sd" => Reduction::Deviation(column()?),
            "window_use" => Reduction::Use,
            "window_peaks" => peaks(&column()?).ok_or_else(|| {
                ExpressionError::new(at, "write `window_peaks(cubic; rtt_ms above 40, 5s..)`")
            })?,
            "falls" => falls(&column()?, self.length).ok_or_else(|| {
                ExpressionError::new(at, "write `falls(limit; capacity_mbit_s 900 to 50, within 3s)`")
            })?,
            "prediction_error" => prediction(&column()?, self.length).ok_or_else(|| {
                ExpressionError::new(
                    at,
                    "write `prediction_error(limit; capacity_mbit_s by line, within 100ms)`, or `by hold`",
                )
            })?,
            "slope_correlation" => slope(&column()?, self.length).ok_or_else(|| {
                ExpressionError::new(at, "write `slope_correlation(verus; profile from 5 to 20, within 5s)`")
            })?,
            _ => reached(&column()?, self.length).ok_or_else(|| {
                let problem =
                    "write `reached_s(cubic; throughput_mbit_s >= 0.9 * capacity_mbit_s, 20s.., for 100ms)`";
                ExpressionError::new(at, problem)
            })?,
        };
        Ok(ColumnUse { reduction, window })
    }
}

/// `10s`, `10s+200ms` or `10s-200ms`.
fn span(text: &str) -> Result<Span, String> {
    let one = |text: &str| text.trim().parse::<Span>().map_err(|error| error.to_string());
    match (text.split_once('+'), text.split_once('-')) {
        (Some((at, later)), _) => Ok(one(at)? + one(later)?),
        (None, Some((at, sooner))) => Ok(one(at)?.saturating_sub(one(sooner)?)),
        (None, None) => one(text),
    }
}

/// `KEY=value`, and not `column >= value`.
fn condition(item: &str) -> Option<(&str, &str)> {
    let (key, value) = item.split_once('=')?;
    let is_key = |c: char| c.is_ascii_lowercase() || c == '.' || c == '_';
    (!key.is_empty() && key.chars().all(is_key) && !value.starts_with('=')).then(|| (key, value.trim()))
}

fn reached(text: &str, length: Option<Span>) -> Option<Reduction> {
    let (sign, operator) = COMPARISONS.into_iter().find(|(sign, _)| text.contains(sign))?;
    let (column, than) = text.split_once(sign)?;
    let than = than.trim();
    let threshold = match (than.parse(), than.split_once('*')) {
        (Ok(number), _) => Threshold::Number(number),
        (Err(_), Some((factor, column))) => {
            Threshold::Column(factor.trim().parse().ok()?, column.trim().into())
        }
        (Err(_), None) => Threshold::Column(1.0, than.into()),
    };
    Some(Reduction::Reached {
        column: column.trim().into(),
        operator,
        threshold,
        length: length.unwrap_or(Span::ZERO),
    })
}

fn peaks(text: &str) -> Option<Reduction> {
    let (column, above) = text.split_once(" above ")?;
    Some(Reduction::Peaks(column.trim().into(), above.trim().parse().ok()?))
}

fn falls(text: &str, within: Option<Span>) -> Option<Reduction> {
    let (column, numbers) = text.split_once(' ')?;
    let (from, to) = numbers.split_once(" to ")?;
    let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    Some(Reduction::Falls { column: column.into(), from, to, within: within? })
}

fn prediction(text: &str, within: Option<Span>) -> Option<Reduction> {
    let (column, predictor) = text.split_once(" by ")?;
    let is_line = match predictor.trim() {
        "hold" => false,
        "line" => true,
        _ => return None,
    };
    Some(Reduction::Prediction { column: column.trim().into(), is_line, ahead: within? })
}

fn slope(text: &str, within: Option<Span>) -> Option<Reduction> {
    let (curve, numbers) = text.split_once(" from ")?;
    let (from, to) = numbers.split_once(" to ")?;
    let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    Some(Reduction::Slope { curve: curve.trim().into(), from, to, within: within? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::{Expression, parse};

    #[test]
    fn a_part_of_a_run_is_taken_of_columns() {
        let text = "reached_s(cubic; throughput_mbit_s >= 0.9 * capacity_mbit_s, 20s.., for 100ms)";
        let Expression::Run(run) = parse(text).unwrap() else { panic!("{text}") };
        let What::Columns(ColumnUse { reduction: Reduction::Reached { threshold, length, .. }, window }) =
            run.what
        else {
            panic!("{run:?}")
        };
        assert_eq!(threshold, Threshold::Column(0.9, "capacity_mbit_s".into()));
        assert_eq!(
            (length.to_string(), window.from.to_string(), window.to),
            ("100ms".into(), "20s".into(), None)
        );
    }
}
