//! Data sets: a Scenario, its recordings by name, changed settings, and those of a smaller scale.

use crate::Recordings;
use cellcc_experiment::PlanFile;
use cellcc_units::DEEPEST;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::str::FromStr;
use toml::{Table, Value};

/// Specification of the runs that a claim is about.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataSet {
    /// Base of this variant, which supplies everything that the variant leaves out.
    pub from: Option<String>,
    /// The Scenario file.
    pub scenario: String,
    /// Recordings below the folder of the traces: folders, names, patterns; none: the Scenario's own links.
    pub recordings: OneOrMany,
    /// Other links, after the recordings.
    pub traces: OneOrMany,
    /// Each recording is read over its whole length, and nothing is sent: only `limit` has runs.
    pub whole: bool,
    /// Keys of the Scenario with other values.
    pub set: BTreeMap<String, Value>,
    /// Further keys with other values at `--scale smaller`: shorter runs, never fewer recordings.
    pub smaller: BTreeMap<String, Value>,
}

/// A text or a list of texts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "the names say it")]
pub enum OneOrMany {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

/// Scale at which the data sets are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Scale {
    /// Shorter runs, on the same links.
    Smaller,
    /// As the pages document it.
    #[default]
    Paper,
}

impl Scale {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smaller => "smaller",
            Self::Paper => "paper",
        }
    }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Smaller, Self::Paper];
        let found = all.into_iter().find(|scale| scale.name() == text);
        found.ok_or_else(|| format!("`{text}` is no scale; write smaller or paper"))
    }
}

impl OneOrMany {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::None => &[],
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

impl DataSet {
    /// This data set, with the values of `base` where it has none.
    pub(crate) fn over(self, base: &Self) -> Self {
        let text = |own: String, base: &str| if own.is_empty() { base.to_owned() } else { own };
        let many = |own: OneOrMany, base: &OneOrMany| if own == OneOrMany::None { base.clone() } else { own };
        let keys = |own: BTreeMap<String, Value>, base: &BTreeMap<String, Value>| {
            base.clone().into_iter().chain(own).collect()
        };
        Self {
            from: self.from,
            scenario: text(self.scenario, &base.scenario),
            recordings: many(self.recordings, &base.recordings),
            traces: many(self.traces, &base.traces),
            whole: self.whole || base.whole,
            set: keys(self.set, &base.set),
            smaller: keys(self.smaller, &base.smaller),
        }
    }

    /// Its links by the names that recordings have; none: the Scenario's.
    ///
    /// # Errors
    /// A recording that is not known.
    pub(crate) fn links(&self, recordings: &Recordings) -> Result<Vec<String>, String> {
        let named = self.recordings.as_slice().iter().map(|pattern| recordings.named(pattern));
        let named: Vec<Vec<String>> = named.collect::<Result<_, _>>()?;
        Ok(named.into_iter().flatten().chain(self.traces.as_slice().iter().cloned()).collect())
    }

    /// The Scenario's file as this data set has it, with these schemes and no baseline.
    ///
    /// # Errors
    /// A key that the Scenario has not got, or a value that it does not take.
    pub fn plan_file(
        &self,
        scenario: PlanFile,
        schemes: Vec<String>,
        recordings: &Recordings,
        scale: Scale,
    ) -> Result<PlanFile, String> {
        let mut file = PlanFile { schemes, baseline: String::new(), ..scenario };
        let links = self.links(recordings)?;
        if !links.is_empty() {
            file.traces = links;
        }
        let smaller = self.smaller.iter().filter(|_| scale == Scale::Smaller);
        for (key, value) in self.set.iter().chain(smaller) {
            file.vary.remove(key);
            let mut table = Table::try_from(&file).map_err(|error| error.to_string())?;
            put(&mut table, key, value.clone()).map_err(|problem| format!("`{key}`: {problem}"))?;
            file = table.try_into().map_err(|error: toml::de::Error| {
                format!("`{key} = {value}`: {}", error.message().replace('\n', ", "))
            })?;
        }
        Ok(file)
    }
}

/// Sets a dotted key.
fn put(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    if key.matches('.').count() > DEEPEST {
        return Err("no key lies so deep".into());
    }
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
            Ok(())
        }
        // The conditions of `[vary]` have dots in their names.
        Some(("vary", condition)) => {
            match table.entry("vary").or_insert_with(|| Value::Table(Table::new())) {
                Value::Table(inner) => {
                    inner.insert(condition.to_owned(), value);
                    Ok(())
                }
                other => Err(format!("`vary` is {other}")),
            }
        }
        Some((first, rest)) => match table.entry(first).or_insert_with(|| Value::Table(Table::new())) {
            Value::Table(inner) => put(inner, rest, value),
            other => Err(format!("`{first}` is {other}, which has no keys")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, scale: Scale) -> Result<PlanFile, String> {
        let data: DataSet = toml::from_str(text).unwrap();
        let scenario = "schemes = ['cubic']\ntraces = ['3g']\nbaseline = 'cubic'\nduration = '60s'\n[vary]\n'path.rtt' = ['1ms', '2ms']";
        data.plan_file(toml::from_str(scenario).unwrap(), vec!["bbr".into()], &Recordings::default(), scale)
    }

    #[test]
    fn what_is_set_is_varied_no_more_and_a_smaller_scale_has_its_own() {
        let text =
            "set = { 'path.rtt' = '9ms', 'vary.path.queue' = ['3pkt'] }\nsmaller = { duration = '5s' }";
        let paper = file(text, Scale::Paper).unwrap();
        assert_eq!((paper.path.rtt.to_string(), paper.duration.to_string()), ("9ms".into(), "60s".into()));
        let variations = paper.variations().unwrap();
        assert_eq!(variations.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["path.queue=3pkt"]);
        assert_eq!((paper.schemes, paper.baseline.as_str()), (vec!["bbr".to_owned()], ""));
        assert_eq!(file(text, Scale::Smaller).unwrap().duration.to_string(), "5s");
    }

    #[test]
    fn a_key_or_a_value_that_the_scenario_does_not_take_is_named() {
        let unknown = file("set = { 'path.rt' = '9ms' }", Scale::Paper).unwrap_err();
        assert!(unknown.contains("`path.rt") && unknown.contains("`rtt`"), "{unknown}");
        let wrong = file("set = { 'duration.x' = 9 }", Scale::Paper).unwrap_err();
        assert!(wrong.contains("has no keys"), "{wrong}");
    }
}
