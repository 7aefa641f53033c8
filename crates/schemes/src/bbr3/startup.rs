//! The ends of Startup and of Drain.

use super::{Bbr3, Step, Undo};
use crate::bbr::common::State;
use cellcc_control::{Ack, Packet};

/// Draft section 5.3.1.3: separate ranges of lost packets in a round that end Startup (`StartupFullLossCnt`).
const FULL_LOSS_RANGES: u32 = 6;
/// Draft section 5.3.2: Drain lasts so many rounds at most.
const DRAIN_ROUNDS: u64 = 3;

/// What Startup counts, by rounds.
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
    pub(super) fn on_lost(&mut self, packets: &[Packet]) {
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
            numbers.iter().map(|&number| Packet { number, ..Packet::default() }).collect()
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
