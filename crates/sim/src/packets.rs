//! The packets of a flow: data, and acknowledgements on the way back.

use cellcc_control::{Ecn, Signal};
use cellcc_link::Packet;
use cellcc_units::{Bytes, Span};
use std::num::NonZeroU64;

/// A data packet on the link.
#[derive(Debug, Clone, Copy)]
pub struct DataPacket {
    pub(crate) bytes: Bytes,
    pub(crate) number: u64,
    /// Which part of the data it carries.
    pub(crate) segment: u64,
    pub(crate) ecn: Ecn,
    /// The scheme's signal to its receiver-side component.
    pub(crate) signal: Option<Signal>,
}

/// An acknowledgement of the first `upto` packets that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    pub(crate) upto: u64,
    /// How long the newest packet waited for this acknowledgement to leave.
    pub(crate) delay: Span,
}

impl Acknowledgement {
    /// True where this one tells all that `older` tells.
    pub(crate) fn covers(&self, older: &Self) -> bool {
        self.upto >= older.upto
    }
}

/// An acknowledgement on the reverse path.
#[derive(Debug, Clone, Copy)]
pub struct AckPacket {
    pub(crate) bytes: Bytes,
    pub(crate) ack: Acknowledgement,
    /// The number of the feedback that goes with it, see [`Receiver::take_feedback`](crate::receiver::Receiver::take_feedback).
    pub(crate) feedback: Option<NonZeroU64>,
}

impl Packet for DataPacket {
    #[inline]
    fn size(&self) -> Bytes {
        self.bytes
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
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

    /// An acknowledgement that carries something else is left alone, as one with an unknown option is by CAKE.
    fn supersedes(&self, older: &Self) -> bool {
        older.feedback.is_none() && self.ack.covers(&older.ack)
    }
}
