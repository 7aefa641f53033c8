//! A link with a drop-tail queue: the usual case, and the fast one.
//!
//! A drop-tail queue never drops a packet that it has admitted. So the time at which a packet will leave is known
//! when it arrives: each packet is computed once, at `enqueue`, and a driver needs one event for it, its arrival.

use crate::capacity::Capacity;
use crate::capacity::service_clock::ServiceClock;
use crate::delay::line;
use crate::packet::{Delivery, DropReason, Dropped, Packet, Poll};
use crate::queue::QueueCounters;
use crate::stages::{LinkConfig, Timing};
use cellcc_units::{Bytes, QueueLimit, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// A link with a drop-tail queue, without marks and jitter.
#[derive(Debug, Clone)]
pub(crate) struct DropTailLink<P> {
    limit: QueueLimit,
    timing: Timing,
    clock: ServiceClock,
    /// In order of arrival at the other end; the first `departed` of them have been taken off the queue.
    packets: VecDeque<Delivery<P>>,
    departed: usize,
    /// Bytes of all packets that came in, and of those that have been taken off: the difference is in the queue, once
    /// [`take_off`](Self::take_off) was called.
    admitted: Bytes,
    served: Bytes,
    /// Length of finished busy periods. One lasts from the packet that finds the queue empty, or from its access, to the
    /// departure that leaves it so.
    busy: Span,
    /// When the last busy period began.
    busy_since: Time,
    /// Departure of the packet admitted last.
    last_departure: Time,
    next_arrival: Time,
}

impl<P: Packet> DropTailLink<P> {
    /// `config` is without jitter, and its queue is drop-tail with this limit and without marks. `seed` decides what is random.
    pub(crate) fn new(config: LinkConfig, limit: QueueLimit, seed: u64) -> Self {
        Self {
            limit,
            timing: Timing::new(&config, seed),
            clock: ServiceClock::new(config.capacity),
            packets: VecDeque::new(),
            departed: 0,
            admitted: Bytes::ZERO,
            served: Bytes::ZERO,
            busy: Span::ZERO,
            busy_since: Time::ZERO,
            last_departure: Time::ZERO,
            next_arrival: Time::NEVER,
        }
    }

    #[inline(always)]
    pub(crate) fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        let size = packet.size();
        // Most packets find room although the queue seems longer than it is.
        if !self.has_room(now, size) {
            self.take_off(now);
            if !self.has_room(now, size) {
                return Err(Dropped { packet, at: now, reason: DropReason::QueueFull });
            }
        }
        let is_first = self.last_departure <= now;
        let ready = self.timing.begin(now, is_first);
        if is_first {
            self.busy += self.last_departure.since(self.busy_since);
            self.busy_since = ready;
        }
        let departed_at = self.clock.finish(ready, size);
        let arrived_at = self.timing.arrival(departed_at);
        if self.packets.is_empty() {
            self.next_arrival = arrived_at;
        }
        self.admitted += size;
        self.last_departure = departed_at;
        self.packets.push_back(Delivery { packet, queued_at: now, departed_at, arrived_at });
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn poll(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        if self.next_arrival == Time::NEVER {
            return Poll::Idle;
        }
        if self.next_arrival > now {
            return Poll::Wake(self.next_arrival);
        }
        match self.packets.pop_front() {
            Some(delivery) => {
                // It arrived, so it had departed.
                match self.departed.checked_sub(1) {
                    Some(others) => self.departed = others,
                    None => self.served += delivery.packet.size(),
                }
                self.next_arrival = self.packets.front().map_or(Time::NEVER, |next| next.arrived_at);
                Poll::Ready(delivery)
            }
            None => Poll::Idle,
        }
    }

    #[inline]
    pub(crate) fn next_wake(&self) -> Time {
        self.next_arrival
    }

    pub(crate) fn backlog(&mut self, now: Time) -> (usize, Bytes) {
        self.take_off(now);
        (self.packets.len() - self.departed, self.queued())
    }

    pub(crate) fn counters(&mut self, now: Time) -> QueueCounters {
        self.take_off(now);
        QueueCounters {
            served: self.served,
            busy: self.busy + self.last_departure.min(now).since(self.busy_since),
            backlog: self.queued(),
            ..QueueCounters::default()
        }
    }

    pub(crate) fn capacity(&self) -> &Arc<Capacity> {
        self.clock.capacity()
    }

    /// The latest arrival that is known and not after `limit`, if there is one.
    pub(crate) fn last_arrival_until(&self, limit: Time) -> Option<Time> {
        line::last_arrival_until(&self.packets, limit)
    }

    /// True if a packet of this size has room, with those that have not been taken off the queue.
    #[inline]
    fn has_room(&self, now: Time, size: Bytes) -> bool {
        match self.limit {
            QueueLimit::Bdp(_) | QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => ((self.packets.len() - self.departed) as u64) < limit,
            QueueLimit::Bytes(limit) => self.queued() + size <= limit,
            QueueLimit::Time(limit) => self.last_departure.since(now) <= limit,
        }
    }

    /// Takes the packets that have departed by `now` off the queue. Only readers of its length need that.
    fn take_off(&mut self, now: Time) {
        // A packet that never departs stays queued, whatever `now` is.
        while let Some(next) = self.packets.get(self.departed)
            && next.departed_at <= now
            && next.departed_at < Time::NEVER
        {
            self.served += next.packet.size();
            self.departed += 1;
        }
    }

    /// The bytes that have not been taken off.
    #[inline]
    fn queued(&self) -> Bytes {
        self.admitted - self.served
    }
}
