//! The window during loss recovery: one round of packet conservation, then growth by what is acknowledged, and the old
//! window back at the end (Linux, `bbr_set_cwnd_to_recover_or_restore`).
//!
//! An episode ends as in Linux's TCP, and not after one round: once all that was in flight when it began has arrived,
//! repetitions of what was lost included. Where packets are lost in every round, that takes two rounds, and the second
//! one makes good what the first gave away. Episodes of one round, as RFC 9002 has them, would conserve for ever: each
//! takes the lost share off the rate, and the bandwidth estimate follows down.

use crate::contract::{Ack, Loss};
use cellcc_units::{Bytes, Time};

/// The recovery of a flow, and the window it will get back.
#[derive(Debug, Clone, Default)]
pub(in crate::schemes) struct Recovery {
    episode: Option<Episode>,
    prior_window: Bytes,
}

#[derive(Debug, Clone)]
struct Episode {
    began_at: Time,
    /// When a packet of those in flight at the beginning was last declared lost. Its repetition leaves after that.
    last_loss_at: Time,
    /// While packets are conserved: the round ends when a packet sent with this much delivered is acknowledged.
    conserving_until: Option<Bytes>,
}

impl Recovery {
    /// Remembers `window`, the last one known to be good, unless it is already `cut` for another reason.
    pub(in crate::schemes) fn save(&mut self, window: Bytes, cut: bool) {
        let is_cut = cut || self.is_active();
        self.prior_window = if is_cut { self.prior_window.max(window) } else { window };
    }

    /// Packets were lost, with `delivered` delivered so far: an episode begins with them, or its end moves.
    pub(in crate::schemes) fn on_loss(&mut self, loss: &Loss<'_>, delivered: Bytes) {
        let episode = self.episode.get_or_insert(Episode {
            began_at: loss.now,
            last_loss_at: loss.now,
            conserving_until: Some(delivered),
        });
        if loss.packets.iter().any(|packet| packet.sent_at <= episode.began_at) {
            episode.last_loss_at = loss.now;
        }
    }

    /// An acknowledgement; true where it ends the episode.
    pub(in crate::schemes) fn update(&mut self, ack: &Ack<'_>) -> bool {
        let (Some(episode), Some(newest)) = (&mut self.episode, ack.packets.last()) else { return false };
        if episode.conserving_until.is_some_and(|until| newest.delivered >= until) {
            episode.conserving_until = None;
        }
        let left = newest.sent_at > episode.last_loss_at;
        if left {
            self.leave();
        }
        left
    }

    /// The episode is over.
    pub(in crate::schemes) fn leave(&mut self) {
        self.episode = None;
    }

    /// In an episode.
    pub(in crate::schemes) fn is_active(&self) -> bool {
        self.episode.is_some()
    }

    /// Packets leave only as others arrive.
    pub(in crate::schemes) fn is_conserving(&self) -> bool {
        self.episode.as_ref().is_some_and(|episode| episode.conserving_until.is_some())
    }

    /// The window to restore.
    pub(in crate::schemes) fn prior_window(&self) -> Bytes {
        self.prior_window
    }
}
