//! From cases to findings: their runs are planned, run by the caller, and judged.

use super::condition::{Condition, Held, Moments};
use super::finding::{Finding, Ruling, majority};
use super::{Case, Subject};
use crate::Outcome;
use cellcc_experiment::{Driver, Plan, PlanFile, PlannedRun, Record, RunId, is_limit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Outcomes of runs: a Record with its whole series, or the reason why the run failed.
pub type Outcomes = BTreeMap<RunId, Result<Record, String>>;

/// Seeds of a case in real time: it runs once with each, and the majority counts.
const REAL_TIME_SEEDS: &str = "1..3";

/// One run of a case by one driver, or why it cannot be run.
struct Asked<'a> {
    case: &'a Case,
    file: PlanFile,
    run: Result<PlannedRun, (Ruling, String)>,
}

/// Plans the cases for these drivers, has `run` run the plans (a second one where cases have two runs), and judges the outcomes.
///
/// # Errors
/// Those of `run`.
pub fn check<E>(
    cases: &[&Case],
    subject: &Subject,
    drivers: &[String],
    driver: &dyn Driver,
    version: &str,
    mut run: impl FnMut(Plan) -> Result<Outcomes, E>,
) -> Result<Vec<Finding>, E> {
    let pairs = cases.iter().flat_map(|case| drivers.iter().map(move |name| (*case, name)));
    let mut asked: Vec<Asked> =
        pairs.flat_map(|(case, name)| planned(case, case.scenario(subject, name), driver, version)).collect();
    let mut outcomes = BTreeMap::new();
    run_all(&asked, &mut outcomes, version, &mut run)?;
    for one in asked.iter_mut().filter(|one| !one.case.then.is_empty()) {
        one.run = second(one, &outcomes, subject, driver, version);
    }
    run_all(&asked, &mut outcomes, version, &mut run)?;
    let findings = asked.iter().flat_map(|one| one.judge(&outcomes, subject));
    let is_real_time =
        asked.iter().any(|one| one.run.as_ref().is_ok_and(|run| driver.is_real_time(&run.scenario)));
    let findings = findings.collect();
    Ok(if is_real_time { majority(findings) } else { findings })
}

type Known = BTreeMap<RunId, Result<Arc<Outcome>, String>>;

/// Runs each run that has no outcome yet, once.
fn run_all<E>(
    asked: &[Asked],
    known: &mut Known,
    version: &str,
    run: &mut impl FnMut(Plan) -> Result<Outcomes, E>,
) -> Result<(), E> {
    let mut seen = BTreeSet::new();
    let runs = asked.iter().filter_map(|one| one.run.as_ref().ok());
    let runs: Vec<PlannedRun> =
        runs.filter(|run| !known.contains_key(&run.id) && seen.insert(run.id)).cloned().collect();
    if !runs.is_empty() {
        let plan = Plan { title: "check".into(), baseline: String::new(), version: version.into(), runs };
        let came = run(plan)?;
        known.extend(
            came.into_iter().map(|(id, record)| (id, record.map(|record| Arc::new(Outcome::from(record))))),
        );
    }
    Ok(())
}

fn planned<'a>(case: &'a Case, mut file: PlanFile, driver: &dyn Driver, version: &str) -> Vec<Asked<'a>> {
    let skipped = |file, why| vec![Asked { case, file, run: Err((Ruling::Skip, why)) }];
    if let Some(why) = &case.cannot {
        return skipped(file, why.clone());
    }
    let mut runs = runs_of(&file, driver, version);
    let is_real_time = runs.iter().flatten().any(|run| driver.is_real_time(&run.scenario));
    if is_real_time && !case.then.is_empty() {
        return skipped(file, "in real time its two runs would not be the same until the change".into());
    }
    if let (true, Ok(seeds)) = (is_real_time, REAL_TIME_SEEDS.parse()) {
        file.seeds = seeds;
        runs = runs_of(&file, driver, version);
    }
    match runs {
        Ok(runs) => runs.into_iter().map(|run| Asked { case, file: file.clone(), run: Ok(run) }).collect(),
        Err(why) => skipped(file, why),
    }
}

/// The runs of a Scenario, without that of the link itself.
fn runs_of(file: &PlanFile, driver: &dyn Driver, version: &str) -> Result<Vec<PlannedRun>, String> {
    let plan = Plan::new(file, driver, version).map_err(|error| error.to_string())?;
    Ok(plan.runs.into_iter().filter(|run| !is_limit(&run.scenario.scheme)).collect())
}

/// The second run of a case, once the first has found the moment.
fn second(
    one: &Asked,
    known: &Known,
    subject: &Subject,
    driver: &dyn Driver,
    version: &str,
) -> Result<PlannedRun, (Ruling, String)> {
    let first = one.run.clone()?;
    let outcome = match known.get(&first.id) {
        Some(Ok(outcome)) => outcome,
        Some(Err(cause)) => return Err((Ruling::Error, cause.clone())),
        None => return Err((Ruling::Error, "it has not been run".into())),
    };
    let skip = |why| (Ruling::Skip, why);
    let moments = Moments::of(&one.case.moments, outcome, &subject.shows).map_err(skip)?;
    let then = super::filled(&one.case.then, &moments).map_err(|never| (Ruling::Fail, never))?;
    let file = subject.fill(one.file.with(&then).map_err(skip)?);
    let runs = runs_of(&file, driver, version).map_err(skip)?;
    let same = runs.into_iter().find(|run| run.scenario.seed == first.scenario.seed);
    same.ok_or_else(|| skip("its second run has another seed".into()))
}

impl Asked<'_> {
    fn judge(&self, known: &Known, subject: &Subject) -> Vec<Finding> {
        let (run, outcome) = match &self.run {
            Err((ruling, why)) => return vec![self.whole(*ruling, why.clone())],
            Ok(run) => (run, known.get(&run.id)),
        };
        let outcome = match outcome {
            Some(Ok(outcome)) => outcome,
            Some(Err(cause)) => return vec![self.whole(Ruling::Error, cause.clone())],
            None => return vec![self.whole(Ruling::Error, "it has not been run".into())],
        };
        if outcome.total.get("throughput_mbit_s") == Some(&0.0) {
            let why = format!("it stalled: nothing arrived in {}", run.scenario.duration);
            return vec![self.whole(Ruling::Error, why)];
        }
        // A condition that names no moment can be judged even if the moments are not shown.
        let (moments, unshown) = match Moments::of(&self.case.moments, outcome, &subject.shows) {
            Ok(moments) => (moments, None),
            Err(why) => (Moments::none(&self.case.moments), Some(why)),
        };
        let conditions = match self.case.read_with(&moments, &subject.shows) {
            Ok(conditions) => conditions,
            Err(problem) => return vec![self.whole(Ruling::Error, problem)],
        };
        let texts = self.case.conditions.iter();
        let finding = |((text, source), condition): (&(String, String), Result<Condition, String>)| {
            let (ruling, value, bound, why) = match condition.map(|condition| condition.holds(outcome)) {
                Err(never) => match &unshown {
                    Some(why) => (Ruling::Skip, None, None, Some(why.clone())),
                    None => (Ruling::Fail, None, None, Some(never)),
                },
                Ok(Held::Skip(why)) => (Ruling::Skip, None, None, Some(why)),
                Ok(Held::Judged(true, value, bound)) => (Ruling::Pass, Some(value), Some(bound), None),
                Ok(Held::Judged(false, value, bound)) => {
                    let why = value.is_nan().then(|| "there is no such value".to_owned());
                    (Ruling::Fail, Some(value), Some(bound), why)
                }
            };
            Finding {
                condition: text.clone(),
                source: source.clone(),
                ruling,
                value,
                bound,
                why,
                ..self.whole(ruling, String::new())
            }
        };
        texts.zip(conditions).map(finding).collect()
    }

    /// Finding on the run as a whole.
    fn whole(&self, ruling: Ruling, why: String) -> Finding {
        let driver = self.file.drivers.first().map_or("", String::as_str);
        let blank = self.case.unjudged(driver, ruling, &why);
        let Ok(PlannedRun { id, scenario }) = &self.run else { return blank };
        let variation = scenario.variation.clone();
        Finding { variation, seed: Some(scenario.seed), record: Some(id.to_string()), ..blank }
    }
}
