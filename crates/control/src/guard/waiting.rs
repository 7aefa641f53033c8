//! How long a flow's packets waited for the link or were on it, as far as the sender can see: the time in which at least
//! one was on its way for longer than the path takes without the link.
//!
//! On a link that carries C, a flow that sends at a rate r below C waits for r/C of the time.

use crate::contract::Ack;
use cellcc_units::{Span, Time};

/// The waiting of one flow's packets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waiting {
    /// When the last packet so far left the link, at the sender's distance: only differences count.
    served_until: Time,
}

impl Waiting {
    /// Counts acknowledged packets; gives the time in which they waited, and none before them did. `network`: the RTT
    /// without the link, as the advice has it. It may be wrong, but no packet came back sooner than the minimum RTT.
    pub(super) fn add(&mut self, ack: &Ack<'_>, network: Span) -> Span {
        let served_at = ack.now - network.min(ack.rtt.min());
        let oldest = ack.packets.iter().map(|packet| packet.sent_at).min().unwrap_or(served_at);
        let waited = served_at.since(oldest.max(self.served_until));
        self.served_until = self.served_until.max(served_at);
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MIN_RTT, PACKET, ack, at, packet, rtt};
    use super::*;

    /// How long packets waited that left and came back at these times (ms), as the flow counts it.
    fn waited(packets: &[(u64, u64)], network: Span) -> Span {
        let mut waiting = Waiting::default();
        packets.iter().zip(0..).fold(Span::ZERO, |total, (&(sent, back), number)| {
            let sample = Span::from_millis(back - sent);
            let packets = [packet(number, at(sent))];
            total + waiting.add(&ack(at(back), &rtt(sample), sample, &packets, PACKET), network)
        })
    }

    #[test]
    fn time_in_which_several_packets_wait_counts_once() {
        let network = Span::from_millis(15);
        // Each is 5 ms on the link, one after the other.
        assert_eq!(waited(&[(100, 120), (110, 130)], network), Span::from_millis(10));
        // The second waits behind the first: from 100 to 110 ms the link is never idle.
        assert_eq!(waited(&[(100, 120), (100, 125)], network), Span::from_millis(10));
    }

    #[test]
    fn a_path_is_never_taken_for_slower_than_the_smallest_rtt() {
        assert_eq!(waited(&[(100, 120)], MIN_RTT * 10), Span::ZERO);
        assert_eq!(waited(&[(100, 150)], MIN_RTT * 10), Span::from_millis(30));
    }
}
