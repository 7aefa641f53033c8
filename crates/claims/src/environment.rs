//! Environments: test beds, in which the claims of some papers can also be judged.

use crate::Claims;
use crate::claim_file::group;
use cellcc_units::instead;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// A test bed: its settings take the place of those of the Scenarios.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// The papers that ran in it.
    pub papers: Vec<String>,
    /// Data sets that it cannot have, which stay as they are.
    #[serde(default)]
    pub except: Vec<String>,
    /// Keys of Scenarios, with its values.
    pub set: BTreeMap<String, Value>,
}

impl Claims {
    /// Leaves the claims and figures of the papers that ran in this environment, and gives their data sets its settings.
    ///
    /// # Errors
    /// A name that no environment has.
    pub fn enter(&mut self, name: &str) -> Result<(), String> {
        let known: Vec<&str> = self.environments.keys().map(String::as_str).collect();
        let Some(Environment { papers, except, set }) = self.environments.get(name).cloned() else {
            return Err(format!(
                "`{name}` is no environment{}",
                instead(name, "there are", &known.join(", "))
            ));
        };
        let is_its_own =
            |name: &String| papers.contains(&group(&self.data_places[name].0)) && !except.contains(name);
        for (_, data) in self.data.iter_mut().filter(|(name, _)| is_its_own(name)) {
            data.set.extend(set.clone());
        }
        self.claims.retain(|claim| papers.contains(&claim.group));
        self.figures.retain(|figure| papers.contains(&figure.group));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDINGS: (&str, &str) = ("claims/recordings.toml", "");

    fn claims() -> Claims {
        let claim = |id: &str, data: &str| {
            format!(
                "[data.{data}]\nscenario = 's.toml'\nset = {{ 'path.rtt' = '9ms' }}\n[[claim]]\nid = '{id}'\nsource = '1'\nsays = 'more'\n\
                 kind = 'bound'\nvalue = '{data}: mean(power(bbr))'\n"
            )
        };
        let bed = "[environment.bed]\npapers = ['one']\nexcept = ['left']\nset = { 'path.grain' = '1ms' }\n[data.left]\nscenario = 's.toml'\n";
        let (one, two) = (format!("{bed}{}", claim("ONE-01", "a")), claim("TWO-01", "b"));
        Claims::read([("claims/one.toml", &*one), ("claims/two.toml", &*two)], RECORDINGS).unwrap()
    }

    #[test]
    fn an_environment_sets_the_data_of_its_papers_and_leaves_their_claims() {
        let mut claims = claims();
        claims.enter("bed").unwrap();
        let set = |name: &str| claims.data[name].set.keys().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(
            (set("a"), set("b"), set("left")),
            (vec!["path.grain", "path.rtt"], vec!["path.rtt"], vec![])
        );
        assert_eq!(claims.claims.iter().map(|claim| &*claim.id).collect::<Vec<_>>(), ["ONE-01"]);
    }

    #[test]
    fn an_environment_that_is_not_there_is_named_with_those_that_are() {
        let refused = claims().enter("bad").unwrap_err();
        assert!(refused.contains("`bad` is no environment") && refused.contains("bed"), "{refused}");
    }
}
