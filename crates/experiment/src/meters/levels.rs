//! Counts of each level of a scale, in little memory: a run of a thousand flows keeps three thousand of these, and the
//! delays of one flow lie close together.

use std::collections::BTreeMap;

/// Levels up to twice this are one unit wide. Above, each doubling has this many levels: three significant digits, as
/// HdrHistogram has them.
pub(crate) const LEVELS_A_DOUBLING: u64 = 1 << DOUBLING_BITS;
const DOUBLING_BITS: u32 = 10;

/// Counts by level, from a doubling in which something was counted to another: 2 kB for each.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Levels {
    /// The level of the first count.
    first: usize,
    counts: Vec<u16>,
    /// The part of a level's count that a `u16` does not hold, in units of 65536, by level. Few levels have one.
    carried: BTreeMap<usize, u64>,
}

impl Levels {
    /// Counts `value` once.
    #[inline]
    pub(crate) fn count(&mut self, value: u64) {
        let level = level_of(value);
        if let Some(count) = self.counts.get_mut(level.wrapping_sub(self.first))
            && let Some(sum) = count.checked_add(1)
        {
            *count = sum;
            return;
        }
        self.add(level, 1);
    }

    /// Counts `value` so many times.
    pub(crate) fn count_many(&mut self, value: u64, times: u64) {
        self.add(level_of(value), times);
    }

    /// Adds the counts of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        other.counts().for_each(|(level, count)| self.add(level, count));
    }

    /// The largest value of each level that occurred, in ascending order, and how often.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts().map(|(level, count)| (first_value(level + 1) - 1, count))
    }

    /// Out of line: seldom does a count overflow, or a level lie outside of those before.
    #[inline(never)]
    fn add(&mut self, level: usize, times: u64) {
        if times == 0 {
            return;
        }
        self.make_room_for(level);
        let count = &mut self.counts[level - self.first];
        // A forged Record may count more than there is; it counts as the most.
        let sum = u64::from(*count).saturating_add(times);
        *count = sum as u16;
        if sum > u64::from(u16::MAX) {
            let carried = self.carried.entry(level).or_default();
            *carried = carried.saturating_add(sum >> u16::BITS).min(u64::MAX >> u16::BITS);
        }
    }

    fn make_room_for(&mut self, level: usize) {
        let doubling = LEVELS_A_DOUBLING as usize;
        let (from, to) = (level / doubling * doubling, (level / doubling + 1) * doubling);
        if self.counts.is_empty() {
            self.first = from;
        }
        if from < self.first {
            self.counts.splice(..0, std::iter::repeat_n(0, self.first - from));
            self.first = from;
        }
        let length = to - self.first;
        if length > self.counts.len() {
            self.counts.reserve_exact(length - self.counts.len());
            self.counts.resize(length, 0);
        }
    }

    /// Number of values.
    pub(crate) fn total(&self) -> u64 {
        self.counts().fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// The largest value of the level in which the `rank`-th value lies, counted from one; `None` beyond the last.
    pub(crate) fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut upto = 0_u64;
        let mut reaches = |count: u64| {
            upto = upto.saturating_add(count);
            upto >= rank
        };
        self.iter().find(|(_, count)| reaches(*count)).map(|(value, _)| value)
    }

    /// The levels that occurred, in ascending order, and how often.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let carried = |level| Some(self.carried.get(&level)? << u16::BITS);
        let counts = self.counts.iter().zip(self.first..);
        counts
            .map(move |(&count, level)| (level, u64::from(count) + carried(level).unwrap_or(0)))
            .filter(|(_, count)| *count > 0)
    }
}

/// The level of `value`.
#[inline]
fn level_of(value: u64) -> usize {
    let narrow = LEVELS_A_DOUBLING * 2 - 1;
    let dropped_bits = narrow.leading_zeros() - (value | narrow).leading_zeros();
    ((u64::from(dropped_bits) << DOUBLING_BITS) + (value >> dropped_bits)) as usize
}

/// The smallest value of `level`.
fn first_value(level: usize) -> u64 {
    let level = level as u64;
    let dropped_bits = (level >> DOUBLING_BITS).saturating_sub(1);
    (level - (dropped_bits << DOUBLING_BITS)) << dropped_bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_begins_where_the_one_before_it_ends_and_is_within_a_thousandth() {
        let last = level_of(3_600_000_000);
        for level in 0..last {
            let (first, next) = (first_value(level), first_value(level + 1));
            assert_eq!((level_of(first), level_of(next - 1)), (level, level));
            assert!(next - first == 1 || (next - first) as f64 <= first as f64 / 1e3, "{first}");
        }
    }

    #[test]
    fn counts_beyond_sixteen_bits_are_whole() {
        let mut levels = Levels::default();
        (0..70_000).for_each(|_| levels.count(5));
        levels.count_many(9_000, 200_000);
        let mut twice = levels.clone();
        twice.merge(&levels);
        assert_eq!(levels.iter().collect::<Vec<_>>(), [(5, 70_000), (9_007, 200_000)]);
        assert_eq!(twice.iter().collect::<Vec<_>>(), [(5, 140_000), (9_007, 400_000)]);
    }

    #[test]
    fn the_same_counts_are_equal_however_they_came() {
        let (mut one_by_one, mut at_once) = (Levels::default(), Levels::default());
        (0..70_000).for_each(|_| one_by_one.count(5));
        at_once.count_many(5, 65_536);
        at_once.count_many(5, 4_464);
        assert_eq!(one_by_one, at_once);
    }
}
