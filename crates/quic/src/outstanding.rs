//! The packets that were sent and are neither acknowledged nor lost, in sending order.
//!
//! noq reports a packet by its number but not the number space (RFC 9000, section 12.3), and three spaces use the same
//! numbers. An acknowledged packet is found by number and sending time; a lost one, for which noq gives no time, by number,
//! size and order.

use cellcc_control::Packet;
use cellcc_units::{Bytes, Time};
use std::collections::VecDeque;

/// A packet, as noq and as the scheme know it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    /// noq's number, unique within its space only.
    pub(crate) number: u64,
    /// The packet's UDP payload.
    pub(crate) payload: Bytes,
    /// The packet's state when it was sent.
    pub(crate) packet: Packet,
}

/// After this many packets the buffer's capacity is compared with its use.
const SHRINK_CHECK_PACKETS: u32 = 1024;
/// The capacity that is always kept, in packets: 6 kB.
const MIN_CAPACITY: usize = 64;

/// The packets that were sent, oldest first. A settled packet stays until all before it are settled.
///
/// A ring buffer that keeps the capacity of a past burst writes each packet to memory that has left the processor's cache.
/// So excess capacity is released.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outstanding {
    entries: VecDeque<Slot>,
    payload: Bytes,
    /// Packets since the last check of the capacity.
    pushed: u32,
    /// The most entries since that check.
    peak: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    entry: Entry,
    is_settled: bool,
}

impl Slot {
    /// True if this is the unsettled packet with this number and sending time.
    fn is(&self, number: u64, sent_at: Time) -> bool {
        !self.is_settled && self.entry.number == number && self.entry.packet.sent_at == sent_at
    }
}

impl Outstanding {
    /// UDP payload in flight.
    pub(crate) fn payload(&self) -> Bytes {
        self.payload
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.payload += entry.payload;
        self.entries.push_back(Slot { entry, is_settled: false });
        self.peak = self.peak.max(self.entries.len());
        self.pushed += 1;
        if self.pushed == SHRINK_CHECK_PACKETS {
            self.shrink();
        }
    }

    /// Halves the capacity if a quarter of it would have sufficed.
    fn shrink(&mut self) {
        if self.entries.capacity() > self.peak.max(MIN_CAPACITY) * 4 {
            self.entries.shrink_to(self.entries.capacity() / 2);
        }
        (self.pushed, self.peak) = (0, self.entries.len());
    }

    /// Takes the packet with this number and sending time.
    pub(crate) fn take_acknowledged(&mut self, number: u64, sent_at: Time) -> Option<Entry> {
        // It is nearly always the oldest.
        if self.entries.front().is_some_and(|slot| slot.is(number, sent_at)) {
            return Some(self.settle(0));
        }
        let first = self.entries.partition_point(|slot| slot.entry.packet.sent_at < sent_at);
        let at_that_time = self.entries.range(first..);
        let offset = at_that_time
            .take_while(|slot| slot.entry.packet.sent_at == sent_at)
            .position(|slot| slot.is(number, sent_at))?;
        Some(self.settle(first + offset))
    }

    /// Takes the oldest packet of this number and size.
    pub(crate) fn take_lost(&mut self, number: u64, payload: Bytes) -> Option<Entry> {
        let is_it =
            |slot: &Slot| !slot.is_settled && slot.entry.number == number && slot.entry.payload == payload;
        let index = self.entries.iter().position(is_it)?;
        Some(self.settle(index))
    }

    /// Takes the oldest packet of all.
    pub(crate) fn take_oldest(&mut self) -> Option<Entry> {
        let index = self.entries.iter().position(|slot| !slot.is_settled)?;
        Some(self.settle(index))
    }

    fn settle(&mut self, index: usize) -> Entry {
        let slot = &mut self.entries[index];
        slot.is_settled = true;
        let entry = slot.entry;
        self.payload -= entry.payload;
        while self.entries.front().is_some_and(|slot| slot.is_settled) {
            self.entries.pop_front();
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn entry(number: u64, sent_ms: u64, payload: u64) -> Entry {
        let packet = Packet::new(number, at(sent_ms), Bytes::new(payload + 28));
        Entry { number, payload: Bytes::new(payload), packet }
    }

    fn outstanding(entries: &[Entry]) -> Outstanding {
        let mut outstanding = Outstanding::default();
        entries.iter().for_each(|entry| outstanding.push(*entry));
        outstanding
    }

    #[test]
    fn packets_of_one_number_are_distinguished_by_when_they_left() {
        let (initial, data) = (entry(0, 1, 1200), entry(0, 5, 1200));
        let mut outstanding = outstanding(&[initial, entry(1, 1, 1200), data]);
        assert_eq!(outstanding.take_acknowledged(0, at(5)), Some(data));
        assert_eq!(outstanding.take_acknowledged(0, at(5)), None);
        assert_eq!(outstanding.take_lost(0, Bytes::new(1200)), Some(initial));
        assert_eq!(outstanding.payload(), Bytes::new(1200));
    }

    #[test]
    fn the_room_of_a_burst_is_given_back() {
        let mut outstanding = Outstanding::default();
        (0..5000).for_each(|number| outstanding.push(entry(number, 1, 100)));
        let of_the_burst = outstanding.entries.capacity();
        for number in 5000..20_000 {
            while outstanding.entries.len() > 30 {
                outstanding.take_oldest();
            }
            outstanding.push(entry(number, 2, 100));
        }
        let room = outstanding.entries.capacity();
        assert!(
            of_the_burst >= 5000 && (MIN_CAPACITY..=MIN_CAPACITY * 4).contains(&room),
            "{of_the_burst}, {room}"
        );
        assert_eq!(outstanding.take_acknowledged(19_999, at(2)), Some(entry(19_999, 2, 100)));
    }

    #[test]
    fn what_is_settled_out_of_order_is_gone_from_the_sum_at_once() {
        let mut outstanding = outstanding(&[entry(0, 1, 100), entry(1, 2, 200), entry(2, 2, 300)]);
        assert_eq!(outstanding.take_acknowledged(2, at(2)), Some(entry(2, 2, 300)));
        assert_eq!(outstanding.payload(), Bytes::new(300));
        assert_eq!(outstanding.take_oldest(), Some(entry(0, 1, 100)));
        assert_eq!(outstanding.take_oldest(), Some(entry(1, 2, 200)));
        assert_eq!(outstanding.take_oldest(), None);
        assert_eq!(outstanding.payload(), Bytes::ZERO);
    }
}
