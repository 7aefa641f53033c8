//! The language of quantities: what is computed of the runs of data sets.
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
//! A case of `cellcc check` is about one run, and leaves its scheme out: `loss_ratio`, `reached_s(rtt_ms <= 60)`, and of a part of the
//! run `utilisation over 12s..20s`, `window_max(rtt_ms) over 2s..`. A number may be a time, `200ms`.
//!
//! `DATA:` before anything says of which data set is meant what follows, to the end of the bracket. A run's value is a number for
//! each trace; an aggregate ([`Aggregate`]) makes one number of them, where it stands: `mean(a / b)` is the mean of ratios,
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

/// What is wrong with an expression, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct ExpressionError {
    /// The byte of the expression at which it was noticed.
    pub at: usize,
    /// What is wrong, and what to write instead.
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
    /// Something of runs: a number for each trace.
    Run(RunValue),
    /// A function of one number, applied to each.
    Each(Function, Box<Expression>),
    /// A value, and what is done with it from left to right, number by number: `a - b < c`. In one list, so that a tree is not as deep
    /// as a text is long.
    Chain(Box<Expression>, Vec<(Operator, Expression)>),
    /// One number of the numbers of traces, or of a list.
    Aggregate(Aggregate, Box<Expression>),
    /// Spearman's rank correlation over traces.
    Correlation(Box<Expression>, Box<Expression>),
    /// Several numbers.
    List(Vec<Expression>),
    /// For each two items of a list, the first before the second, whether the first is the smaller: 1 or 0.
    Pairs(Box<Expression>),
    /// The expression for each value of a varied condition, or of a variable.
    Over {
        /// What takes the values.
        over: Over,
        /// What is computed for each.
        body: Box<Expression>,
    },
}

/// What an [`Expression::Over`] goes over.
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

/// What is taken of the runs of one scheme.
#[derive(Debug, Clone, PartialEq)]
pub struct RunValue {
    /// Where in the expression it stands.
    pub at: usize,
    /// The data set; none: the claim's only one.
    pub data: Option<String>,
    /// What is taken.
    pub what: What,
    /// Scheme or mix as tables have it, or `limit`.
    pub scheme: String,
    /// What else the runs have: a condition or a part of it, or `trace`, `driver`, `seed`.
    pub conditions: Vec<(String, String)>,
    /// The run is another one than that of the rest of the expression: the one on the same trace that has these conditions.
    pub under: Option<Vec<(String, String)>>,
}

/// What is taken of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A scalar of the Record, of all flows or of one: `rtt_mean_ms`, `flow1.rtt_mean_ms`.
    Metric {
        /// Which flow; none: all together.
        flow: Option<usize>,
        /// The key.
        key: String,
    },
    /// Something of its time series.
    Columns(ColumnUse),
}

/// Functions of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// The negative.
    Minus,
    /// The natural logarithm.
    Ln,
    /// The size.
    Abs,
    /// 1 of 0, and 0 of all else.
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

/// What makes one number of several. Those that are not there (a delay where nothing came back) are left out.
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
    /// It says whether something holds of two numbers.
    pub(crate) fn compares(self) -> bool {
        matches!(self, Self::Less | Self::AtMost | Self::More | Self::AtLeast | Self::Equal)
    }
}

impl Function {
    pub(crate) const NAMES: [(&'static str, Self); 3] =
        [("ln", Self::Ln), ("abs", Self::Abs), ("not", Self::Not)];
}

impl Expression {
    /// Calls `see` with everything that is taken of runs.
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

    /// The same with every variable and every list of texts written out: only [`Over::Condition`] is left.
    pub fn written_out(&self) -> Self {
        self.changed(&[], &|_| ())
    }

    /// With these texts in the place of `$name`, and what is taken of runs changed.
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

    /// The same with a text in the place of `$name`.
    pub(crate) fn with(&self, name: &str, text: &str) -> Self {
        self.changed(&[(name, text)], &|_| ())
    }

    /// The same of another data set, where it names none or one.
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
