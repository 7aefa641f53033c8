//! The packets on the links.

use bytes::BytesMut;
use cellcc_link::Packet;
use cellcc_units::Bytes;
use noq_proto::EcnCodepoint;

/// A UDP datagram on a link.
#[derive(Debug, Clone)]
pub struct Datagram {
    /// Size on the link, headers included.
    pub(super) bytes: Bytes,
    pub(super) ecn: Option<EcnCodepoint>,
    pub(super) payload: BytesMut,
}

impl Packet for Datagram {
    #[inline]
    fn size(&self) -> Bytes {
        self.bytes
    }

    fn is_ecn_capable(&self) -> bool {
        self.ecn.is_some()
    }

    fn is_marked(&self) -> bool {
        self.ecn == Some(EcnCodepoint::Ce)
    }

    fn mark_congestion(&mut self) {
        self.ecn = Some(EcnCodepoint::Ce);
    }
}
