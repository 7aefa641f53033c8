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
