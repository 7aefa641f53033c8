//! One direction of a path: random loss, queue, service, propagation delay, in this order.

use crate::capacity::Capacity;
use crate::cursor::Cursor;
use crate::delay::Delay;
use crate::loss::{LossOverTime, LossRate};
use crate::packet::{Delivery, DropReason, Dropped, Packet, Poll};
use crate::schedule::Moment;
use crate::service::{Service, ServiceMeter};
use cellcc_units::{Bytes, QueueLimit, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// One direction of a path.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// What it can carry over time.
    pub capacity: Arc<Capacity>,
    /// What may wait in front of it.
    pub queue: QueueLimit,
    /// Propagation delay after the service.
    pub delay: Delay,
    /// Share of the packets that are lost at random, independently, before the queue.
    pub loss: LossRate,
}

/// A link. Pure: time comes in as an argument and must not decrease from call to call.
///
/// A first-in-first-out queue knows when a packet will leave as soon as it is admitted, so that each packet is
/// computed once, at `enqueue`, and a driver needs one event for it: its arrival.
#[derive(Debug, Clone)]
pub struct Link<P> {
    queue: QueueLimit,
    delay: Delay,
    loss: LossOverTime,
    cursor: Cursor,
    delay_now: Moment<Span>,
    /// In order of arrival at the other end; the first `departed` of them have left the queue.
    packets: VecDeque<Delivery<P>>,
    departed: usize,
    queued_bytes: Bytes,
    meter: ServiceMeter,
    /// Of the packet admitted last.
    last_departure: Time,
    last_arrival: Time,
    next_arrival: Time,
    next_departure: Time,
}

impl<P: Packet> Link<P> {
    /// An empty link at time zero. `seed` decides which packets are lost.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        let LinkConfig { capacity, queue, delay, loss } = config;
        Self {
            queue,
            delay_now: delay.0.start(),
            delay,
            loss: LossOverTime::new(loss, seed),
            cursor: Cursor::new(capacity),
            packets: VecDeque::new(),
            departed: 0,
            queued_bytes: Bytes::ZERO,
            meter: ServiceMeter::default(),
            last_departure: Time::ZERO,
            last_arrival: Time::ZERO,
            next_arrival: Time::NEVER,
            next_departure: Time::NEVER,
        }
    }

    /// Hands a packet to the link at `now`.
    ///
    /// # Errors
    /// The packet, where it is lost at random or does not fit the queue.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        if self.loss.strikes(now) {
            return Err(Dropped { packet, reason: DropReason::Loss });
        }
        self.advance(now);
        let size = packet.size();
        if !self.admits(now, size) {
            return Err(Dropped { packet, reason: DropReason::QueueFull });
        }
        let departed_at = self.cursor.finish(now, size);
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

    /// The next packet that has arrived by `now`, or when to ask again.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Poll<Delivery<P>> {
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

    /// When the next packet arrives; [`Time::NEVER`] where none will.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.next_arrival
    }

    /// Packets and bytes in the queue, the packet in service included, at the time of the last call that took one.
    #[inline]
    pub fn backlog(&self) -> (usize, Bytes) {
        (self.packets.len() - self.departed, self.queued_bytes)
    }

    /// What the link has done by `now`.
    pub fn service(&mut self, now: Time) -> Service {
        self.advance(now);
        self.meter.service(now, self.queued_bytes)
    }

    /// What the link could carry after `from` and not later than `to`.
    pub fn offered(&self, from: Time, to: Time) -> Bytes {
        self.capacity().bytes_between(from, to)
    }

    /// What the link can carry over time.
    pub fn capacity(&self) -> &Arc<Capacity> {
        self.cursor.capacity()
    }

    #[inline]
    fn admits(&self, now: Time, size: Bytes) -> bool {
        match self.queue {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => ((self.packets.len() - self.departed) as u64) < limit,
            QueueLimit::Bytes(limit) => self.queued_bytes + size <= limit,
            QueueLimit::Time(limit) => self.last_departure.since(now) <= limit,
        }
    }

    /// Takes what has departed by `now` out of the queue.
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

#[cfg(test)]
mod tests;
