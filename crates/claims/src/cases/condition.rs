//! Conditions of a case: read with the moments of a run, and judged by its outcome.

use super::Case;
use crate::expression::{Expression, Operator, Reduction, RunValue, Threshold, What, parse_of_run};
use crate::runs::{DataRuns, Outcome, Run};
use crate::{Quantity, Units};
use cellcc_control::ShownValue;
use cellcc_experiment::FlowMeter;
use cellcc_units::Span;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the run in expressions.
const RUN: &str = "run";

/// Time at which each moment first held, by name; none: it never did.
pub(super) struct Moments(Vec<(String, Option<Span>)>);

/// A condition as it was read: two values, and how they are compared.
pub(super) struct Condition {
    value: Expression,
    operator: Operator,
    bound: Expression,
    /// Reason why it cannot be judged for this subject; none: it can.
    skip: Option<String>,
}

/// Outcome of a condition.
pub(super) enum Held {
    /// Outcome, value and bound.
    Judged(bool, f64, f64),
    /// Reason why it cannot be judged.
    Skip(String),
}

impl Moments {
    /// All of them at the beginning.
    pub(super) fn zero(texts: &[(String, String)]) -> Self {
        Self(texts.iter().map(|(name, _)| (name.clone(), Some(Span::ZERO))).collect())
    }

    /// None of them came.
    pub(super) fn none(texts: &[(String, String)]) -> Self {
        Self(texts.iter().map(|(name, _)| (name.clone(), None)).collect())
    }

    /// Finds them in the run, in their order: a later one may name an earlier one. A moment after one that did not come does not
    /// come either.
    ///
    /// # Errors
    /// Something that the run does not show.
    pub(super) fn of(
        texts: &[(String, String)],
        outcome: &Outcome,
        shows: &[ShownValue],
    ) -> Result<Self, String> {
        let mut moments = Self(Vec::new());
        for (name, text) in texts {
            let found = match moments.fill(text) {
                Ok(text) => first(&text, outcome, shows)?,
                Err(_) => None,
            };
            moments.0.push((name.clone(), found));
        }
        Ok(moments)
    }

    /// The text with times in the place of moments.
    ///
    /// # Errors
    /// One that did not come.
    pub(super) fn fill(&self, text: &str) -> Result<String, String> {
        let mut text = text.to_owned();
        // `$up` is the beginning of `$upper`.
        let mut moments: Vec<_> = self.0.iter().collect();
        moments.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        for (name, at) in moments {
            let sign = format!("${name}");
            if text.contains(&sign) {
                let at = at.ok_or_else(|| format!("{sign} did not come"))?;
                text = text.replace(&sign, &at.to_string());
            }
        }
        Ok(text)
    }
}

/// Time at which `CONDITION[, FROM..[TO]][, for TIME]` first held; none: it never did.
fn first(text: &str, outcome: &Outcome, shows: &[ShownValue]) -> Result<Option<Span>, String> {
    let parsed =
        parse_of_run(&format!("reached_s({text})"), RUN).map_err(|error| format!("`{text}`: {error}"))?;
    let mut skip = None;
    let parsed = with_states(&parsed, shows, &mut skip);
    if let Some(why) = skip.or_else(|| missing(&parsed, outcome)) {
        return Err(why);
    }
    let Expression::Run(RunValue { what: What::Columns(used), .. }) = &parsed else {
        return Err(format!(
            "`{text}` is no condition that can first hold; write one such as `throughput_mbit_s >= 10`"
        ));
    };
    let seconds = crate::series::value(outcome, used).filter(|seconds| seconds.is_finite());
    // The bins of a window begin with the first that lies in it.
    let bin = outcome.series.bin.as_nanos().max(1);
    let from = Span::from_nanos(used.window.from.as_nanos().div_ceil(bin) * bin);
    Ok(seconds.map(|seconds| from + Span::from_secs_f64(seconds)))
}

impl Case {
    /// A first reading of moments and conditions, in which every moment is at the beginning.
    ///
    /// # Errors
    /// The moment or the condition that cannot be read.
    pub(super) fn check_texts(&self) -> Result<(), String> {
        let zero = Moments::zero(&self.moments);
        for (name, text) in &self.moments {
            parse_of_run(&format!("reached_s({})", zero.fill(text)?), RUN)
                .map_err(|error| format!("in the moment `{name}`: {error}"))?;
        }
        self.read_with(&zero, &[]).map(drop)
    }

    /// True if at least one condition names no moment, and only columns that every flow has.
    pub(super) fn has_condition_for_any(&self) -> bool {
        let is_for_any = |(text, _): &(String, String)| {
            parse_of_run(text, RUN).is_ok_and(|parsed| {
                let mut names = Vec::new();
                parsed.each_run(&mut |run| names.extend(columns(run)));
                names.iter().all(|name| FlowMeter::COLUMNS.contains(&name.as_str()))
            })
        };
        self.conditions.iter().any(is_for_any)
    }

    /// Its conditions, with the moments of a run.
    ///
    /// # Errors
    /// The condition that cannot be read.
    pub(super) fn read_with(
        &self,
        moments: &Moments,
        shows: &[ShownValue],
    ) -> Result<Vec<Result<Condition, String>>, String> {
        let read = |(text, _): &(String, String)| match moments.fill(text) {
            Ok(filled) => {
                Condition::read(&filled, shows).map(Ok).map_err(|problem| format!("in `{text}`: {problem}"))
            }
            Err(never) => Ok(Err(never)),
        };
        self.conditions.iter().map(read).collect()
    }
}

impl Condition {
    fn read(text: &str, shows: &[ShownValue]) -> Result<Self, String> {
        let parsed = parse_of_run(text, RUN).map_err(|error| error.to_string())?;
        let mut skip = None;
        if let Expression::Chain(first, mut links) = with_states(&parsed, shows, &mut skip)
            && let Some((operator, bound)) = links.pop()
            && operator.compares()
        {
            return Ok(Self { value: Expression::Chain(first, links), operator, bound, skip });
        }
        Err("write one comparison, such as `utilisation over 12s..20s >= 0.9`".into())
    }

    /// Judges it by the outcome of a run.
    pub(super) fn holds(&self, outcome: &Arc<Outcome>) -> Held {
        let gap = || missing(&self.value, outcome).or_else(|| missing(&self.bound, outcome));
        if let Some(why) = self.skip.clone().or_else(gap) {
            return Held::Skip(why);
        }
        let run = Run {
            scheme: RUN.into(),
            conditions: Vec::new(),
            driver: String::new(),
            trace: String::new(),
            seed: 0,
            outcome: Some(Arc::clone(outcome)),
        };
        let runs: DataRuns = BTreeMap::from([(RUN.to_owned(), vec![run])]);
        let number = |of: &Expression| {
            Quantity::new(of, Some(RUN), &runs, Units::Runs).map_or(f64::NAN, |found| found.number())
        };
        let (value, bound) = (number(&self.value), number(&self.bound));
        Held::Judged(crate::series::holds(value, self.operator, bound), value, bound)
    }
}

/// With the numbers of states in the place of their names; `skip`: why one has none.
fn with_states(expression: &Expression, shows: &[ShownValue], skip: &mut Option<String>) -> Expression {
    let problem = std::cell::RefCell::new(None);
    let changed = expression.changed(&[], &|run| {
        let What::Columns(used) = &mut run.what else { return };
        let Reduction::Reached { column, threshold, .. } = &mut used.reduction else { return };
        let states = shows.iter().find(|shown| shown.name == *column).map_or(&[][..], |shown| shown.states);
        let Threshold::Column(_, name) = threshold else { return };
        if let Some(number) = states.iter().position(|state| state == name) {
            *threshold = Threshold::Number(number as f64);
        } else if !states.is_empty() {
            *problem.borrow_mut() = Some(format!("its `{column}` is never called `{name}`"));
        }
    });
    *skip = problem.into_inner();
    changed
}

/// A column that the run does not have.
fn missing(expression: &Expression, outcome: &Outcome) -> Option<String> {
    let mut gap = None;
    expression.each_run(&mut |run| {
        let is_missing = |name: &&&String| crate::series::column(outcome, name).is_none();
        if let Some(name) = columns(run).iter().find(is_missing) {
            gap = Some(format!("`{name}` is not shown"));
        }
    });
    gap
}

/// The columns that a value of a run reads.
fn columns(run: &RunValue) -> Vec<&String> {
    let What::Columns(used) = &run.what else { return Vec::new() };
    match &used.reduction {
        Reduction::Mean(name) | Reduction::P95(name) | Reduction::Max(name) | Reduction::Deviation(name) => {
            vec![name]
        }
        Reduction::Peaks(name, _)
        | Reduction::Falls { column: name, .. }
        | Reduction::Prediction { column: name, .. } => vec![name],
        Reduction::Reached { column, threshold: Threshold::Column(_, other), .. } => vec![column, other],
        Reduction::Reached { column, .. } => vec![column],
        Reduction::Use | Reduction::Slope { .. } => Vec::new(),
    }
}
