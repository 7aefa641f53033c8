//! ProbeBW: from phase to phase, and what a probe teaches.

use super::{Bbr3, Step, Undo};
use crate::bbr::common::State;
use crate::bbr2::cycle::Phase;
use cellcc_control::Ack;
use cellcc_units::{Bytes, Rate, Time};

impl Bbr3 {
    /// Draft section 5.3.3.9.
    pub(super) fn update_cycle(&mut self, ack: &Ack<'_>, step: &Step) {
        if !self.model.common.full_pipe.is_reached()
            || self.model.end_feedback(step.round_start, step.app_limited)
        {
            return;
        }
        if !step.lost.is_too_much() {
            self.model.raise_long_term_bound(ack, step.lost.inflight, step.round_start);
        } else if self.constants.acks_lower_the_bound && self.model.cycle.takes_samples() {
            self.inflight_was_too_high(ack.now, step.lost.inflight, step.app_limited);
        }
        if !matches!(self.model.common.state, State::ProbeBw) {
            return;
        }
        match self.model.cycle.phase() {
            Phase::Down if self.model.is_time_to_probe(ack.now) => self.model.start_refill(),
            Phase::Down if self.model.is_drained(ack.inflight, self.full_pipe()) => self.model.cycle.cruise(),
            Phase::Cruise if self.model.is_time_to_probe(ack.now) => self.model.start_refill(),
            Phase::Refill if step.round_start => self.start_up(ack.now, step.rate),
            Phase::Up => self.update_up(ack, step),
            _ => {}
        }
    }

    fn start_up(&mut self, now: Time, rate: Option<Rate>) {
        self.model.start_up(now);
        self.model.common.full_pipe.reset(rate.unwrap_or(Rate::ZERO));
    }

    /// Up ends at the bound of a lossy probe, or where the bandwidth no longer rises; a window that holds the flow back
    /// says nothing of that.
    fn update_up(&mut self, ack: &Ack<'_>, step: &Step) {
        let bound = self.model.bounds.inflight_hi;
        let held_back = ack.cwnd_limited && bound.is_some_and(|bound| self.model.common.window >= bound);
        let cautiously = self.model.is_at_lossy_bound(ack);
        if held_back && !cautiously {
            self.model.common.full_pipe.reset(step.rate.unwrap_or(Rate::ZERO));
            return;
        }
        if !cautiously && !self.model.common.full_pipe.is_full_now() {
            return;
        }
        self.model.cycle.end_probe(cautiously);
        self.model.start_down(ack.now);
    }

    /// Draft section 5.5.10.2: a probe has lost more than it may.
    pub(super) fn inflight_was_too_high(&mut self, now: Time, inflight: Bytes, app_limited: bool) {
        self.model.lower_long_term_bound(inflight, app_limited);
        if self.model.is_in(Phase::Up) {
            self.undo = self.constants.restores_states.then_some(Undo::Up);
            self.model.start_down(now);
        }
    }
}
