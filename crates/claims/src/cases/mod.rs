//! Cases of conformance: requirements on a congestion controller, as data in `cases/`, and verdicts. `cellcc check` runs them
//! (docs/how-to/check.md).
//!
//! | noun | meaning |
//! |---|---|
//! | [`Suite`] | the cases of a file, and the schemes that they check |
//! | [`Case`] | a Scenario in which `$s` stands for the subject, moments of its run, and conditions |
//! | [`Subject`] | the scheme or controller under check, and the values that it shows |
//! | [`check`] | plans cases, has their runs run, and judges them |
//! | [`Finding`] | one condition of one run: the value, and the verdict |
//!
//! A case with `then` has two runs: the first one finds its moments, and the second one has the change there. Runs are
//! deterministic, hence the same until then.

mod check;
mod condition;
mod finding;

pub use check::{Outcomes, check};
pub use finding::{Finding, Ruling, junit, ruling};

use crate::ClaimError;
use crate::claim_file::{at, group, line_of, malformed};
use cellcc_control::{Scheme, ShownValue};
use cellcc_experiment::PlanFile;
use cellcc_units::instead;
use condition::Moments;
use serde::Deserialize;
use toml::{Spanned, Table, Value};

/// Placeholder for the subject in the schemes of a case.
const SUBJECT: &str = "$s";

/// Suite of the cases marked `quick`, from every file.
const QUICK: &str = "quick";

/// The files of `cases/`.
const FILES: [(&str, &str); 5] = [
    ("cases/bbr.toml", include_str!("../../cases/bbr.toml")),
    ("cases/rfc9743.toml", include_str!("../../cases/rfc9743.toml")),
    ("cases/paths.toml", include_str!("../../cases/paths.toml")),
    ("cases/newreno.toml", include_str!("../../cases/newreno.toml")),
    ("cases/cubic.toml", include_str!("../../cases/cubic.toml")),
];

/// The cases of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// The file's name without folder and ending: `bbr`.
    pub name: String,
    /// Topic of its cases.
    pub says: String,
    /// Names of the schemes that it checks unless suites are named; empty: all of them.
    pub subjects: Vec<String>,
    /// In the order of the file.
    pub cases: Vec<Case>,
}

/// A case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The suite and its name there: `bbr/15`.
    pub id: String,
    /// The requirement in words.
    pub says: String,
    /// Also part of the suite `quick`.
    pub quick: bool,
    /// Reason why nothing can judge it today; none: something can.
    pub cannot: Option<String>,
    file: PlanFile,
    /// Settings that the second run changes; `$moment` stands for a time in them.
    then: Table,
    moments: Vec<(String, String)>,
    /// Each with its source.
    conditions: Vec<(String, String)>,
}

/// The scheme or controller under check, and the values that it shows.
#[derive(Debug, Clone)]
pub struct Subject {
    text: String,
    name: String,
    shows: Vec<ShownValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteText {
    says: String,
    #[serde(default)]
    subjects: Vec<String>,
    #[serde(default)]
    scenario: Table,
    case: Vec<Spanned<CaseText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseText {
    name: String,
    says: String,
    #[serde(default)]
    quick: bool,
    cannot: Option<String>,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    then: Table,
    #[serde(default)]
    moments: Table,
    #[serde(default)]
    conditions: Vec<(String, String)>,
}

/// The suites that come with cellcc.
///
/// # Errors
/// None that a test would not have found.
pub fn suites() -> Result<Vec<Suite>, ClaimError> {
    FILES.into_iter().map(|(file, text)| Suite::read(file, text)).collect()
}

/// Selects the cases of these suites, or of `quick`, that have one of these names; an empty list of either selects all. Without
/// `suites`, and in `quick`, only suites about the subject count; a case that is named is meant, whatever its suite is about.
///
/// # Errors
/// A name that no suite or no case has, or names that have no case in common.
pub fn chosen<'a>(
    all: &'a [Suite],
    subject: &Subject,
    suites: &[String],
    cases: &[String],
) -> Result<Vec<&'a Case>, String> {
    let names: Vec<&str> = all.iter().map(|suite| suite.name.as_str()).chain([QUICK]).collect();
    if let Some(unknown) = suites.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!(
            "suite `{unknown}` is not there{}",
            instead(unknown, "there are", &names.join(", "))
        ));
    }
    let pairs = || all.iter().flat_map(|suite| suite.cases.iter().map(move |case| (suite, case)));
    if let Some(unknown) = cases.iter().find(|name| !pairs().any(|(_, case)| case.is_called(name))) {
        let ids: Vec<&str> = pairs().map(|(_, case)| case.id.as_str()).collect();
        return Err(format!(
            "case `{unknown}` is not there{}",
            instead(unknown, "there are", &ids.join(", "))
        ));
    }
    let is_meant = |(suite, case): &(&Suite, &Case)| {
        let about = !cases.is_empty() || suite.is_about(subject);
        let named = |name: &String| *name == suite.name || (name == QUICK && case.quick && about);
        let in_suite = if suites.is_empty() { about } else { suites.iter().any(named) };
        in_suite && (cases.is_empty() || cases.iter().any(|name| case.is_called(name)))
    };
    let found: Vec<&Case> = pairs().filter(is_meant).map(|(_, case)| case).collect();
    if found.is_empty() {
        return Err("no case of these names is in these suites; leave the names of either out".into());
    }
    Ok(found)
}

impl Suite {
    /// Reads a file of cases.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn read(file: &str, text: &str) -> Result<Self, ClaimError> {
        let given: SuiteText = toml::from_str(text).map_err(|error| malformed(file, text, &error))?;
        let name = group(file);
        let base = PlanFile { schemes: vec![SUBJECT.into()], ..PlanFile::default() };
        let base = base.with(&given.scenario).map_err(|problem| at(file, 1, problem))?;
        let mut cases: Vec<Case> = Vec::new();
        for spanned in given.case {
            let line = line_of(text, spanned.span().start);
            let case =
                Case::new(&name, &base, spanned.into_inner()).map_err(|problem| at(file, line, problem))?;
            if cases.iter().any(|other| other.id == case.id) {
                return Err(at(file, line, format!("`{}` is there twice", case.id)));
            }
            cases.push(case);
        }
        Ok(Self { name, says: given.says, subjects: given.subjects, cases })
    }

    /// True if it checks this subject when no suites are named.
    pub fn is_about(&self, subject: &Subject) -> bool {
        self.subjects.is_empty() || self.subjects.contains(&subject.name)
    }
}

impl Case {
    fn new(suite: &str, base: &PlanFile, given: CaseText) -> Result<Self, String> {
        let id = format!("{suite}/{}", given.name);
        let wrong = |problem: String| format!("{id}: {problem}");
        let file = base.with(&given.set).map_err(wrong)?;
        let text = |(name, value): (String, Value)| match value {
            Value::String(text) => Ok((name, text)),
            other => Err(wrong(format!(
                "the moment `{name}` is {other}, and not a condition such as 'rtt_ms > 90'"
            ))),
        };
        let case = Self {
            says: given.says,
            quick: given.quick,
            cannot: given.cannot,
            file,
            then: given.then,
            moments: given.moments.into_iter().map(text).collect::<Result<_, _>>()?,
            conditions: given.conditions,
            id: id.clone(),
        };
        if case.conditions.is_empty() && case.cannot.is_none() {
            return Err(wrong("it has no condition, such as ['utilisation >= 0.9', 'ours']".into()));
        }
        case.check_texts().map_err(wrong)?;
        Ok(case)
    }

    /// True if `name` is its id (`bbr/15`), the last part of it (`15`), or a pattern of either.
    pub fn is_called(&self, name: &str) -> bool {
        let short = self.id.split_once('/').map_or("", |(_, short)| short);
        let is = |pattern: glob::Pattern| pattern.matches(&self.id) || pattern.matches(short);
        self.id == name || short == name || glob::Pattern::new(name).is_ok_and(is)
    }

    /// Finding on the whole case, with this reason and no run.
    pub fn unjudged(&self, driver: &str, ruling: Ruling, why: &str) -> Finding {
        Finding::of_case(&self.id, &self.says, driver, ruling, why)
    }

    /// True if it can judge any controller: at least one condition needs nothing that only some controllers show. Also true for a
    /// case that nothing can judge today, whatever the controller.
    pub fn is_for_any(&self) -> bool {
        self.cannot.is_some() || self.has_condition_for_any()
    }

    /// The Scenario of its first run, or of its only one.
    pub fn scenario(&self, subject: &Subject, driver: &str) -> PlanFile {
        subject.fill(PlanFile { title: self.id.clone(), drivers: vec![driver.into()], ..self.file.clone() })
    }
}

impl Subject {
    /// A scheme.
    pub fn new(scheme: &Scheme) -> Self {
        let info = scheme.info();
        Self { text: scheme.text().into(), name: info.name.to_string(), shows: info.shows.clone() }
    }

    /// Something that shows nothing by itself, such as a congestion control of the kernel, with its name in Scenarios.
    pub fn opaque(name: &str) -> Self {
        Self { text: name.into(), name: name.into(), shows: Vec::new() }
    }

    /// As Scenarios have it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The Scenario with it in the place of `$s`.
    fn fill(&self, file: PlanFile) -> PlanFile {
        let fill = |text: &String| text.replace(SUBJECT, &self.text);
        PlanFile {
            schemes: file.schemes.iter().map(fill).collect(),
            background: fill(&file.background),
            ..file
        }
    }
}

/// The table with times in the place of moments.
fn filled(table: &Table, moments: &Moments) -> Result<Table, String> {
    table.iter().map(|(key, value)| Ok((key.clone(), filled_value(value, moments)?))).collect()
}

fn filled_value(value: &Value, moments: &Moments) -> Result<Value, String> {
    match value {
        Value::String(text) => moments.fill(text).map(Value::String),
        Value::Array(items) => {
            items.iter().map(|item| filled_value(item, moments)).collect::<Result<_, _>>().map(Value::Array)
        }
        other => Ok(other.clone()),
    }
}

#[cfg(test)]
mod tests;
