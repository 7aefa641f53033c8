//! The packets on the links.

use bytes::BytesMut;
use cellcc_link::Packet;
use cellcc_units::{Bytes, Ecn};
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

    fn ecn(&self) -> Ecn {
        match self.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        }
    }

    fn mark_congestion(&mut self) {
        self.ecn = Some(EcnCodepoint::Ce);
    }
}
