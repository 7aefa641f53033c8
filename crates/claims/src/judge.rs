//! Claims judged by the runs of their data sets.

use crate::claim::By;
use crate::claim_file::near;
use crate::expression::{Expression, ExpressionError, RunValue, What};
use crate::kind::{judge, share};
use crate::quantity::Value;
use crate::runs::{DataRuns, Run};
use crate::{Claim, ClaimError, Claims, Figure, Quantity, Units, Verdict};
use cellcc_units::instead;
use serde::Serialize;
use std::collections::BTreeMap;

/// A claim with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The claim's id.
    pub id: String,
    /// The paper: the file that the claim is in, without its ending.
    pub group: String,
    /// Place in the paper.
    pub source: String,
    /// The paper's statement.
    pub says: String,
    /// Its value as the paper has it.
    pub reports: String,
    /// The paper's number, where the kind has one.
    pub paper: Option<f64>,
    /// The values of a hit, where they are one range.
    pub hit: Option<(f64, f64)>,
    /// The values found: one number, or several; nothing where there is none.
    pub values: Vec<f64>,
    /// The value in words, where another program gave it.
    pub stated: Option<String>,
    /// The 95 % interval of a single number.
    pub interval: Option<(f64, f64)>,
    /// The 95 % interval of each of the values; empty where there are too few traces.
    pub intervals: Vec<(f64, f64)>,
    /// Agreement.
    pub verdict: Verdict,
    /// The intervals reach into another verdict.
    pub near: bool,
    /// The threshold is ours.
    pub threshold_is_ours: bool,
    /// Its quantity for further data sets: their names and values.
    pub also: Vec<(String, Vec<f64>)>,
    /// Reason why there is no verdict, or the program that gave it.
    pub why: Option<String>,
    /// A further remark.
    pub note: String,
}

/// Runs that claims and figures need, by data set.
#[derive(Debug, Default)]
pub struct Needs(BTreeMap<String, Vec<RunValue>>);

impl Needs {
    /// Adds the runs of this expression; `data` is their data set where it names none.
    pub fn add(&mut self, expression: &Expression, data: Option<&str>) {
        // Only the Scenario lists the values of a varied condition: a run under any of them is needed.
        expression.written_out().each_run(&mut |run| {
            let Some(name) = run.data.as_deref().or(data) else { return };
            let runs = self.0.entry(name.to_owned()).or_default();
            let alike = RunValue { at: 0, ..run.clone() };
            if !runs.contains(&alike) {
                runs.push(alike);
            }
        });
    }

    /// The data sets.
    pub fn data(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The schemes of a data set, each once; `limit` is not among them, as every plan has it.
    pub fn schemes(&self, data: &str) -> Vec<String> {
        let mut schemes: Vec<String> = Vec::new();
        for run in self.0.get(data).into_iter().flatten() {
            let scheme: String = run.scheme.chars().filter(|c| !c.is_whitespace()).collect();
            if !cellcc_experiment::is_limit(&scheme) && !schemes.contains(&scheme) {
                schemes.push(scheme);
            }
        }
        schemes
    }

    /// `None` if this run of a data set is not needed; else true if its time series are.
    pub fn of(&self, data: &str, run: &Run) -> Option<bool> {
        let needing = self.0.get(data).into_iter().flatten();
        let needing =
            needing.filter(|one| run.is(&one.scheme, one.under.as_deref().unwrap_or(&one.conditions)));
        needing.map(|one| matches!(one.what, What::Columns(_))).reduce(|one, other| one || other)
    }
}

impl Claims {
    /// Runs that these claims and figures need.
    ///
    /// # Errors
    /// A data set that does not exist, or an expression without one, with its claim or figure.
    pub fn needs<'a>(
        &self,
        claims: impl IntoIterator<Item = &'a Claim>,
        figures: impl IntoIterator<Item = &'a Figure>,
    ) -> Result<Needs, ClaimError> {
        let mut needs = Needs::default();
        for claim in claims {
            for (_, expression) in claim.quantities() {
                self.check_data(&expression).map_err(|error| claim.error(&error))?;
                needs.add(&expression, None);
            }
        }
        for figure in figures {
            for (text, expression) in figure.quantities() {
                self.check_data(&expression).map_err(|error| figure.error(text, &error))?;
                needs.add(&expression, None);
            }
        }
        Ok(needs)
    }

    fn check_data(&self, expression: &Expression) -> Result<(), ExpressionError> {
        let mut wrong = None;
        expression.each_run(&mut |run| {
            let is_known = run.data.as_ref().is_some_and(|name| self.data.contains_key(name));
            if !is_known && wrong.is_none() {
                let given = run.data.as_deref().unwrap_or("");
                let known: Vec<&str> = self.data.keys().map(String::as_str).collect();
                let problem = if given.is_empty() {
                    "names no data set, as in `sa: mean(...)`".to_owned()
                } else {
                    format!("`{given}` is no data set")
                };
                wrong = Some(ExpressionError::new(
                    run.at,
                    problem + &instead(given, "there are", &known.join(", ")),
                ));
            }
        });
        wrong.map_or(Ok(()), Err)
    }
}

impl Claim {
    /// The data sets that it is about, and those for which it is also shown.
    pub fn data(&self) -> Vec<&str> {
        let By::Quantity { expression, also, .. } = &self.by else { return Vec::new() };
        let mut data: Vec<&str> = also.iter().map(String::as_str).collect();
        expression.each_run(&mut |run| {
            if let Some(name) = run.data.as_deref().filter(|name| !data.contains(name)) {
                data.push(name);
            }
        });
        data
    }

    /// Checks that everything it names exists, without any run.
    ///
    /// # Errors
    /// The first thing that is missing or does not fit, with file and line.
    pub fn check(&self, runs: &DataRuns) -> Result<(), ClaimError> {
        for (_, expression) in self.quantities() {
            Quantity::new(&expression, None, runs, Units::Traces).map_err(|error| self.error(&error))?;
        }
        Ok(())
    }

    /// The verdict that these runs give.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn judge(&self, runs: &DataRuns) -> Result<Judged, ClaimError> {
        let mut judged = self.unjudged("");
        let bands = self.bands();
        match &self.by {
            By::Quantity { .. } => {}
            By::Elsewhere { value, verdict, by } => {
                return Ok(Judged {
                    stated: Some(value.clone()),
                    verdict: *verdict,
                    why: Some(by.clone()),
                    ..judged
                });
            }
            By::Nothing(why) => return Ok(Judged { why: Some(why.clone()), ..judged }),
        }
        judged.why = None;
        for (data, expression) in self.quantities() {
            let quantity =
                Quantity::new(&expression, None, runs, Units::Traces).map_err(|error| self.error(&error))?;
            let value = quantity.value();
            if let Some(data) = data {
                judged.also.push((data.to_owned(), self.shown(value)));
                continue;
            }
            judged.verdict = judge(self.kind, bands, &value);
            judged.values = self.shown(value);
            judged.intervals = quantity.intervals(|value| self.shown(value));
            judged.interval = judged.intervals.first().copied().filter(|_| judged.values.len() == 1);
            judged.near = bands.differ_in(&judged.intervals);
        }
        if judged.verdict == Verdict::Untested {
            judged.why = Some("the runs give no such value".into());
        }
        if self.stand_in.is_some() {
            judged.verdict = judged.verdict.min(Verdict::Partly);
        }
        Ok(judged)
    }

    /// The claim without a verdict, for this reason.
    pub fn unjudged(&self, why: &str) -> Judged {
        Judged {
            id: self.id.clone(),
            group: self.group.clone(),
            source: self.source.clone(),
            says: self.says.clone(),
            reports: self.reports.clone(),
            paper: self.paper,
            hit: matches!(self.by, By::Quantity { .. }).then(|| self.bands().hit),
            values: Vec::new(),
            stated: None,
            interval: None,
            intervals: Vec::new(),
            verdict: Verdict::Untested,
            near: false,
            threshold_is_ours: self.threshold_is_ours,
            also: Vec::new(),
            why: Some(why.to_owned()),
            note: self.note.clone(),
        }
    }

    /// The numbers of a value; for statements, the share of those that hold.
    fn shown(&self, value: Value) -> Vec<f64> {
        match value {
            Value::Number(number) => vec![number],
            Value::List(values) if self.kind.is_of_statements() => vec![share(&values)],
            Value::List(values) => values,
        }
    }

    pub(crate) fn error(&self, error: &ExpressionError) -> ClaimError {
        let (file, line) = self.place.clone();
        let text = if let By::Quantity { text, .. } = &self.by { text.as_str() } else { "" };
        ClaimError { file, line, problem: format!("{}, in `{}`: {error}", self.id, near(text, error.at)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Outcome;
    use std::sync::Arc;

    /// The verdict on a list, where CUBIC uses half of each of twelve links and BBR 0.595 on average, 0.54 to 0.65; Vegas uses
    /// nearly all of eleven of them.
    fn judged(kind: &str, value: &str) -> Judged {
        let text = format!(
            "[data.sa]\nscenario = 's.toml'\n\n[[claim]]\nid = 'REM-79'\nsource = '4.1'\nsays = 'low use'\npaper = 0.6\n\
             kind = '{kind}'\nvalue = 'sa: {value}'\n"
        );
        let claims = Claims::read([("claims/reminis.toml", text.as_str())], ("recordings.toml", "")).unwrap();
        let run = |scheme: &str, at: usize, utilisation: f64| Run {
            scheme: scheme.into(),
            conditions: Vec::new(),
            driver: "sim".into(),
            trace: format!("link-{at}"),
            seed: 1,
            outcome: Some(Arc::new(Outcome {
                total: [("utilisation".into(), utilisation)].into(),
                ..Outcome::default()
            })),
        };
        let of_link = |at: usize| {
            let of_vegas = if at == 0 { 0.02 } else { 1.0 - 0.005 * (at % 5) as f64 };
            [run("cubic", at, 0.5), run("bbr", at, 0.54 + 0.01 * at as f64), run("vegas", at, of_vegas)]
        };
        claims.claims[0].judge(&DataRuns::from([("sa".into(), (0..12).flat_map(of_link).collect())])).unwrap()
    }

    #[test]
    fn a_list_of_numbers_has_an_interval_for_each_and_is_near_where_one_reaches_another_verdict() {
        let judged = judged("at most", "[mean(utilisation(cubic)), mean(utilisation(bbr))]");
        assert_eq!((judged.verdict, judged.near, judged.interval), (Verdict::Hit, true, None));
        let [cubic, (low, high)] = judged.intervals[..] else { panic!("{:?}", judged.intervals) };
        assert_eq!(cubic, (0.5, 0.5));
        assert!(0.57 < low && low < 0.595 && 0.6 < high && high < 0.62, "{low} to {high}");
    }

    /// Below a mean of 0.91 stood the interval from -3.4 to 1.01.
    #[test]
    fn the_interval_of_a_mean_stays_where_the_quantity_can_be() {
        for (value, most) in [("mean(utilisation(vegas))", 1.0), ("mean(100 * utilisation(vegas))", 100.0)] {
            assert_eq!(judged("share", value).interval, Some((0.0, most)), "{value}");
        }
    }

    #[test]
    fn a_list_of_statements_has_the_interval_of_the_share_that_holds() {
        let judged = judged("mostly", "[mean(utilisation(cubic)) < 0.6, mean(utilisation(bbr)) < 0.6]");
        assert_eq!((judged.values, judged.interval), (vec![1.0], Some((0.5, 1.0))));
        assert_eq!((judged.verdict, judged.near), (Verdict::Hit, true));
    }
}
