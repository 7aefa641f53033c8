//! Losses, marks, and losses that were none.

use super::Bbr3;
use crate::bbr::common::State;
use crate::bbr2::bounds::inflight_when_too_much_was_lost;
use crate::bbr2::cycle::Phase;
use cellcc_control::{Event, Loss};
use cellcc_units::{Rate, Time};

/// The state that losses have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undo {
    Startup,
    Up,
}

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

    /// The first loss of a round: remembers what a spurious one gives back.
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
