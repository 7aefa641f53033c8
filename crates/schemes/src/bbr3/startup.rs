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
            self.startup.drain_began = self.startup.rounds;
        }
    }

    /// Draft section 5.3.2.
    pub(super) fn update_drain(&mut self, ack: &Ack<'_>) {
        let too_long =
            self.constants.drain_has_limit && self.startup.rounds > self.startup.drain_began + DRAIN_ROUNDS;
        if matches!(self.model.common.state, State::Drain) && (ack.inflight <= self.full_pipe() || too_long) {
            self.model.start_down(ack.now);
        }
    }
}
