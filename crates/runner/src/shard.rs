//! A share of a plan: `2/8`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The share `index` of `count` (1 to `count`) of a plan, for array jobs on a cluster: `2/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

/// Why a text is not a share.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a share of the plan; write INDEX/COUNT such as `2/8`, with INDEX from 1 to COUNT")]
pub struct ShardError(String);

impl Shard {
    /// Which share, from 1.
    pub fn index(self) -> usize {
        self.index
    }

    /// Of how many.
    pub fn count(self) -> usize {
        self.count
    }

    /// The share's part of a whole: every `count`-th, so that all shares cost about the same.
    pub fn of<T>(self, whole: &[T]) -> impl Iterator<Item = &T> {
        whole.iter().skip(self.index - 1).step_by(self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        text.split_once('/')
            .and_then(|(index, count)| Some((index.trim().parse().ok()?, count.trim().parse().ok()?)))
            .filter(|(index, count)| (1..=*count).contains(index))
            .map(|(index, count)| Self { index, count })
            .ok_or_else(|| ShardError(text.chars().take(60).collect()))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl Serialize for Shard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Shard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_beyond_the_last_is_refused() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for text in ["", "2", "0/8", "9/8", "1/0", "-1/2", "1/2/3"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
