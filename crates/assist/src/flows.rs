//! How many flows a user has: NATCP's beta, counted at the base station.

use cellcc_units::{Span, Time};
use std::collections::BTreeMap;

/// A flow without a packet for this long is not active. Our choice: longer than the outages of the traces let a
/// sender's probes stay away, shorter than a user notices a share that is missing.
const ACTIVE_FOR: Span = Span::from_secs(1);

/// The flows that a user's packets were seen of.
#[derive(Debug, Clone, Default)]
pub struct ActiveFlows {
    last_seen: BTreeMap<u64, Time>,
}

impl ActiveFlows {
    /// No packet seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A packet of `flow` passed.
    pub fn on_packet(&mut self, now: Time, flow: u64) {
        self.last_seen.insert(flow, now);
    }

    /// Flows with a packet in the last second; at least one, since it divides.
    pub fn count(&mut self, now: Time) -> u32 {
        self.last_seen.retain(|_, seen| now.since(*seen) <= ACTIVE_FOR);
        u32::try_from(self.last_seen.len()).unwrap_or(u32::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_counts_from_its_first_packet_until_a_second_after_its_last() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let mut flows = ActiveFlows::new();
        assert_eq!(flows.count(at(0)), 1, "none is one: it divides");
        flows.on_packet(at(0), 7);
        flows.on_packet(at(600), 8);
        flows.on_packet(at(700), 8);
        assert_eq!(flows.count(at(1000)), 2);
        assert_eq!(flows.count(at(1001)), 1);
        assert_eq!(flows.count(at(5000)), 1);
    }
}
