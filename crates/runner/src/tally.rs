//! How far a plan is, for a bar.

use std::collections::BTreeMap;

/// How far a plan is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// How many runs there are.
    pub runs: usize,
    /// How many have ended, those of an earlier part included.
    pub ended: usize,
    /// How many of them failed.
    pub failed: usize,
    /// The share of each run under way that is done, by its label.
    under_way: BTreeMap<String, f64>,
}

impl Tally {
    /// The runs begin: `finished` of `runs` were there from an earlier part.
    pub fn begin(&mut self, runs: usize, finished: usize) {
        *self = Self { runs, ended: finished, ..Self::default() };
    }

    /// A run under way has done this share of its time. One run on a fast link may take hours.
    pub fn advanced(&mut self, label: &str, share: f64) {
        let share = share.clamp(0.0, 1.0);
        match self.under_way.get_mut(label) {
            Some(done) => *done = share,
            None => _ = self.under_way.insert(label.into(), share),
        }
    }

    /// A run has ended.
    pub fn ended(&mut self, label: &str, failed: bool) {
        self.under_way.remove(label);
        self.ended += 1;
        self.failed += usize::from(failed);
    }

    /// How many runs are done, parts of those under way included.
    pub fn done(&self) -> f64 {
        self.ended as f64 + self.under_way.values().sum::<f64>()
    }
}
