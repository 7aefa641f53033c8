//! Live flows between servers and users: only servers with one may receive reports without consent.
//!
//! The evidence is the connection tracking of the edge's Linux (`/proc/net/nf_conntrack`), which sees every flow that the edge
//! forwards. Each line has a flow's two ends twice, as they are on either side of an address translation. A flow counts once
//! both ends have sent: else a server could learn of any user by sending it a packet.

use cellcc_units::{Span, Time};
use std::collections::HashMap;
use std::net::IpAddr;

/// A flow that is not seen for this long has ended. The kernel's shortest time-out of an established flow of both TCP
/// and UDP streams is 120 s (`nf_conntrack_udp_timeout_stream`); a look every few seconds does not miss one.
const FORGOTTEN_AFTER: Span = Span::from_secs(30);

/// Pairs of ends between which something flows. Time advances with looks: while looks fail, no flow ends.
#[derive(Debug, Clone, Default)]
pub struct LiveFlows {
    seen: HashMap<(IpAddr, IpAddr), Time>,
    looked_at: Time,
    /// Every server counts as one with a flow.
    assumed: bool,
}

impl LiveFlows {
    /// For machines without a view of flows, whose certificates are given only to servers that may see every user.
    pub fn assumed() -> Self {
        Self { assumed: true, ..Self::default() }
    }

    /// Takes connection tracking's state at `now`.
    pub fn see(&mut self, now: Time, pairs: impl IntoIterator<Item = (IpAddr, IpAddr)>) {
        self.looked_at = now;
        self.seen.retain(|_, at| now.since(*at) <= FORGOTTEN_AFTER);
        for (one, other) in pairs {
            self.seen.insert((one, other), now);
            self.seen.insert((other, one), now);
        }
    }

    /// True if the last look showed a flow between a server and any address of a user.
    pub fn has(&self, server: IpAddr, user: impl IntoIterator<Item = IpAddr>) -> bool {
        let is_live = |address: IpAddr| {
            let seen = self.seen.get(&(server.to_canonical(), address.to_canonical()));
            seen.is_some_and(|at| self.looked_at.since(*at) <= FORGOTTEN_AFTER)
        };
        self.assumed || user.into_iter().any(is_live)
    }
}

/// Marks of a flow that has not begun, or is over: those of connection tracking without an answer, and the states of TCP before
/// and after a connection (the kernel's nf_conntrack_standalone.c and nf_conntrack_proto_tcp.c).
const NOT_LIVE: [&str; 6] = ["[UNREPLIED]", "SYN_SENT", "SYN_SENT2", "SYN_RECV", "TIME_WAIT", "CLOSE"];

/// The ends of the live flows in the text of `/proc/net/nf_conntrack`. Lines that are no flow are left out.
pub fn tracked_flows(text: &str) -> impl Iterator<Item = (IpAddr, IpAddr)> {
    let is_live = |line: &&str| !line.split_whitespace().any(|field| NOT_LIVE.contains(&field));
    text.lines().filter(is_live).flat_map(|line| {
        let ends = |name| line.split_whitespace().filter_map(move |field| address(field, name));
        ends("src=").zip(ends("dst="))
    })
}

fn address(field: &str, name: &str) -> Option<IpAddr> {
    field.strip_prefix(name)?.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The form of `seq_print_acct` and `ct_seq_show` in the kernel's nf_conntrack_standalone.c.
    const TRACKED: &str = "\
ipv4     2 tcp      6 431999 ESTABLISHED src=10.45.0.2 dst=192.0.2.1 sport=51234 dport=443 src=192.0.2.1 dst=203.0.113.7 sport=443 dport=51234 [ASSURED] mark=0 zone=0 use=2
ipv6     10 udp      17 118 src=2001:db8:45::2 dst=2001:db8::1 sport=4433 dport=4433 src=2001:db8::1 dst=2001:db8:45::2 sport=4433 dport=4433 mark=0 use=2
nonsense src=10.45.0.2 dst=
";

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn at(secs: u64) -> Time {
        Time::ZERO + Span::from_secs(secs)
    }

    #[test]
    fn tracked_connections_are_live_flows_on_both_sides_of_a_translation() {
        let mut flows = LiveFlows::default();
        flows.see(at(0), tracked_flows(TRACKED));
        assert!(flows.has(ip("192.0.2.1"), [ip("10.45.0.2")]));
        assert!(flows.has(ip("192.0.2.1"), [ip("203.0.113.7")]));
        assert!(flows.has(ip("2001:db8::1"), [ip("10.0.0.1"), ip("2001:db8:45::2")]));
        assert!(!flows.has(ip("192.0.2.9"), [ip("10.45.0.2")]));
    }

    /// A server sent a packet to a user and was informed of the user for it.
    #[test]
    fn a_flow_without_an_answer_and_one_that_is_closed_are_not_live() {
        for (protocol, state, mark) in [
            ("udp      17 29", "", "[UNREPLIED]"),
            ("tcp      6 119", "SYN_SENT", "[UNREPLIED]"),
            ("tcp      6 59", "SYN_RECV", ""),
            ("tcp      6 119", "TIME_WAIT", "[ASSURED]"),
            ("tcp      6 9", "CLOSE", "[ASSURED]"),
        ] {
            let line = format!(
                "ipv4     2 {protocol} {state} src=192.0.2.1 dst=10.45.0.2 sport=1 dport=2 {mark} src=10.45.0.2 dst=192.0.2.1 \
                 sport=2 dport=1 mark=0 zone=0 use=2"
            );
            assert_eq!(tracked_flows(&line).count(), 0, "{line}");
        }
    }

    #[test]
    fn a_flow_that_is_not_seen_any_more_ends() {
        let mut flows = LiveFlows::default();
        flows.see(at(0), tracked_flows(TRACKED));
        flows.see(at(30), []);
        assert!(flows.has(ip("192.0.2.1"), [ip("10.45.0.2")]));
        flows.see(at(31), []);
        assert!(!flows.has(ip("192.0.2.1"), [ip("10.45.0.2")]));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "(\\PC{0,20}(src=|dst=)?[0-9.:a-f ]{0,30}\n){0,5}") {
            tracked_flows(&text).count();
        }
    }
}
