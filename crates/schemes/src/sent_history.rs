//! What has left and is in no report yet, for schemes that decide by reports of arrivals.

use cellcc_control::Sent;
use cellcc_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// A packet that left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Departed {
    pub(crate) sent_at: Time,
    pub(crate) bytes: Bytes,
}

/// Packets by number, the oldest first; none for one that has arrived.
#[derive(Debug, Default)]
pub(crate) struct SentHistory {
    first: u64,
    packets: VecDeque<Option<Departed>>,
    outstanding: Bytes,
}

impl SentHistory {
    pub(crate) fn on_sent(&mut self, sent: &Sent) {
        if self.packets.is_empty() {
            self.first = sent.number;
        }
        self.outstanding += sent.bytes;
        self.packets.push_back(Some(Departed { sent_at: sent.now, bytes: sent.bytes }));
    }

    /// The packet arrived. None where it is unknown, or has been reported or given up before.
    pub(crate) fn on_arrival(&mut self, number: u64) -> Option<Departed> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let packet = self.packets.get_mut(index)?.take()?;
        self.outstanding -= packet.bytes;
        Some(packet)
    }

    /// Bytes that have neither arrived nor been given up.
    pub(crate) fn outstanding(&self) -> Bytes {
        self.outstanding
    }

    /// Gives up what left more than `reordering` before a packet that has arrived, which left at `newest`.
    pub(crate) fn give_up(&mut self, newest: Time, reordering: Span) -> Vec<Departed> {
        let mut lost = Vec::new();
        while let Some(packet) = self.packets.front() {
            match packet {
                Some(packet) if packet.sent_at + reordering >= newest => break,
                Some(packet) => {
                    self.outstanding -= packet.bytes;
                    lost.push(*packet);
                }
                None => {}
            }
            self.packets.pop_front();
            self.first += 1;
        }
        lost
    }
}
