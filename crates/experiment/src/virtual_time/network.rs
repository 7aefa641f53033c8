//! The actions of a flow's ends on the network.

use super::Ends;
use crate::FlowMeter;
use cellcc_link::{ForwardPath, Link, Packet};
use cellcc_units::{Bytes, Ecn, Time};

/// A packet of a flow on the path.
#[derive(Debug, Clone)]
pub struct InTransit<P> {
    pub(super) flow: u32,
    pub(super) packet: P,
}

impl<P: Packet> Packet for InTransit<P> {
    #[inline]
    fn size(&self) -> Bytes {
        self.packet.size()
    }

    fn flow(&self) -> u64 {
        u64::from(self.flow)
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }

    #[inline]
    fn mark_congestion(&mut self) {
        self.packet.mark_congestion();
    }

    fn supersedes(&self, older: &Self) -> bool {
        self.flow == older.flow && self.packet.supersedes(&older.packet)
    }
}

/// State of a flow that the loop keeps for its ends.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct FlowSide {
    pub(super) index: u32,
    pub(super) user: usize,
    pub(super) last_sent_at: Time,
    pub(super) meter: FlowMeter,
}

/// The links that all flows share.
pub(super) struct Path<E: Ends> {
    pub(super) forward: ForwardPath<InTransit<E::Data>>,
    pub(super) reverse: Link<InTransit<E::Ack>>,
    pub(super) scratch: E::Scratch,
}

/// The path at one moment, as the ends of one flow reach it.
pub struct Network<'a, E: Ends> {
    pub(super) now: Time,
    pub(super) path: &'a mut Path<E>,
    pub(super) flow: &'a mut FlowSide,
}

impl<E: Ends> Network<'_, E> {
    /// The time.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The sending end sends a packet; `retransmission`: it repeats data of a lost one.
    pub fn send_data(&mut self, packet: E::Data, retransmission: bool) {
        self.flow.meter.on_sent(retransmission);
        self.flow.last_sent_at = self.now;
        let packet = InTransit { flow: self.flow.index, packet };
        if self.path.forward.enqueue(self.now, self.flow.user, packet).is_err() {
            self.flow.meter.on_lost();
        }
    }

    /// The receiving end sends an acknowledgement. One that is lost is made good by the next.
    pub fn send_ack(&mut self, packet: E::Ack) {
        self.flow.meter.on_ack_sent();
        let packet = InTransit { flow: self.flow.index, packet };
        let _ = self.path.reverse.enqueue(self.now, packet);
    }

    /// Memory that an end may fill while it does something, and that the next end fills again.
    #[inline]
    pub fn scratch(&mut self) -> &mut E::Scratch {
        &mut self.path.scratch
    }

    /// The flow's meter: the sending end adds its RTT samples.
    #[inline]
    pub fn meter(&mut self) -> &mut FlowMeter {
        &mut self.flow.meter
    }
}
