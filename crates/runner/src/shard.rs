//! A share of a plan, `2/8`, and the runs that belong to it: planned from the times that the runs are expected to take.

use cellcc_units::Span;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The share `index` of `count` (1 to `count`) of a plan, for array jobs on a cluster: `2/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

/// Refusal of a text that is not a share.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a share of the plan; write INDEX/COUNT such as `2/8`, with INDEX from 1 to COUNT")]
pub struct ShardError(String);

impl Shard {
    /// Number of shares of a plan if each is to take about `wanted`: at least one, at most one for each run. `expected`: the
    /// duration of each run of the plan.
    pub fn count_for(expected: &[Span], wanted: Span) -> usize {
        let total: u128 = expected.iter().map(|span| u128::from(span.as_nanos())).sum();
        let count = total.div_ceil(u128::from(wanted.as_nanos().max(1)));
        usize::try_from(count).unwrap_or(usize::MAX).clamp(1, expected.len().max(1))
    }

    /// Number of this share, from 1.
    pub fn index(self) -> usize {
        self.index
    }

    /// Number of shares in the plan.
    pub fn count(self) -> usize {
        self.count
    }

    /// The positions, in the plan and in its order, of the share's runs. Each run goes, the longest first, to the share that has
    /// least to do by then: no share takes longer than the mean and one run more. `expected`: the duration of each run.
    pub fn positions(self, expected: &[Span]) -> Vec<usize> {
        let mut longest_first: Vec<usize> = (0..expected.len()).collect();
        longest_first.sort_by_key(|&position| Reverse(expected[position]));
        // The work of a share, its number of runs, and its position: runs that take no time are spread evenly.
        let mut shares: BinaryHeap<Reverse<(u128, usize, usize)>> =
            (1..=self.count.min(expected.len())).map(|index| Reverse((0, 0, index))).collect();
        let mut own = Vec::new();
        for position in longest_first {
            let Some(Reverse((busy_nanos, runs, index))) = shares.pop() else { break };
            if index == self.index {
                own.push(position);
            }
            shares.push(Reverse((busy_nanos + u128::from(expected[position].as_nanos()), runs + 1, index)));
        }
        own.sort_unstable();
        own
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
    use proptest::prelude::*;

    fn millis(values: &[u64]) -> Vec<Span> {
        values.iter().copied().map(Span::from_millis).collect()
    }

    fn share(index: usize, count: usize, expected: &[Span]) -> Vec<usize> {
        Shard { index, count }.positions(expected)
    }

    #[test]
    fn a_share_beyond_the_last_is_refused() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for text in ["", "2", "0/8", "9/8", "1/0", "-1/2", "1/2/3"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_long_run_has_a_share_of_its_own_and_short_ones_share_one() {
        let expected = millis(&[10, 900, 10, 10]);
        assert_eq!(share(1, 2, &expected), [1]);
        assert_eq!(share(2, 2, &expected), [0, 2, 3]);
    }

    #[test]
    fn runs_that_take_no_time_are_shared_out_as_well() {
        let expected = millis(&[0; 4]);
        assert_eq!((share(1, 2, &expected), share(2, 2, &expected)), (vec![0, 2], vec![1, 3]));
    }

    #[test]
    fn there_are_as_many_shares_as_the_time_asks_for_but_none_without_a_run() {
        let second = Span::from_secs(1);
        assert_eq!(Shard::count_for(&millis(&[500; 9]), second), 5);
        assert_eq!(Shard::count_for(&millis(&[5_000, 10]), second), 2);
        assert_eq!(Shard::count_for(&millis(&[0, 0]), second), 1);
        assert_eq!(Shard::count_for(&[], Span::ZERO), 1);
    }

    proptest! {
        #[test]
        fn the_shares_hold_every_run_once_and_none_takes_longer_than_the_mean_and_one_run(
            values in proptest::collection::vec(0_u64..5_000, 0..60), count in 1_usize..20,
        ) {
            let expected = millis(&values);
            let shares: Vec<Vec<usize>> = (1..=count).map(|index| share(index, count, &expected)).collect();
            let mut all: Vec<usize> = shares.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..values.len()).collect::<Vec<_>>());
            let most = values.iter().sum::<u64>() / count as u64 + values.iter().max().copied().unwrap_or(0) + 1;
            for share in shares {
                prop_assert!(share.iter().map(|&position| values[position]).sum::<u64>() <= most);
            }
        }
    }
}
