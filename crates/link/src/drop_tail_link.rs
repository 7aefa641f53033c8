//! A link with a drop-tail queue: the usual case, and the fast one.
//!
//! A drop-tail queue never drops a packet that it has admitted. So the time at which a packet will leave is known
//! when it arrives: each packet is computed once, at `enqueue`, and a driver needs one event for it, its arrival.

use crate::capacity::Capacity;
use crate::capacity::schedule::StepCursor;
use crate::capacity::service_clock::ServiceClock;
use crate::delay::Delay;
use crate::delay::line;
use crate::packet::{Delivery, DropReason, Dropped, Packet, Poll};
use crate::queue::{QueueCounters, QueueMeter};
use cellcc_units::{Bytes, QueueLimit, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// A link with a drop-tail queue, without marks and jitter.
#[derive(Debug, Clone)]
pub(crate) struct DropTailLink<P> {
    limit: QueueLimit,
    delay: Delay,
    clock: ServiceClock,
    delay_now: StepCursor<Span>,
    /// In order of arrival at the other end; the first `departed` of them have left the queue.
    packets: VecDeque<Delivery<P>>,
    departed: usize,
    queued_bytes: Bytes,
    meter: QueueMeter,
    /// Of the packet admitted last.
    last_departure: Time,
    last_arrival: Time,
    next_arrival: Time,
    next_departure: Time,
}

impl<P: Packet> DropTailLink<P> {
    pub(crate) fn new(capacity: Arc<Capacity>, limit: QueueLimit, delay: Delay) -> Self {
        Self {
            limit,
            delay_now: delay.0.start(),
            delay,
            clock: ServiceClock::new(capacity),
            packets: VecDeque::new(),
            departed: 0,
            queued_bytes: Bytes::ZERO,
            meter: QueueMeter::default(),
            last_departure: Time::ZERO,
            last_arrival: Time::ZERO,
            next_arrival: Time::NEVER,
            next_departure: Time::NEVER,
        }
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        self.advance(now);
        let size = packet.size();
        if !self.admits(now, size) {
            return Err(Dropped { packet, at: now, reason: DropReason::QueueFull });
        }
        let departed_at = self.clock.finish(now, size);
        let delay = self.delay_now.value_at(&self.delay.0, departed_at);
        let arrived_at = (departed_at + delay).max(self.last_arrival);
        if self.departed == self.packets.len() {
            self.next_departure = departed_at;
        }
        self.meter.on_admitted(now);
        if self.packets.is_empty() {
            self.next_arrival = arrived_at;
        }
        self.queued_bytes += size;
        self.last_departure = departed_at;
        self.last_arrival = arrived_at;
        self.packets.push_back(Delivery { packet, queued_at: now, departed_at, arrived_at });
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn poll(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        self.advance(now);
        if self.next_arrival == Time::NEVER {
            return Poll::Idle;
        }
        if self.next_arrival > now {
            return Poll::Wake(self.next_arrival);
        }
        match self.packets.pop_front() {
            Some(delivery) => {
                // It arrived, so it had departed.
                self.departed -= 1;
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

    #[inline]
    pub(crate) fn backlog(&self) -> (usize, Bytes) {
        (self.packets.len() - self.departed, self.queued_bytes)
    }

    pub(crate) fn counters(&mut self, now: Time) -> QueueCounters {
        self.advance(now);
        self.meter.counters(now, self.queued_bytes)
    }

    pub(crate) fn capacity(&self) -> &Arc<Capacity> {
        self.clock.capacity()
    }

    /// The latest arrival that is known and not after `limit`, if there is one.
    pub(crate) fn last_arrival_until(&self, limit: Time) -> Option<Time> {
        line::last_arrival_until(&self.packets, limit)
    }

    #[inline]
    fn admits(&self, now: Time, size: Bytes) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => ((self.packets.len() - self.departed) as u64) < limit,
            QueueLimit::Bytes(limit) => self.queued_bytes + size <= limit,
            QueueLimit::Time(limit) => self.last_departure.since(now) <= limit,
        }
    }

    /// Removes the packets that have departed by `now` from the queue.
    #[inline]
    fn advance(&mut self, now: Time) {
        // A packet that never departs stays queued, whatever `now` is.
        while self.next_departure <= now && self.next_departure < Time::NEVER {
            let size = self.packets[self.departed].packet.size();
            self.queued_bytes -= size;
            self.meter.on_departed(size);
            self.departed += 1;
            match self.packets.get(self.departed) {
                Some(next) => self.next_departure = next.departed_at,
                None => {
                    self.meter.on_empty(self.next_departure);
                    self.next_departure = Time::NEVER;
                }
            }
        }
    }
}
