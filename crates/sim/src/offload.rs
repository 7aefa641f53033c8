//! Receive offload: the driver of a network card holds packets that come one right after the other, and hands them over as one.
//! They are then acknowledged as one, even where there is a gap between them; Linux acknowledges what is beyond a gap by itself.

use crate::packets::DataPacket;
use cellcc_experiment::ReceiveOffload;
use cellcc_units::{Bytes, Span, Time};

/// Packets that the driver of the network card holds: none ever where there is no offload.
#[derive(Debug)]
pub(crate) struct Offload {
    settings: Option<ReceiveOffload>,
    held: Vec<DataPacket>,
    bytes: Bytes,
    /// When they are handed over at the latest; [`Time::NEVER`] where there are none.
    flush_at: Time,
}

impl Offload {
    pub(crate) fn new(settings: Option<ReceiveOffload>) -> Self {
        Self { settings, held: Vec::new(), bytes: Bytes::ZERO, flush_at: Time::NEVER }
    }

    /// True where packets are held before they are handed over.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.settings.is_some()
    }

    /// True where the packet can join those that are held.
    pub(crate) fn has_room(&self, packet: &DataPacket) -> bool {
        let fits = |settings: ReceiveOffload| self.bytes + packet.bytes <= settings.max;
        self.held.is_empty() || self.settings.is_some_and(fits)
    }

    pub(crate) fn hold(&mut self, now: Time, packet: DataPacket) {
        if self.held.is_empty() {
            self.flush_at = now + self.settings.map_or(Span::ZERO, |settings| settings.flush);
        }
        self.bytes += packet.bytes;
        self.held.push(packet);
    }

    /// All that is held; nothing is afterwards.
    pub(crate) fn take(&mut self) -> Vec<DataPacket> {
        self.bytes = Bytes::ZERO;
        self.flush_at = Time::NEVER;
        std::mem::take(&mut self.held)
    }

    /// When what is held is to be handed over; [`Time::NEVER`] where nothing is.
    #[inline]
    pub(crate) fn flush_at(&self) -> Time {
        self.flush_at
    }
}
