//! Percentiles of whole milliseconds, exact and in little memory.

use std::collections::BTreeMap;

/// How often each value came, as changes from value to value: a run of values one apart costs two entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    changes: BTreeMap<u64, i64>,
    total: u64,
}

impl Counts {
    /// One of `value`.
    pub(super) fn add(&mut self, value: u64) {
        self.add_run(value, 1);
    }

    /// One each of `first`, `first + 1`, ..., `count` values in all.
    pub(super) fn add_run(&mut self, first: u64, count: u64) {
        if count > 0 {
            *self.changes.entry(first).or_default() += 1;
            *self.changes.entry(first + count).or_default() -= 1;
            self.total += count;
        }
    }

    /// The 95th percentile as Mahimahi's scripts take it: of n values in order, the one at 0.95 n rounded down, counted
    /// from zero.
    pub(super) fn p95(&self) -> Option<u64> {
        let mut rank = (0.95 * self.total as f64) as u64;
        let (mut value, mut each) = (0, 0_i64);
        for (&next, change) in &self.changes {
            let here = each.unsigned_abs() * (next - value);
            if rank < here {
                return Some(value + rank / each.unsigned_abs());
            }
            rank -= here;
            value = next;
            each += change;
        }
        None
    }
}
