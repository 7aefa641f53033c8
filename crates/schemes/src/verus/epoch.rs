//! What happens at the end of an epoch: the delay to aim for, the window that has it, and the packets that may leave.

use super::window::epoch_share;
use super::{Verus, min_delay};
use cellcc_units::Time;

/// Slow start doubles: no bounded window grows faster over the windows that have been tried.
const GROWTH: f64 = 2.0;

impl Verus {
    pub(super) fn end_epoch(&mut self, now: Time) {
        self.expire_pending_losses(now);
        if self.slow_start {
            return self.fill_slow_start_budget();
        }
        if now >= self.refit_at {
            self.draw_profile(now);
        }
        // What an epoch without acknowledgements shows is the silence, not the path: `robust` learns no minimum from it.
        let may_creep = self.delays.has_heard() || !self.settings.bounded;
        let (Some(min_ms), Some(delay)) = (self.delays.min_ms(), self.delays.end_epoch(now)) else { return };
        let target_ms = self.target_ms.unwrap_or(min_ms);
        let min_ms = self.probe.end_epoch(now, min_ms, self.packets_in_flight());
        let epochs = self.settings.epochs_in(self.delays.smoothed_ms().unwrap_or(min_ms));
        let rise_ms = self.rise_ms(now, target_ms, epochs);
        let inflight = self.packets_in_flight();
        let step =
            self.settings.target.step(target_ms, min_ms, &delay, inflight, !self.suspend_decrease, rise_ms);
        self.delays.set_min_ms(if may_creep { step.min_ms } else { min_ms });
        self.target_ms = Some(self.bounded_target(step.target_ms, min_ms));
        if !(self.in_recovery && self.settings.recovery_by_acks) {
            match self.profile.window(self.target_ms.unwrap_or(min_ms)) {
                Some(window) => self.window = self.bounded_window(window as f64),
                None if self.settings.restart => return self.restart_slow_start(),
                None => {}
            }
        }
        let share = if self.probe.is_running() {
            min_delay::PROBE_WINDOW.saturating_sub(inflight)
        } else if step.pause {
            0
        } else {
            epoch_share(self.window, inflight, epochs, self.settings.short_rtt_ignores_inflight)
        };
        self.budget = self.packet_size * share;
        self.epoch_share = self.budget;
    }

    /// The step by which the delay aimed for rises: none where the application left some of the budget unused; once per
    /// RTT, and not per epoch, above where a loss has left it lately.
    fn rise_ms(&self, now: Time, target_ms: f64, epochs: u64) -> f64 {
        let step = self.settings.target.delta2_ms;
        let is_careful = |&(until, ceiling_ms): &(Time, f64)| now < until && target_ms >= ceiling_ms;
        match self.ceiling.filter(is_careful) {
            _ if self.has_unused_budget() => 0.0,
            Some(_) => step / epochs.max(1) as f64,
            None => step,
        }
    }

    fn bounded_target(&self, target_ms: f64, min_ms: f64) -> f64 {
        if self.settings.bounded { target_ms.min(self.settings.target.r * min_ms) } else { target_ms }
    }

    fn bounded_window(&self, window: f64) -> f64 {
        if self.settings.bounded {
            window.min(GROWTH * self.profile.largest_window() as f64).max(1.0)
        } else {
            window
        }
    }
}
