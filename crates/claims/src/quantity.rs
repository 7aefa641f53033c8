//! A quantity: an expression whose runs have been found.

mod node;
mod resolve;
mod select;

pub(crate) use node::Value;
use node::{Node, Sampled};
pub use select::Units;

use crate::expression::{Aggregate, Expression, ExpressionError};
use crate::runs::DataRuns;
use cellcc_statistics::{Average, Certainty, Kind, percentile_interval, resamples};

/// An expression whose runs have been found: they need not have been run.
#[derive(Debug, Clone)]
pub struct Quantity {
    node: Node,
    /// Number of traces (or runs) in each group that the expression is about.
    groups: Vec<usize>,
}

impl Quantity {
    /// Finds the runs of an expression. Where it names no data set, `data` is meant.
    ///
    /// # Errors
    /// The first part that is missing or does not fit, with its place in the expression.
    pub fn new(
        expression: &Expression,
        data: Option<&str>,
        runs: &DataRuns,
        units: Units,
    ) -> Result<Self, ExpressionError> {
        Self::found(expression, data, runs, units, false)
    }

    /// Finds the runs of an expression for a figure, in which each trace's number is a point.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn points(expression: &Expression, runs: &DataRuns) -> Result<Self, ExpressionError> {
        Self::found(expression, None, runs, Units::Traces, true)
    }

    fn found(
        expression: &Expression,
        data: Option<&str>,
        runs: &DataRuns,
        units: Units,
        each: bool,
    ) -> Result<Self, ExpressionError> {
        let (mut node, mut groups) = resolve::resolve(&expression.written_out(), data, runs, units, each)?;
        for (group, count) in groups.iter_mut().enumerate() {
            // A trace on which a part selects nothing must not be drawn.
            let mut there = vec![units == Units::Runs; *count];
            node.each_leaf(group, &mut |values| {
                for (there, value) in there.iter_mut().zip(values.iter()) {
                    *there = if units == Units::Runs {
                        *there && !value.is_nan()
                    } else {
                        *there || !value.is_nan()
                    };
                }
            });
            if there.contains(&true) {
                node.keep(group, &there);
                *count = there.iter().filter(|there| **there).count();
            }
        }
        Ok(Self { node, groups })
    }

    /// Its value: a number, or several. NaN where something that it needs is missing.
    pub(crate) fn value(&self) -> Value {
        self.node.value(None)
    }

    /// True if it has one number for each trace.
    pub(crate) fn is_of_traces(&self) -> bool {
        matches!(self.node.sampled(None), Sampled::Traces(_))
    }

    /// Its value for each resample of the traces. Parts on the same traces have the same draws, even where they are from two data
    /// sets. Empty where a group has fewer than ten traces.
    fn resampled(&self) -> impl Iterator<Item = Value> {
        resamples(&self.groups).map(|drawn| self.node.value(Some(&drawn)))
    }

    /// The 95 % interval of a single number: bootstrap-t for a plain mean, percentiles for all else; none with fewer than
    /// ten traces (docs/metrics.md says why).
    pub fn interval(&self) -> Option<(f64, f64)> {
        if let Node::Aggregate(Aggregate::Mean, of) = &self.node
            && let Sampled::Traces(values) = of.sampled(None)
        {
            let there: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
            let average = Average::of(Kind::Mean, &there, of.range())?;
            let all_same = average.certainty == Certainty::NoSpread;
            return average.certainty.interval().or(all_same.then_some((average.value, average.value)));
        }
        let numbers = self.resampled().map(|value| match value {
            Value::Number(number) => Some(number),
            Value::List(_) => None,
        });
        percentile_interval(numbers.collect::<Option<_>>()?)
    }

    /// The 95 % interval of each of its `numbers`: [that](Self::interval) of a single one, and by percentiles those of a list;
    /// none with fewer than ten traces.
    pub(crate) fn intervals(&self, numbers: impl Fn(Value) -> Vec<f64>) -> Vec<(f64, f64)> {
        if let Value::Number(_) = self.value() {
            return self.interval().into_iter().collect();
        }
        let resampled: Vec<Vec<f64>> = self.resampled().map(numbers).collect();
        let of_number =
            |at: usize| percentile_interval(resampled.iter().map(|numbers| numbers[at]).collect());
        let count = resampled.first().map_or(0, Vec::len);
        (0..count).map(of_number).collect::<Option<_>>().unwrap_or_default()
    }

    /// The number that a cell of a page shows; NaN where there is none.
    pub fn number(&self) -> f64 {
        match self.value() {
            Value::Number(number) => number,
            Value::List(_) => f64::NAN,
        }
    }
}
