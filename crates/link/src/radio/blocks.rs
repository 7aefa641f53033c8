//! From grants to blocks: the transmissions of each block, and their times.

use super::nr_scope::{Direction, FRAMES, Grant, PROCESSES, SLOTS_PER_FRAME};
use cellcc_units::Span;

/// A transport block of one phone. Times are in slots.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// When it was first seen.
    pub(super) first: i64,
    /// When it was last sent.
    pub(super) last: i64,
    /// How many of its transmissions failed. One that begins with a redundancy version other than 0 was sent before, unseen.
    pub(super) failed: u32,
    /// True if its first transmission was seen.
    pub(super) from_start: bool,
}

/// Shares of blocks of a phone that fail some time after another one of its blocks.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LagShares {
    /// More than this after it,
    pub above_ms: f64,
    /// and at most this.
    pub to_ms: f64,
    /// Mean of the time, over pairs with a failed first block.
    pub mean_ms: Option<f64>,
    /// Share that fails after a failed block.
    pub after_failed_share: Option<f64>,
    /// Share that fails after a good one.
    pub after_good_share: Option<f64>,
    /// Number of pairs with a failed first block.
    pub failed_pairs: u64,
    /// Number of pairs without one.
    pub good_pairs: u64,
}

/// A repetition comes this many slots after the transmission before, at least: the receiver has to decode, and to answer.
const SOONEST_SLOTS: i64 = 3;
/// The latest time of a retransmission: a later one with that indicator is another block.
const LATEST_MS: f64 = 40.0;
/// The latest time of one with redundancy version 0, which new data also have.
const LATEST_OF_VERSION_0_MS: f64 = 12.0;

/// How many slots a frame has, by the largest slot that was seen.
pub(super) fn slots_per_frame(logs: &[&[Grant]]) -> u8 {
    let largest = logs.iter().flat_map(|log| log.iter()).map(|grant| grant.slot).max().unwrap_or(0);
    let fits = SLOTS_PER_FRAME.into_iter().find(|&slots| slots > largest);
    fits.unwrap_or(SLOTS_PER_FRAME[SLOTS_PER_FRAME.len() - 1])
}

/// The length of a slot.
pub(super) fn slot_ms(slots_per_frame: u8) -> f64 {
    10.0 / f64::from(slots_per_frame)
}

/// The grants of one direction of a log with their slots, in that order. The frame and the slot say it exactly, but
/// repeat after 10.24 s: the logger's clock says which repetition it was.
pub(super) fn in_order(log: &[Grant], direction: Direction, slots_per_frame: u8) -> Vec<(i64, &Grant)> {
    let per_frame = i64::from(slots_per_frame);
    let within = |grant: &Grant| i64::from(grant.frame) * per_frame + i64::from(grant.slot);
    let Some(start) = log.iter().min_by(|one, other| one.clock_s.total_cmp(&other.clock_s)) else {
        return Vec::new();
    };
    let cycle = FRAMES * per_frame;
    let at = |grant: &Grant| {
        let by_clock = (grant.clock_s - start.clock_s) * 1e3 / slot_ms(slots_per_frame);
        let repetition = (by_clock + (within(start) - within(grant)) as f64) / cycle as f64;
        within(grant) + repetition.round() as i64 * cycle
    };
    let of_direction = log.iter().filter(|grant| grant.direction == direction);
    let mut grants: Vec<_> = of_direction.map(|grant| (at(grant), grant)).collect();
    grants.sort_by_key(|&(at, _)| at);
    grants
}

/// The blocks of each phone, in the order of their first transmissions; and after how many slots repetitions came, in any order.
pub(super) fn of_users(mut grants: Vec<(i64, &Grant)>, slot_ms: f64) -> (Vec<Vec<Block>>, Vec<f64>) {
    grants.sort_by_key(|&(at, grant)| (grant.user, at));
    let mut delays = Vec::new();
    let users = grants.chunk_by(|(_, one), (_, next)| one.user == next.user);
    let blocks = users.map(|of_one| of_user(of_one, slot_ms, &mut delays)).collect();
    (blocks, delays)
}

fn of_user(grants: &[(i64, &Grant)], slot_ms: f64, delays: &mut Vec<f64>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // For each process, the block that it carries, and its new-data indicator.
    let mut carried: [Option<(usize, u8)>; PROCESSES] = [None; PROCESSES];
    for &(at, grant) in grants {
        let process = &mut carried[usize::from(grant.process)];
        let same = process.filter(|&(_, new_data)| new_data == grant.new_data);
        if let Some((index, _)) = same {
            let block = &mut blocks[index];
            let later = at - block.last;
            let latest = if grant.redundancy_version == 0 { LATEST_OF_VERSION_0_MS } else { LATEST_MS };
            if later >= SOONEST_SLOTS && later as f64 * slot_ms <= latest {
                block.last = at;
                block.failed += 1;
                delays.push(later as f64);
                continue;
            }
        }
        *process = Some((blocks.len(), grant.new_data));
        let from_start = grant.redundancy_version == 0;
        blocks.push(Block { first: at, last: at, failed: u32::from(!from_start), from_start });
    }
    blocks
}

/// Milliseconds as a time.
pub(super) fn span(ms: f64) -> Span {
    Span::from_nanos((ms * 1e6).round() as u64)
}
