//! The way to the receivers and the way back, from a Scenario.

use crate::receiver::Acknowledgement;
use cellcc_control::{Feedback, Signal};
use cellcc_experiment::{Path, Randomness, ResolveError, Scenario};
use cellcc_link::{
    Capacities, Capacity, Cell, Delay, Delivery, Dropped, Jitter, Link, LinkConfig, LossRate, Packet, Poll,
    Reordering, Scheduler, Service,
};
use cellcc_units::{Bytes, Span, Time};
use std::sync::Arc;

/// A data packet on the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataPacket {
    pub(crate) flow: u32,
    pub(crate) bytes: Bytes,
    pub(crate) number: u64,
    pub(crate) segment: u64,
    pub(crate) sent_at: Time,
    pub(crate) signal: Option<Signal>,
}

/// An acknowledgement on the way back.
#[derive(Debug, Clone)]
pub(crate) struct AckPacket {
    pub(crate) flow: u32,
    pub(crate) bytes: Bytes,
    pub(crate) ack: Acknowledgement,
    /// What the scheme's half at the receiver sends with it.
    pub(crate) feedback: Option<Box<Feedback>>,
}

impl Packet for DataPacket {
    #[inline]
    fn size(&self) -> Bytes {
        self.bytes
    }
}

impl Packet for AckPacket {
    #[inline]
    fn size(&self) -> Bytes {
        self.bytes
    }
}

/// The way to the receivers: a link or a cell, and packets that overtake others behind it.
pub(crate) struct Forward {
    way: Way,
    reordering: Option<Reordering<DataPacket>>,
}

/// One link for all flows, or a cell with a queue for each user.
enum Way {
    Link(Box<Link<DataPacket>>),
    Cell(Box<Cell<DataPacket>>),
}

impl Forward {
    /// The way to the receivers of a resolved Scenario.
    pub(crate) fn new(scenario: &Scenario, capacities: &Capacities) -> Result<Self, ResolveError> {
        let delay = forward_delay(scenario)?;
        let loss = forward_loss(scenario)?;
        let config = |capacity: &Arc<Capacity>| LinkConfig {
            capacity: Arc::clone(capacity),
            queue: scenario.path.queue,
            delay: delay.clone(),
            jitter: Jitter { up_to: scenario.path.jitter, reorders: scenario.path.jitter_reorders },
            loss: loss.clone(),
        };
        let seed = scenario.seed_of(Randomness::ForwardLoss);
        let way = match &scenario.cell {
            None => Way::Link(Box::new(Link::new(config(&capacities.forward[0]), seed))),
            Some(cell) => {
                let scheduler =
                    cell.scheduler.parse::<Scheduler>().map_err(|error| ResolveError(error.to_string()))?;
                let users = capacities.forward.iter().map(config).collect();
                Way::Cell(Box::new(Cell::new(users, scheduler, seed)))
            }
        };
        let Path { reordered, reordered_by, .. } = scenario.path;
        let reordering = (!reordered.is_zero())
            .then(|| Reordering::new(reordered, reordered_by, scenario.seed_of(Randomness::Reordering)));
        Ok(Self { way, reordering })
    }

    #[inline]
    pub(crate) fn next_wake(&self) -> Time {
        let way = match &self.way {
            Way::Link(link) => link.next_wake(),
            Way::Cell(cell) => cell.next_wake(),
        };
        way.min(self.reordering.as_ref().map_or(Time::NEVER, Reordering::next_wake))
    }

    /// What was done for `user` by `now`.
    pub(crate) fn service(&mut self, now: Time, user: usize) -> Service {
        match &mut self.way {
            Way::Link(link) => link.service(now),
            Way::Cell(cell) => cell.service(now, user),
        }
    }

    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        user: usize,
        packet: DataPacket,
    ) -> Result<(), Dropped<DataPacket>> {
        match &mut self.way {
            Way::Link(link) => link.enqueue(now, packet),
            Way::Cell(cell) => cell.enqueue(now, user, packet),
        }
    }

    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Poll<Delivery<DataPacket>, Dropped<DataPacket>> {
        let Some(reordering) = &mut self.reordering else { return self.way.poll(now) };
        if let Some(late) = reordering.poll(now) {
            return Poll::Ready(late);
        }
        match self.way.poll(now) {
            Poll::Ready(delivery) => match reordering.pass(delivery) {
                Some(delivery) => Poll::Ready(delivery),
                None => Poll::Wake(self.next_wake()),
            },
            other => other,
        }
    }
}

impl Way {
    #[inline]
    fn poll(&mut self, now: Time) -> Poll<Delivery<DataPacket>, Dropped<DataPacket>> {
        match self {
            Way::Link(link) => link.poll(now),
            Way::Cell(cell) => match cell.poll(now) {
                Poll::Ready((_, delivery)) => Poll::Ready(delivery),
                Poll::Dropped((_, dropped)) => Poll::Dropped(dropped),
                Poll::Wake(time) => Poll::Wake(time),
                Poll::Idle => Poll::Idle,
            },
        }
    }
}

/// The way back of the acknowledgements.
pub(crate) fn reverse(scenario: &Scenario, capacities: &Capacities) -> Link<AckPacket> {
    let config = LinkConfig {
        capacity: Arc::clone(&capacities.reverse),
        queue: scenario.path.reverse.queue,
        delay: Delay::constant(reverse_delay(scenario)),
        jitter: Jitter::NONE,
        loss: LossRate::constant(scenario.path.reverse.loss),
    };
    Link::new(config, scenario.seed_of(Randomness::ReverseLoss))
}

/// The share that is lost throughout, and what the Scenario adds to it over time.
pub(crate) fn forward_loss(scenario: &Scenario) -> Result<LossRate, ResolveError> {
    LossRate::with_extra(scenario.path.loss, &scenario.path.extra_loss)
        .map_err(|error| ResolveError(format!("extra loss: {error}")))
}

fn forward_half(scenario: &Scenario) -> Span {
    scenario.path.rtt / 2
}

/// The other half of the round-trip time.
pub(crate) fn reverse_delay(scenario: &Scenario) -> Span {
    scenario.path.rtt.saturating_sub(forward_half(scenario))
}

/// Half the round-trip time, and what the Scenario adds to it over time.
pub(crate) fn forward_delay(scenario: &Scenario) -> Result<Delay, ResolveError> {
    Delay::with_extra(forward_half(scenario), &scenario.path.extra_delay)
        .map_err(|error| ResolveError(format!("extra delay: {error}")))
}
