//! Packets that wait in order of arrival.

use crate::packet::{DropReason, Dropped, Packet};
use cellcc_units::{Bytes, Time};
use std::collections::VecDeque;

/// A packet in a queue.
#[derive(Debug, Clone)]
pub(crate) struct QueuedPacket<P> {
    pub(crate) packet: P,
    pub(crate) queued_at: Time,
}

/// The queued packets in order of arrival, and the drops that the driver has not fetched yet.
#[derive(Debug, Clone)]
pub(crate) struct Backlog<P> {
    packets: VecDeque<QueuedPacket<P>>,
    bytes: Bytes,
    /// Drops that the driver has not fetched yet.
    dropped: VecDeque<Dropped<P>>,
}

impl<P> Default for Backlog<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: Bytes::ZERO, dropped: VecDeque::new() }
    }
}

impl<P: Packet> Backlog<P> {
    pub(crate) fn push(&mut self, packet: P, now: Time) {
        self.bytes += packet.size();
        self.packets.push_back(QueuedPacket { packet, queued_at: now });
    }

    /// Takes the oldest packet, if it arrived by `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<QueuedPacket<P>> {
        self.packets.front().filter(|first| first.queued_at <= now)?;
        let first = self.packets.pop_front()?;
        self.bytes -= first.packet.size();
        Some(first)
    }

    pub(crate) fn note_drop(&mut self, packet: P, at: Time, reason: DropReason) {
        self.dropped.push_back(Dropped { packet, at, reason });
    }

    /// Drops the oldest of two or more acknowledgements that say nothing which `newest` does not say. One of them stays, as with
    /// CAKE's `ack-filter` (Linux, `cake_ack_filter` in sch_cake.c).
    pub(crate) fn drop_superseded(&mut self, now: Time, newest: &P) {
        let mut superseded =
            (0..self.packets.len()).filter(|&at| newest.supersedes(&self.packets[at].packet));
        let (Some(oldest), Some(_)) = (superseded.next(), superseded.next()) else { return };
        if let Some(QueuedPacket { packet, .. }) = self.packets.remove(oldest) {
            self.bytes -= packet.size();
            self.note_drop(packet, now, DropReason::AckFilter);
        }
    }

    /// The next drop for the driver.
    pub(crate) fn next_drop(&mut self) -> Option<Dropped<P>> {
        self.dropped.pop_front()
    }

    /// When that drop happened; [`Time::NEVER`] where there is none.
    pub(crate) fn next_drop_at(&self) -> Time {
        self.dropped.front().map_or(Time::NEVER, |dropped| dropped.at)
    }

    /// When the oldest packet arrived.
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.packets.front().map(|first| first.queued_at)
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use cellcc_units::{Ecn, Span};

    /// A full packet.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub(crate) struct Full {
        pub(crate) ecn: Ecn,
    }

    impl Packet for Full {
        fn size(&self) -> Bytes {
            Bytes::new(1500)
        }

        fn ecn(&self) -> Ecn {
            self.ecn
        }

        fn mark_congestion(&mut self) {
            self.ecn = Ecn::Ce;
        }
    }

    pub(crate) fn millis(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// Takes a packet every millisecond from a queue in which all wait since time zero, and lists when one was dropped.
    pub(crate) fn drops(
        times: std::ops::Range<u64>,
        mut dequeue: impl FnMut(Time, &mut Backlog<Full>) -> Option<QueuedPacket<Full>>,
    ) -> Vec<u64> {
        let mut queue = fill(10_000, Full::default());
        let mut drops = Vec::new();
        for now in times {
            assert!(dequeue(millis(now), &mut queue).is_some());
            while queue.next_drop().is_some() {
                drops.push(now);
            }
        }
        drops
    }

    /// Queues packets at time zero.
    pub(crate) fn fill(count: usize, packet: Full) -> Backlog<Full> {
        let mut backlog = Backlog::default();
        (0..count).for_each(|_| backlog.push(packet, Time::ZERO));
        backlog
    }
}
