//! What is inside an IP packet.

/// The number of the protocol inside (8 bits; 6 is TCP, 17 UDP) and its header with what follows; `None` where it is
/// no IP packet, or not complete.
pub(crate) fn transport(packet: &[u8]) -> Option<(u8, &[u8])> {
    let (protocol, ip_length) = match packet.first()? >> 4 {
        4 => (*packet.get(9)?, usize::from(packet[0] & 0x0f) * 4),
        // Extension headers do not occur between our own two ends.
        6 => (*packet.get(6)?, 40),
        _ => return None,
    };
    Some((protocol, packet.get(ip_length..)?))
}
