//! The receiver: takes packets in, and says when an acknowledgement leaves.
//!
//! Acknowledgements name every packet received so far, as QUIC's ranges and TCP's SACK do for all practical purposes. An
//! acknowledgement therefore carries only how far the log of received packets had grown when it left, and one that is
//! lost is made good by the next.

use cellcc_experiment::Endpoint;
use cellcc_units::{Span, Time};
use std::collections::VecDeque;

/// An acknowledgement: everything in the receiver's log before `upto` has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    upto: u64,
    /// How long the newest packet waited for this acknowledgement to leave.
    pub(crate) delay: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    ack_every: u32,
    max_ack_delay: Span,
    /// Numbers of received packets in order of arrival; the first `taken` are known to the sender and forgotten.
    log: VecDeque<u64>,
    taken: u64,
    next_expected: u64,
    unacknowledged: u32,
    newest_at: Time,
    ack_due_at: Option<Time>,
}

impl Receiver {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        Self {
            ack_every: endpoint.ack_every.max(1),
            max_ack_delay: endpoint.max_ack_delay,
            log: VecDeque::new(),
            taken: 0,
            next_expected: 0,
            unacknowledged: 0,
            newest_at: Time::ZERO,
            ack_due_at: None,
        }
    }

    /// A packet arrives; an acknowledgement may leave at once. A gap in the numbers is reported without delay
    /// (RFC 9000, section 13.2.1).
    pub(crate) fn on_packet(&mut self, now: Time, number: u64) -> Option<Acknowledgement> {
        self.log.push_back(number);
        self.newest_at = now;
        self.unacknowledged += 1;
        let in_order = number == self.next_expected;
        self.next_expected = self.next_expected.max(number + 1);
        if self.unacknowledged >= self.ack_every || !in_order {
            return Some(self.acknowledge(now));
        }
        self.ack_due_at.get_or_insert(now + self.max_ack_delay);
        None
    }

    /// When a delayed acknowledgement is due.
    pub(crate) fn ack_due_at(&self) -> Option<Time> {
        self.ack_due_at
    }

    /// Makes an acknowledgement of all that has arrived.
    pub(crate) fn acknowledge(&mut self, now: Time) -> Acknowledgement {
        self.unacknowledged = 0;
        self.ack_due_at = None;
        Acknowledgement { upto: self.taken + self.log.len() as u64, delay: now.since(self.newest_at) }
    }

    /// The packets that an acknowledgement tells the sender of for the first time, in order of arrival.
    pub(crate) fn newly_acknowledged(&mut self, ack: Acknowledgement) -> impl Iterator<Item = u64> + '_ {
        let count = ack.upto.saturating_sub(self.taken);
        self.taken += count;
        self.log.drain(..count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(ack_every: u32) -> Receiver {
        Receiver::new(&Endpoint { ack_every, ..Endpoint::default() })
    }

    #[test]
    fn every_second_packet_is_acknowledged_and_a_single_one_after_the_delay() {
        let mut receiver = receiver(2);
        assert_eq!(receiver.on_packet(Time::ZERO, 0), None);
        assert_eq!(receiver.ack_due_at(), Some(Time::ZERO + Span::from_millis(25)));
        assert!(receiver.on_packet(Time::from_nanos(5), 1).is_some());
        assert_eq!(receiver.ack_due_at(), None);
    }

    #[test]
    fn a_gap_is_reported_at_once() {
        let mut receiver = receiver(2);
        assert!(receiver.on_packet(Time::ZERO, 3).is_some());
    }

    #[test]
    fn the_next_acknowledgement_makes_a_lost_one_good() {
        let mut receiver = receiver(1);
        let _lost = receiver.on_packet(Time::ZERO, 0);
        let second = receiver.on_packet(Time::ZERO, 2).unwrap();
        assert_eq!(receiver.newly_acknowledged(second).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(receiver.newly_acknowledged(second).count(), 0);
    }
}
