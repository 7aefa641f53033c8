//! The forward path of the data: a link that all users share, or a cell; before it a policer, and behind it reordering.

use crate::cell::Cell;
use crate::delay::reordering::Reordering;
use crate::link::{Link, LinkConfig};
use crate::packet::{Delivery, DropReason, Dropped, Packet, Poll};
use crate::policer::{Bucket, Policer};
use crate::queue::QueueCounters;
use crate::scheduler::Scheduler;
use cellcc_units::{Span, Time};

/// The path to the receivers.
///
/// Pure, like [`Link`]: time comes in as an argument and must not decrease from call to call.
#[derive(Debug, Clone)]
pub struct ForwardPath<P> {
    policer: Option<Bucket>,
    bottleneck: Bottleneck<P>,
    reordering: Option<Reordering<P>>,
}

/// One queue for all flows, or one for each user.
#[derive(Debug, Clone)]
enum Bottleneck<P> {
    Link(Box<Link<P>>),
    Cell(Box<Cell<P>>),
}

impl<P: Packet> ForwardPath<P> {
    /// One link, whichever user a packet is for. `seed` decides which packets are lost.
    pub fn link(config: LinkConfig, seed: u64) -> Self {
        Link::new(config, seed).into()
    }

    /// A cell of these users. `seed` decides which packets are lost.
    pub fn cell(users: Vec<LinkConfig>, scheduler: Scheduler, seed: u64) -> Self {
        Self::new(Bottleneck::Cell(Box::new(Cell::new(users, scheduler, seed))))
    }

    /// The same path with a policer before it, of all that its users are sent.
    pub fn with_policer(self, policer: Policer) -> Self {
        Self { policer: Some(Bucket::new(policer)), ..self }
    }

    /// The same path with reordering behind it.
    pub fn with_reordering(self, reordering: Reordering<P>) -> Self {
        Self { reordering: Some(reordering), ..self }
    }

    /// When something happens next; [`Time::NEVER`] where nothing will.
    #[inline]
    pub fn next_wake(&self) -> Time {
        let bottleneck = match &self.bottleneck {
            Bottleneck::Link(link) => link.next_wake(),
            Bottleneck::Cell(cell) => cell.next_wake(),
        };
        bottleneck.min(self.next_held())
    }

    /// The time to poll for a driver that wakes seldom and is never late by more than `span`; see
    /// [`Link::last_arrival_within`].
    pub fn last_arrival_within(&self, span: Span) -> Time {
        let bottleneck = match &self.bottleneck {
            Bottleneck::Link(link) => link.last_arrival_within(span),
            Bottleneck::Cell(cell) => cell.last_arrival_within(span),
        };
        bottleneck.min(self.next_held())
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
        match &mut self.bottleneck {
            Bottleneck::Link(link) => link.counters(now),
            Bottleneck::Cell(cell) => cell.counters(now, user),
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
        match &mut self.bottleneck {
            Bottleneck::Link(link) => link.enqueue(now, packet),
            Bottleneck::Cell(cell) => cell.enqueue(now, user, packet),
        }
    }

    /// The next packet that has arrived by `now`, or that was dropped while it waited; or when to ask again.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        match &self.reordering {
            None => self.bottleneck.poll(now),
            Some(_) => self.poll_reordered(now),
        }
    }

    /// The same with reordering; out of line, so that most paths do not pay for it.
    #[inline(never)]
    fn poll_reordered(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        while let Some(reordering) = &mut self.reordering {
            if let Some(late) = reordering.poll(now) {
                return Poll::Ready(late);
            }
            match self.bottleneck.poll(now) {
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

impl<P> ForwardPath<P> {
    fn new(bottleneck: Bottleneck<P>) -> Self {
        Self { policer: None, bottleneck, reordering: None }
    }
}

impl<P> From<Link<P>> for ForwardPath<P> {
    /// One link, whichever user a packet is for.
    fn from(link: Link<P>) -> Self {
        Self::new(Bottleneck::Link(Box::new(link)))
    }
}

impl<P: Packet> Bottleneck<P> {
    #[inline(always)]
    fn poll(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        match self {
            Bottleneck::Link(link) => link.poll(now),
            Bottleneck::Cell(cell) => match cell.poll(now) {
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
    use crate::delay::reordering::ReorderingConfig;
    use crate::loss::ShareOverTime;
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
        let late = Reordering::new(every);
        let mut forward = ForwardPath::link(LinkConfig::transparent(), 1).with_reordering(late);
        forward.enqueue(Time::ZERO, 7, Full(1)).expect("no limit");
        let arrival = forward.next_wake();
        let due = arrival + Span::from_millis(5);
        assert_eq!(forward.poll(arrival), Poll::Wake(due));
        assert!(matches!(forward.poll(due), Poll::Ready(Delivery { packet: Full(1), .. })));
        assert_eq!(forward.next_wake(), Time::NEVER);
    }
}
