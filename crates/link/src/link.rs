//! One direction of a path: random loss, queue, access, service, repetitions, propagation delay, in this order.

use crate::access::Access;
use crate::aqm_link::AqmLink;
use crate::burst_loss::BurstLoss;
use crate::capacity::Capacity;
use crate::delay::Delay;
use crate::delay::jitter::Jitter;
use crate::drop_tail_link::DropTailLink;
use crate::grain::GrainLink;
use crate::harq::Harq;
use crate::loss::{LossOverTime, ShareOverTime};
use crate::packet::{Delivery, DropReason, Dropped, Packet, Poll};
use crate::queue::QueueCounters;
use crate::queue::{DropTail, Queue};
use cellcc_units::{Bytes, QueueLimit, Ratio, Span, Time};
use std::sync::Arc;

/// One direction of a path.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// What it can carry over time.
    pub capacity: Arc<Capacity>,
    /// How many packets may wait, and which are dropped or marked.
    pub queue: Queue,
    /// Propagation delay after the service.
    pub delay: Delay,
    /// By how much the delay differs from packet to packet.
    pub jitter: Jitter,
    /// Share of the packets that are lost at random and independently of each other, before the queue.
    pub loss: ShareOverTime,
    /// What is lost in bursts, in addition.
    pub burst_loss: Option<BurstLoss>,
    /// What a packet waits that finds the phone silent, where this is an uplink.
    pub access: Option<Access>,
    /// How blocks fail behind the service, and are sent again.
    pub harq: Option<Harq>,
}

impl LinkConfig {
    /// A link that does nothing: without limit, loss and delay.
    pub fn transparent() -> Self {
        Self {
            capacity: Arc::new(Capacity::unlimited()),
            queue: QueueLimit::Unlimited.into(),
            delay: Delay::constant(Span::ZERO),
            jitter: Jitter::NONE,
            loss: ShareOverTime::constant(Ratio::ZERO),
            burst_loss: None,
            access: None,
            harq: None,
        }
    }
}

/// A link. Pure: time comes in as an argument and must not decrease from call to call.
#[derive(Debug, Clone)]
pub struct Link<P> {
    loss: Option<LossOverTime>,
    server: Server<P>,
}

#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one, and the fast one")]
enum Server<P> {
    DropTail(DropTailLink<P>),
    Aqm(Box<AqmLink<P>>),
    Grain(Box<GrainLink<P>>),
}

/// The same of whichever it is.
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
        let loss = LossOverTime::new(config.loss.clone(), config.burst_loss, seed);
        let server = match config.queue {
            Queue::DropTail(DropTail { limit, mark_above: None, ack_filter: false })
                if config.jitter.up_to.is_zero() =>
            {
                Server::DropTail(DropTailLink::new(config, limit, seed))
            }
            _ => Server::Aqm(Box::new(AqmLink::new(config, seed))),
        };
        Self { loss, server }
    }

    /// The same with clocks that stand still within each `grain`, one at the link and one at the delay behind it; with a
    /// millisecond these are Mahimahi's programs. Zero: no grain.
    pub fn with_grain(config: LinkConfig, seed: u64, grain: Span) -> Self {
        if grain.is_zero() {
            return Self::new(config, seed);
        }
        let loss = LossOverTime::new(config.loss.clone(), config.burst_loss, seed);
        Self { loss, server: Server::Grain(Box::new(GrainLink::new(config, seed, grain))) }
    }

    /// Hands a packet to the link at `now`, which must not be earlier than in any call before. The link does not
    /// check this: a packet with an earlier time is served after the packets before it, and its queueing delay is
    /// then wrong.
    ///
    /// # Errors
    /// The packet, where it is lost at random, does not fit the queue, or is dropped early.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        if self.loss.as_mut().is_some_and(|loss| loss.strikes(now)) {
            return Err(Dropped { packet, at: now, reason: DropReason::Loss });
        }
        match &mut self.server {
            Server::DropTail(link) => link.enqueue(now, packet),
            _ => self.enqueue_apart(now, packet),
        }
    }

    /// The next packet that has arrived by `now`, or that was dropped while it waited; or when to ask again.
    #[inline(always)]
    pub fn poll(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        match &mut self.server {
            Server::DropTail(link) => link.poll(now),
            _ => self.poll_apart(now),
        }
    }

    /// When to poll next: an arrival, or where the queue may drop what waits, the beginning of a service.
    /// [`Time::NEVER`] where nothing will happen.
    #[inline(always)]
    pub fn next_wake(&self) -> Time {
        match &self.server {
            Server::DropTail(link) => link.next_wake(),
            _ => self.next_wake_apart(),
        }
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
        any_server!(&mut self.server, link => link.backlog(now))
    }

    /// The counters of the queue at `now`.
    pub fn counters(&mut self, now: Time) -> QueueCounters {
        any_server!(&mut self.server, link => link.counters(now))
    }

    /// What the link could carry after `from` and not later than `to`.
    pub fn offered(&self, from: Time, to: Time) -> Bytes {
        self.capacity().bytes_between(from, to)
    }

    /// What the link can carry over time.
    pub fn capacity(&self) -> &Arc<Capacity> {
        any_server!(&self.server, link => link.capacity())
    }

    // Calls, so that the usual link is inlined and laid out where it is used, behind one comparison.
    #[inline(never)]
    fn enqueue_apart(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        any_server!(&mut self.server, link => link.enqueue(now, packet))
    }

    #[inline(never)]
    fn poll_apart(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        any_server!(&mut self.server, link => link.poll(now))
    }

    #[inline(never)]
    fn next_wake_apart(&self) -> Time {
        any_server!(&self.server, link => link.next_wake())
    }
}

#[cfg(test)]
mod tests;
