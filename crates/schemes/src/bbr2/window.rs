//! The window that follows from the model.

use super::Bbr2;
use super::cycle::Phase;
use cellcc_control::Ack;
use cellcc_units::Bytes;

impl Bbr2 {
    /// Draft section 4.6.4.2, `BBRQuantizationBudget`.
    fn with_quanta(&self, inflight: Bytes) -> Bytes {
        let common = &self.model.common;
        let inflight = inflight.max(common.pacing.quantum() * 3).max(common.min_window());
        if self.model.is_in(Phase::Up) { inflight + common.packet_size * 2 } else { inflight }
    }

    /// Draft section 4.6.4.2, `BBRInflight`, of the largest bandwidth.
    pub(super) fn inflight(&self, gain: f64) -> Bytes {
        self.with_quanta(self.model.bdp(self.model.max_bw(), gain))
    }

    /// Draft section 4.6.4.6, `BBRSetCwnd`.
    pub(super) fn set_window(&mut self, ack: &Ack<'_>) {
        let bandwidth = self.model.bw();
        let bdp = self.model.bdp(bandwidth, self.cwnd_gain());
        let target = self.with_quanta(bdp + self.model.common.aggregation.extra(bandwidth));
        let full = self.model.common.full_pipe.is_reached();
        self.model.common.grow_window(ack, target, full);
        self.model.common.window =
            self.model.common.window.max(self.model.common.min_window()).min(self.model.cap());
    }
}
