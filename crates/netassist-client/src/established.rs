//! The TCP connections of this machine, from `/proc/net/tcp` and `/proc/net/tcp6` (proc_net_tcp in the kernel's documentation).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `TCP_ESTABLISHED` of include/net/tcp_states.h.
const ESTABLISHED: &str = "01";

/// The peers of the established connections in the text of either file; those with this machine itself are left out.
pub fn established_peers(text: &str) -> impl Iterator<Item = IpAddr> {
    let peers = text.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().skip(2);
        let (peer, state) = (fields.next()?, fields.next()?);
        let (address, _port) = peer.split_once(':')?;
        (state == ESTABLISHED).then(|| address_of(address))?
    });
    peers.filter(|peer| !peer.is_loopback())
}

/// Words of 32 bits, each in the machine's byte order.
fn address_of(digits: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(digits.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    match digits.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let mut octets = [0; 16];
            for (index, bytes) in octets.chunks_exact_mut(4).enumerate() {
                bytes.copy_from_slice(&word(8 * index)?);
            }
            Some(IpAddr::V6(Ipv6Addr::from(octets)).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a little-endian machine writes it.
    #[cfg(target_endian = "little")]
    #[test]
    fn established_connections_with_others_are_found() {
        let text = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 010200C0:01BB 02002D0A:C822 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 30 10 -1
   1: 00000000:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0100007F:01BB 0100007F:C822 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 20 4 30 10 -1
   3: 0000000000000000FFFF0000010200C0:01BB 0000000000000000FFFF000003002D0A:C823 01 0:0 0:0 0 0 0 4
   4: x y 01
";
        let peers: Vec<_> = established_peers(text).map(|peer| peer.to_string()).collect();
        assert_eq!(peers, ["10.45.0.2", "10.45.0.3"]);
    }
}
