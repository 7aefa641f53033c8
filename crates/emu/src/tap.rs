//! A tap: observes packets as they pass.

use cellcc_link::Delivery;
use cellcc_units::{Bytes, Time};

/// One packet of at most the MTU. Programs and the kernel hand over super-packets; a link carries their segments.
#[derive(Debug, Clone, Copy)]
pub struct SegmentView<'a> {
    /// IP and transport headers of the super-packet: the sequence number is that of the first segment. A packet that
    /// was not part of a super-packet is here as a whole, with its payload; then the two numbers below are zero.
    pub headers: &'a [u8],
    /// Bytes of payload in the segments before this one.
    pub offset: u32,
    /// Bytes of payload in this segment.
    pub payload: u32,
    /// The packet's size on the link, including headers.
    pub bytes: Bytes,
}

/// Observes the packets of one direction, in its thread. Times are on the emulation's clock.
pub trait Tap: Send {
    /// A program's packet was read from its device.
    fn arrived(&mut self, at: Time, segment: &SegmentView<'_>);
    /// A stage dropped the packet.
    fn dropped(&mut self, at: Time, segment: &SegmentView<'_>);
    /// The packet was written to the device at the other end. The delivery's times are those of the schedule: queued at
    /// the slowest stage with a queue and departed from there, and arrived at the end of the path.
    fn delivered(&mut self, delivery: &Delivery<()>, segment: &SegmentView<'_>);
}
