//! The number of a packet's flow, for queues that separate flows.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The transport protocols whose header begins with two ports: TCP, UDP, DCCP, SCTP.
const WITH_PORTS: [u8; 4] = [6, 17, 33, 132];

/// A hash of addresses, protocol and ports, the same for all packets of a flow. Fragments have no ports, so that the first one
/// stays with the others. Packets that are neither IPv4 nor IPv6 are one flow.
pub(crate) fn flow_number(packet: &[u8]) -> u64 {
    let (addresses, protocol, transport) = match packet {
        [first, ..] if first >> 4 == 4 => {
            let is_fragment = packet.get(6..8).is_some_and(|field| field[0] & 0x3f != 0 || field[1] != 0);
            let transport = if is_fragment { packet.len() } else { usize::from(first & 0xf) * 4 };
            (packet.get(12..20), packet.get(9), transport)
        }
        [first, ..] if first >> 4 == 6 => (packet.get(8..40), packet.get(6), 40),
        _ => return 0,
    };
    let has_ports = protocol.is_some_and(|protocol| WITH_PORTS.contains(protocol));
    let ports = if has_ports { packet.get(transport..transport + 4) } else { None };
    let mut hasher = DefaultHasher::new();
    (addresses, protocol, ports).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet of a protocol between two hosts, with these first bytes of its transport header.
    fn ipv4(protocol: u8, hosts: [u8; 2], ports: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 40, 0, 1, 0x40, 0, 64, protocol, 0, 0];
        packet.extend([10, 0, 0, hosts[0], 10, 0, 0, hosts[1]]);
        packet.extend(ports);
        packet.extend([0; 16]);
        packet
    }

    #[test]
    fn packets_of_one_flow_have_one_number_and_others_have_others() {
        let tcp = ipv4(6, [1, 2], [0, 80, 1, 1]);
        let mut later = tcp.clone();
        later[4..6].copy_from_slice(&[9, 9]);
        later[25] = 77;
        assert_eq!(flow_number(&tcp), flow_number(&later));
        let others = [
            ipv4(6, [1, 2], [0, 80, 1, 2]),
            ipv4(17, [1, 2], [0, 80, 1, 1]),
            ipv4(6, [1, 3], [0, 80, 1, 1]),
            ipv4(1, [1, 2], [0, 80, 1, 1]),
        ];
        assert!(others.iter().all(|other| flow_number(other) != flow_number(&tcp)));
        // An echo's first bytes are no ports.
        assert_eq!(flow_number(&others[3]), flow_number(&ipv4(1, [1, 2], [8, 0, 7, 7])));
    }

    #[test]
    fn all_fragments_of_a_datagram_are_of_one_flow() {
        let fragment = |offset: u8, more: u8| {
            let mut packet = ipv4(17, [1, 2], [offset; 4]);
            packet[6..8].copy_from_slice(&[more, offset]);
            flow_number(&packet)
        };
        assert_eq!(fragment(0, 0x20), fragment(185, 0));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(packet in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
            flow_number(&packet);
        }
    }
}
