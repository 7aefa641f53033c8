//! The language of quantities, which are computed from the runs of data sets.
//!
//! ```text
//! quantity   = { "let" NAME "=" list ";" } expression
//! expression = "and", "or" over comparisons (`a < b < c`) over "+" "-" over "*" "/" over a leading "-"
//! primary    = number[%] | "(" expression ")" | list | run | function "(" expression { "," expression } ")"
//!            | "over" "(" KEY | NAME "in" list ":" expression ")"
//! list       = "[" item { "," item } "]" | NAME of a let
//! run        = metric "(" scheme [ ";" item { "," item } ] ")"
//! item       = KEY "=" value | column [ OP [ factor "*" ] column | number ] | FROM ".." TO | "for" SPAN | "within" SPAN
//! ```
//!
//! A case of `cellcc check` is about one run, and leaves its scheme out: `loss_ratio`, `reached_s(rtt_ms <= 60)`, and for a part
//! of the run `utilisation over 12s..20s`, `window_max(rtt_ms) over 2s..`. A number may be a time, `200ms`.
//!
//! `DATA:` names the data set of everything that follows, to the end of the bracket. A run's value is a number for each trace;
//! an aggregate ([`Aggregate`]) reduces them to one number in its place: `mean(a / b)` is the mean of ratios,
//! `mean(a) / mean(b)` the ratio of means.

mod columns;
mod cursor;
mod items;
mod parse;

pub use columns::{ColumnUse, Reduction, Threshold, Window};
pub(crate) use items::metric;
pub use parse::parse;
pub(crate) use parse::parse_of_run;

use std::fmt;
use thiserror::Error;

/// An error in an expression, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct ExpressionError {
    /// The byte of the expression at which it was noticed.
    pub at: usize,
    /// The problem, and what to write instead.
    pub problem: String,
}

impl ExpressionError {
    pub(crate) fn new(at: usize, problem: impl Into<String>) -> Self {
        Self { at, problem: problem.into() }
    }
}

/// A quantity.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A constant.
    Number(f64),
    /// A value of runs: a number for each trace.
    Run(RunValue),
    /// A function of one number, applied to each.
    Each(Function, Box<Expression>),
    /// A value, and the operations on it from left to right, number by number: `a - b < c`. In one list, so that a tree is not as
    /// deep as a text is long.
    Chain(Box<Expression>, Vec<(Operator, Expression)>),
    /// One number from those of the traces, or of a list.
    Aggregate(Aggregate, Box<Expression>),
    /// Spearman's rank correlation over traces.
    Correlation(Box<Expression>, Box<Expression>),
    /// Several numbers.
    List(Vec<Expression>),
    /// For each pair of items of a list, in its order: 1 if the first is the smaller, else 0.
    Pairs(Box<Expression>),
    /// The expression for each value of a varied condition, or of a variable.
    Over {
        /// Source of the values.
        over: Over,
        /// The expression that is computed for each.
        body: Box<Expression>,
    },
}

/// Values that an [`Expression::Over`] goes over.
#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    /// The values of a varied condition, in the order of the Scenario: `path.queue`.
    Condition(String),
    /// Texts, put in the place of `$name`.
    Texts {
        /// The variable.
        name: String,
        /// Its values.
        values: Vec<String>,
    },
}

/// Quantity taken from the runs of one scheme.
#[derive(Debug, Clone, PartialEq)]
pub struct RunValue {
    /// Its place in the expression, in bytes.
    pub at: usize,
    /// The data set; none: the claim's only one.
    pub data: Option<String>,
    /// Quantity taken from each run.
    pub what: What,
    /// Scheme or mix as tables have it, or `limit`.
    pub scheme: String,
    /// Further conditions of the runs: a varied one or a part of it, or `trace`, `driver`, `seed`.
    pub conditions: Vec<(String, String)>,
    /// The run is another one than that of the rest of the expression: the one on the same trace that has these conditions.
    pub under: Option<Vec<(String, String)>>,
}

/// Quantity taken from a run.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A scalar of the Record, of all flows or of one: `rtt_mean_ms`, `flow1.rtt_mean_ms`.
    Metric {
        /// The flow, from 0; none: all together.
        flow: Option<usize>,
        /// The key.
        key: String,
    },
    /// A quantity from its time series.
    Columns(ColumnUse),
}

/// Functions of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// The negative.
    Minus,
    /// The natural logarithm.
    Ln,
    /// The absolute value.
    Abs,
    /// 1 for 0, and 0 for any other number.
    Not,
}

/// Operators on two numbers. Comparisons give 1 or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    And,
    Or,
}

/// Reduction of several numbers to one. Traces without a number (a delay where nothing came back) are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Aggregate {
    Mean,
    Median,
    Min,
    Max,
    Sum,
    /// The largest less the smallest.
    Range,
    /// The largest divided by the smallest.
    Spread,
    /// The rank correlation of a list with its order: 1 where it rises at every step.
    Rising,
}

impl Aggregate {
    /// All of them by name; `share` of truths is their mean, and `count` their sum.
    pub(crate) const NAMES: [(&'static str, Self); 10] = [
        ("mean", Self::Mean),
        ("median", Self::Median),
        ("min", Self::Min),
        ("max", Self::Max),
        ("sum", Self::Sum),
        ("share", Self::Mean),
        ("count", Self::Sum),
        ("range", Self::Range),
        ("spread", Self::Spread),
        ("rising", Self::Rising),
    ];
}

impl Operator {
    /// True if it is a comparison of two numbers.
    pub(crate) fn compares(self) -> bool {
        matches!(self, Self::Less | Self::AtMost | Self::More | Self::AtLeast | Self::Equal)
    }
}

impl Function {
    pub(crate) const NAMES: [(&'static str, Self); 3] =
        [("ln", Self::Ln), ("abs", Self::Abs), ("not", Self::Not)];
}

impl Expression {
    /// Calls `see` with every value taken from runs.
    pub fn each_run<'a>(&'a self, see: &mut impl FnMut(&'a RunValue)) {
        match self {
            Self::Number(_) => {}
            Self::Run(run) => see(run),
            Self::Each(_, one) | Self::Aggregate(_, one) | Self::Pairs(one) => one.each_run(see),
            Self::Over { body, .. } => body.each_run(see),
            Self::Chain(first, links) => {
                first.each_run(see);
                links.iter().for_each(|(_, other)| other.each_run(see));
            }
            Self::Correlation(one, other) => {
                one.each_run(see);
                other.each_run(see);
            }
            Self::List(items) => items.iter().for_each(|item| item.each_run(see)),
        }
    }

    /// This, and then the operator with another.
    pub(crate) fn then(self, operator: Operator, other: Self) -> Self {
        match self {
            Self::Chain(first, mut links) => {
                links.push((operator, other));
                Self::Chain(first, links)
            }
            first => Self::Chain(Box::new(first), vec![(operator, other)]),
        }
    }

    /// Writes out every variable and every list of texts: only [`Over::Condition`] is left.
    pub fn written_out(&self) -> Self {
        self.changed(&[], &|_| ())
    }

    /// Puts these texts in the place of `$name`, and applies `change` to every value taken from runs.
    pub(crate) fn changed(&self, values: &[(&str, &str)], change: &dyn Fn(&mut RunValue)) -> Self {
        let one = |inner: &Self| Box::new(inner.changed(values, change));
        match self {
            Self::Number(number) => Self::Number(*number),
            Self::Run(run) => {
                let mut run = run.substituted(values);
                change(&mut run);
                Self::Run(run)
            }
            Self::Each(function, inner) => Self::Each(*function, one(inner)),
            Self::Chain(first, links) => {
                let links = links.iter().map(|(operator, other)| (*operator, *one(other)));
                Self::Chain(one(first), links.collect())
            }
            Self::Aggregate(aggregate, inner) => Self::Aggregate(*aggregate, one(inner)),
            Self::Correlation(a, b) => Self::Correlation(one(a), one(b)),
            Self::Pairs(inner) => Self::Pairs(one(inner)),
            Self::List(items) => Self::List(items.iter().map(|item| *one(item)).collect()),
            Self::Over { over: Over::Texts { name, values: texts }, body } => {
                let with = |text: &String| {
                    let inner: Vec<_> =
                        values.iter().copied().chain([(name.as_str(), text.as_str())]).collect();
                    body.changed(&inner, change)
                };
                Self::List(texts.iter().map(with).collect())
            }
            Self::Over { over, body } => Self::Over { over: over.clone(), body: one(body) },
        }
    }

    /// Puts a text in the place of `$name`.
    pub(crate) fn with(&self, name: &str, text: &str) -> Self {
        self.changed(&[(name, text)], &|_| ())
    }

    /// Takes all its runs from this data set, whatever it names.
    pub fn of_data(&self, data: &str) -> Self {
        self.changed(&[], &|run| run.data = Some(data.into()))
    }
}

impl RunValue {
    fn substituted(&self, values: &[(&str, &str)]) -> Self {
        let filled = |text: &str| {
            values
                .iter()
                .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
        };
        let conditions = |list: &[(String, String)]| {
            list.iter().map(|(key, value)| (key.clone(), filled(value))).collect::<Vec<_>>()
        };
        let mut what = self.what.clone();
        if let What::Columns(ColumnUse { reduction: Reduction::Mean(column), .. }) = &mut what {
            *column = filled(column);
        }
        Self {
            what,
            scheme: filled(&self.scheme),
            conditions: conditions(&self.conditions),
            under: self.under.as_deref().map(conditions),
            ..self.clone()
        }
    }
}

impl fmt::Display for RunValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.scheme)?;
        self.conditions.iter().try_for_each(|(key, value)| write!(f, ", {key}={value}"))
    }
}
