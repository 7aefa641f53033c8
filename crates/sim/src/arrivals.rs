//! Packets at a receiver: those that its network card holds, and those that have arrived.

use crate::packets::DataPacket;
use cellcc_control::Ecn;
use cellcc_experiment::ReceiveOffload;
use cellcc_units::{Bytes, Time};
use std::collections::VecDeque;

/// A packet that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReceivedPacket {
    pub(crate) number: u64,
    /// The codepoint that it arrived with.
    pub(crate) ecn: Ecn,
}

/// Packets whose numbers follow each other, with one codepoint.
#[derive(Debug, Clone, Copy, Default)]
struct Range {
    first: u64,
    count: u64,
    ecn: Ecn,
}

/// The packets that have arrived and that the sender does not know of, in order of arrival: as ranges of numbers, as QUIC's
/// acknowledgements have them.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Oldest first, none of them empty.
    older: VecDeque<Range>,
    newest: Range,
    /// How many have arrived, and how many of them the sender knows.
    arrived: u64,
    taken: u64,
}

impl Arrivals {
    /// How many packets have arrived since the flow began.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.arrived
    }

    /// A packet arrives.
    #[inline]
    pub(crate) fn push(&mut self, number: u64, ecn: Ecn) {
        self.arrived += 1;
        if number == self.newest.first + self.newest.count && ecn == self.newest.ecn {
            self.newest.count += 1;
        } else {
            self.begin_range(number, ecn);
        }
    }

    #[inline(never)]
    fn begin_range(&mut self, number: u64, ecn: Ecn) {
        let before = std::mem::replace(&mut self.newest, Range { first: number, count: 1, ecn });
        if before.count > 0 {
            self.older.push_back(before);
        }
    }

    /// The packets up to the `upto`th of the flow, less those that were taken before.
    #[inline]
    pub(crate) fn take(&mut self, upto: u64) -> impl Iterator<Item = ReceivedPacket> + '_ {
        let count = upto.saturating_sub(self.taken);
        self.taken += count;
        (0..count).map_while(|_| self.pop())
    }

    #[inline]
    fn pop(&mut self) -> Option<ReceivedPacket> {
        let range = self.older.front_mut().unwrap_or(&mut self.newest);
        range.count = range.count.checked_sub(1)?;
        let packet = ReceivedPacket { number: range.first, ecn: range.ecn };
        range.first += 1;
        if range.count == 0 {
            self.older.pop_front();
        }
        Some(packet)
    }
}

/// Receive offload: the driver of a network card holds packets that come one right after the other, and hands them over as one.
/// They are then acknowledged as one, even where there is a gap between them; Linux acknowledges packets beyond a gap by
/// themselves.
#[derive(Debug)]
pub(crate) struct Offload {
    settings: ReceiveOffload,
    /// Each with the time at which it was sent.
    held: Vec<(Time, DataPacket)>,
    bytes: Bytes,
    /// When they are handed over at the latest; [`Time::NEVER`] where there are none.
    flush_at: Time,
}

impl Offload {
    pub(crate) fn new(settings: ReceiveOffload) -> Self {
        Self { settings, held: Vec::new(), bytes: Bytes::ZERO, flush_at: Time::NEVER }
    }

    /// True where the packet can join those that are held.
    pub(crate) fn has_room(&self, packet: &DataPacket) -> bool {
        self.held.is_empty() || self.bytes + packet.bytes <= self.settings.max
    }

    pub(crate) fn hold(&mut self, now: Time, sent_at: Time, packet: DataPacket) {
        if self.held.is_empty() {
            self.flush_at = now + self.settings.flush;
        }
        self.bytes += packet.bytes;
        self.held.push((sent_at, packet));
    }

    /// All that is held; nothing is afterwards.
    pub(crate) fn take(&mut self) -> Vec<(Time, DataPacket)> {
        self.bytes = Bytes::ZERO;
        self.flush_at = Time::NEVER;
        std::mem::take(&mut self.held)
    }

    /// The time at which held packets are handed over; [`Time::NEVER`] where nothing is.
    #[inline]
    pub(crate) fn flush_at(&self) -> Time {
        self.flush_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_come_out_in_the_order_in_which_they_arrived(
            arrivals in proptest::collection::vec((prop_oneof![3 => Just(1u64), 1 => 0u64..4], any::<bool>(), 0u64..4), 1..200),
        ) {
            let (mut arrived, mut log) = (Vec::new(), Arrivals::default());
            let (mut number, mut taken) = (0, 0);
            for (step, marked, upto) in arrivals {
                number += step;
                let ecn = if marked && step > 1 { Ecn::Ce } else { Ecn::Ect0 };
                log.push(number, ecn);
                arrived.push(ReceivedPacket { number, ecn });
                // An acknowledgement may be older than the last.
                let upto = (log.count() - log.count().min(upto)) as usize;
                let newly = taken.min(upto)..upto;
                prop_assert_eq!(log.take(upto as u64).collect::<Vec<_>>(), &arrived[newly]);
                taken = taken.max(upto);
            }
            prop_assert_eq!(log.take(log.count()).count(), arrived.len() - taken);
        }
    }
}
