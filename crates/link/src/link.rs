//! One direction of a path: random loss, queue, service, propagation delay, in this order.

use crate::capacity::Capacity;
use crate::cursor::Cursor;
use crate::delay::{Delay, DelayCursor};
use crate::loss::Loss;
use crate::queue::QueueLimit;
use cellcc_units::{Bytes, Ratio, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a link carries.
pub trait Packet {
    /// Size on the link, headers included.
    fn size(&self) -> Bytes;
}

/// One direction of a path.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// What it can carry over time.
    pub capacity: Arc<Capacity>,
    /// What may wait in front of it.
    pub queue: QueueLimit,
    /// Propagation delay after the service.
    pub delay: Delay,
    /// Share of the packets that are lost at random, independently, before the queue; one and more loses all.
    pub loss: Ratio,
}

/// A packet that reached the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The packet.
    pub packet: P,
    /// When it was enqueued.
    pub queued_at: Time,
    /// When its last byte left the link: the queueing delay ends here.
    pub departed_at: Time,
    /// When it arrives: after the propagation delay.
    pub arrived_at: Time,
}

/// A packet that was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet.
    pub packet: P,
    /// Why.
    pub reason: DropReason,
}

/// Why a packet was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// Random loss.
    Loss,
    /// The queue is at its limit.
    QueueFull,
}

/// What a link has for its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poll<T> {
    /// A packet has arrived; ask again, there may be more.
    Ready(T),
    /// Nothing yet: ask again at this time.
    Wake(Time),
    /// Nothing will arrive from what is in the link now.
    Idle,
}

/// A link. Pure: time comes in as an argument and must not decrease from call to call.
///
/// A first-in-first-out queue knows when a packet will leave as soon as it is admitted, so that each packet is
/// computed once, at `enqueue`, and a driver needs one event for it: its arrival.
#[derive(Debug, Clone)]
pub struct Link<P> {
    queue: QueueLimit,
    delay: Delay,
    loss: Loss,
    cursor: Cursor,
    delay_now: DelayCursor,
    /// In order of arrival at the other end; the first `departed` of them have left the queue.
    packets: VecDeque<Delivery<P>>,
    departed: usize,
    queued_bytes: Bytes,
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
            delay_now: DelayCursor::new(&delay),
            delay,
            loss: Loss::new(loss, seed),
            cursor: Cursor::new(capacity),
            packets: VecDeque::new(),
            departed: 0,
            queued_bytes: Bytes::ZERO,
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
        if self.loss.strikes() {
            return Err(Dropped { packet, reason: DropReason::Loss });
        }
        self.advance(now);
        let size = packet.size();
        if !self.admits(now, size) {
            return Err(Dropped { packet, reason: DropReason::QueueFull });
        }
        let departed_at = self.cursor.finish(now, size);
        let delay = self.delay_now.delay_at(&self.delay, departed_at);
        let arrived_at = (departed_at + delay).max(self.last_arrival);
        if self.departed == self.packets.len() {
            self.next_departure = departed_at;
        }
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
            QueueLimit::Packets(limit) => self.packets.len() - self.departed < limit,
            QueueLimit::Bytes(limit) => self.queued_bytes + size <= limit,
            QueueLimit::Time(limit) => self.last_departure.since(now) <= limit,
        }
    }

    /// Takes what has departed by `now` out of the queue.
    #[inline]
    fn advance(&mut self, now: Time) {
        // A packet that never departs stays queued, whatever `now` is.
        while self.next_departure <= now && self.next_departure < Time::NEVER {
            self.queued_bytes -= self.packets[self.departed].packet.size();
            self.departed += 1;
            self.next_departure =
                self.packets.get(self.departed).map_or(Time::NEVER, |next| next.departed_at);
        }
    }
}
