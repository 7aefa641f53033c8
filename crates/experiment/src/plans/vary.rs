//! Conditions that a plan varies: `"path.queue" = ["33pkt", "520pkt"]`.

use crate::{PlanFile, conditions};
use cellcc_units::DEEPEST;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;
use toml::{Table, Value};

/// The table `[vary]` of a plan: keys of its conditions, each with the values it takes, in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Vary(pub(super) Vec<(String, Vec<Value>)>);

/// A plan under one choice of its varied conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct Variation {
    /// The choice, `path.queue=33pkt, path.rtt=20ms`; empty where nothing is varied.
    pub text: String,
    /// The plan with these conditions, and nothing left to vary.
    pub file: PlanFile,
}

/// Reason why a plan cannot be varied like this.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("[vary] {key}{}: {problem}", value.as_ref().map(|value| format!(" = {value}")).unwrap_or_default())]
pub struct VaryError {
    key: String,
    value: Option<String>,
    problem: String,
}

/// More combinations than this are a slip of the keyboard.
const MOST: usize = 10_000;

impl Vary {
    /// True where nothing is varied.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Stops varying `key` and every key below it. Values that become equal are merged.
    pub fn remove(&mut self, key: &str) {
        for (varied, values) in &mut self.0 {
            if let Some(inner) = within(key, varied) {
                values.iter_mut().for_each(|value| remove_from(value, inner));
                let mut distinct: Vec<Value> = Vec::new();
                for value in values.drain(..) {
                    if !distinct.contains(&value) {
                        distinct.push(value);
                    }
                }
                *values = distinct;
            }
        }
        let nothing = [Value::Table(Table::new())];
        self.0
            .retain(|(varied, values)| varied != key && within(varied, key).is_none() && *values != nothing);
    }
}

/// The name of `key` within the table `outer`; none if it is not in there.
fn within<'a>(key: &'a str, outer: &str) -> Option<&'a str> {
    key.strip_prefix(outer)?.strip_prefix('.')
}

/// Removes a dotted key from a table, and the tables that it leaves empty.
fn remove_from(value: &mut Value, key: &str) {
    let Value::Table(table) = value else { return };
    let Some((first, rest)) = key.split_once('.') else {
        table.remove(key);
        return;
    };
    let Some(inner) = table.get_mut(first) else { return };
    remove_from(inner, rest);
    if inner.as_table().is_some_and(Table::is_empty) {
        table.remove(first);
    }
}

impl PlanFile {
    /// The plan under every combination of the values in `[vary]`, the last key changing first; the plan itself where
    /// nothing is varied.
    ///
    /// # Errors
    /// A key that is no condition, or a value that the key does not take.
    pub fn variations(&self) -> Result<Vec<Variation>, VaryError> {
        let fixed = Self { vary: Vary::default(), ..self.clone() };
        let table = Table::try_from(&fixed).map_err(|error| failed("", None, error.to_string()))?;
        let mut variations = vec![Partial { text: String::new(), table, file: fixed }];
        for (key, values) in &self.vary.0 {
            check_key(key, values)?;
            if variations.len().saturating_mul(values.len()) > MOST {
                return Err(failed(key, None, format!("it makes more than {MOST} combinations")));
            }
            let mut next = Vec::with_capacity(variations.len() * values.len());
            for variation in &variations {
                for value in values {
                    next.push(variation.with(key, value)?);
                }
            }
            variations = next;
        }
        Ok(variations.into_iter().map(|Partial { text, file, .. }| Variation { text, file }).collect())
    }
}

/// A variation with some keys chosen so far: as a table, so that a key is all that is needed to set a field.
struct Partial {
    text: String,
    table: Table,
    file: PlanFile,
}

impl Partial {
    fn with(&self, key: &str, value: &Value) -> Result<Self, VaryError> {
        let mut table = self.table.clone();
        let shown = Some(value.to_string());
        let before = conditions::merge(&mut table, key, value)
            .map_err(|problem| failed(key, shown.clone(), problem))?;
        let file = table.clone().try_into().map_err(|error: toml::de::Error| {
            // Outside [vary] the key has a value that is right: the best example.
            let example = before.map(|before| format!("; without [vary] it is {before}")).unwrap_or_default();
            let problem = error.message().replace('\n', ", ");
            failed(key, shown, format!("{problem}{example}"))
        })?;
        let separator = if self.text.is_empty() { "" } else { ", " };
        Ok(Self { text: format!("{}{separator}{key}={}", self.text, plain(value)), table, file })
    }
}

/// The keys and values of a [`Variation`]'s text, in order.
pub fn varied(text: &str) -> Vec<(&str, &str)> {
    let is_key =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || "._".contains(c));
    let mut pairs = Vec::new();
    let mut rest = text;
    while let Some((key, after)) = rest.split_once('=') {
        // A value may have commas of its own; the next key is the text between a comma and an equals sign.
        let end = after
            .match_indices(", ")
            .map(|(at, _)| at)
            .find(|at| after[at + 2..].split_once('=').is_some_and(|(next, _)| is_key(next)));
        pairs.push((key, &after[..end.unwrap_or(after.len())]));
        rest = end.map_or("", |end| &after[end + 2..]);
    }
    pairs
}

fn check_key(key: &str, values: &[Value]) -> Result<(), VaryError> {
    let first = key.split('.').next().unwrap_or(key);
    if first == "vary" || conditions::of_the_grid(first) {
        let problem = "not a condition of a run; conditions are `duration`, `background` and the keys of `path`, \
                       `endpoint` and the other tables, such as `path.queue`. Schemes are varied in `schemes`: \
                       `reminis(dtt={1.5x,2x})`";
        return Err(failed(key, None, problem.into()));
    }
    if key.split('.').count() > DEEPEST {
        return Err(failed(
            &key.chars().take(40).collect::<String>(),
            None,
            "no condition lies so deep".into(),
        ));
    }
    if values.is_empty() {
        return Err(failed(key, None, "an empty list; write at least one value".into()));
    }
    Ok(())
}

fn failed(key: &str, value: Option<String>, problem: String) -> VaryError {
    VaryError { key: key.into(), value, problem }
}

/// A value without the quotes of a text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Serialize for Vary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, values)| (key, values)))
    }
}

impl<'de> Deserialize<'de> for Vary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut lists = Vec::new();
        flatten("", Table::deserialize(deserializer)?, &mut lists).map_err(D::Error::custom)?;
        Ok(Self(lists))
    }
}

/// `path.queue = [...]` without quotes is a table in a table; both forms mean the same.
fn flatten(prefix: &str, table: Table, lists: &mut Vec<(String, Vec<Value>)>) -> Result<(), String> {
    for (key, value) in table {
        let key = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
        match value {
            Value::Array(_) if lists.iter().any(|(other, _)| *other == key) => {
                return Err(format!("`{key}` is varied twice"));
            }
            Value::Array(values) => lists.push((key, values)),
            Value::Table(inner) => flatten(&key, inner, lists)?,
            other => return Err(format!("`{key}` takes a list of values: [{other}]")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(vary: &str) -> Result<Vec<String>, String> {
        let file: PlanFile = toml::from_str(vary).map_err(|error| error.to_string())?;
        let variations = file.variations().map_err(|error| error.to_string())?;
        Ok(variations.into_iter().map(|variation| variation.text).collect())
    }

    #[test]
    fn several_keys_make_every_combination_in_the_order_of_the_file() {
        let file: PlanFile =
            toml::from_str("[vary]\n'path.rtt' = ['30ms', '20ms']\nendpoint.ack_every = [1, 2]\n").unwrap();
        let variations = file.variations().unwrap();
        let texts: Vec<_> = variations.iter().map(|variation| variation.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "path.rtt=30ms, endpoint.ack_every=1",
                "path.rtt=30ms, endpoint.ack_every=2",
                "path.rtt=20ms, endpoint.ack_every=1",
                "path.rtt=20ms, endpoint.ack_every=2",
            ]
        );
        let last = &variations[3].file;
        assert_eq!((last.path.rtt.to_string(), last.endpoint.ack_every), ("20ms".into(), 2));
        assert!(last.vary.is_empty());
    }

    #[test]
    fn a_varied_table_leaves_the_keys_that_it_does_not_have() {
        let text =
            "[path]\nrtt = '30ms'\nloss = '1%'\n[vary]\npath = [{ rtt = '5ms' }, { queue = '8pkt' }]\n";
        let file: PlanFile = toml::from_str(text).unwrap();
        let paths: Vec<_> =
            file.variations().unwrap().into_iter().map(|variation| variation.file.path).collect();
        let nearer = crate::Path { rtt: "5ms".parse().unwrap(), ..file.path.clone() };
        let shorter = crate::Path { queue: "8pkt".parse().unwrap(), ..file.path.clone() };
        assert_eq!(paths, [nearer, shorter]);
    }

    #[test]
    fn a_key_that_is_removed_is_varied_no_more_in_the_tables_that_have_it_either() {
        let text = "[vary]\npath = [{ rtt = '5ms', queue = '8pkt' }, { rtt = '9ms', queue = '8pkt' }, { rtt = '5ms', \
                    queue = '2pkt', reverse = { loss = '1%' } }]\n'duration' = ['1s', '2s']\n";
        let without = |keys: &[&str]| {
            let mut file: PlanFile = toml::from_str(text).unwrap();
            keys.iter().for_each(|key| file.vary.remove(key));
            let variations = file.variations().unwrap();
            variations.into_iter().map(|variation| variation.text).collect::<Vec<_>>()
        };
        assert_eq!(
            without(&["path.rtt", "duration", "path.reverse.loss"]),
            ["path={ queue = \"8pkt\" }", "path={ queue = \"2pkt\" }"]
        );
        assert_eq!(without(&["path"]), ["duration=1s", "duration=2s"]);
        assert_eq!(
            without(&["path.rtt", "path.queue", "path.reverse.loss"]),
            ["duration=1s", "duration=2s"],
            "nothing of the table is left"
        );
        assert_eq!(without(&["path.jitter", "duration"]).len(), 3);
    }

    #[test]
    fn a_plan_that_varies_nothing_is_its_only_variation() {
        let file = PlanFile::default();
        assert_eq!(file.variations(), Ok(vec![Variation { text: String::new(), file: file.clone() }]));
    }

    #[test]
    fn a_condition_that_is_left_out_by_default_can_be_varied() {
        assert_eq!(
            texts("[vary]\nbackground = ['cubic', '2*cubic']").unwrap(),
            ["background=cubic", "background=2*cubic"]
        );
        let cell = "[cell]\nscheduler = 'round-robin'\nusers = ['3g']\n[vary]\n'cell.users' = [['3g', '3g']]";
        assert_eq!(texts(cell).unwrap(), ["cell.users=[\"3g\", \"3g\"]"]);
    }

    #[test]
    fn what_cannot_be_varied_is_refused_by_key_with_what_is_right() {
        for (vary, expected) in [
            ("'path.queu' = ['1pkt']", &["[vary] path.queu", "unknown field `queu`", "`queue`"][..]),
            ("'pth.queue' = ['1pkt']", &["[vary] pth.queue", "unknown field `pth`", "`path`"]),
            ("'path.queue' = ['1pkt', '33']", &["[vary] path.queue = \"33\"", "3200pkt"]),
            ("'path.rtt' = [20]", &["[vary] path.rtt = 20", "without [vary] it is \"20ms\""]),
            ("'duration.x' = ['1s']", &["[vary] duration.x", "has no keys"]),
            ("'path.queue' = []", &["[vary] path.queue", "empty list"]),
            ("'path.queue' = '33pkt'", &["`path.queue` takes a list", "[\"33pkt\"]"]),
            ("'schemes' = [['cubic']]", &["[vary] schemes", "not a condition", "dtt={1.5x,2x}"]),
            ("'path.rtt' = ['1ms']\npath.rtt = ['2ms']", &["`path.rtt` is varied twice"]),
            ("path.a.b.c.d.e.f.g.h.i.j.k.l = ['1']", &["[vary] path.a.b", "so deep"]),
            ("'cell.scheduler' = ['round-robin']", &["[vary] cell.scheduler", "missing field `users`"]),
        ] {
            let error = texts(&format!("[vary]\n{vary}\n")).unwrap_err();
            for part in expected {
                assert!(error.contains(part), "{vary}: `{part}` is not in: {error}");
            }
        }
    }

    #[test]
    fn the_text_of_a_variation_reads_back_whatever_commas_its_values_have() {
        let text =
            "path.extra_delay=5ms@10s, 20ms@5s, path.reverse.trace=step=3Mbit/s@1s,6Mbit/s@2s, duration=9s";
        assert_eq!(
            varied(text),
            [
                ("path.extra_delay", "5ms@10s, 20ms@5s"),
                ("path.reverse.trace", "step=3Mbit/s@1s,6Mbit/s@2s"),
                ("duration", "9s"),
            ]
        );
        assert!(varied("").is_empty());
    }

    #[test]
    fn what_is_written_reads_back() {
        let file: PlanFile = toml::from_str("[vary]\n'path.rtt' = ['30ms']\n'duration' = ['1s']").unwrap();
        let text = toml::to_string(&file).unwrap();
        assert_eq!(toml::from_str::<PlanFile>(&text), Ok(file));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC*") {
            let _ = varied(&text);
        }
    }
}
