//! The window during loss recovery: one round of packet conservation, then growth by what is acknowledged, and the old
//! window back at the end (Linux, `bbr_set_cwnd_to_recover_or_restore`).
//!
//! Recovery lasts as long as BBR sees it in Linux: until all that was lost has been repeated and has arrived, and with it all
//! that was in flight when recovery began. Where packets are lost in every round, TCP goes from one episode to the next within
//! an acknowledgement, and BBR sees a single recovery, which conserves packets in its first round only. If each round's losses
//! began a recovery of their own, every second round would conserve: each time the lost share comes off the rate, and the
//! bandwidth estimate follows it down.
//!
//! A scheme does not know what a packet carries. Senders repeat what was lost before they send anything new, so the next packets
//! to leave after a loss are its repetitions, as many bytes as were lost.

use cellcc_control::{Ack, Loss, Packet, Sampler, Tag};
use cellcc_units::{Bytes, Rate, Time};

/// The bit of a packet's tag that says: it repeats what was lost.
const REPETITION: Tag = 1 << 1;
/// The bit that says: it left while packets were conserved.
const CONSERVED: Tag = 1 << 2;

/// The recovery of a flow, and the window it will get back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recovery {
    episode: Option<Episode>,
    prior_window: Bytes,
    /// Lost, and not sent again.
    to_repeat: Bytes,
    /// Sent again, and in flight.
    repeated: Bytes,
}

#[derive(Debug, Clone)]
struct Episode {
    /// All that was in flight then has to arrive.
    began_at: Time,
    /// While packets are conserved: the round ends when a packet sent with this much delivered is acknowledged.
    conserving_until: Option<Bytes>,
}

impl Recovery {
    /// Remembers `window`, the last one known to be good, unless it is already `cut` for another reason.
    pub(crate) fn save(&mut self, window: Bytes, cut: bool) {
        let is_cut = cut || self.is_active();
        self.prior_window = if is_cut { self.prior_window.max(window) } else { window };
    }

    /// A packet leaves; gives its share of the tag.
    pub(crate) fn on_sent(&mut self, bytes: Bytes) -> Tag {
        let mut tag = Tag::default();
        if self.is_conserving() {
            tag |= CONSERVED;
        }
        if !self.to_repeat.is_zero() {
            self.to_repeat = self.to_repeat.saturating_sub(bytes);
            self.repeated += bytes;
            tag |= REPETITION;
        }
        tag
    }

    /// Packets were lost, with `delivered` delivered so far: an episode begins with them, unless there is one.
    pub(crate) fn on_loss(&mut self, loss: &Loss<'_>, delivered: Bytes) {
        self.settle(loss.packets);
        self.to_repeat += loss.bytes;
        self.episode.get_or_insert(Episode { began_at: loss.now, conserving_until: Some(delivered) });
    }

    /// An acknowledgement; true where it ends the recovery.
    pub(crate) fn update(&mut self, ack: &Ack<'_>) -> bool {
        self.settle(ack.packets);
        let (Some(episode), Some(newest)) = (&mut self.episode, ack.packets.last()) else { return false };
        if episode.conserving_until.is_some_and(|until| newest.delivered >= until) {
            episode.conserving_until = None;
        }
        if newest.sent_at <= episode.began_at {
            return false;
        }
        let all_arrived = self.to_repeat.is_zero() && self.repeated.is_zero();
        if all_arrived {
            self.leave();
        } else {
            episode.began_at = ack.now;
        }
        all_arrived
    }

    /// These packets are in flight no longer.
    pub(crate) fn settle(&mut self, packets: &[Packet]) {
        if !self.repeated.is_zero() {
            let repetitions = packets.iter().filter(|packet| packet.tag & REPETITION != 0);
            self.repeated = self.repeated.saturating_sub(repetitions.map(|packet| packet.bytes).sum());
        }
    }

    /// The episode is over, and nothing is left to repeat.
    pub(crate) fn leave(&mut self) {
        self.episode = None;
        self.to_repeat = Bytes::ZERO;
    }

    /// In an episode.
    pub(crate) fn is_active(&self) -> bool {
        self.episode.is_some()
    }

    /// Packets leave only as others arrive.
    pub(crate) fn is_conserving(&self) -> bool {
        self.episode.as_ref().is_some_and(|episode| episode.conserving_until.is_some())
    }

    /// The window to restore.
    pub(crate) fn prior_window(&self) -> Bytes {
        self.prior_window
    }
}

/// The delivery rate of packets that left while packets were conserved; none for others.
pub(crate) fn conserved_rate(ack: &Ack<'_>) -> Option<Rate> {
    let newest = ack.packets.last()?;
    let rate = ack.rate?.rate(Sampler::Min);
    (newest.tag & CONSERVED != 0).then_some(rate)
}
