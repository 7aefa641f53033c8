//! Filters over a sliding window, for the estimators of schemes.

use std::collections::VecDeque;

/// The largest value of the last `length` positions: the bandwidth filter of BBR, with rounds as positions. Exact;
/// holds one value per position at most.
#[derive(Debug, Clone)]
pub(crate) struct WindowedMax<T> {
    length: u64,
    /// Positions rise, values fall: each is the largest since its position.
    candidates: VecDeque<(u64, T)>,
}

impl<T: Copy + Ord> WindowedMax<T> {
    /// A filter without a value.
    pub(crate) fn new(length: u64) -> Self {
        Self { length, candidates: VecDeque::new() }
    }

    /// Takes `value` at `position`, which is never before an earlier one. Old values leave only now, so that a flow
    /// that has nothing to measure keeps its last maximum.
    pub(crate) fn add(&mut self, position: u64, value: T) {
        while self.candidates.back().is_some_and(|&(_, smaller)| smaller <= value) {
            self.candidates.pop_back();
        }
        if self.candidates.back().is_none_or(|&(last, _)| last < position) {
            self.candidates.push_back((position, value));
        }
        while self.candidates.front().is_some_and(|&(first, _)| position - first >= self.length) {
            self.candidates.pop_front();
        }
    }

    /// The largest value; none before the first.
    pub(crate) fn max(&self) -> Option<T> {
        self.candidates.front().map(|&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_maximum_leaves_the_window_after_its_length() {
        let mut filter = WindowedMax::new(3);
        assert_eq!(filter.max(), None);
        for (position, value, max) in [(1, 9, 9), (2, 5, 9), (3, 7, 9), (4, 1, 7), (6, 1, 1)] {
            filter.add(position, value);
            assert_eq!(filter.max(), Some(max), "at {position}");
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_looking_at_every_value(steps in prop::collection::vec((0u64..3, 0u32..50), 1..100)) {
            let (mut filter, mut all, mut position) = (WindowedMax::new(10), Vec::new(), 0);
            for (step, value) in steps {
                position += step;
                filter.add(position, value);
                all.push((position, value));
                let expected = all.iter().filter(|(at, _)| position - at < 10).map(|&(_, value)| value).max();
                prop_assert_eq!(filter.max(), expected);
                prop_assert!(filter.candidates.len() <= 10);
            }
        }
    }
}
