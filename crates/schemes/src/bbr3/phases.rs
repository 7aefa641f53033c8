//! The phases of BBRv3: Startup's end, probing for bandwidth, and the answers to losses.

use super::{Bbr3, Step, Undo};
use crate::{
    bbr::common::State,
    bbr2::{bounds::inflight_when_too_much_was_lost, cycle::Phase},
};
use cellcc_control::{Ack, Event, Loss, Packet};
use cellcc_units::{Bytes, Rate, Time};

// The ends of Startup and of Drain.

/// Draft section 5.3.1.3: separate ranges of lost packets in a round that end Startup (`StartupFullLossCnt`).
const FULL_LOSS_RANGES: u32 = 6;
/// Draft section 5.3.2: Drain lasts so many rounds at most.
const DRAIN_ROUNDS: u64 = 3;

/// Startup's counts, by rounds.
#[derive(Debug, Clone, Default)]
pub(super) struct Startup {
    /// Rounds so far, and those when Drain began.
    rounds: u64,
    drain_began: u64,
    /// Ranges of lost packets in this round, and the last packet of the last range.
    ranges: u32,
    last_lost: Option<u64>,
    /// The flow was in recovery when the last round of losses ended.
    was_recovering: bool,
}

impl Startup {
    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
    }

    fn begin_drain(&mut self) {
        self.drain_began = self.rounds;
    }

    /// Drain has lasted for three rounds, hence a fourth has begun.
    fn has_drained_for_long(&self) -> bool {
        self.rounds > self.drain_began + DRAIN_ROUNDS
    }

    /// Lost packets, oldest first.
    fn on_lost(&mut self, packets: &[Packet]) {
        for packet in packets {
            let goes_on = self.last_lost.is_some_and(|last| packet.number == last + 1);
            self.ranges = self.ranges.saturating_add(u32::from(!goes_on));
            self.last_lost = Some(packet.number);
        }
    }

    /// A round of losses has ended, in recovery or not; true where it was in recovery from its beginning and had enough
    /// ranges.
    fn end_round(&mut self, is_recovering: bool) -> bool {
        let lossy = self.was_recovering && is_recovering && self.ranges >= FULL_LOSS_RANGES;
        (self.was_recovering, self.ranges) = (is_recovering, 0);
        lossy
    }
}

impl Bbr3 {
    /// Draft section 5.3.1.
    pub(super) fn update_startup(&mut self, step: &Step) {
        let common = &mut self.model.common;
        if let Some(rate) = step.rate.filter(|_| !step.app_limited) {
            if step.round_start {
                common.full_pipe.on_round(rate, None);
            } else if self.constants.rises_at_any_ack {
                common.full_pipe.grows(rate);
            }
        }
        if self.model.bounds.has_round_ended() {
            let lossy = self.startup.end_round(self.model.common.recovery.is_active());
            if lossy && step.lost.is_too_much() && !self.model.common.full_pipe.is_reached() {
                self.undo = self.constants.restores_states.then_some(Undo::Startup);
                self.model.common.full_pipe.reach();
                let bdp = self.model.bdp(self.model.max_bw(), 1.0);
                self.model.bounds.inflight_hi = Some(bdp.max(step.inflight_latest));
            }
        }
        let in_startup = matches!(self.model.common.state, State::Startup);
        if in_startup && self.model.common.full_pipe.is_reached() {
            self.model.common.state = State::Drain;
            self.startup.begin_drain();
        }
    }

    /// Draft section 5.3.2.
    pub(super) fn update_drain(&mut self, ack: &Ack<'_>) {
        let too_long = self.constants.drain_has_limit && self.startup.has_drained_for_long();
        if matches!(self.model.common.state, State::Drain) && (ack.inflight <= self.full_pipe() || too_long) {
            self.model.start_down(ack.now);
        }
    }
}

// ProbeBW: from phase to phase, and the result of a probe.

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
    fn inflight_was_too_high(&mut self, now: Time, inflight: Bytes, app_limited: bool) {
        self.model.lower_long_term_bound(inflight, app_limited);
        if self.model.is_in(Phase::Up) {
            self.undo = self.constants.restores_states.then_some(Undo::Up);
            self.model.start_down(now);
        }
    }
}

// Losses, marks, and losses that were none.

impl Bbr3 {
    /// Draft sections 5.5.10.2 and 5.6.4.4. The bounds answer; the window is left alone unless the path may be gone.
    pub(super) fn take_losses(&mut self, loss: &Loss<'_>) {
        self.begin_round_of_losses();
        self.startup.on_lost(loss.packets);
        self.model.common.begin_recovery(loss);
        self.model.bounds.on_loss();
        if self.model.cycle.takes_samples()
            && let Some((inflight, app_limited)) = inflight_when_too_much_was_lost(loss)
        {
            self.inflight_was_too_high(loss.now, inflight, app_limited);
        }
        if loss.persistent {
            self.model.common.window = loss.inflight + self.model.common.packet_size;
        }
    }

    /// A mark counts as a loss in its round, and in a probe as one that went too high.
    pub(super) fn take_mark(&mut self, now: Time) {
        self.begin_round_of_losses();
        self.model.bounds.on_loss();
        if self.model.cycle.takes_samples() {
            self.inflight_was_too_high(now, self.newest_inflight, false);
        }
    }

    /// The first loss of a round: stores the state that a spurious one restores.
    fn begin_round_of_losses(&mut self) {
        if self.model.bounds.has_losses() {
            return;
        }
        self.model.saved_bounds = self.model.bounds;
        self.model.common.save_window();
        self.model.bounds.start_round(self.model.common.delivered);
        self.undo = None;
    }

    /// Draft section 5.5.11.2.
    pub(super) fn undo_losses(&mut self, now: Time) {
        self.model.common.on_event(now, Event::SpuriousLoss);
        self.model.common.full_pipe.reset(Rate::ZERO);
        self.model.bounds.restore(&self.model.saved_bounds);
        let probes_rtt = self.model.common.is_in_probe_rtt();
        match self.undo.take() {
            Some(Undo::Startup) if !matches!(self.model.common.state, State::Startup) => {
                self.model.common.full_pipe.undo();
                if !probes_rtt {
                    self.model.common.state = State::Startup;
                }
            }
            Some(Undo::Up) if !self.model.is_in(Phase::Up) && !probes_rtt => self.model.start_refill(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The draft's case 4.
    #[test]
    fn drain_is_too_long_with_its_fourth_round() {
        let mut startup = Startup::default();
        (0..7).for_each(|_| startup.on_round());
        startup.begin_drain();
        for too_long in [false, false, false, true] {
            startup.on_round();
            assert_eq!(startup.has_drained_for_long(), too_long);
        }
    }

    #[test]
    fn six_ranges_in_a_round_that_was_all_in_recovery_end_startup_and_packets_in_a_row_are_one() {
        let lost = |numbers: &[u64]| -> Vec<Packet> {
            numbers.iter().map(|&number| Packet::new(number, Time::ZERO, Bytes::ZERO)).collect()
        };
        let mut startup = Startup::default();
        assert!(!startup.end_round(true), "in recovery from now on");
        startup.on_lost(&lost(&[10, 11, 12, 20, 30, 40, 50]));
        startup.on_lost(&lost(&[51, 52]));
        assert!(!startup.end_round(true), "five ranges");
        startup.on_lost(&lost(&[60, 70, 80, 90, 100, 110]));
        assert!(startup.end_round(true));
    }
}
