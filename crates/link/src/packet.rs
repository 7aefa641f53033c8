//! The input and output of a link.

use cellcc_units::{Bytes, Ecn, Time};

/// The packet type of a link.
pub trait Packet {
    /// Size on the link, headers included.
    fn size(&self) -> Bytes;

    /// Which flow it belongs to: one number for all packets of a flow. Queues of flows tell flows apart by it.
    fn flow(&self) -> u64 {
        0
    }

    /// The congestion codepoint in its IP header.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// A queue may mark it (RFC 3168).
    fn is_ecn_capable(&self) -> bool {
        self.ecn() != Ecn::NotEct
    }

    /// A queue has marked it.
    fn is_marked(&self) -> bool {
        self.ecn() == Ecn::Ce
    }

    /// Notes that the path is congested: CE in the IP header. Called only where [`Packet::is_ecn_capable`].
    fn mark_congestion(&mut self) {}

    /// True where both are acknowledgements and nothing else, of one flow, and this one says all that `older` says: a queue may
    /// then drop `older`.
    fn supersedes(&self, _older: &Self) -> bool {
        false
    }
}

/// A packet that reached the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The packet.
    pub packet: P,
    /// When it was enqueued.
    pub queued_at: Time,
    /// When its last byte left the link: the queueing delay ends here.
    pub departed_at: Time,
    /// When it arrives: after the propagation delay.
    pub arrived_at: Time,
}

/// A packet that was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet.
    pub packet: P,
    /// When it was dropped.
    pub at: Time,
    /// Why.
    pub reason: DropReason,
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// Random loss.
    Loss,
    /// The queue is at its limit.
    QueueFull,
    /// The oldest of a drop-head queue, or of the longest of the flows' queues: it made room for a newer one.
    QueueHead,
    /// Active queue management decided so, CoDel, PIE or RED.
    Aqm,
    /// It came faster than a policer lets pass.
    Policed,
    /// An acknowledgement, and newer ones wait that say all it says.
    AckFilter,
}

/// The output of a link for its driver: deliveries `T`, and drops `D` of packets that had been admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poll<T, D> {
    /// A packet has arrived; ask again, there may be more.
    Ready(T),
    /// A packet that waited was dropped; ask again, there may be more.
    Dropped(D),
    /// Nothing yet: ask again at this time.
    Wake(Time),
    /// No packet in the link now will arrive.
    Idle,
}
