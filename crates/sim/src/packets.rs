//! What crosses the links.

use crate::receiver::Acknowledgement;
use cellcc_control::{Ecn, Feedback, Signal};
use cellcc_link::Packet;
use cellcc_units::{Bytes, Time};

/// A data packet on the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataPacket {
    pub(crate) flow: u32,
    pub(crate) ecn: Ecn,
    pub(crate) bytes: Bytes,
    pub(crate) number: u64,
    pub(crate) segment: u64,
    pub(crate) sent_at: Time,
    /// What the scheme tells its receiver-side component.
    pub(crate) signal: Option<Signal>,
}

/// An acknowledgement on the reverse path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckPacket {
    pub(crate) flow: u32,
    pub(crate) bytes: Bytes,
    pub(crate) ack: Acknowledgement,
    /// What the receiver-side component sends with it.
    pub(crate) feedback: Option<Feedback>,
}

impl Packet for DataPacket {
    #[inline]
    fn size(&self) -> Bytes {
        self.bytes
    }

    fn is_ecn_capable(&self) -> bool {
        self.ecn != Ecn::NotEct
    }

    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

impl Packet for AckPacket {
    #[inline]
    fn size(&self) -> Bytes {
        self.bytes
    }
}
