//! A queue with its discipline.

use super::{AnyWaiting, Queue, QueueCounters, QueueMeter, QueuedPacket};
use crate::capacity::Capacity;
use crate::packet::{DropReason, Dropped, Packet};
use cellcc_units::{Bytes, QueueLimit, Time};
use std::sync::Arc;

/// The packets that are not in service yet, with a discipline that decides about each twice: when it arrives, and when its service
/// begins.
pub(crate) trait Waiting<P: Packet> {
    /// A packet arrives, and may make others superfluous.
    fn on_arrival(&mut self, _now: Time, _newest: &P) {}

    /// Drops a packet to make room. False where nothing does.
    fn make_room(&mut self, now: Time, for_packet: &P) -> bool;

    /// Takes a packet that fits, unless the discipline drops it. `queued`: the bytes before it, the packet in service included.
    fn push(&mut self, now: Time, packet: P, queued: Bytes) -> Result<(), Dropped<P>>;

    /// Takes the packet whose service begins at `now`, from those that arrived by then.
    fn next(&mut self, now: Time) -> Option<QueuedPacket<P>>;

    /// When the oldest packet arrived.
    fn oldest(&self) -> Option<Time>;

    /// The next drop that the driver has not fetched yet.
    fn next_drop(&mut self) -> Option<Dropped<P>>;

    /// When that drop happened; [`Time::NEVER`] where there is none.
    fn next_drop_at(&self) -> Time;

    /// Packets.
    fn len(&self) -> usize;

    fn bytes(&self) -> Bytes;

    /// Adds this discipline's own counters.
    fn add_counters(&mut self, _now: Time, _to: &mut QueueCounters) {}
}

/// A queue: the packet in service, and those that wait.
#[derive(Debug, Clone)]
pub(crate) struct AqmQueue<P> {
    limit: QueueLimit,
    waiting: AnyWaiting<P>,
    /// Size of the packet in service. It no longer waits, and counts as queued until its last byte has left.
    in_service: Option<Bytes>,
}

impl<P: Packet> AqmQueue<P> {
    /// An empty queue before a link of this capacity, whose rate ABC reads.
    pub(crate) fn new(queue: Queue, capacity: &Arc<Capacity>, seed: u64) -> Self {
        Self { limit: queue.limit(), waiting: AnyWaiting::new(queue, capacity, seed), in_service: None }
    }

    /// A packet arrives. `served_by` computes when all queued packets will have been served: a limit in time needs
    /// it.
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        served_by: impl Fn(&Self) -> Time,
    ) -> Result<(), Dropped<P>> {
        self.waiting.get_mut().on_arrival(now, &packet);
        while !self.admits(now, packet.size(), &served_by) {
            if !self.waiting.get_mut().make_room(now, &packet) {
                return Err(Dropped { packet, at: now, reason: DropReason::QueueFull });
            }
        }
        let queued = self.bytes();
        self.waiting.get_mut().push(now, packet, queued)
    }

    fn admits(&self, now: Time, size: Bytes, served_by: &impl Fn(&Self) -> Time) -> bool {
        match self.limit {
            QueueLimit::Bdp(_) | QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (self.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.bytes() + size <= limit,
            QueueLimit::Time(limit) => self.is_empty() || served_by(self).since(now) <= limit,
        }
    }

    /// Takes the packet whose service begins at `now`, from those that arrived by then.
    pub(crate) fn begin_service(&mut self, now: Time) -> Option<QueuedPacket<P>> {
        let next = self.waiting.get_mut().next(now);
        self.in_service = next.as_ref().map(|next| next.packet.size());
        next
    }

    /// The last byte of the packet in service has left.
    pub(crate) fn end_service(&mut self) {
        self.in_service = None;
    }

    /// When the oldest packet that is not in service arrived; `None` where no packet waits.
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.waiting.get().oldest()
    }

    /// The next drop that the driver has not fetched yet.
    pub(crate) fn next_drop(&mut self) -> Option<Dropped<P>> {
        self.waiting.get_mut().next_drop()
    }

    /// When that drop happened; [`Time::NEVER`] where there is none.
    pub(crate) fn next_drop_at(&self) -> Time {
        self.waiting.get().next_drop_at()
    }

    /// Packets, with the one in service.
    pub(crate) fn len(&self) -> usize {
        self.waiting.get().len() + usize::from(self.in_service.is_some())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes, with all of the packet in service.
    pub(crate) fn bytes(&self) -> Bytes {
        self.waiting_bytes() + self.in_service.unwrap_or(Bytes::ZERO)
    }

    /// The counters at `now`, those of `meter` among them.
    pub(crate) fn counters(&mut self, now: Time, meter: &QueueMeter) -> QueueCounters {
        let mut counters = meter.counters(now, self.bytes());
        self.waiting.get_mut().add_counters(now, &mut counters);
        counters
    }

    /// Bytes that are not in service yet.
    pub(crate) fn waiting_bytes(&self) -> Bytes {
        self.waiting.get().bytes()
    }
}
