//! A case: a Scenario, and what must hold of its Record.

use crate::report::Outcome;
use crate::{Factory, subject};
use cellcc_experiment::{PlanFile, Record};
use serde::Deserialize;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// A file of `cases`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// One line: what it is about.
    pub(crate) title: String,
    conditions: Vec<String>,
    scenario: PlanFile,
}

/// `QUANTITY OP NUMBER (SOURCE)`, of the whole run after its warm-up.
#[derive(Debug, Clone, PartialEq)]
struct Condition {
    /// A scalar of Records: `loss_ratio`, `flow1.completion_time_s`, `jain_index`.
    quantity: String,
    at_least: bool,
    bound: f64,
    /// Who asks for it.
    source: String,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("`{text}` is no condition `QUANTITY OP NUMBER (SOURCE)` with `>=` or `<=`");
        let (condition, source) = text.split_once('(').ok_or_else(refused)?;
        let source = source.strip_suffix(')').ok_or_else(refused)?;
        let [quantity, operator, bound] =
            condition.split_whitespace().collect::<Vec<_>>().try_into().map_err(|_| refused())?;
        Ok(Self {
            quantity: quantity.into(),
            at_least: match operator {
                ">=" => true,
                "<=" => false,
                _ => return Err(refused()),
            },
            bound: bound.parse().map_err(|_| refused())?,
            source: source.into(),
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.at_least { ">=" } else { "<=" };
        write!(f, "{operator} {} ({})", self.bound, self.source)
    }
}

impl Condition {
    /// What is wrong, if it does not hold.
    fn violation(&self, record: &Value) -> Result<Option<String>, String> {
        let value = self.value(record)?;
        // A flow that is not through has no completion time.
        let holds =
            value.is_some_and(|value| if self.at_least { value >= self.bound } else { value <= self.bound });
        let shown = value.map_or("none".into(), |value| format!("{}", (value * 1e4).round() / 1e4));
        Ok((!holds).then(|| format!("{} {shown}, wanted {self}", self.quantity)))
    }

    fn value(&self, record: &Value) -> Result<Option<f64>, String> {
        let found = match self.quantity.strip_prefix("flow").and_then(|rest| rest.split_once('.')) {
            Some((index, key)) => {
                index.parse::<usize>().ok().and_then(|index| record["flows"].get(index)?["metrics"].get(key))
            }
            None => record["total"].get(&self.quantity).or_else(|| record.get(&self.quantity)),
        };
        let found = found.ok_or_else(|| format!("`{}` is no scalar of its Record", self.quantity))?;
        Ok(found.as_f64())
    }
}

impl Case {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Runs it with the controllers of `factory`.
    pub(crate) fn judge(&self, factory: Factory) -> Outcome {
        match subject::run(&self.scenario, factory).map(|record| self.violations(&record)) {
            Ok(Ok(violations)) if violations.is_empty() => Outcome::Pass,
            Ok(Ok(violations)) => Outcome::Fail(violations.join("; ")),
            Ok(Err(error)) => Outcome::Error(error),
            Err(ended) => ended,
        }
    }

    fn violations(&self, record: &Record) -> Result<Vec<String>, String> {
        let record = serde_json::to_value(record).map_err(|error| error.to_string())?;
        let violations = self.conditions.iter().map(|text| text.parse::<Condition>()?.violation(&record));
        violations.filter_map(Result::transpose).collect()
    }
}
