//! Reordering: some packets take longer behind the link, so that later ones overtake them.

use super::loss::LossOverTime;
use crate::packet::Delivery;
use crate::share::ShareOverTime;
use cellcc_units::{Span, Time};
use std::collections::VecDeque;

/// Which packets take longer behind the link, and by how much.
#[derive(Debug, Clone, PartialEq)]
pub struct ReorderingConfig {
    /// The share of the packets that is held, at the time of their arrival without that.
    pub share: ShareOverTime,
    /// How long each of them is held.
    pub by: Span,
    /// Decides which ones they are.
    pub seed: u64,
}

/// Delays a share of the packets behind the link, at random and independently of each other: as a second radio leg
/// does, or a retransmission below IP without in-order delivery. Where every packet has a delay of its own, see
/// [`crate::Jitter`].
#[derive(Debug, Clone)]
pub struct Reordering<P> {
    /// None where none is ever held.
    chance: Option<LossOverTime>,
    by: Span,
    /// All are held for the same time, so they are in the order in which they are due.
    held: VecDeque<Delivery<P>>,
}

impl<P> Reordering<P> {
    /// Nothing is held yet.
    pub fn new(config: ReorderingConfig) -> Self {
        let ReorderingConfig { share, by, seed } = config;
        Self { chance: LossOverTime::new(share, None, seed), by, held: VecDeque::new() }
    }

    /// Takes a packet that left the link, and returns it unless it is held.
    pub fn pass(&mut self, delivery: Delivery<P>) -> Option<Delivery<P>> {
        if !self.chance.as_mut().is_some_and(|chance| chance.strikes(delivery.arrived_at)) {
            return Some(delivery);
        }
        self.held.push_back(Delivery { arrived_at: delivery.arrived_at + self.by, ..delivery });
        None
    }

    /// When the next held packet arrives; [`Time::NEVER`] where none is held.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.held.front().map_or(Time::NEVER, |delivery| delivery.arrived_at)
    }

    /// The next held packet that has arrived by `now`.
    pub fn poll(&mut self, now: Time) -> Option<Delivery<P>> {
        if self.next_wake() > now { None } else { self.held.pop_front() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(packet: u64) -> Delivery<u64> {
        let at = Time::ZERO + Span::from_millis(packet);
        Delivery { packet, queued_at: at, departed_at: at, arrived_at: at }
    }

    fn share(text: &str) -> ShareOverTime {
        text.parse().unwrap()
    }

    #[test]
    fn the_share_that_is_held_changes_with_time() {
        let by = Span::from_millis(5);
        let mut reordering =
            Reordering::new(ReorderingConfig { share: share("0%@1s,100%@1s,0%@1s"), by, seed: 1 });
        let held: Vec<u64> =
            (0..4000).filter(|&packet| reordering.pass(delivery(packet)).is_none()).collect();
        assert_eq!(held, (1000..2000).collect::<Vec<_>>());
    }

    #[test]
    fn a_held_packet_arrives_later_by_the_time_and_none_is_lost() {
        let mut reordering =
            Reordering::new(ReorderingConfig { share: share("30%"), by: Span::from_millis(5), seed: 1 });
        let at_once: Vec<_> = (0..1000).filter_map(|packet| reordering.pass(delivery(packet))).collect();
        assert!((650..750).contains(&at_once.len()), "{}", at_once.len());
        let mut held = 0;
        while reordering.next_wake() < Time::NEVER {
            let late = reordering.poll(reordering.next_wake()).expect("due");
            assert_eq!(late.arrived_at.since(late.departed_at), Span::from_millis(5));
            held += 1;
        }
        assert_eq!(at_once.len() + held, 1000);
    }
}
