//! What is in flight, as Verus counts it.

use cellcc_control::Packet;
use cellcc_units::Bytes;

/// Pending losses count until their timer expires, and nothing that a time-out
/// gave up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Inflight {
    pub(super) bytes: Bytes,
    /// As the driver counts it.
    pub(super) on_path: Bytes,
    pub(super) next_number: u64,
    /// Packets before this one were given up.
    pub(super) counted_from: u64,
    /// The first packet since slow start began anew: Verus learns nothing from earlier ones.
    pub(super) first_since_restart: u64,
    /// Packets before this one left into the silence after a time-out: their delay says nothing of their window.
    pub(super) learned_from: u64,
}

impl Inflight {
    pub(super) fn give_up(&mut self) {
        self.bytes = Bytes::ZERO;
        self.counted_from = self.next_number;
    }

    /// Stops at zero: a forged event log may have packets that never left.
    pub(super) fn remove(&mut self, bytes: Bytes) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    pub(super) fn counts(&self, packet: &Packet) -> bool {
        packet.number >= self.counted_from
    }
}
