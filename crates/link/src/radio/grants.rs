//! Statistics of retransmissions from grants: their share, their delay, and the correlation of failures.

use super::blocks::{self, Block, LagShares, span};
use super::nr_scope::{Direction, Grant};
use super::two_states::TwoStates;
use crate::capacity::stats::{percentile, sorted};

/// The blocks of one direction, in numbers. A block counts as sent again if a retransmission of it was seen, though its first
/// transmission was not: a receiver that misses grants at random then sees the true share, and one that needs both
/// transmissions, too small a one. The shares of repetitions that fail are too small then, because the last one may be among
/// the missed.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Grants {
    /// The number of grants.
    pub grants: usize,
    /// From the first to the last one, summed over logs.
    pub seconds: f64,
    /// How many phones, each log for itself.
    pub users: usize,
    /// Length of a slot.
    pub slot_ms: f64,
    /// The number of blocks.
    pub blocks: usize,
    /// Share of them that was sent again.
    pub again_share: f64,
    /// The share among blocks whose first transmission was seen.
    pub again_share_seen: f64,
    /// Median time from a transmission to the next one of the same block.
    pub again_ms: Option<f64>,
    /// Share of the first repetitions that fail.
    pub again_fails_share: Option<f64>,
    /// Share of the later ones that fail.
    pub later_fails_share: Option<f64>,
    /// Shares of blocks some time after a failed and after a good one.
    pub by_lag: Vec<LagShares>,
    /// Share of the blocks that a repetition holds back, their own or that of one before, where delivery is in order; phones
    /// with more than 50 blocks.
    pub held_back_share: Option<f64>,
    /// How long, mean over all blocks.
    pub held_back_mean_ms: Option<f64>,
    /// The two states that explain it; null where there is too little to tell.
    pub states: Option<TwoStates>,
    /// The condition `harq`, as a Scenario has it; null where there is too little to tell.
    pub harq: Option<String>,
}

/// Bounds of the times between blocks for [`Grants::by_lag`].
const LAGS_MS: [f64; 9] = [0.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0, 1000.0];
/// A phone with no more blocks gives no information on the wait of a stream.
const HELD_BACK_FROM: usize = 50;

impl Grants {
    /// The numbers of one direction of logs of the same cell; nothing where there are no grants.
    pub(super) fn new(logs: &[&[Grant]], direction: Direction) -> Option<Self> {
        let slots_per_frame = blocks::slots_per_frame(logs);
        let slot_ms = blocks::slot_ms(slots_per_frame);
        let (mut users, mut delays, mut grants, mut slots) = (Vec::new(), Vec::new(), 0, 0);
        for log in logs {
            let log = blocks::in_order(log, direction, slots_per_frame);
            grants += log.len();
            slots += log.first().zip(log.last()).map_or(0, |((first, _), (last, _))| last - first);
            let (blocks, later) = blocks::of_users(log, slot_ms);
            users.extend(blocks);
            delays.extend(later);
        }
        let all = || users.iter().flatten();
        let from_start = || all().filter(|block| block.from_start);
        let share_again = |blocks: &mut dyn Iterator<Item = &Block>| {
            share_of(blocks.map(|block| u64::from(block.failed > 0)), |&failed| failed > 0)
        };
        let by_lag = by_lag(&users, slot_ms);
        let again_ms = percentile(&sorted(&delays), 50).map(|slots| slots * slot_ms);
        let held_back = held_back(&users);
        let mut found = Self {
            grants,
            seconds: slots as f64 * slot_ms / 1e3,
            users: users.len(),
            slot_ms,
            blocks: all().count(),
            again_share: share_again(&mut all())?,
            again_share_seen: share_again(&mut from_start()).unwrap_or(0.0),
            again_ms,
            again_fails_share: fails_again(all(), |repetition| repetition == 1),
            later_fails_share: fails_again(all(), |repetition| repetition > 1),
            held_back_share: share_of(held_back.iter(), |&&held| held > 0),
            held_back_mean_ms: mean_of(&held_back).map(|slots| slots * slot_ms),
            states: TwoStates::fit(&users, &by_lag, slot_ms),
            by_lag,
            harq: None,
        };
        found.harq = found.condition();
        Some(found)
    }

    /// The condition `harq` in full.
    fn condition(&self) -> Option<String> {
        let (states, again_ms) = self.states.as_ref().zip(self.again_ms)?;
        let mut text = format!("slot={}, {states}, again={}", span(self.slot_ms), span(again_ms));
        for (key, share) in [("again_fails", self.again_fails_share), ("later_fails", self.later_fails_share)]
        {
            if let Some(share) = share {
                text += &format!(", {key}={:.1}%", (share * 100.0).max(0.1)); // which takes no share of zero
            }
        }
        Some(text)
    }
}

/// Share of the values for which this holds.
fn share_of<T>(values: impl Iterator<Item = T>, holds: impl Fn(&T) -> bool) -> Option<f64> {
    let (mut all, mut some) = (0_u64, 0_u64);
    for value in values {
        all += 1;
        some += u64::from(holds(&value));
    }
    (all > 0).then(|| some as f64 / all as f64)
}

fn mean_of(values: &[i64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<i64>() as f64 / values.len() as f64)
}

/// Share of the repetitions that fail, of those whose number counts: the first is 1.
fn fails_again<'a>(blocks: impl Iterator<Item = &'a Block>, counts: impl Fn(u32) -> bool) -> Option<f64> {
    let repetitions = blocks.flat_map(|block| (1..=block.failed).map(move |number| (number, block.failed)));
    share_of(repetitions.filter(|&(number, _)| counts(number)), |&(number, failed)| failed > number)
}

/// For how many slots each block is held back where blocks are handed on in order.
fn held_back(users: &[Vec<Block>]) -> Vec<i64> {
    let of_user = |blocks: &Vec<Block>| {
        let mut ready = i64::MIN;
        let wait = |block: &Block| {
            ready = ready.max(block.last);
            ready - block.first
        };
        blocks.iter().map(wait).collect::<Vec<_>>()
    };
    users.iter().filter(|blocks| blocks.len() > HELD_BACK_FROM).flat_map(of_user).collect()
}

/// Sums over pairs of blocks of one phone.
#[derive(Default, Clone, Copy)]
struct Pairs {
    count: u64,
    failed: u64,
    slots: i128,
}

fn by_lag(users: &[Vec<Block>], slot_ms: f64) -> Vec<LagShares> {
    let mut sums = [[Pairs::default(); 2]; LAGS_MS.len() - 1];
    for blocks in users {
        add_pairs(blocks, slot_ms, &mut sums);
    }
    let shares = |(bounds, [good, failed]): (&[f64], &[Pairs; 2])| {
        let over = |sum: f64, count: u64| (count > 0).then(|| sum / count as f64);
        LagShares {
            above_ms: bounds[0],
            to_ms: bounds[1],
            mean_ms: over(failed.slots as f64 * slot_ms, failed.count),
            after_failed_share: over(failed.failed as f64, failed.count),
            after_good_share: over(good.failed as f64, good.count),
            failed_pairs: failed.count,
            good_pairs: good.count,
        }
    };
    LAGS_MS.windows(2).zip(&sums).map(shares).collect()
}

/// Adds the pairs of one phone: for each time between blocks, those after a good one and those after a failed one.
fn add_pairs(blocks: &[Block], slot_ms: f64, sums: &mut [[Pairs; 2]]) {
    // Running sums: how many failed before the nth block, and at which slots all were sent.
    let since_start = |block: &Block| i128::from(block.first - blocks[0].first);
    let (mut failed, mut slots) = (vec![0_u64], vec![0_i128]);
    for (index, block) in blocks.iter().enumerate() {
        failed.push(failed[index] + u64::from(block.failed > 0));
        slots.push(slots[index] + since_start(block));
    }
    let mut begins = [0; LAGS_MS.len()];
    for block in blocks {
        // In each place, the first block that comes later than this bound.
        for (begin, bound) in begins.iter_mut().zip(LAGS_MS) {
            let latest = block.first + (bound / slot_ms) as i64;
            while blocks.get(*begin).is_some_and(|later| later.first <= latest) {
                *begin += 1;
            }
        }
        for (bounds, of_lag) in begins.windows(2).zip(sums.iter_mut()) {
            let (from, to) = (bounds[0], bounds[1]);
            let pairs = &mut of_lag[usize::from(block.failed > 0)];
            pairs.count += (to - from) as u64;
            pairs.failed += failed[to] - failed[from];
            pairs.slots += slots[to] - slots[from] - (to - from) as i128 * since_start(block);
        }
    }
}
