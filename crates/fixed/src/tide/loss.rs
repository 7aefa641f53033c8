//! What lost packets change: less beyond the base window where the queue overflows, and a rate that counts what was lost.

use super::settings::Config;
use crate::number::product;
use crate::{Packets, Q16};

/// Prototype: fewer lost packets in a round are no sign of a full queue, whatever their share.
const MIN_LOST: Packets = Packets(3);
/// Prototype: the least that is left of what the window has beyond its base: a tenth.
const MIN_SHARE: Q16 = Q16(6554);
/// Prototype: by how much that grows again in a round: a sixteenth.
const SHARE_STEP: Q16 = Q16(4096);
/// Prototype: the weight of a round in the mean share of lost packets: a quarter.
const ROUND_WEIGHT: Q16 = Q16(16384);

/// Loss in this round and in those before.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct LossResponse {
    delivered: u32,
    lost: u32,
    share: Q16,
    mean_ratio: Q16,
}

impl LossResponse {
    pub(super) const START: Self = Self { delivered: 0, lost: 0, share: Q16::ONE, mean_ratio: Q16::ZERO };

    #[inline(always)]
    pub(super) fn on_delivered(&mut self, packets: Packets) {
        self.delivered = self.delivered.saturating_add(packets.0);
    }

    #[inline(always)]
    pub(super) fn on_lost(&mut self, packets: Packets) {
        self.lost = self.lost.saturating_add(packets.0);
    }

    /// The share of target and extra packets that is left, 1 where nothing is lost.
    #[inline(always)]
    pub(super) fn share(&self) -> Q16 {
        self.share
    }

    /// The rate at which packets have to leave for this one to arrive.
    #[inline(always)]
    pub(super) fn sending_rate(&self, config: &Config, delivery_rate: u64) -> u64 {
        let arrives = Q16::ONE.minus(self.mean_ratio.min(config.loss_corrected));
        product(delivery_rate, Q16::ONE.0 as u32).checked_div(arrives.0 as u64).unwrap_or(delivery_rate)
    }

    #[inline(always)]
    pub(super) fn end_round(&mut self, config: &Config) {
        let total = self.delivered.saturating_add(self.lost);
        if total > 0 {
            let ratio = Q16::ratio(self.lost as i64, total);
            self.mean_ratio = self.mean_ratio.plus(ratio.minus(self.mean_ratio).times(ROUND_WEIGHT));
            let overflows = ratio > config.loss_threshold && self.lost >= MIN_LOST.0;
            self.share = if overflows {
                Q16(self.share.0 >> 1).max(MIN_SHARE)
            } else {
                self.share.plus(SHARE_STEP).min(Q16::ONE)
            };
        }
        (self.delivered, self.lost) = (0, 0);
    }
}
