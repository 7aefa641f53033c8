//! What lost packets change: less beyond the base window where the queue overflows, and a rate that counts what was lost.

use super::settings::Settings;
use cellcc_units::Bytes;

/// Prototype: fewer lost packets in a round are no sign of a full queue, whatever their share.
const MIN_LOST_PACKETS: u64 = 3;
/// Prototype: the least that is left of what the window has beyond its base.
const MIN_SHARE: f64 = 0.1;
/// Prototype: by how much that grows again in a round.
const SHARE_STEP: f64 = 1.0 / 16.0;
/// Prototype: the weight of a round in the mean share of lost bytes.
const ROUND_WEIGHT: f64 = 0.25;

/// Loss in this round and in those before.
#[derive(Debug, Clone)]
pub(super) struct LossResponse {
    delivered: Bytes,
    lost: Bytes,
    share: f64,
    mean_ratio: f64,
}

impl LossResponse {
    pub(super) fn new() -> Self {
        Self { delivered: Bytes::ZERO, lost: Bytes::ZERO, share: 1.0, mean_ratio: 0.0 }
    }

    pub(super) fn on_delivered(&mut self, bytes: Bytes) {
        self.delivered += bytes;
    }

    pub(super) fn on_lost(&mut self, bytes: Bytes) {
        self.lost += bytes;
    }

    /// The share of target and extra packets that is left, 1 where nothing is lost.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// The rate at which packets have to leave for this one to arrive.
    pub(super) fn sending_rate(&self, delivery_rate: f64, settings: &Settings) -> f64 {
        delivery_rate / (1.0 - self.mean_ratio.min(settings.loss_corrected))
    }

    pub(super) fn end_round(&mut self, packet: Bytes, settings: &Settings) {
        let total = (self.delivered + self.lost).as_f64();
        if total > 0.0 {
            let ratio = self.lost.as_f64() / total;
            self.mean_ratio += (ratio - self.mean_ratio) * ROUND_WEIGHT;
            let overflows = ratio > settings.loss_threshold && self.lost >= packet * MIN_LOST_PACKETS;
            self.share = if overflows {
                (self.share / 2.0).max(MIN_SHARE)
            } else {
                (self.share + SHARE_STEP).min(1.0)
            };
        }
        (self.delivered, self.lost) = (Bytes::ZERO, Bytes::ZERO);
    }
}
