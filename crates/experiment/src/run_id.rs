//! The name of a run.

use crate::{SCHEMA_VERSION, Scenario};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The content hash of a run: sixteen hexadecimal digits. Files are named by it, so nothing else can be one.
///
/// Eight bytes: a plan of a million runs has two equal ids with a chance of 3 in 10^8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(u64);

/// Reason why a text is not the id of a run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not the id of a run; an id is 16 hexadecimal digits, `0` to `9` and `a` to `f`")]
pub struct RunIdError(String);

/// A folder of more runs than this has their files in folders: programs that list ten thousand files stop for seconds.
const MOST_IN_ONE_FOLDER: usize = 1_000;

/// The file of the run `id`, in `series` or `curves`, of a folder of so many runs: `00f3a19b02c4d5e6.csv`, or where there are many,
/// `00/00f3a19b02c4d5e6.csv`, by the first two digits.
pub fn file_of_run(id: impl fmt::Display, runs: usize) -> String {
    let name = format!("{id}.csv");
    if runs <= MOST_IN_ONE_FOLDER {
        return name;
    }
    let folder: String = name.chars().take(2).collect();
    format!("{folder}/{name}")
}

impl RunId {
    /// The id of a resolved Scenario that is run by the code of this version.
    pub fn of(scenario: &Scenario, version: &str) -> Self {
        let scenario =
            serde_json::to_string(scenario).expect("a Scenario has only string keys and finite numbers");
        let digest = Sha256::digest(format!("{SCHEMA_VERSION}\n{version}\n{scenario}"));
        Self(digest[..8].iter().fold(0, |id, byte| id << 8 | u64::from(*byte)))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        Some(text)
            .filter(|text| text.len() == 16 && text.bytes().all(is_digit))
            .and_then(|text| u64::from_str_radix(text, 16).ok())
            .map(Self)
            .ok_or_else(|| RunIdError(text.chars().take(60).collect()))
    }
}

impl Serialize for RunId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sixteen_small_hexadecimal_digits_are_an_id() {
        assert_eq!("00f3a19b02c4d5e6".parse::<RunId>().unwrap().to_string(), "00f3a19b02c4d5e6");
        for text in
            ["", "00f3", "../../../../etc/p", "00F3A19B02C4D5E6", "+0f3a19b02c4d5e6", "/dev/shm/results0"]
        {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
    }
}
