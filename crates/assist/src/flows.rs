//! How many flows a user has: NATCP's beta, counted at the base station.

use cellcc_units::{Span, Time};

/// A flow without a packet for this long is not active. Our choice: longer than the outages of the traces let a
/// sender's probes stay away, shorter than a user notices a share that is missing.
const ACTIVE_FOR: Span = Span::from_secs(1);

/// How many of a user's flows had a packet in the last second, by the time of each one's last packet; at least one,
/// since it divides.
pub fn active_flows(now: Time, last_packets: impl IntoIterator<Item = Time>) -> u32 {
    let active = last_packets.into_iter().filter(|&last| now.since(last) <= ACTIVE_FOR).count();
    u32::try_from(active).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_counts_until_a_second_after_its_last_packet() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        assert_eq!(active_flows(at(0), []), 1, "none is one: it divides");
        let last_packets = [at(0), at(700)];
        assert_eq!(active_flows(at(1000), last_packets), 2);
        assert_eq!(active_flows(at(1001), last_packets), 1);
        assert_eq!(active_flows(at(5000), last_packets), 1);
    }
}
