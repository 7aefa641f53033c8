//! Progress of a plan, for a bar.

use std::collections::BTreeMap;

/// Progress of a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Number of runs.
    pub runs: usize,
    /// Number of runs that have ended, those of an earlier part included.
    pub ended: usize,
    /// Number of runs that failed.
    pub failed: usize,
    /// The share of each run under way that is done, by its label.
    under_way: BTreeMap<String, f64>,
    /// Expected cost of each run that has not ended by its label, in any unit; the number and the cost of all that were to come, and
    /// the cost of those that have ended.
    expected: BTreeMap<String, f64>,
    to_come: usize,
    all_of_expected: f64,
    ended_of_expected: f64,
}

impl Tally {
    /// The runs begin: `finished` of `runs` were there from an earlier part.
    pub fn begin(&mut self, runs: usize, finished: usize) {
        *self = Self { runs, ended: finished, ..Self::default() };
    }

    /// Expected cost of the remaining runs, by label.
    pub fn expects(&mut self, expected: impl Iterator<Item = (String, f64)>) {
        self.expected = expected.collect();
        (self.to_come, self.all_of_expected) = (self.expected.len(), self.expected.values().sum());
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
        self.ended_of_expected += self.expected.remove(label).unwrap_or(0.0);
        self.ended += 1;
        self.failed += usize::from(failed);
    }

    /// The share of all runs that is done, each weighted by its expected cost; those that were there before have the mean cost.
    pub fn share(&self) -> f64 {
        let all = self.all_of_expected;
        if all <= 0.0 {
            return self.done() / self.runs.max(1) as f64;
        }
        let weight = |(label, share): (&String, &f64)| share * self.expected.get(label).unwrap_or(&0.0);
        let done = self.ended_of_expected + self.under_way.iter().map(weight).sum::<f64>();
        let to_come = self.to_come as f64 / self.runs.max(1) as f64;
        1.0 - to_come * (1.0 - done / all)
    }

    /// Describes the work under way: one run, and the number of others.
    pub fn now(&self) -> Option<String> {
        let first = self.under_way.keys().next()?;
        match self.under_way.len() - 1 {
            0 => Some(first.clone()),
            others => Some(format!("{first}, and {others} more")),
        }
    }

    /// Number of runs done, parts of those under way included.
    pub fn done(&self) -> f64 {
        self.ended as f64 + self.under_way.values().sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute was left, then two: the first runs took longer than the rest.
    #[test]
    fn runs_count_by_what_they_take() {
        let mut tally = Tally::default();
        tally.begin(5, 1);
        tally.expects(
            [("long", 7.0), ("a", 1.0), ("b", 1.0), ("c", 1.0)]
                .map(|(name, takes)| (name.into(), takes))
                .into_iter(),
        );
        assert!((tally.share() - 0.2).abs() < 1e-9);
        tally.advanced("long", 0.5);
        tally.advanced("a", 1.0);
        assert!((tally.share() - (0.2 + 0.8 * 0.45)).abs() < 1e-9);
        assert_eq!(tally.now().as_deref(), Some("a, and 1 more"));
        tally.ended("a", false);
        assert_eq!(tally.now().as_deref(), Some("long"));
        ["long", "b", "c"].into_iter().for_each(|name| tally.ended(name, false));
        assert!((tally.share() - 1.0).abs() < 1e-9 && tally.now().is_none());
    }
}
