//! The window and the pacing rate that follow from the model.

use super::Bbr2;
use super::cycle::Phase;
use crate::bbr::common::State;
use cellcc_control::Ack;
use cellcc_units::{Bytes, Rate};

impl Bbr2 {
    /// Draft section 4.6.4.2, `BBRBDPMultiple`.
    pub(super) fn bdp(&self, bandwidth: Rate, gain: f64) -> Bytes {
        self.common.bdp(bandwidth, self.min_rtt.get(), gain)
    }

    /// Draft section 4.6.4.2, `BBRQuantizationBudget`.
    fn with_quanta(&self, inflight: Bytes) -> Bytes {
        let inflight = inflight.max(self.common.pacing.quantum() * 3).max(self.common.min_window());
        let probes = matches!(self.common.state, State::ProbeBw) && self.cycle.phase() == Phase::Up;
        if probes { inflight + self.common.packet_size * 2 } else { inflight }
    }

    /// Draft section 4.6.4.2, `BBRInflight`, of the largest bandwidth.
    pub(super) fn inflight(&self, gain: f64) -> Bytes {
        self.with_quanta(self.bdp(self.max_bw(), gain))
    }

    /// Draft section 4.3.3.5.3, `BBRTargetInflight`.
    pub(super) fn target_inflight(&self) -> Bytes {
        self.bdp(self.bw(), 1.0).min(self.common.window)
    }

    /// Draft section 4.6.4.6, `BBRSetCwnd`.
    pub(super) fn set_window(&mut self, ack: &Ack<'_>) {
        let bdp = self.bdp(self.bw(), self.cwnd_gain());
        let target = self.with_quanta(bdp + self.common.aggregation.extra(self.bw()));
        self.common.grow_window(ack, target, self.is_pipe_full());
        self.common.window = self.common.window.max(self.common.min_window()).min(self.cap());
    }

    /// Draft sections 4.6.4.5 and 4.6.4.7: what state and bounds allow.
    fn cap(&self) -> Bytes {
        let cap = match self.common.state {
            State::Startup | State::Drain => Bytes::MAX,
            State::ProbeBw if self.cycle.phase() == Phase::Cruise => {
                self.bounds.with_headroom(self.common.min_window())
            }
            State::ProbeBw => self.bounds.inflight_hi.unwrap_or(Bytes::MAX),
            State::ProbeRtt(_) => {
                self.bounds.with_headroom(self.common.min_window()).min(self.probe_rtt_window())
            }
        };
        let cap = self.bounds.inflight_lo.map_or(cap, |bound| cap.min(bound));
        cap.max(self.common.min_window())
    }
}
