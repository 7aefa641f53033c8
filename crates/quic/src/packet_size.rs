//! Sizes of packets on the link and as noq counts them.

use cellcc_units::{Bytes, Rate};

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

    /// The UDP payload in so many bytes of full packets on the link.
    pub fn payload_of(self, on_link: Bytes) -> Bytes {
        Bytes::new(self.scaled(on_link.get()))
    }

    /// The rate of UDP payload at which full packets have this rate on the link.
    pub fn payload_rate(self, on_link: Rate) -> Rate {
        Rate::from_bytes_per_sec(self.scaled(on_link.as_bytes_per_sec()))
    }

    fn scaled(self, value: u64) -> u64 {
        let (payload, on_link) = (self.payload.get(), self.on_link().get().max(1));
        match value.checked_mul(payload) {
            Some(product) => product / on_link,
            None => {
                let scaled = u128::from(value) * u128::from(payload) / u128::from(on_link);
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
        }
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
