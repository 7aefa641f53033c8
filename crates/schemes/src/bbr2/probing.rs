//! ProbeBW: from phase to phase, and what a probe teaches.

use super::bounds::BETA;
use super::cycle::Phase;
use super::{Bbr2, Step};
use crate::bbr::common::State;
use cellcc_units::{Bytes, Span, Time};

impl Bbr2 {
    /// Draft section 4.3.3.6, `BBRUpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, step: &Step) {
        if !self.is_pipe_full() {
            return;
        }
        self.adapt_upper_bound(step);
        if !matches!(self.common.state, State::ProbeBw) {
            return;
        }
        match self.cycle.phase() {
            Phase::Down if self.is_time_to_probe(step.now) => self.start_refill(),
            Phase::Down if self.is_drained(step.inflight) => self.cycle.cruise(),
            Phase::Cruise if self.is_time_to_probe(step.now) => self.start_refill(),
            Phase::Refill if step.round_start => self.start_up(step.now),
            Phase::Up if self.is_probe_over(step) => self.start_down(step.now),
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Time) -> bool {
        let target = self.target_inflight().get() / self.common.packet_size.get();
        self.cycle.is_time_to_probe(now, target)
    }

    /// Draft section 4.3.3.6, `BBRCheckTimeToCruise`.
    fn is_drained(&self, inflight: Bytes) -> bool {
        inflight <= self.bounds.with_headroom(self.common.min_window()) && inflight <= self.inflight(1.0)
    }

    fn is_probe_over(&self, step: &Step) -> bool {
        let at_bound = self.bounds.inflight_hi.is_some_and(|bound| step.inflight >= bound);
        if self.gains.stops_at_bound && self.cycle.was_too_high() && at_bound {
            return true;
        }
        let min_rtt = self.min_rtt.get().unwrap_or(Span::ZERO);
        self.cycle.has_lasted(step.now, min_rtt) && step.inflight > self.inflight(self.gains.up)
    }

    pub(super) fn start_down(&mut self, now: Time) {
        self.bounds.forget_signals();
        self.cycle.down(now);
        self.start_round();
    }

    fn start_refill(&mut self) {
        self.bounds.forget_lower();
        self.cycle.refill();
        self.start_round();
    }

    fn start_up(&mut self, now: Time) {
        self.cycle.up(now, self.common.window, self.common.packet_size);
        self.start_round();
    }

    /// Draft section 4.5.6.2, `BBRAdaptUpperBounds`.
    fn adapt_upper_bound(&mut self, step: &Step) {
        if step.round_start && self.cycle.end_feedback() && matches!(self.common.state, State::ProbeBw) {
            // The samples of a probe have all come.
            if !step.app_limited {
                self.cycles += 1;
            }
        }
        if step.lost.is_too_much() {
            if self.cycle.takes_samples() {
                self.inflight_was_too_high(step.now, step.lost.inflight, step.app_limited);
            }
            return;
        }
        let Some(bound) = self.bounds.inflight_hi else { return };
        let bound = bound.max(step.lost.inflight);
        self.bounds.inflight_hi = Some(bound);
        let probing_up = matches!(self.common.state, State::ProbeBw) && self.cycle.phase() == Phase::Up;
        if probing_up && step.cwnd_limited && self.common.window >= bound {
            let growth =
                self.cycle.grow(step.acked, step.round_start, self.common.window, self.common.packet_size);
            self.bounds.inflight_hi = Some(bound + growth);
        }
    }

    /// Draft section 4.5.6.2, `BBRHandleInflightTooHigh`.
    pub(super) fn inflight_was_too_high(&mut self, now: Time, inflight: Bytes, app_limited: bool) {
        self.cycle.probe_was_too_high();
        if !app_limited {
            let least = self.target_inflight().mul_f64(BETA);
            self.bounds.inflight_hi = Some(inflight.max(least));
        }
        if matches!(self.common.state, State::ProbeBw) && self.cycle.phase() == Phase::Up {
            self.start_down(now);
        }
    }
}
