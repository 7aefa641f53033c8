//! What crosses the links.

use crate::receiver::Acknowledgement;
use cellcc_control::{Feedback, Signal};
use cellcc_link::Packet;
use cellcc_units::{Bytes, Time};

/// A data packet on the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataPacket {
    pub(crate) flow: u32,
    pub(crate) bytes: Bytes,
    pub(crate) number: u64,
    pub(crate) segment: u64,
    pub(crate) sent_at: Time,
    pub(crate) signal: Option<Signal>,
}

/// An acknowledgement on the way back.
#[derive(Debug, Clone)]
pub(crate) struct AckPacket {
    pub(crate) flow: u32,
    pub(crate) bytes: Bytes,
    pub(crate) ack: Acknowledgement,
    /// What the scheme's half at the receiver sends with it.
    pub(crate) feedback: Option<Box<Feedback>>,
}

impl Packet for DataPacket {
    #[inline]
    fn size(&self) -> Bytes {
        self.bytes
    }
}

impl Packet for AckPacket {
    #[inline]
    fn size(&self) -> Bytes {
        self.bytes
    }
}
