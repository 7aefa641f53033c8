//! An expression with numbers in the place of runs, and its value on all traces or on a resample of them.

use crate::expression::{Aggregate, Function, Operator};
use crate::series::holds;
use cellcc_statistics::{mean, rank_correlation};
use std::sync::Arc;

/// Value of a quantity.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Number(f64),
    List(Vec<f64>),
}

/// The range of a quantity that is not known to have bounds.
pub(super) const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// An expression with numbers in the place of runs.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Number(f64),
    /// A number for each trace of the group, NaN where there is none; and the range in which they lie.
    Leaf(usize, Arc<[f64]>, (f64, f64)),
    Each(Function, Box<Node>),
    Chain(Box<Node>, Vec<(Operator, Node)>),
    Aggregate(Aggregate, Box<Node>),
    Correlation(Box<Node>, Box<Node>),
    List(Vec<Node>),
    Pairs(Box<Node>),
}

/// An intermediate value.
#[derive(Debug, Clone)]
pub(super) enum Sampled {
    Number(f64),
    /// A number for each trace, NaN where there is none.
    Traces(Vec<f64>),
    List(Vec<f64>),
}

impl Node {
    /// The value with these draws of each group, or with all traces as they are.
    pub(super) fn value(&self, draws: Option<&[Vec<usize>]>) -> Value {
        match self.sampled(draws) {
            Sampled::Number(number) => Value::Number(number),
            Sampled::List(numbers) | Sampled::Traces(numbers) => Value::List(numbers),
        }
    }

    /// Calls `see` with the numbers of every run of a group.
    pub(super) fn each_leaf(&mut self, group: usize, see: &mut impl FnMut(&mut Arc<[f64]>)) {
        match self {
            Self::Number(_) => {}
            Self::Leaf(own, values, _) => {
                if *own == group {
                    see(values);
                }
            }
            Self::Each(_, one) | Self::Aggregate(_, one) | Self::Pairs(one) => one.each_leaf(group, see),
            Self::Chain(first, links) => {
                first.each_leaf(group, see);
                links.iter_mut().for_each(|(_, other)| other.each_leaf(group, see));
            }
            Self::Correlation(one, other) => {
                one.each_leaf(group, see);
                other.each_leaf(group, see);
            }
            Self::List(items) => items.iter_mut().for_each(|item| item.each_leaf(group, see)),
        }
    }

    /// Keeps only these traces of a group.
    pub(super) fn keep(&mut self, group: usize, which: &[bool]) {
        self.each_leaf(group, &mut |values| {
            *values = values.iter().zip(which).filter(|(_, keep)| **keep).map(|(value, _)| *value).collect();
        });
    }

    /// The range in which its numbers lie, as far as those of its metrics tell: a percentage is 100 times a share.
    pub(super) fn range(&self) -> (f64, f64) {
        match self {
            Self::Number(number) => (*number, *number),
            Self::Leaf(.., range) => *range,
            Self::Chain(first, links) => links.iter().fold(first.range(), |one, (operator, other)| {
                match (operator, one, other.range()) {
                    (Operator::Multiply, (a, b), (c, d)) if a >= 0.0 && c >= 0.0 && b * d > 0.0 => {
                        (a * c, b * d)
                    }
                    _ => ANY,
                }
            }),
            _ => ANY,
        }
    }

    pub(super) fn sampled(&self, draws: Option<&[Vec<usize>]>) -> Sampled {
        match self {
            Self::Number(number) => Sampled::Number(*number),
            Self::Leaf(group, values, _) => Sampled::Traces(match draws {
                None => values.to_vec(),
                Some(draws) => draws[*group].iter().map(|&drawn| values[drawn]).collect(),
            }),
            Self::Each(function, one) => one.sampled(draws).each(|number| apply(*function, number)),
            Self::Chain(first, links) => links.iter().fold(first.sampled(draws), |one, (operator, other)| {
                one.with(other.sampled(draws), |a, b| combine(*operator, a, b))
            }),
            Self::Aggregate(aggregate, one) => {
                Sampled::Number(reduce(*aggregate, one.sampled(draws).there()))
            }
            Self::Correlation(one, other) => {
                let pairs = one.sampled(draws).numbers().into_iter().zip(other.sampled(draws).numbers());
                let (one, other): (Vec<f64>, Vec<f64>) =
                    pairs.filter(|(one, other)| !one.is_nan() && !other.is_nan()).unzip();
                Sampled::Number(rank_correlation(&one, &other).unwrap_or(f64::NAN))
            }
            Self::List(items) => {
                Sampled::List(items.iter().flat_map(|item| item.sampled(draws).numbers()).collect())
            }
            Self::Pairs(list) => {
                let numbers = list.sampled(draws).numbers();
                let later = |(index, one): (usize, &f64)| {
                    numbers
                        .iter()
                        .skip(index + 1)
                        .map(|other| combine(Operator::Less, *one, *other))
                        .collect::<Vec<_>>()
                };
                Sampled::List(numbers.iter().enumerate().flat_map(later).collect())
            }
        }
    }
}

impl Sampled {
    fn numbers(self) -> Vec<f64> {
        match self {
            Self::Number(number) => vec![number],
            Self::Traces(numbers) | Self::List(numbers) => numbers,
        }
    }

    fn there(self) -> Vec<f64> {
        // Every item of a list counts, and a missing one makes the whole unknown.
        match self {
            Self::Traces(numbers) => numbers.into_iter().filter(|number| !number.is_nan()).collect(),
            Self::Number(number) => vec![number],
            Self::List(numbers) => numbers,
        }
    }

    fn each(self, change: impl Fn(f64) -> f64) -> Self {
        let all = |numbers: Vec<f64>| numbers.into_iter().map(&change).collect();
        match self {
            Self::Number(number) => Self::Number(change(number)),
            Self::Traces(numbers) => Self::Traces(all(numbers)),
            Self::List(numbers) => Self::List(all(numbers)),
        }
    }

    fn with(self, other: Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Self::Number(a), other) => other.each(|b| combine(a, b)),
            (one, Self::Number(b)) => one.each(|a| combine(a, b)),
            (Self::Traces(a), Self::Traces(b)) => {
                Self::Traces(a.into_iter().zip(b).map(|(a, b)| combine(a, b)).collect())
            }
            (one, other) => Self::List(
                one.numbers().into_iter().zip(other.numbers()).map(|(a, b)| combine(a, b)).collect(),
            ),
        }
    }
}

fn apply(function: Function, number: f64) -> f64 {
    match function {
        Function::Minus => -number,
        Function::Ln => libm::log(number),
        Function::Abs => number.abs(),
        Function::Not if number.is_nan() => number,
        Function::Not => f64::from(u8::from(number == 0.0)),
    }
}

fn combine(operator: Operator, one: f64, other: f64) -> f64 {
    match operator {
        Operator::Add => one + other,
        Operator::Subtract => one - other,
        Operator::Multiply => one * other,
        Operator::Divide => one / other,
        _ if one.is_nan() || other.is_nan() => f64::NAN,
        _ => f64::from(u8::from(holds(one, operator, other))),
    }
}

/// Reduces numbers to one; NaN if there are none, or one of them is NaN.
fn reduce(aggregate: Aggregate, mut numbers: Vec<f64>) -> f64 {
    if numbers.is_empty() || numbers.iter().any(|number| number.is_nan()) {
        return f64::NAN;
    }
    if aggregate == Aggregate::Rising {
        let order: Vec<f64> = (0..numbers.len()).map(|index| index as f64).collect();
        return rank_correlation(&order, &numbers).unwrap_or(f64::NAN);
    }
    numbers.sort_unstable_by(f64::total_cmp);
    let (smallest, largest) = (numbers[0], numbers[numbers.len() - 1]);
    match aggregate {
        Aggregate::Mean => mean(&numbers).unwrap_or(f64::NAN),
        Aggregate::Median => {
            let middle = numbers.len() / 2;
            if numbers.len() % 2 == 1 {
                numbers[middle]
            } else {
                (numbers[middle - 1] + numbers[middle]) / 2.0
            }
        }
        Aggregate::Min => smallest,
        Aggregate::Max => largest,
        Aggregate::Sum => numbers.iter().sum(),
        Aggregate::Range => largest - smallest,
        Aggregate::Spread | Aggregate::Rising => largest / smallest,
    }
}
