//! Sent packets that are in no report yet, for schemes that decide by reports of arrivals.

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

    /// Gives up packets that left more than `reordering` before a packet that has arrived, which left at `newest`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_arrives_once_or_is_given_up_and_is_outstanding_until_then() {
        let mut history = SentHistory::default();
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let bytes = Bytes::new(1000);
        for number in 0..5 {
            history.on_sent(&Sent::new(at(number * 10), number, bytes));
        }
        assert_eq!(history.on_arrival(9), None, "it never left");
        assert_eq!(history.on_arrival(4).map(|packet| packet.sent_at), Some(at(40)));
        assert_eq!(history.on_arrival(4), None);
        assert_eq!(history.on_arrival(1).map(|packet| packet.bytes), Some(bytes));
        let lost = history.give_up(at(40), Span::from_millis(30));
        assert_eq!(lost, [Departed { sent_at: at(0), bytes }]);
        assert_eq!((history.outstanding(), history.on_arrival(0)), (bytes * 2, None));
    }
}
