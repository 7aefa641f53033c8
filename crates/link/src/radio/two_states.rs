//! The channel that is good or bad, from how failures follow each other: the method of moments.
//!
//! In a good channel a share *g* of the blocks fails, in a bad one a share *w*; it is bad for a share *b* of the time, and its
//! memory *M* is exponential. Then, for blocks with a failure ratio *f*:
//!
//! 1. The failure ratio after a failed block minus that after a good one is the correlation of failures, *r(t) = r(0) exp(-t /
//!    M)*. `memory` is the time in which it falls from its value at the shortest lag to 1/e of that, along straight lines in
//!    its logarithm; longer lags do not enter, because phones differ and keep some correlation for ever. *r(0)* follows.
//! 2. The variance of the share is *V = b (1 - b) (w - g)² = r(0) f (1 - f)*.
//! 3. Three blocks that follow each other within `memory` fail together in a share of
//!    *f³ + f V (e₁ + e₂ + e₁e₂) + V (1 - 2b)(w - g) e₁e₂*, with *e = exp(-t / M)* of the times between them. So their count gives
//!    *s = (1 - 2b)(w - g)*.
//! 4. From *f*, *V* and *s*: *w - g = √(s² + 4V)*, *b = (1 - s / (w - g)) / 2*, *g = f - b (w - g)*. Where noise would make *g*
//!    negative or *w* more than 1, it is 0 or 1, and *f* and *V* give the rest.
//!
//! *f* comes from the blocks of step 3: a run parameter is for links with something to send, and single blocks fail less often.

use super::blocks::{Block, LagShares, span};
use std::fmt;

/// How blocks fail: the parameters of the condition `harq` of the same names.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct TwoStates {
    /// Share of the blocks that fail when they are first sent, where blocks follow each other.
    pub failed_share: f64,
    /// Share of the time in which the channel is bad; zero where failures do not come together.
    pub bad_share: f64,
    /// Share of the blocks that fail while it is; `failed_share` where it never is.
    pub failed_when_bad_share: f64,
    /// In which the correlation falls to 1/e; null where failures do not come together. Never more than the longest lag, a second.
    pub memory_ms: Option<f64>,
}

/// Fewer failed blocks say a share with an error of more than a tenth of it.
const FEWEST_FAILED: u64 = 100;
/// Standard errors above zero, from which on a correlation counts.
const SIGNIFICANT: f64 = 3.0;

impl TwoStates {
    pub(super) fn fit(users: &[Vec<Block>], lags: &[LagShares], slot_ms: f64) -> Option<Self> {
        let all = || users.iter().flatten();
        let failed = all().filter(|block| block.failed > 0).count() as u64;
        if failed < FEWEST_FAILED {
            return None;
        }
        let Some((memory_ms, at_once)) = decay(lags) else {
            let failed_share = failed as f64 / all().count() as f64;
            return Some(Self {
                failed_share,
                bad_share: 0.0,
                failed_when_bad_share: failed_share,
                memory_ms: None,
            });
        };
        let triples = Triples::new(users, memory_ms / slot_ms);
        if triples.failed < 3 * FEWEST_FAILED {
            return None;
        }
        let failed = triples.failed as f64 / (3 * triples.count) as f64;
        let variance = at_once * failed * (1.0 - failed);
        let skew = triples.skew(failed, variance);
        let (bad, when_bad) = states(failed, variance, skew);
        Some(Self {
            failed_share: failed,
            bad_share: bad,
            failed_when_bad_share: when_bad,
            memory_ms: Some(memory_ms),
        })
    }
}

/// Memory in milliseconds, and the correlation of failures at once; nothing where failures do not come together.
fn decay(lags: &[LagShares]) -> Option<(f64, f64)> {
    let correlation = |lag: &LagShares| {
        let (after_failed, after_good) = lag.after_failed_share.zip(lag.after_good_share)?;
        let variance = |share: f64, count: u64| share * (1.0 - share) / count as f64;
        let error =
            libm::sqrt(variance(after_failed, lag.failed_pairs) + variance(after_good, lag.good_pairs));
        Some((lag.mean_ms?, after_failed - after_good, error))
    };
    let points: Vec<_> = lags.iter().filter_map(correlation).collect();
    let &(shortest, first, error) = points.first()?;
    if first <= SIGNIFICANT * error {
        return None;
    }
    let fallen = first / std::f64::consts::E;
    // Noise around nothing must not decide where the line crosses.
    let shown = |value: f64| libm::log(value.max(fallen / 10.0));
    let crosses = points.windows(2).find(|pair| pair[1].1 <= fallen).map(|pair| {
        let ((from, before, _), (to, after, _)) = (pair[0], pair[1]);
        from + (to - from) * (shown(before) - shown(fallen)) / (shown(before) - shown(after))
    });
    let memory = crosses.unwrap_or(points[points.len() - 1].0) - shortest;
    (memory > 0.0).then(|| (memory, (first * libm::exp(shortest / memory)).min(1.0)))
}

/// Three blocks of a phone that follow each other: how many, how many of their blocks failed, and sums of step 3.
#[derive(Default)]
struct Triples {
    count: u64,
    failed: u64,
    all_failed: u64,
    pairs: f64,
    chain: f64,
}

impl Triples {
    fn new(users: &[Vec<Block>], memory: f64) -> Self {
        let mut sums = Self::default();
        for three in users.iter().flat_map(|blocks| blocks.windows(3)) {
            if (three[2].first - three[0].first) as f64 > memory {
                continue;
            }
            let failed = three.iter().filter(|block| block.failed > 0).count() as u64;
            let remembered = |pair: &[Block]| libm::exp((pair[0].first - pair[1].first) as f64 / memory);
            let (one, other) = (remembered(&three[..2]), remembered(&three[1..]));
            sums.count += 1;
            sums.failed += failed;
            sums.all_failed += u64::from(failed == 3);
            sums.pairs += one + other + one * other;
            sums.chain += one * other;
        }
        sums
    }

    fn skew(&self, failed: f64, variance: f64) -> f64 {
        let by_chance = self.count as f64 * failed * failed * failed + failed * variance * self.pairs;
        (self.all_failed as f64 - by_chance) / (variance * self.chain)
    }
}

/// Share of the time in the bad state, and share that fails there.
fn states(failed: f64, variance: f64, skew: f64) -> (f64, f64) {
    let apart = libm::sqrt(skew * skew + 4.0 * variance);
    let bad = (1.0 - skew / apart) / 2.0;
    let when_good = failed - bad * apart;
    if when_good < 0.0 {
        let when_bad = failed + variance / failed;
        return (failed / when_bad, when_bad);
    }
    if when_good + apart > 1.0 {
        let when_good = failed - variance / (1.0 - failed);
        return ((failed - when_good) / (1.0 - when_good), 1.0);
    }
    (bad, when_good + apart)
}

impl fmt::Display for TwoStates {
    /// As the condition has it, which takes no share of zero: where there is one state, both fail alike. Shares are rounded so
    /// that the good state still has one: `failed` up, the others down.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let down = |share: f64| (share * 1e3).floor().max(1.0) / 10.0;
        let failed = (self.failed_share * 1e4).ceil() / 100.0;
        let Some(memory_ms) = self.memory_ms else {
            return write!(f, "failed={failed}%, failed_when_bad={failed}%");
        };
        let (bad, when_bad) = (down(self.bad_share), down(self.failed_when_bad_share));
        let memory = span((memory_ms * 10.0).round().max(1.0) / 10.0);
        write!(f, "failed={failed}%, bad={bad}%, failed_when_bad={when_bad}%, memory={memory}")
    }
}
