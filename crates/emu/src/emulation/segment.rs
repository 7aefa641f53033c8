//! The unit of the links: one packet of at most the MTU, as a reference into a super-packet.

use super::arena::Slot;
use cellcc_link::Packet;
use cellcc_units::{Bytes, Ecn, Time};

/// One segment of a super-packet, or a packet that was whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) slot: Slot,
    /// The segment's index in the super-packet.
    pub(crate) index: u16,
    /// The user whose packet it is.
    pub(crate) user: u16,
    /// The number of the segment's flow.
    pub(crate) flow: u64,
    /// The segment's size on the link, including headers.
    pub(crate) size: u32,
    pub(crate) ecn: Ecn,
    /// Arrival at the path's slowest link, and departure from it.
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
