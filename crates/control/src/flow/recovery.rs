//! Losses and marks, and the recovery episodes that they begin.

use super::Flow;
use crate::contract::{Event, Loss, Packet};
use cellcc_units::{Bytes, Time};

/// The recovery episode of losses or marks (RFC 9002, section 7.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Episode {
    /// A new one begins with them.
    Begins,
    /// They belong to the one before.
    GoesOn,
}

impl Flow {
    /// `packets` (oldest first) were declared lost. Without packets nothing happens.
    ///
    /// # Panics
    /// In debug builds, where the packets have more bytes than are in flight.
    pub fn on_loss(&mut self, now: Time, packets: &[Packet]) -> Episode {
        self.judge_and_lose(now, packets, false)
    }

    /// `packets` were declared lost, as with [`on_loss`](Self::on_loss), and they span persistent congestion (RFC 9002, section
    /// 7.6), or a retransmission time-out gave them up.
    ///
    /// # Panics
    /// In debug builds, where the packets have more bytes than are in flight.
    pub fn on_persistent_congestion(&mut self, now: Time, packets: &[Packet]) -> Episode {
        self.judge_and_lose(now, packets, true)
    }

    fn judge_and_lose(&mut self, now: Time, packets: &[Packet], persistent: bool) -> Episode {
        let Some(newest) = packets.last() else { return Episode::GoesOn };
        let episode = self.episode_of(newest.sent_at);
        self.lose(now, packets, episode == Episode::Begins, persistent);
        episode
    }

    /// `packets` (oldest first) were declared lost by a retransmission time-out right after another: packets sent meanwhile
    /// belong to the episode that the first one began (RFC 5681, section 3.1: ssthresh is held).
    pub fn on_repeated_timeout(&mut self, now: Time, packets: &[Packet]) {
        self.lose(now, packets, false, false);
    }

    fn lose(&mut self, now: Time, packets: &[Packet], new_episode: bool, persistent: bool) {
        let bytes = packets.iter().map(|packet| packet.bytes).sum();
        self.inflight -= bytes;
        self.lost += bytes;
        self.controller.on_loss(&Loss {
            now,
            packets,
            bytes,
            lost: self.lost,
            inflight: self.inflight,
            new_episode,
            persistent,
            packet_size: self.packet_size,
        });
        if new_episode {
            self.enter_recovery(now);
        }
        self.refresh();
    }

    /// A retransmission time-out was spurious: this much of the data it declared lost is in flight again (RFC 5682). The controller
    /// learns that the loss was none.
    pub fn on_spurious_timeout(&mut self, now: Time, bytes: Bytes) {
        self.inflight += bytes;
        self.on_event(now, Event::SpuriousLoss);
    }

    /// The receiver reports more packets that a router has marked (ECN-CE), the newest of them sent at `sent_at`; for a
    /// driver that does not know how many ([`on_ack`](Self::on_ack) takes the number).
    pub fn on_congestion_mark(&mut self, now: Time, sent_at: Time) -> Episode {
        let episode = self.episode_of(sent_at);
        if episode == Episode::Begins {
            self.controller.on_event(now, Event::CongestionMarked);
            self.enter_recovery(now);
            self.refresh();
        }
        episode
    }

    /// RFC 9002, section 7.3.1: the fate of packets sent before the episode began belongs to it.
    fn episode_of(&self, sent_at: Time) -> Episode {
        match self.recovery_started_at {
            Some(started) if sent_at <= started => Episode::GoesOn,
            _ => Episode::Begins,
        }
    }

    fn enter_recovery(&mut self, now: Time) {
        self.recovery_started_at = Some(now);
        self.in_recovery = true;
    }
}
