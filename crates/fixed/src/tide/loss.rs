//! The answer to lost packets: less window beyond the base if the queue overflows, and a rate that makes up for them.
//!  A drain distinguishes an overflowing queue from random losses: a full queue, or a policer, loses nothing of a
//! smaller window. Packets lost then, with an empty queue, are random, and no sign of a full one. At most twice the
//! loss that the rate always makes up for counts as random: flows behind a policer see each other's losses.

use super::settings::Config;
use crate::number::product;
use crate::{Packets, Q16};

/// Prototype: the fewest lost packets in a round that are a sign of a full queue, whatever their share.
const MIN_LOST: Packets = Packets(3);
/// Prototype: the smallest share left of the window beyond its base: a tenth.
const MIN_SHARE: Q16 = Q16(6554);
/// Prototype: the growth of that share per round: a sixteenth.
const SHARE_STEP: Q16 = Q16(4096);
/// Prototype: the weight of a round in the average share of lost packets, a quarter.
const ROUND_WEIGHT: Q16 = Q16(16384);
/// Prototype: the largest such share with which the queue counts as full: a half.
const FULL: Q16 = Q16(32768);

/// Losses in this round and in those before.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct LossResponse {
    delivered: u32,
    lost: u32,
    share: Q16,
    mean_ratio: Q16,
    /// The share of packets that the path loses without a queue of the flow's own, as far as drains show.
    random: Q16,
    reserved: u32,
}

impl LossResponse {
    pub(super) const START: Self = Self {
        delivered: 0,
        lost: 0,
        share: Q16::ONE,
        mean_ratio: Q16::ZERO,
        random: Q16::ZERO,
        reserved: 0,
    };

    #[inline(always)]
    pub(super) fn on_delivered(&mut self, packets: Packets) {
        self.delivered = self.delivered.saturating_add(packets.0);
    }

    #[inline(always)]
    pub(super) fn on_lost(&mut self, packets: Packets) {
        self.lost = self.lost.saturating_add(packets.0);
    }

    /// Packets delivered in this round.
    #[inline(always)]
    pub(super) fn delivered(&self) -> u32 {
        self.delivered
    }

    /// The share left of target and extra packets; 1 without losses.
    #[inline(always)]
    pub(super) fn share(&self) -> Q16 {
        self.share
    }

    /// True where losses show a full queue.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.share <= FULL
    }

    /// True where packets are lost, or were in the last drain.
    #[inline(always)]
    pub(super) fn is_there(&self) -> bool {
        self.is_full() || self.random != Q16::ZERO
    }

    /// The sending rate that makes up for losses at this delivery rate.
    #[inline(always)]
    pub(super) fn sending_rate(&self, config: &Config, delivery_rate: u64) -> u64 {
        let arrives = Q16::ONE.minus(self.mean_ratio.min(config.loss_corrected.plus(self.random)));
        product(delivery_rate, Q16::ONE.0 as u32).checked_div(arrives.0 as u64).unwrap_or(delivery_rate)
    }

    /// Ends a round. `drained`: it shows packets sent in a drain. `is_empty`: its queue was empty. Returns whether it
    /// shows losses to be random.
    #[inline(always)]
    pub(super) fn end_round(&mut self, config: &Config, drained: bool, is_empty: bool) -> bool {
        let total = self.delivered.saturating_add(self.lost);
        let mut explains = false;
        if total > 0 {
            let ratio = Q16::ratio(self.lost as i64, total);
            if drained {
                // Despite an empty queue, half of the usual loss or more (a drain has few packets): no sign of a full
                // one.
                explains = is_empty && self.lost > 0 && ratio.plus(ratio) >= self.mean_ratio;
                let most = config.loss_corrected.plus(config.loss_corrected);
                self.random = if explains { self.mean_ratio.min(most) } else { Q16(self.random.0 >> 1) };
            }
            self.mean_ratio = self.mean_ratio.plus(ratio.minus(self.mean_ratio).times(ROUND_WEIGHT));
            let threshold = config.loss_threshold.plus(self.random);
            let overflows = ratio.min(self.mean_ratio) > threshold && self.lost >= MIN_LOST.0;
            self.share = if overflows {
                Q16(self.share.0 >> 1).max(MIN_SHARE)
            } else if explains {
                Q16::ONE
            } else {
                self.share.plus(SHARE_STEP).min(Q16::ONE)
            };
        }
        (self.delivered, self.lost) = (0, 0);
        explains
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share after rounds of a thousand packets with these losses.
    fn after(loss: &mut LossResponse, lost: &[u32], drained: bool) -> f64 {
        for &lost in lost {
            loss.on_delivered(Packets(1_000 - lost));
            loss.on_lost(Packets(lost));
            loss.end_round(&Config::DEFAULT, drained, true);
        }
        loss.share.0 as f64 / 65536.0
    }

    #[test]
    fn what_is_lost_in_a_drain_as_well_is_no_sign_of_a_full_queue() {
        let mut loss = LossResponse::START;
        assert!(after(&mut loss, &[50; 8], false) < 0.11);
        assert_eq!(after(&mut loss, &[30], true), 1.0);
        assert_eq!(after(&mut loss, &[60, 40, 70, 75], false), 1.0);
        // More than 3 % above the random losses are a sign of a full queue.
        assert!(after(&mut loss, &[150; 8], false) < 0.11);
    }

    #[test]
    fn a_queue_that_loses_nothing_in_a_drain_was_full() {
        let mut loss = LossResponse::START;
        after(&mut loss, &[50; 8], false);
        assert!(after(&mut loss, &[10], true) < 0.2);
        assert!(after(&mut loss, &[50; 8], false) < 0.11);
    }

    #[test]
    fn one_round_of_losses_after_many_without_is_no_full_queue_unless_most_are_lost() {
        let mut loss = LossResponse::START;
        assert_eq!(after(&mut loss, &[100], false), 1.0);
        let mut loss = LossResponse::START;
        assert_eq!(after(&mut loss, &[200], false), 0.5);
    }

    #[test]
    fn the_rate_makes_up_for_random_losses_and_for_six_per_cent() {
        let mut loss = LossResponse::START;
        let rate = |loss: &LossResponse| loss.sending_rate(&Config::DEFAULT, 1_000_000) as f64 / 1e6;
        after(&mut loss, &[100; 20], false);
        assert!((rate(&loss) - 1.0 / 0.94).abs() < 1e-3, "{}", rate(&loss));
        after(&mut loss, &[100], true);
        assert!((rate(&loss) - 1.0 / 0.90).abs() < 1e-3, "{}", rate(&loss));
    }
}
