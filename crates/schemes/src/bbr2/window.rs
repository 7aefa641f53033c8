//! The window and the pacing rate that follow from the model.

use super::cycle::Phase;
use super::{Bbr2, State};
use crate::bbr::pacing::paced;
use cellcc_control::Ack;
use cellcc_units::{Bytes, Rate, Span};

impl Bbr2 {
    /// Draft section 4.6.4.2, `BBRBDPMultiple`.
    pub(super) fn bdp(&self, bandwidth: Rate, gain: f64) -> Bytes {
        match self.min_rtt.get() {
            Some(min_rtt) => bandwidth.bytes_in(min_rtt).mul_f64(gain),
            None => self.initial_window,
        }
    }

    /// Draft section 4.6.4.2, `BBRQuantizationBudget`.
    fn with_quanta(&self, inflight: Bytes) -> Bytes {
        let inflight = inflight.max(self.pacing.quantum() * 3).max(self.min_window());
        let probes = matches!(self.state, State::ProbeBw) && self.cycle.phase() == Phase::Up;
        if probes { inflight + self.packet_size * 2 } else { inflight }
    }

    /// Draft section 4.6.4.2, `BBRInflight`, of the largest bandwidth.
    pub(super) fn inflight(&self, gain: f64) -> Bytes {
        self.with_quanta(self.bdp(self.max_bw(), gain))
    }

    /// Draft section 4.3.3.5.3, `BBRTargetInflight`.
    pub(super) fn target_inflight(&self) -> Bytes {
        self.bdp(self.bw(), 1.0).min(self.window)
    }

    pub(super) fn set_pacing_rate(&mut self, srtt: Span) {
        if !self.has_seen_rtt {
            self.has_seen_rtt = true;
            let rate = Rate::from_transfer(self.window, srtt);
            self.pacing.pace_at(paced(rate, self.gains.startup_pacing));
        }
        let rate = paced(self.bw(), self.pacing_gain());
        if self.is_pipe_full() || rate > self.pacing.rate() {
            self.pacing.pace_at(rate);
        }
    }

    /// Draft section 4.6.4.6, `BBRSetCwnd`.
    pub(super) fn set_window(&mut self, ack: &Ack<'_>) {
        if self.recovery.update(ack) {
            self.window = self.window.max(self.recovery.prior_window());
        }
        if self.recovery.is_conserving() {
            self.window = self.window.max(ack.inflight + ack.bytes);
        } else {
            let bdp = self.bdp(self.bw(), self.cwnd_gain());
            let target = self.with_quanta(bdp + self.aggregation.extra(self.bw()));
            if self.is_pipe_full() {
                self.window = target.min(self.window + ack.bytes);
            } else if self.window < target || self.delivered < self.initial_window {
                self.window += ack.bytes;
            }
        }
        self.window = self.window.max(self.min_window()).min(self.cap());
    }

    /// Draft sections 4.6.4.5 and 4.6.4.7: what state and bounds allow.
    fn cap(&self) -> Bytes {
        let cap = match self.state {
            State::Startup | State::Drain => Bytes::MAX,
            State::ProbeBw if self.cycle.phase() == Phase::Cruise => {
                self.bounds.with_headroom(self.min_window())
            }
            State::ProbeBw => self.bounds.inflight_hi.unwrap_or(Bytes::MAX),
            State::ProbeRtt(_) => self.bounds.with_headroom(self.min_window()).min(self.probe_rtt_window()),
        };
        let cap = self.bounds.inflight_lo.map_or(cap, |bound| cap.min(bound));
        cap.max(self.min_window())
    }
}
