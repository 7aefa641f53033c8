//! What goes into a link, and what comes out of it.

use cellcc_units::{Bytes, Time};

/// What a link carries.
pub trait Packet {
    /// Size on the link, headers included.
    fn size(&self) -> Bytes;
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

/// A packet that was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet.
    pub packet: P,
    /// Why.
    pub reason: DropReason,
}

/// Why a packet was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// Random loss.
    Loss,
    /// The queue is at its limit.
    QueueFull,
}

/// What a link has for its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poll<T> {
    /// A packet has arrived; ask again, there may be more.
    Ready(T),
    /// Nothing yet: ask again at this time.
    Wake(Time),
    /// Nothing will arrive from what is in the link now.
    Idle,
}
