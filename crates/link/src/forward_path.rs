//! The forward path of the data: a link that all users share, or a cell; before it a policer, and behind it reordering.

use crate::cell::Cell;
use crate::link::Link;
use crate::packet::{Delivery, DropReason, Dropped, Packet, Poll};
use crate::queue::QueueCounters;
use crate::scheduler::Scheduler;
use crate::stages::policer::Bucket;
use crate::stages::{LinkConfig, Policer, Reordering, ReorderingConfig};
use cellcc_units::{Span, Time};

/// One direction of a path, for all its users.
#[derive(Debug, Clone)]
pub struct PathConfig {
    /// Drops packets above a rate, before all else, whichever user they are for.
    pub policer: Option<Policer>,
    /// The link, or the cell.
    pub bottleneck: Bottleneck,
    /// Granularity of the clocks of the link and of its delay; zero: none. A cell has slots of its own.
    pub grain: Span,
    /// Makes some packets arrive later than others sent after them.
    pub reordering: Option<ReorderingConfig>,
    /// Seed of random events in the link or the cell.
    pub seed: u64,
}

/// One queue for all users, or one for each.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "a path has one of them, which is not moved about")]
pub enum Bottleneck {
    /// A link that all users share.
    Link(LinkConfig),
    /// A base station.
    Cell {
        /// The channel of each user.
        users: Vec<LinkConfig>,
        /// The scheduler of the slots.
        scheduler: Scheduler,
    },
}

impl PathConfig {
    /// A link and nothing else. `seed` decides what is random.
    pub fn link(config: LinkConfig, seed: u64) -> Self {
        Bottleneck::Link(config).path(seed)
    }

    /// The link, or that of each user.
    pub fn links(&self) -> &[LinkConfig] {
        match &self.bottleneck {
            Bottleneck::Link(link) => std::slice::from_ref(link),
            Bottleneck::Cell { users, .. } => users,
        }
    }

    /// Two paths, one behind the other, that do the same: the first up to the link's service, the second behind it. `None` for a
    /// cell.
    pub fn split(self) -> Option<[Self; 2]> {
        let Self { policer, bottleneck: Bottleneck::Link(link), grain, reordering, seed } = self else {
            return None;
        };
        let path = |link| Self { grain, ..Self::link(link, seed) };
        let [until_served, behind] = link.split().map(path);
        Some([Self { policer, ..until_served }, Self { reordering, ..behind }])
    }

    /// The longest way of a packet that finds the queues empty and leaves at `time`, except for its service.
    pub fn longest_way(&self, time: Time) -> Span {
        let link = self.links().iter().map(|link| link.longest_way(time)).max().unwrap_or(Span::ZERO);
        link + self.reordering.as_ref().map_or(Span::ZERO, |reordering| reordering.by)
    }
}

impl Bottleneck {
    /// A path of this and nothing else. `seed` decides what is random.
    pub fn path(self, seed: u64) -> PathConfig {
        PathConfig { policer: None, bottleneck: self, grain: Span::ZERO, reordering: None, seed }
    }
}

/// The path to the receivers.
///
/// Pure, like [`Link`]: time comes in as an argument and must not decrease from call to call.
#[derive(Debug, Clone)]
pub struct ForwardPath<P> {
    policer: Option<Bucket>,
    carrier: Carrier<P>,
    reordering: Option<Reordering<P>>,
}

#[derive(Debug, Clone)]
enum Carrier<P> {
    Link(Box<Link<P>>),
    Cell(Box<Cell<P>>),
}

impl<P: Packet> ForwardPath<P> {
    /// An empty path at time zero.
    pub fn new(config: PathConfig) -> Self {
        let PathConfig { policer, bottleneck, grain, reordering, seed } = config;
        Self {
            policer: policer.map(Bucket::new),
            carrier: match bottleneck {
                Bottleneck::Link(link) => Carrier::Link(Box::new(Link::with_grain(link, seed, grain))),
                Bottleneck::Cell { users, scheduler } => {
                    Carrier::Cell(Box::new(Cell::new(users, scheduler, seed)))
                }
            },
            reordering: reordering.map(Reordering::new),
        }
    }

    /// When something happens next; [`Time::NEVER`] where nothing will.
    #[inline]
    pub fn next_wake(&self) -> Time {
        let carried = match &self.carrier {
            Carrier::Link(link) => link.next_wake(),
            Carrier::Cell(cell) => cell.next_wake(),
        };
        carried.min(self.next_held())
    }

    /// The time to poll for a driver that wakes seldom and is never late by more than `span`; see
    /// [`Link::last_arrival_within`].
    pub fn last_arrival_within(&self, span: Span) -> Time {
        let carried = match &self.carrier {
            Carrier::Link(link) => link.last_arrival_within(span),
            Carrier::Cell(cell) => cell.last_arrival_within(span),
        };
        carried.min(self.next_held())
    }

    /// When the next packet that was held back arrives.
    #[inline]
    fn next_held(&self) -> Time {
        self.reordering.as_ref().map_or(Time::NEVER, Reordering::next_wake)
    }

    /// The counters at `now` of `user`'s queue, or of the one queue that all users share.
    ///
    /// # Panics
    /// Where the cell has no such user.
    pub fn counters(&mut self, now: Time, user: usize) -> QueueCounters {
        match &mut self.carrier {
            Carrier::Link(link) => link.counters(now),
            Carrier::Cell(cell) => cell.counters(now, user),
        }
    }

    /// Hands a packet for `user` to the link or the cell at `now`.
    ///
    /// # Errors
    /// The packet, where it is not admitted.
    ///
    /// # Panics
    /// Where the cell has no such user.
    #[inline]
    pub fn enqueue(&mut self, now: Time, user: usize, packet: P) -> Result<(), Dropped<P>> {
        if self.policer.as_mut().is_some_and(|policer| !policer.passes(now, packet.size())) {
            return Err(Dropped { packet, at: now, reason: DropReason::Policed });
        }
        match &mut self.carrier {
            Carrier::Link(link) => link.enqueue(now, packet),
            Carrier::Cell(cell) => cell.enqueue(now, user, packet),
        }
    }

    /// The next packet that has arrived by `now`, or that was dropped while it waited; or when to ask again.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        match &self.reordering {
            None => self.carrier.poll(now),
            Some(_) => self.poll_reordered(now),
        }
    }

    /// Polls a path with reordering; out of line, so that most paths do not pay for it.
    #[inline(never)]
    fn poll_reordered(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        while let Some(reordering) = &mut self.reordering {
            if let Some(late) = reordering.poll(now) {
                return Poll::Ready(late);
            }
            match self.carrier.poll(now) {
                Poll::Ready(delivery) => {
                    if let Some(delivery) = reordering.pass(delivery) {
                        return Poll::Ready(delivery);
                    }
                }
                Poll::Dropped(dropped) => return Poll::Dropped(dropped),
                Poll::Wake(_) | Poll::Idle => break,
            }
        }
        match self.next_wake() {
            Time::NEVER => Poll::Idle,
            wake => Poll::Wake(wake),
        }
    }
}

impl<P: Packet> Carrier<P> {
    #[inline(always)]
    fn poll(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        match self {
            Carrier::Link(link) => link.poll(now),
            Carrier::Cell(cell) => match cell.poll(now) {
                Poll::Ready((_, delivery)) => Poll::Ready(delivery),
                Poll::Dropped((_, dropped)) => Poll::Dropped(dropped),
                Poll::Wake(time) => Poll::Wake(time),
                Poll::Idle => Poll::Idle,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::ShareOverTime;
    use cellcc_units::{Bytes, Ratio};

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Full(u32);

    impl Packet for Full {
        fn size(&self) -> Bytes {
            Bytes::new(1500)
        }
    }

    #[test]
    fn a_packet_that_is_held_back_arrives_by_itself() {
        let every = ReorderingConfig {
            share: ShareOverTime::constant(Ratio::ONE),
            by: Span::from_millis(5),
            seed: 1,
        };
        let link = PathConfig::link(LinkConfig::transparent(), 1);
        let mut forward = ForwardPath::new(PathConfig { reordering: Some(every), ..link });
        forward.enqueue(Time::ZERO, 7, Full(1)).expect("no limit");
        let arrival = forward.next_wake();
        let due = arrival + Span::from_millis(5);
        assert_eq!(forward.poll(arrival), Poll::Wake(due));
        assert!(matches!(forward.poll(due), Poll::Ready(Delivery { packet: Full(1), .. })));
        assert_eq!(forward.next_wake(), Time::NEVER);
    }
}
