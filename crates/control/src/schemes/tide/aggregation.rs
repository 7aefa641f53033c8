//! How much one acknowledgement tells of.
//!
//! A receiver that acknowledges every sixteenth packet keeps the sender waiting until sixteen have arrived. A window that does not
//! hold them beside what the path holds is waited for in vain, until the receiver's timer, and the rate that is measured then is the
//! timer's.

use cellcc_units::Bytes;

/// The largest acknowledgement of this round and of the last one.
#[derive(Debug, Clone, Default)]
pub(super) struct Aggregation {
    last_round: Bytes,
    round: Bytes,
}

impl Aggregation {
    /// What an acknowledgement tells of beyond a packet.
    pub(super) fn beyond(&self, packet: Bytes) -> Bytes {
        self.round.max(self.last_round).saturating_sub(packet)
    }

    pub(super) fn on_ack(&mut self, acked: Bytes) {
        self.round = self.round.max(acked);
    }

    pub(super) fn end_round(&mut self) {
        self.last_round = std::mem::take(&mut self.round);
    }
}
