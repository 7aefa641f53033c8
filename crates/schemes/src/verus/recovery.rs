//! The loss handler (paper, section 4, "Loss Handler"; equation 6): what a loss and a time-out do, and how recovery goes and ends.

use super::Verus;
use cellcc_units::{Span, Time};

/// How long a loss is remembered where `bounded`: long against RTTs, short against the life of a point (our choice).
const CAREFUL_AFTER_LOSS: Span = Span::from_secs(3);
/// The program keeps points of smaller windows than this, whatever was lost in slow start.
const KEPT_AFTER_SLOW_START: u64 = 100;

impl Verus {
    pub(super) fn grow_in_recovery(&mut self) {
        self.window = (self.window + 1.0 / self.window).min(self.settings.profile.max_window as f64);
        if self.profile.curve().is_some() {
            let cap = self.profile.delay_ms(self.window);
            self.target_ms = self.target_ms.zip(cap).map(|(target, cap)| target.min(cap));
        }
    }

    pub(super) fn leave_recovery(&mut self) {
        self.in_recovery = false;
        self.suspend_decrease = false;
        self.delays.forget_epoch();
        if self.settings.recovery_by_acks {
            self.target_ms = self.profile.delay_ms(self.window).or(self.target_ms);
        }
    }

    /// Pending losses whose timer has expired are losses: the first loss of a recovery cuts the window.
    pub(super) fn expire_pending_losses(&mut self, now: Time) {
        let mut first = true;
        while let Some(lost) = self.pending_losses.expire(now) {
            self.inflight.remove(lost.bytes);
            self.loss_share.add(true);
            let counts = self.loss_share.get() > self.settings.loss_tolerance;
            if counts && std::mem::take(&mut first) {
                self.answer_loss(now, lost.window);
            }
        }
    }

    fn answer_loss(&mut self, now: Time, lost_window: u64) {
        if !self.in_recovery {
            self.in_recovery = true;
            self.window = self.window.min(self.settings.decrease * lost_window as f64).max(1.0);
            self.target_ms = self.profile.delay_ms(self.window).or(self.target_ms);
            if self.settings.bounded {
                self.ceiling = self.target_ms.map(|target_ms| (now + CAREFUL_AFTER_LOSS, target_ms));
            }
        }
        if self.slow_start && self.window > self.settings.slow_start_loss {
            self.profile.drop_from(lost_window.max(KEPT_AFTER_SLOW_START));
            self.pending_losses.forget();
            self.inflight.give_up();
            self.leave_slow_start(now);
        }
    }

    pub(super) fn time_out(&mut self, now: Time) {
        self.is_silent = self.settings.bounded;
        if self.delays.min_ms().is_none() {
            return self.restart_slow_start();
        }
        if self.slow_start {
            return self.leave_slow_start(now);
        }
        self.in_recovery = true;
        self.pending_losses.forget();
        self.inflight.give_up();
        self.target_ms = self.delays.min_ms();
        self.window = self.target_ms.and_then(|target| self.profile.window(target)).map_or(1.0, |w| w as f64);
    }
}
