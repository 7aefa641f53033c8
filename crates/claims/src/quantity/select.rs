//! Finds the runs that a quantity names, and takes a number from each.

use crate::expression::{Expression, ExpressionError, RunValue, What};
use crate::runs::{DataRuns, Outcome, Run};
use crate::series;
use cellcc_statistics::mean;
use cellcc_units::instead;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Units for which a quantity has one number each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    /// Traces, averaged over seeds; seeds, where there is one trace. Varied conditions must be named.
    Traces,
    /// Runs: the tables of pages have all that a row and a column select.
    Runs,
}

/// Trace, seed and conditions to which a number belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Unit<'a> {
    trace: &'a str,
    /// None: all of them.
    seed: Option<u64>,
    /// None: the one that the expression names.
    variation: Option<(&'a str, &'a [(String, String)])>,
}

pub(super) struct Selection<'a> {
    runs: &'a DataRuns,
    data: Option<&'a str>,
    units: Units,
    groups: Vec<Vec<Unit<'a>>>,
}

impl<'a> Selection<'a> {
    pub(super) fn new(runs: &'a DataRuns, data: Option<&'a str>, units: Units) -> Self {
        Self { runs, data, units, groups: Vec::new() }
    }

    pub(super) fn group_sizes(&self) -> Vec<usize> {
        self.groups.iter().map(Vec::len).collect()
    }

    pub(super) fn group_size(&self, group: usize) -> usize {
        self.groups[group].len()
    }

    /// The group of traces, and a number for each.
    pub(super) fn values(
        &mut self,
        run: &RunValue,
        over: &[(String, String)],
    ) -> Result<(usize, Arc<[f64]>), ExpressionError> {
        let runs = self.data(run.data.as_deref(), run.at)?;
        let group = self.group(runs);
        let conditions: Vec<(String, String)> = run.conditions.iter().chain(over).cloned().collect();
        let wanted = run.under.as_deref().unwrap_or(&conditions);
        let found: Vec<&Run> = runs.iter().filter(|other| other.is(&run.scheme, wanted)).collect();
        if found.is_empty() {
            return Err(ExpressionError::new(run.at, not_there(run, wanted, runs)));
        }
        let values = self.groups[group].iter().map(|unit| {
            let of_unit: Vec<&Run> =
                found.iter().copied().filter(|other| unit.has(other, run.under.is_some())).collect();
            if let [first, rest @ ..] = of_unit.as_slice()
                && rest
                    .iter()
                    .any(|other| other.conditions != first.conditions || other.driver != first.driver)
            {
                return Err(ExpressionError::new(run.at, several(run, &of_unit)));
            }
            let there: Vec<f64> =
                of_unit.iter().filter_map(|other| taken(&run.what, other.outcome.as_ref()?)).collect();
            Ok(mean(&there).unwrap_or(f64::NAN))
        });
        let values = values.collect::<Result<Vec<f64>, _>>()?;
        Ok((group, values.into()))
    }

    /// The values that the data set of `body` has of a varied condition, in order.
    pub(super) fn values_of(
        &self,
        key: &str,
        body: &Expression,
        at: usize,
    ) -> Result<Vec<String>, ExpressionError> {
        let mut data = None;
        body.each_run(&mut |run| data = data.or(Some(run.data.as_deref())));
        let runs = self.data(data.flatten(), at)?;
        let mut values: Vec<&str> = Vec::new();
        for (own, value) in runs.iter().flat_map(|run| &run.conditions) {
            if own == key && !values.contains(&value.as_str()) {
                values.push(value);
            }
        }
        if values.is_empty() {
            return Err(ExpressionError::new(at, format!("`{key}` is not varied{}", varied_in(runs))));
        }
        Ok(values.into_iter().map(str::to_owned).collect())
    }

    fn data(&self, name: Option<&str>, at: usize) -> Result<&'a [Run], ExpressionError> {
        let name = name.or(self.data).ok_or_else(|| {
            ExpressionError::new(at, "names no data set; write its name before it, such as `sa: mean(...)`")
        })?;
        self.runs.get(name).map(Vec::as_slice).ok_or_else(|| {
            let known: Vec<&str> = self.runs.keys().map(String::as_str).collect();
            let problem = format!("`{name}` is no data set{}", instead(name, "there are", &known.join(", ")));
            ExpressionError::new(at, problem)
        })
    }

    /// The group of a data set's traces. Two data sets with the same traces have one.
    fn group(&mut self, runs: &'a [Run]) -> usize {
        let (mut units, mut seen) = (Vec::new(), BTreeSet::new());
        let is_one_trace = runs.iter().all(|run| run.trace == runs[0].trace);
        for run in runs {
            let unit = match self.units {
                Units::Traces => {
                    Unit { trace: &run.trace, seed: is_one_trace.then_some(run.seed), variation: None }
                }
                Units::Runs => Unit {
                    trace: &run.trace,
                    seed: Some(run.seed),
                    variation: Some((&run.driver, &run.conditions)),
                },
            };
            if seen.insert(unit) {
                units.push(unit);
            }
        }
        self.groups.iter().position(|group| *group == units).unwrap_or_else(|| {
            self.groups.push(units);
            self.groups.len() - 1
        })
    }
}

impl Unit<'_> {
    /// True if a run belongs to it; `under`: the run's conditions may be others.
    fn has(&self, run: &Run, under: bool) -> bool {
        let variation = self.variation.is_none_or(|(driver, conditions)| {
            driver == run.driver && (under || conditions == run.conditions.as_slice())
        });
        self.trace == run.trace && self.seed.is_none_or(|seed| seed == run.seed) && variation
    }
}

fn taken(what: &What, outcome: &Outcome) -> Option<f64> {
    match what {
        What::Metric { flow: None, key } => outcome.total.get(key).copied(),
        What::Metric { flow: Some(flow), key } => match outcome.flows.get(*flow) {
            Some(scalars) => scalars.get(key).copied(),
            None => None,
        },
        What::Columns(used) => series::value(outcome, used),
    }
}

fn not_there(run: &RunValue, wanted: &[(String, String)], runs: &[Run]) -> String {
    if !runs.iter().any(|other| other.is(&run.scheme, &[])) {
        let mut schemes: Vec<&str> = Vec::new();
        for run in runs {
            if !schemes.contains(&run.scheme.as_str()) {
                schemes.push(&run.scheme);
            }
        }
        return format!("there are no runs of `{}`; there are {}", run.scheme, schemes.join(", "));
    }
    let fails = |(key, value): &&(String, String)| !runs.iter().any(|run| run.has(key, value));
    let which = wanted.iter().find(fails).map(|(key, value)| format!("{key}={value}"));
    let which = which.unwrap_or_else(|| "all of its conditions together".into());
    format!("no run of `{}` has {which}{}", run.scheme, varied_in(runs))
}

fn several(run: &RunValue, runs: &[&Run]) -> String {
    let texts: Vec<String> = runs
        .iter()
        .take(2)
        .map(|run| {
            let conditions: Vec<String> =
                run.conditions.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("{} [{}]", conditions.join(", "), run.driver)
        })
        .collect();
    format!(
        "`{}` has several runs on each trace, such as {}: say which, `({}; path.queue=33pkt)`, or write `over(path.queue: ...)`",
        run.scheme,
        texts.join(" and "),
        run.scheme
    )
}

/// The conditions that the runs vary, for a message.
fn varied_in(runs: &[Run]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (key, value) in runs.iter().flat_map(|run| &run.conditions) {
        let part = format!("{key}={value}");
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    if parts.is_empty() {
        "; nothing is varied there".into()
    } else {
        format!("; there are {}", parts.join(", "))
    }
}
