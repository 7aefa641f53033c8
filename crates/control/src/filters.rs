//! Filters over a sliding window, for the estimators of schemes.

use cellcc_units::{Span, Time};
use std::collections::VecDeque;

/// The largest value of the last `length` positions: the bandwidth filter of BBR, with rounds as positions. Exact;
/// holds one value per position at most.
#[derive(Debug, Clone)]
pub struct WindowedMax<T> {
    length: u64,
    /// Positions rise, values fall: each is the largest since its position.
    candidates: VecDeque<(u64, T)>,
}

impl<T: Copy + Ord> WindowedMax<T> {
    /// A filter without a value.
    pub fn new(length: u64) -> Self {
        Self { length, candidates: VecDeque::new() }
    }

    /// Takes `value` at `position`, which is never before an earlier one. Old values leave only now, so that a flow
    /// that has nothing to measure keeps its last maximum.
    pub fn add(&mut self, position: u64, value: T) {
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
    pub fn max(&self) -> Option<T> {
        self.candidates.front().map(|&(_, value)| value)
    }
}

/// The smallest of the recent values, over a window of time that may change with every value. Approximate, in constant space:
/// it keeps the best value of the window and the two that follow it, as Linux's `lib/win_minmax.c` and Chromium's
/// `WindowedFilter` do (Nichols and Jacobson). Its result is never older than the window.
///
/// The largest value is the smallest of [`Reverse`](std::cmp::Reverse)d ones.
#[derive(Debug, Clone)]
pub struct RecentMin<T> {
    /// Later ones are never smaller nor older; empty before the first value.
    best: Option<[(Time, T); 3]>,
}

impl<T> Default for RecentMin<T> {
    fn default() -> Self {
        Self { best: None }
    }
}

impl<T: Copy + Ord> RecentMin<T> {
    /// Takes `value`, not earlier than those before; the window ends `now` and is `window` long. Returns the minimum.
    pub fn add(&mut self, now: Time, value: T, window: Span) -> T {
        let new = (now, value);
        let is_old = |(at, _): (Time, T), age: Span| now.since(at) > age;
        let Some(best) = self.best.as_mut().filter(|best| value > best[0].1 && !is_old(best[2], window))
        else {
            self.best = Some([new; 3]);
            return value;
        };
        if value <= best[1].1 {
            (best[1], best[2]) = (new, new);
        } else if value <= best[2].1 {
            best[2] = new;
        }
        if is_old(best[0], window) {
            *best = [best[1], best[2], new];
            if is_old(best[0], window) {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && is_old(best[1], window / 4) {
            // A quarter of the window has gone by without a better one: the second best is taken from later samples.
            (best[1], best[2]) = (new, new);
        } else if best[2].0 == best[1].0 && is_old(best[2], window / 2) {
            best[2] = new;
        }
        best[0].1
    }

    /// The minimum when the last value came; none before the first.
    pub fn min(&self) -> Option<T> {
        self.best.map(|best| best[0].1)
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

    #[test]
    fn the_recent_minimum_is_forgotten_after_the_window_and_a_smaller_value_counts_at_once() {
        let mut filter = RecentMin::default();
        assert_eq!(filter.min(), None);
        for (at_ms, value, min) in
            [(0, 5, 5), (10, 9, 5), (40, 7, 5), (90, 8, 5), (101, 9, 7), (160, 3, 3), (300, 6, 6)]
        {
            let min_now = filter.add(Time::from_nanos(at_ms * 1_000_000), value, Span::from_millis(100));
            assert_eq!((min_now, filter.min()), (min, Some(min)), "at {at_ms} ms");
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

        #[test]
        fn the_recent_minimum_is_a_value_of_the_window_and_not_above_the_newest(
            steps in prop::collection::vec((0u64..60, 0u32..50), 1..100)
        ) {
            let (window, mut filter, mut now) = (Span::from_nanos(100), RecentMin::default(), 0);
            let mut all = Vec::new();
            for (step, value) in steps {
                now += step;
                all.push((now, value));
                let min = filter.add(Time::from_nanos(now), value, window);
                prop_assert!(min <= value);
                prop_assert!(all.iter().any(|&(at, seen)| seen == min && now - at <= 100));
            }
        }
    }
}
