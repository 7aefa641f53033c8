//! A queue with its discipline: drop-tail, drop-head, CoDel, PIE or RED.

use crate::codel::CoDelState;
use crate::packet::{DropReason, Dropped, Packet};
use crate::pie::{PieState, Verdict};
use crate::red::RedState;
use cellcc_units::{Bytes, Queue, QueueLimit, Span, Time};
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
    fn drop_superseded(&mut self, now: Time, newest: &P) {
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

    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }
}

/// A queue whose discipline decides about a packet twice: when it arrives, and when its service begins.
#[derive(Debug, Clone)]
pub(crate) struct AqmQueue<P> {
    limit: QueueLimit,
    discipline: Discipline,
    ack_filter: bool,
    backlog: Backlog<P>,
    /// Size of the packet in service. It has left the backlog, and counts as queued until its last byte has left.
    in_service: Option<Bytes>,
}

#[derive(Debug, Clone)]
enum Discipline {
    DropTail { mark_above: Option<Span> },
    DropHead,
    CoDel(CoDelState),
    Pie(PieState),
    Red(RedState),
}

impl<P: Packet> AqmQueue<P> {
    pub(crate) fn new(queue: Queue, seed: u64) -> Self {
        Self {
            limit: queue.limit(),
            discipline: match queue {
                Queue::DropTail { mark_above, .. } => Discipline::DropTail { mark_above },
                Queue::DropHead(_) => Discipline::DropHead,
                Queue::CoDel(codel) => Discipline::CoDel(CoDelState::new(codel)),
                Queue::Pie(pie) => Discipline::Pie(PieState::new(pie, seed)),
                Queue::Red(red) => Discipline::Red(RedState::new(red, seed)),
            },
            ack_filter: matches!(queue, Queue::DropTail { ack_filter: true, .. }),
            backlog: Backlog::default(),
            in_service: None,
        }
    }

    /// A packet arrives. `served_by` computes when all queued packets will have been served: a limit in time needs
    /// it.
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        mut packet: P,
        served_by: impl Fn(&Self) -> Time,
    ) -> Result<(), Dropped<P>> {
        let size = packet.size();
        if self.ack_filter {
            self.backlog.drop_superseded(now, &packet);
        }
        while !self.admits(now, size, &served_by) {
            let oldest = match self.discipline {
                Discipline::DropHead => self.backlog.pop(now),
                _ => None,
            };
            // The packet in service cannot be dropped.
            let Some(oldest) = oldest else {
                return Err(Dropped { packet, at: now, reason: DropReason::QueueFull });
            };
            self.backlog.note_drop(oldest.packet, now, DropReason::QueueHead);
        }
        match self.judge(now, packet.is_ecn_capable()) {
            Verdict::Enqueue => {}
            Verdict::Mark => packet.mark_congestion(),
            Verdict::Drop => return Err(Dropped { packet, at: now, reason: DropReason::Aqm }),
        }
        self.backlog.push(packet, now);
        Ok(())
    }

    /// What the discipline does to a packet that fits.
    fn judge(&mut self, now: Time, ecn_capable: bool) -> Verdict {
        let queued = self.bytes();
        match &mut self.discipline {
            Discipline::Pie(pie) => {
                pie.update_until(now, self.backlog.packets.front().map(|first| first.queued_at));
                pie.judge(now, self.backlog.bytes, ecn_capable)
            }
            Discipline::Red(red) => red.judge(now, queued, ecn_capable),
            Discipline::DropTail { .. } | Discipline::DropHead | Discipline::CoDel(_) => Verdict::Enqueue,
        }
    }

    fn admits(&self, now: Time, size: Bytes, served_by: &impl Fn(&Self) -> Time) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (self.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.bytes() + size <= limit,
            QueueLimit::Time(limit) => self.is_empty() || served_by(self).since(now) <= limit,
        }
    }

    /// Takes the packet whose service begins at `now`, from those that arrived by then.
    pub(crate) fn begin_service(&mut self, now: Time) -> Option<QueuedPacket<P>> {
        let next = match &mut self.discipline {
            Discipline::DropTail { mark_above: None } | Discipline::DropHead => self.backlog.pop(now),
            Discipline::DropTail { mark_above: Some(threshold) } => {
                let mut next = self.backlog.pop(now);
                if let Some(QueuedPacket { packet, queued_at }) = &mut next
                    && now.since(*queued_at) > *threshold
                    && packet.is_ecn_capable()
                {
                    packet.mark_congestion();
                }
                next
            }
            Discipline::CoDel(codel) => codel.dequeue(now, &mut self.backlog),
            Discipline::Pie(pie) => {
                pie.update_until(now, self.backlog.packets.front().map(|first| first.queued_at));
                self.backlog.pop(now)
            }
            Discipline::Red(red) => {
                let next = self.backlog.pop(now);
                if next.is_some() {
                    red.note_service(now);
                }
                next
            }
        };
        self.in_service = next.as_ref().map(|next| next.packet.size());
        next
    }

    /// The last byte of the packet in service has left.
    pub(crate) fn end_service(&mut self) {
        self.in_service = None;
    }

    /// When the first packet that is not in service arrived; `None` where no packet waits.
    pub(crate) fn next_since(&self) -> Option<Time> {
        self.backlog.packets.front().map(|first| first.queued_at)
    }

    /// The next drop that the driver has not fetched yet.
    pub(crate) fn next_drop(&mut self) -> Option<Dropped<P>> {
        self.backlog.next_drop()
    }

    /// When that drop happened; [`Time::NEVER`] where there is none.
    pub(crate) fn next_drop_at(&self) -> Time {
        self.backlog.dropped.front().map_or(Time::NEVER, |dropped| dropped.at)
    }

    /// Packets, with the one in service.
    pub(crate) fn len(&self) -> usize {
        self.backlog.packets.len() + usize::from(self.in_service.is_some())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes, with all of the packet in service.
    pub(crate) fn bytes(&self) -> Bytes {
        self.backlog.bytes + self.in_service.unwrap_or(Bytes::ZERO)
    }

    /// Bytes that are not in service yet.
    pub(crate) fn waiting_bytes(&self) -> Bytes {
        self.backlog.bytes
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A full packet.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub(crate) struct Full {
        pub(crate) ecn_capable: bool,
        pub(crate) marked: bool,
    }

    impl Packet for Full {
        fn size(&self) -> Bytes {
            Bytes::new(1500)
        }

        fn is_ecn_capable(&self) -> bool {
            self.ecn_capable
        }

        fn mark_congestion(&mut self) {
            self.marked = true;
        }
    }

    /// Queues packets at time zero.
    pub(crate) fn fill(count: usize, packet: Full) -> Backlog<Full> {
        let mut backlog = Backlog::default();
        (0..count).for_each(|_| backlog.push(packet, Time::ZERO));
        backlog
    }
}
