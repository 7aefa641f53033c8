//! The data of lost packets: the part that has not arrived since, and the part to be sent again.

use crate::ascending::Ascending;
use crate::recovery::Outstanding;

/// Segments that were in a lost packet.
#[derive(Debug, Default)]
pub(crate) struct LostData {
    /// Those that have not been acknowledged since.
    missing: Ascending<u64>,
    /// Those of them that no packet in flight was sent for.
    to_repeat: Ascending<u64>,
}

impl LostData {
    /// True where nothing is missing.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    /// A packet is lost. A lost retransmission holds data that are missing already, or that another packet has brought or still
    /// carries.
    pub(crate) fn on_lost(&mut self, lost: &Outstanding) {
        if !lost.retransmission {
            self.missing.insert(lost.segment);
        }
        if self.missing.contains(lost.segment) {
            self.to_repeat.insert(lost.segment);
        }
    }

    /// A packet was not lost after all, and is in flight again.
    pub(crate) fn on_restored(&mut self, restored: &Outstanding) {
        self.to_repeat.remove(restored.segment);
        if !restored.retransmission {
            self.missing.remove(restored.segment);
        }
    }

    /// A segment has arrived, late or by another packet. False where it was not missing.
    pub(crate) fn on_arrival(&mut self, segment: u64) -> bool {
        self.to_repeat.remove(segment);
        self.missing.remove(segment).is_some()
    }

    /// The next data to be sent again: the oldest, as TCP does (`tcp_xmit_retransmit_queue` in Linux).
    #[inline]
    pub(crate) fn next(&self) -> Option<u64> {
        self.to_repeat.first().copied()
    }

    /// A segment is sent again.
    pub(crate) fn on_repeated(&mut self, segment: u64) {
        self.to_repeat.remove(segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_control::Packet;

    fn packet(segment: u64, retransmission: bool) -> Outstanding {
        Outstanding::new(Packet::default(), segment, retransmission)
    }

    #[test]
    fn a_lost_retransmission_is_sent_again() {
        let mut data = LostData::default();
        data.on_lost(&packet(7, false));
        for _ in 0..3 {
            assert_eq!(data.next(), Some(7));
            data.on_repeated(7);
            assert_eq!(data.next(), None, "it is in flight");
            data.on_lost(&packet(7, true));
        }
        assert!(data.on_arrival(7) && data.is_empty());
    }

    #[test]
    fn a_lost_retransmission_of_data_that_has_arrived_is_not() {
        let mut data = LostData::default();
        data.on_lost(&packet(7, false));
        data.on_repeated(7);
        assert!(data.on_arrival(7), "the first packet was late only");
        data.on_lost(&packet(7, true));
        assert_eq!(data.next(), None);
        assert!(!data.on_arrival(7), "it counts once");
    }
}
