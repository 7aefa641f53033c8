//! The evidence of losses on the path: a long-term bound on the data in flight, and short-term bounds on that and on the bandwidth.

use cellcc_control::Loss;
use cellcc_units::{Bytes, Rate};

/// Draft section 2.8: the share of a round that may be lost while the flow probes (`BBRLossThresh`).
const LOSS_THRESHOLD: f64 = 0.02;
/// Draft section 2.8: the factor of a round with a loss on the short-term bounds (`BBRBeta`).
pub(crate) const BETA: f64 = 0.7;
/// Draft section 2.8: the share of `inflight_hi` that is left to others (`BBRHeadroom`).
const HEADROOM: f64 = 0.15;

/// Bounds and the signals that they come from; none is infinite.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    pub(crate) bw_lo: Option<Rate>,
    pub(crate) inflight_lo: Option<Bytes>,
    pub(crate) inflight_hi: Option<Bytes>,
    bw_latest: Rate,
    inflight_latest: Bytes,
    /// The sample of the last acknowledgement: the first one of a new round.
    newest: (Rate, Bytes),
    /// The round of losses ends when a packet arrives that left with this much delivered.
    round_ends_at: Bytes,
    round_ended: bool,
    /// Reports of losses in this round, and in the last one that ended.
    losses: u32,
    losses_of_last_round: u32,
}

/// The data in flight when a packet left, it included, and the amount lost since then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lost {
    pub(crate) inflight: Bytes,
    pub(crate) lost: Bytes,
}

impl Lost {
    /// Draft section 4.5.6.2, `IsInflightTooHigh`.
    pub(crate) fn is_too_much(&self) -> bool {
        self.lost.as_f64() > LOSS_THRESHOLD * self.inflight.as_f64()
    }
}

impl Bounds {
    /// A delivery rate, and the data delivered for it. The newest packet left with `prior` delivered.
    pub(crate) fn on_delivery(&mut self, prior: Bytes, delivered: Bytes, rate: Rate, sample: Bytes) {
        self.round_ended = prior >= self.round_ends_at;
        if self.round_ended {
            self.round_ends_at = delivered;
        }
        self.bw_latest = self.bw_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(sample);
        self.newest = (rate, sample);
        if self.round_ended {
            self.losses_of_last_round = self.losses;
        }
    }

    /// Lowers the short-term bounds for the losses of a round that has ended (draft section 4.5.6.3).
    pub(crate) fn end_round(&mut self, probing: bool, max_bw: Rate, window: Bytes) {
        if !self.round_ended {
            return;
        }
        if self.losses > 0 && !probing {
            let bw = self.bw_lo.unwrap_or(max_bw).mul_f64(BETA);
            let inflight = self.inflight_lo.unwrap_or(window).mul_f64(BETA);
            self.bw_lo = Some(self.bw_latest.max(bw));
            self.inflight_lo = Some(self.inflight_latest.max(inflight));
        }
        self.losses = 0;
    }

    /// Where a round has ended, the next one's signals begin with its last sample (draft section 4.5.6.3,
    /// `BBRAdvanceLatestDeliverySignals`).
    pub(crate) fn advance(&mut self) {
        if self.round_ended {
            (self.bw_latest, self.inflight_latest) = self.newest;
        }
    }

    /// The round of losses restarts, with this much delivered: its first loss has come (draft-ietf-ccwg-bbr, 5.5.10.2).
    pub(crate) fn start_round(&mut self, delivered: Bytes) {
        self.round_ends_at = delivered;
    }

    /// This round has losses.
    pub(crate) fn has_losses(&self) -> bool {
        self.losses > 0
    }

    /// The most that was delivered in a round trip of this round.
    pub(crate) fn inflight_latest(&self) -> Bytes {
        self.inflight_latest
    }

    /// Losses were reported.
    pub(crate) fn on_loss(&mut self) {
        self.losses = self.losses.saturating_add(1);
    }

    /// The last acknowledgement has ended a round of losses.
    pub(crate) fn has_round_ended(&self) -> bool {
        self.round_ended
    }

    /// A round has just ended that had so many reports of losses.
    pub(crate) fn took_losses_for_a_round(&self, reports: u32) -> bool {
        self.round_ended && self.losses_of_last_round >= reports
    }

    /// `inflight_hi`, minus the part left to others (draft section 4.3.3.6, `BBRInflightWithHeadroom`).
    pub(crate) fn with_headroom(&self, least: Bytes) -> Bytes {
        self.inflight_hi.map_or(Bytes::MAX, |bound| bound.mul_f64(1.0 - HEADROOM).max(least))
    }

    /// The short-term bounds are infinite again.
    pub(crate) fn forget_lower(&mut self) {
        (self.bw_lo, self.inflight_lo) = (None, None);
    }

    /// A phase begins whose signals are its own.
    pub(crate) fn forget_signals(&mut self) {
        (self.losses, self.bw_latest, self.inflight_latest) = (0, Rate::ZERO, Bytes::ZERO);
    }

    /// No bound is lower than it was (v2alpha, `bbr2_undo_cwnd`).
    pub(crate) fn restore(&mut self, saved: &Self) {
        fn higher<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            a.zip(b).map(|(a, b)| a.max(b))
        }
        self.bw_lo = higher(self.bw_lo, saved.bw_lo);
        self.inflight_lo = higher(self.inflight_lo, saved.inflight_lo);
        self.inflight_hi = higher(self.inflight_hi, saved.inflight_hi);
        self.losses = 0;
    }
}

/// The data in flight when the lost share exceeded the threshold, with a flag if the application limited that packet; `None` if
/// it never did (draft section 4.5.6.2, `BBRHandleLostPacket`).
pub(crate) fn inflight_when_too_much_was_lost(loss: &Loss<'_>) -> Option<(Bytes, bool)> {
    let mut lost_so_far = loss.lost - loss.bytes;
    for packet in loss.packets {
        lost_so_far += packet.bytes;
        let lost = Lost { inflight: packet.inflight + packet.bytes, lost: lost_so_far - packet.lost };
        if lost.is_too_much() {
            // `BBRInflightHiFromLostPacket`: the part of the packet that reaches the threshold.
            let (before, lost_before) = (packet.inflight.as_f64(), (lost.lost - packet.bytes).as_f64());
            let prefix = (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD);
            return Some((Bytes::new((before + prefix).max(0.0) as u64), packet.app_limited));
        }
    }
    None
}
