//! Receive offload: the driver of a network card holds packets that come one right after the other, and hands them over as one.
//! They are then acknowledged as one, even where there is a gap between them; Linux acknowledges what is beyond a gap by itself.

use cellcc_control::{Ecn, Signal};
use cellcc_experiment::ReceiveOffload;
use cellcc_units::{Bytes, Time};

/// A packet as it comes from the network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incoming {
    pub(crate) number: u64,
    /// Which part of the data it carries.
    pub(crate) segment: u64,
    pub(crate) bytes: Bytes,
    pub(crate) ecn: Ecn,
    /// What it tells the receiver-side component.
    pub(crate) signal: Option<Signal>,
}

/// Packets that the driver of the network card holds.
#[derive(Debug)]
pub(crate) struct Offload {
    settings: ReceiveOffload,
    held: Vec<Incoming>,
    bytes: Bytes,
    /// When they are handed over at the latest; [`Time::NEVER`] where there are none.
    flush_at: Time,
}

impl Offload {
    pub(crate) fn new(settings: ReceiveOffload) -> Self {
        Self { settings, held: Vec::new(), bytes: Bytes::ZERO, flush_at: Time::NEVER }
    }

    /// True where the packet can join those that are held.
    pub(crate) fn has_room(&self, packet: &Incoming) -> bool {
        self.held.is_empty() || self.bytes + packet.bytes <= self.settings.max
    }

    pub(crate) fn hold(&mut self, now: Time, packet: Incoming) {
        if self.held.is_empty() {
            self.flush_at = now + self.settings.flush;
        }
        self.bytes += packet.bytes;
        self.held.push(packet);
    }

    /// All that is held; nothing is afterwards.
    pub(crate) fn take(&mut self) -> Vec<Incoming> {
        self.bytes = Bytes::ZERO;
        self.flush_at = Time::NEVER;
        std::mem::take(&mut self.held)
    }

    /// When what is held is to be handed over; [`Time::NEVER`] where nothing is.
    pub(crate) fn flush_at(&self) -> Time {
        self.flush_at
    }
}
