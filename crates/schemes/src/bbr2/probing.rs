//! ProbeBW: from phase to phase, and what a probe teaches.

use super::cycle::Phase;
use super::{Bbr2, Step};
use crate::bbr::common::State;
use cellcc_control::Ack;
use cellcc_units::{Bytes, Span, Time};

impl Bbr2 {
    /// Draft section 4.3.3.6, `BBRUpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, ack: &Ack<'_>, step: &Step) {
        if !self.model.common.full_pipe.is_reached() {
            return;
        }
        if self.model.end_feedback(step.round_start, step.app_limited) {
            return;
        }
        self.adapt_upper_bound(ack, step);
        if !matches!(self.model.common.state, State::ProbeBw) {
            return;
        }
        match self.model.cycle.phase() {
            Phase::Down if self.model.is_time_to_probe(ack.now) => self.model.start_refill(),
            Phase::Down if self.model.is_drained(ack.inflight, self.inflight(1.0)) => {
                self.model.cycle.cruise()
            }
            Phase::Cruise if self.model.is_time_to_probe(ack.now) => self.model.start_refill(),
            Phase::Refill if step.round_start => self.model.start_up(ack.now),
            Phase::Up => self.update_up(ack),
            _ => {}
        }
    }

    fn update_up(&mut self, ack: &Ack<'_>) {
        let cautiously = self.gains.stops_at_bound && self.model.is_at_lossy_bound(ack);
        let min_rtt = self.model.min_rtt.get().unwrap_or(Span::ZERO);
        let is_full =
            self.model.cycle.has_lasted(ack.now, min_rtt) && ack.inflight > self.inflight(self.gains.up);
        if cautiously || is_full {
            self.model.cycle.end_probe(cautiously);
            self.model.start_down(ack.now);
        }
    }

    /// Draft section 4.5.6.2, `BBRAdaptUpperBounds`.
    fn adapt_upper_bound(&mut self, ack: &Ack<'_>, step: &Step) {
        if !step.lost.is_too_much() {
            self.model.raise_long_term_bound(ack, step.lost.inflight, step.round_start);
        } else if self.model.cycle.takes_samples() {
            self.inflight_was_too_high(ack.now, step.lost.inflight, step.app_limited);
        }
    }

    /// Draft section 4.5.6.2, `BBRHandleInflightTooHigh`.
    pub(super) fn inflight_was_too_high(&mut self, now: Time, inflight: Bytes, app_limited: bool) {
        self.model.lower_long_term_bound(inflight, app_limited);
        if self.model.is_in(Phase::Up) {
            self.model.start_down(now);
        }
    }
}
