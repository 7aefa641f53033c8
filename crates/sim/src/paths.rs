//! The way to the receiver and the way back, from a Scenario.

use cellcc_experiment::{CellSetup, Scenario, Scheduler};
use cellcc_link::{Capacity, CapacitySpec, Cell, CellScheduler, Delay, Delivery, Dropped, Link, LinkConfig, Packet, Poll};
use cellcc_units::{Bytes, Span, Time};
use std::sync::Arc;

/// A data packet on the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataPacket {
    pub(crate) flow: u32,
    pub(crate) bytes: Bytes,
    pub(crate) number: u64,
    pub(crate) segment: u64,
    pub(crate) sent_at: Time,
}

impl Packet for DataPacket {
    #[inline]
    fn size(&self) -> Bytes {
        self.bytes
    }
}

/// The way to the receivers: one link for all, or a cell with a queue for each user.
pub(crate) enum Forward {
    Link(Box<Link<DataPacket>>),
    Cell(Box<Cell<DataPacket>>),
}
