//! The unit of the links: one packet of at most the MTU, as a reference into a super-packet.

use super::arena::Slot;
use cellcc_link::Packet;
use cellcc_units::{Bytes, Ecn, Time};

/// One segment of a super-packet, or a packet that was whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) slot: Slot,
    /// Which of the super-packet's segments it is.
    pub(crate) index: u16,
    /// The user whose packet it is.
    pub(crate) user: u16,
    /// Its flow's number.
    pub(crate) flow: u64,
    /// Its size on the link, headers included.
    pub(crate) size: u32,
    pub(crate) ecn: Ecn,
    /// When it arrived at the path's slowest link, and when it left that link.
    pub(crate) queued_at: Time,
    pub(crate) departed_at: Time,
}

impl Packet for Segment {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Ce;
    }
}
