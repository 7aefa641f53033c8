//! A plan's input: the TOML file, completed by the command line's flags.

use crate::{CellSetup, DEFAULT_DRIVER, Endpoint, NetAssist, Offset, Path, Vary};
use cellcc_units::Span;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The TOML file, completed by the command line's flags.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanFile {
    /// Heading of the report.
    pub title: String,
    /// The compared schemes, or mixes of several flows (`2*cubic+reminis@5s`); `reminis(dtt={1.5x,2x})` is two.
    pub schemes: Vec<String>,
    /// Links: files, folders, names of synthetic links, `rate=...`, `step=...`.
    pub traces: Vec<String>,
    /// Seeds: `1`, `1..3` (both ends included) or `1,4,7`.
    pub seeds: Seeds,
    /// `random` if each seed also draws where in its trace a run begins, and when within a round-trip time its flows start.
    #[serde(skip_serializing_if = "Offset::is_fixed")]
    pub offset: Offset,
    /// The drivers that run them: `sim`, `kernel`; a scheme has a row for each.
    #[serde(skip_serializing_if = "are_default_drivers")]
    pub drivers: Vec<String>,
    /// The scheme that the others are held against in a table of their own; empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub baseline: String,
    /// The scheme to which the harm of the others is measured; empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub harm: String,
    /// Duration of each run.
    pub duration: Span,
    /// The part at its beginning that is left out of every metric.
    #[serde(skip_serializing_if = "is_zero")]
    pub warm_up: Span,
    /// The path.
    pub path: Path,
    /// Sender and receiver.
    pub endpoint: Endpoint,
    /// The driver `sim` behaves like Linux's TCP wherever the file keeps the defaults: its acknowledgements, its loss detection, and
    /// the settings that the schemes have in the kernel.
    #[serde(skip_serializing_if = "is_false")]
    pub like_linux: bool,
    /// The network's reports to schemes that request them.
    pub netassist: NetAssist,
    /// Several users behind one base station.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellSetup>,
    /// Background flows of every run, in the form of a mix.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub background: String,
    /// Conditions that take several values, each combination of them under every scheme.
    #[serde(skip_serializing_if = "Vary::is_empty")]
    pub vary: Vary,
}

impl Default for PlanFile {
    fn default() -> Self {
        Self {
            title: String::new(),
            schemes: Vec::new(),
            traces: Vec::new(),
            seeds: Seeds(vec![1]),
            offset: Offset::default(),
            drivers: vec![DEFAULT_DRIVER.into()],
            baseline: String::new(),
            harm: String::new(),
            duration: Span::from_secs(60),
            warm_up: Span::ZERO,
            path: Path::default(),
            endpoint: Endpoint::default(),
            like_linux: false,
            netassist: NetAssist::default(),
            cell: None,
            background: String::new(),
            vary: Vary::default(),
        }
    }
}

fn is_zero(span: &Span) -> bool {
    span.is_zero()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_false(value: &bool) -> bool {
    !*value
}

fn are_default_drivers(drivers: &[String]) -> bool {
    drivers == [DEFAULT_DRIVER]
}

/// Seeds in their text form: `1`, `1..3` or `1,4,7`. Never empty, no seed twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeds(Vec<u64>);

/// Reason why a text is not a list of seeds.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a list of seeds; write `1`, `1..3` (both ends included) or `1,4,7`, at most 10000 of them, none twice"
)]
pub struct SeedsError(String);

impl Seeds {
    /// The seeds.
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }
}

impl FromStr for Seeds {
    type Err = SeedsError;

    fn from_str(text: &str) -> Result<Self, SeedsError> {
        const MOST: u64 = 10_000;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let seeds = match text.split_once("..") {
            Some((first, last)) => number(first)
                .zip(number(last))
                .filter(|(first, last)| first <= last && last - first < MOST)
                .map(|(first, last)| (first..=last).collect::<Vec<_>>()),
            None => text.split(',').map(number).collect(),
        };
        let unique = |seeds: &Vec<u64>| {
            let mut sorted = seeds.clone();
            sorted.sort_unstable();
            sorted.windows(2).all(|pair| pair[0] != pair[1]) && seeds.len() as u64 <= MOST
        };
        seeds.filter(unique).map(Self).ok_or_else(|| SeedsError(text.chars().take(60).collect()))
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&texts.join(","))
    }
}

impl Serialize for Seeds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        cellcc_units::deserialize_text(deserializer, "a list of seeds such as `1..3` or `1,4,7`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_refused_with_its_line() {
        let error = toml::from_str::<PlanFile>("schemes = ['cubic']\n[path]\nqueu = '10pkt'\n")
            .unwrap_err()
            .to_string();
        assert!(error.contains("line 3") && error.contains("queu"), "{error}");
    }

    #[test]
    fn seeds_are_a_number_a_range_or_a_list() {
        assert_eq!("1..3".parse::<Seeds>().unwrap().as_slice(), [1, 2, 3]);
        assert_eq!("7,1".parse::<Seeds>().unwrap().as_slice(), [7, 1]);
        for text in ["", "3..1", "1,1", "-1", "1..99999999", "a"] {
            assert!(text.parse::<Seeds>().is_err(), "{text}");
        }
    }
}
