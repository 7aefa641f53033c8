//! The window during loss recovery: one round of packet conservation, then growth by what is acknowledged, and the old
//! window back at the end.

use crate::contract::Ack;
use cellcc_units::Bytes;

/// The recovery of a flow, and the window it will get back.
#[derive(Debug, Clone, Default)]
pub(super) struct Recovery {
    active: bool,
    /// While packets are conserved: the round ends when a packet sent with this much delivered is acknowledged.
    conserving_until: Option<Bytes>,
    prior_window: Bytes,
}

impl Recovery {
    /// Remembers `window`, the last one known to be good, unless it is already `cut` for another reason.
    pub(super) fn save(&mut self, window: Bytes, cut: bool) {
        self.prior_window = if cut || self.active { self.prior_window.max(window) } else { window };
    }

    /// A recovery episode begins.
    pub(super) fn enter(&mut self, delivered: Bytes) {
        self.active = true;
        self.conserving_until = Some(delivered);
    }

    /// An acknowledgement; true where it ends the episode.
    pub(super) fn update(&mut self, ack: &Ack<'_>) -> bool {
        let newest = ack.packets.last().map_or(Bytes::ZERO, |newest| newest.delivered);
        if self.conserving_until.is_some_and(|until| newest >= until) {
            self.conserving_until = None;
        }
        let left = self.active && !ack.in_recovery;
        if left {
            self.leave();
        }
        left
    }

    /// The episode is over.
    pub(super) fn leave(&mut self) {
        self.active = false;
        self.conserving_until = None;
    }

    /// Packets leave only as others arrive.
    pub(super) fn is_conserving(&self) -> bool {
        self.conserving_until.is_some()
    }

    /// The window to restore.
    pub(super) fn prior_window(&self) -> Bytes {
        self.prior_window
    }
}
