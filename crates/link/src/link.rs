//! A link: random loss, and then the queue and the service of one of three kinds, with the stages of `stages/` around it.

use crate::aqm_link::AqmLink;
use crate::capacity::Capacity;
use crate::drop_tail_link::DropTailLink;
use crate::grain::GrainLink;
use crate::packet::{Delivery, Dropped, Packet, Poll};
use crate::queue::{DropTail, Queue, QueueCounters};
use crate::stages::{Entry, LinkConfig};
use cellcc_units::{Bytes, Span, Time};
use std::sync::Arc;

/// A link. Pure: time comes in as an argument and must not decrease from call to call.
#[derive(Debug, Clone)]
pub struct Link<P> {
    entry: Entry,
    server: Server<P>,
}

/// A link without the stages before its queue.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one, and the fast one")]
pub(crate) enum Server<P> {
    DropTail(DropTailLink<P>),
    Aqm(Box<AqmLink<P>>),
    Grain(Box<GrainLink<P>>),
}

/// A call of whichever it is.
macro_rules! any_server {
    ($server:expr, $link:ident => $call:expr) => {
        match $server {
            Server::DropTail($link) => $call,
            Server::Aqm($link) => $call,
            Server::Grain($link) => $call,
        }
    };
}

impl<P: Packet> Link<P> {
    /// An empty link at time zero. `seed` decides everything random: losses, jitter and PIE's drops.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        Self { entry: Entry::new(&config, seed), server: Server::new(config, seed) }
    }

    /// Builds a link with clocks that advance in steps of `grain`, one at the link and one at the delay behind it; with a
    /// millisecond these are Mahimahi's programs. Zero: no grain.
    pub fn with_grain(config: LinkConfig, seed: u64, grain: Span) -> Self {
        if grain.is_zero() {
            return Self::new(config, seed);
        }
        let entry = Entry::new(&config, seed);
        Self { entry, server: Server::Grain(Box::new(GrainLink::new(config, seed, grain))) }
    }

    /// Hands a packet to the link at `now`, which must not be earlier than in any call before. The link does not
    /// check this: a packet with an earlier time is served after the packets before it, and its queueing delay is
    /// then wrong.
    ///
    /// # Errors
    /// The packet, where it is lost at random, does not fit the queue, or is dropped early.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        match self.entry.refuses(now) {
            Some(reason) => Err(Dropped { packet, at: now, reason }),
            None => self.server.enqueue(now, packet),
        }
    }

    /// The next packet that has arrived by `now`, or that was dropped while it waited; or when to ask again.
    #[inline(always)]
    pub fn poll(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        self.server.poll(now)
    }

    /// The next time to poll: an arrival, or, if the queue may drop waiting packets, the beginning of a service.
    /// [`Time::NEVER`] where nothing will happen.
    #[inline(always)]
    pub fn next_wake(&self) -> Time {
        self.server.next_wake()
    }

    /// The latest time known by now that is at most `span` after [`Link::next_wake`] and at which a packet arrives (or
    /// a service begins): for a driver that wakes less often and is never late by more than `span`. [`Time::NEVER`]
    /// where nothing will happen.
    pub fn last_arrival_within(&self, span: Span) -> Time {
        let first = self.next_wake();
        let limit = first + span;
        let last = match &self.server {
            Server::DropTail(link) => link.last_arrival_until(limit),
            Server::Aqm(link) => link.last_wake_until(limit),
            Server::Grain(_) => None,
        };
        last.unwrap_or(first)
    }

    /// Packets and bytes in the queue at `now`, the packet in service included.
    pub fn backlog(&mut self, now: Time) -> (usize, Bytes) {
        self.server.backlog(now)
    }

    /// The counters of the queue at `now`.
    pub fn counters(&mut self, now: Time) -> QueueCounters {
        self.server.counters(now)
    }

    /// The link's capacity after `from` and not later than `to`.
    pub fn offered(&self, from: Time, to: Time) -> Bytes {
        self.capacity().bytes_between(from, to)
    }

    /// The link's capacity over time.
    pub fn capacity(&self) -> &Arc<Capacity> {
        self.server.capacity()
    }
}

impl<P: Packet> Server<P> {
    /// An empty one at time zero, without a grain.
    pub(crate) fn new(config: LinkConfig, seed: u64) -> Self {
        match config.queue {
            Queue::DropTail(DropTail { limit, mark_above: None, ack_filter: false })
                if config.has_no_jitter() =>
            {
                Self::DropTail(DropTailLink::new(config, limit, seed))
            }
            _ => Self::Aqm(Box::new(AqmLink::new(config, seed))),
        }
    }

    #[inline(always)]
    pub(crate) fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        match self {
            Self::DropTail(link) => link.enqueue(now, packet),
            _ => self.enqueue_apart(now, packet),
        }
    }

    #[inline(always)]
    pub(crate) fn poll(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        match self {
            Self::DropTail(link) => link.poll(now),
            _ => self.poll_apart(now),
        }
    }

    #[inline(always)]
    pub(crate) fn next_wake(&self) -> Time {
        match self {
            Self::DropTail(link) => link.next_wake(),
            _ => self.next_wake_apart(),
        }
    }

    pub(crate) fn backlog(&mut self, now: Time) -> (usize, Bytes) {
        any_server!(self, link => link.backlog(now))
    }

    pub(crate) fn counters(&mut self, now: Time) -> QueueCounters {
        any_server!(self, link => link.counters(now))
    }

    pub(crate) fn capacity(&self) -> &Arc<Capacity> {
        any_server!(self, link => link.capacity())
    }

    // Calls, so that the usual link is inlined and laid out where it is used, behind one comparison.
    #[inline(never)]
    fn enqueue_apart(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        any_server!(self, link => link.enqueue(now, packet))
    }

    #[inline(never)]
    fn poll_apart(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        any_server!(self, link => link.poll(now))
    }

    #[inline(never)]
    fn next_wake_apart(&self) -> Time {
        any_server!(self, link => link.next_wake())
    }
}

#[cfg(test)]
mod tests;
