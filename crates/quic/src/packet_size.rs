//! Sizes of packets on the link and as noq counts them.

use cellcc_control::Context;
use cellcc_units::{Bytes, Rate};

/// RFC 9002, section 7.2: ten packets.
pub(crate) const INITIAL_WINDOW_PACKETS: u64 = 10;
/// Every path carries packets of this size (RFC 9000, section 14).
const MIN_PACKET: Bytes = Bytes::new(1200);

/// The context of properties that do not depend on packet sizes: the codepoint, and a component's ACK delay.
pub(crate) const ANY_FLOW: Context =
    Context::new(MIN_PACKET, Bytes::new(MIN_PACKET.get() * INITIAL_WINDOW_PACKETS), 0);

/// A full packet: its UDP payload, which noq counts, and the headers before it, which the link carries too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSize {
    /// UDP payload of a full packet, above zero.
    pub payload: Bytes,
    /// IP and UDP headers.
    pub headers: Bytes,
}

impl PacketSize {
    /// IPv4 (20 bytes, RFC 791) and UDP (8, RFC 768).
    pub const IPV4_HEADERS: Bytes = Bytes::new(28);
    /// IPv6 (40 bytes, RFC 8200) and UDP.
    pub const IPV6_HEADERS: Bytes = Bytes::new(48);

    /// A full packet on the link.
    pub fn on_link(self) -> Bytes {
        self.payload + self.headers
    }

    /// The UDP payload in `on_link` bytes of full packets on the link.
    pub fn payload_of(self, on_link: Bytes) -> Bytes {
        Bytes::new(self.scaled(on_link.get()))
    }

    /// The rate of UDP payload at which full packets have this rate on the link.
    pub fn payload_rate(self, on_link: Rate) -> Rate {
        Rate::from_bytes_per_sec(self.scaled(on_link.as_bytes_per_sec()))
    }

    /// The bytes on the link of full packets with this UDP payload.
    pub fn on_link_of(self, payload: Bytes) -> Bytes {
        Bytes::new(scaled(payload.get(), self.on_link().get(), self.payload.get()))
    }

    /// The rate on the link of full packets whose UDP payload has this rate.
    pub fn on_link_rate(self, payload: Rate) -> Rate {
        Rate::from_bytes_per_sec(scaled(payload.as_bytes_per_sec(), self.on_link().get(), self.payload.get()))
    }

    fn scaled(self, value: u64) -> u64 {
        scaled(value, self.payload.get(), self.on_link().get())
    }
}

/// `value` times `by` over `of`.
fn scaled(value: u64, by: u64, of: u64) -> u64 {
    let of = of.max(1);
    match value.checked_mul(by) {
        Some(product) => product / of,
        None => u64::try_from(u128::from(value) * u128::from(by) / u128::from(of)).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: PacketSize = PacketSize { payload: Bytes::new(1472), headers: PacketSize::IPV4_HEADERS };

    #[test]
    fn a_full_packet_on_the_link_is_a_full_payload() {
        assert_eq!(FULL.payload_of(Bytes::new(1500)), Bytes::new(1472));
        assert_eq!(FULL.payload_of(Bytes::new(15_000)), Bytes::new(14_720));
        assert_eq!(FULL.on_link_of(Bytes::new(14_720)), Bytes::new(15_000));
    }

    #[test]
    fn a_rate_on_the_link_leaves_room_for_headers() {
        assert_eq!(
            FULL.payload_rate(Rate::from_bytes_per_sec(1_500_000)),
            Rate::from_bytes_per_sec(1_472_000)
        );
    }

    #[test]
    fn no_bound_stays_a_large_number() {
        assert!(FULL.payload_of(Bytes::MAX) > Bytes::new(u64::MAX / 2));
    }
}
