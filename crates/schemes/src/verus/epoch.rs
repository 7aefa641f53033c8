//! The decisions of an epoch, a loss and a time-out. At the end of an epoch: the delay to aim for, the window that has it, and
//! the packets that may leave.

use super::parameters::Rules;
use super::settings::TargetRules;
use super::signals::EpochDelay;
use super::{Verus, signals};
use cellcc_units::{Span, Time};

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
        // An epoch without acknowledgements shows the silence, not the path: `robust` learns no minimum from it.
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
            signals::PROBE_WINDOW.saturating_sub(inflight)
        } else if step.pause {
            0
        } else {
            epoch_share(self.window, inflight, epochs, self.settings.rules)
        };
        self.budget = self.packet_size * share;
        self.epoch_share = self.budget;
    }

    /// Rise of the target delay in an epoch, ms: zero if the application left some of the budget unused; delta2 per RTT
    /// instead of per epoch if the target is at least the one that a recent loss left.
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

// The window estimator: the delay to aim for (paper, equation 4) and the packets of an epoch (equation 5).

/// Fewer packets in flight than this, and the program takes its minimum delay for outdated instead of pausing.
const FEW_IN_FLIGHT: u64 = 2;

/// The decision of an epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// The delay to aim for, ms.
    pub(super) target_ms: f64,
    /// The minimum delay, raised or not, ms.
    pub(super) min_ms: f64,
    /// Nothing is sent in the coming epoch.
    pub(super) pause: bool,
}

impl TargetRules {
    /// Equation 4. The target is held where something else decides: without `may_fall` right after slow start, with a
    /// `rise_ms` of zero (otherwise delta2) while the application limits the flow.
    pub(super) fn step(
        &self,
        target_ms: f64,
        min_ms: f64,
        delay: &EpochDelay,
        inflight: u64,
        may_fall: bool,
        rise_ms: f64,
    ) -> Step {
        let level = if self.ratio_of_current { delay.after_ms } else { delay.before_ms };
        let stay = Step { target_ms, min_ms, pause: false };
        if level > self.r * min_ms {
            if !may_fall {
                return stay;
            }
            let target_ms = min_ms.max(target_ms - self.delta2_ms);
            let at_minimum = target_ms <= min_ms;
            let few = inflight < FEW_IN_FLIGHT;
            let creep = if at_minimum && few { self.creep_ms } else { 0.0 };
            Step { target_ms, min_ms: min_ms + creep, pause: self.pause && at_minimum && !few }
        } else if delay.rising {
            Step { target_ms: min_ms.max(target_ms - self.delta1_ms), ..stay }
        } else {
            Step { target_ms: target_ms + rise_ms, ..stay }
        }
    }
}

/// Equation 5: packets that may leave in an epoch, for a window of `window` packets and an RTT of `epochs` epochs.
/// `W_i`, the paper's current sending window, is the number of packets in flight, as in the program. By the equation an RTT of
/// two epochs gets a whole window per epoch: up to two windows in flight. With one epoch it divides by zero: `paper` counts two
/// there, the program fills the window.
pub(super) fn epoch_share(window: f64, inflight: u64, epochs: u64, rules: Rules) -> u64 {
    let window = window as u64;
    match (rules, epochs) {
        (Rules::Robust, 0..=2) | (Rules::Authors, 0..=1) => window.saturating_sub(inflight),
        (_, 0..=2) => window,
        // Whole numbers in this order, as in the program.
        _ => window.saturating_sub(inflight.saturating_mul(epochs - 2) / (epochs - 1)),
    }
}

// The loss handler (paper, section 4, "Loss Handler"; equation 6): the response to losses and time-outs, and recovery.

/// Time for which a loss is remembered where `bounded`: long against RTTs, short against the life of a point (our choice).
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
    fn expire_pending_losses(&mut self, now: Time) {
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
        if !std::mem::replace(&mut self.in_recovery, true) {
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
        let is_paper = self.settings.rules == Rules::Paper;
        if self.slow_start && !is_paper {
            return self.leave_slow_start(now);
        }
        self.pending_losses.forget();
        self.inflight.give_up();
        if is_paper {
            // The next one also cuts.
            self.in_recovery = false;
            return self.answer_loss(now, self.window as u64);
        }
        self.in_recovery = true;
        self.target_ms = self.delays.min_ms();
        self.window = self.target_ms.and_then(|target| self.profile.window(target)).map_or(1.0, |w| w as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: TargetRules = TargetRules {
        r: 2.0,
        delta1_ms: 1.0,
        delta2_ms: 2.0,
        ratio_of_current: false,
        pause: true,
        creep_ms: 10.0,
    };

    fn delay(before_ms: f64, after_ms: f64) -> EpochDelay {
        EpochDelay { before_ms, after_ms, rising: after_ms > before_ms }
    }

    fn target(target_ms: f64, delay: EpochDelay) -> f64 {
        RULES.step(target_ms, 20.0, &delay, 10, true, 2.0).target_ms
    }

    #[test]
    fn the_target_falls_where_the_delay_rises_and_rises_where_it_does_not() {
        assert_eq!(target(30.0, delay(25.0, 26.0)), 29.0);
        assert_eq!(target(30.0, delay(25.0, 25.0)), 32.0);
        assert_eq!(target(30.0, delay(25.0, 24.0)), 32.0);
        assert_eq!(target(20.5, delay(25.0, 26.0)), 20.0, "not below the minimum");
    }

    #[test]
    fn above_the_ratio_it_falls_by_the_large_step_even_where_the_delay_falls() {
        assert_eq!(target(50.0, delay(41.0, 30.0)), 48.0);
        let literal = TargetRules { ratio_of_current: true, ..RULES };
        assert_eq!(literal.step(50.0, 20.0, &delay(41.0, 30.0), 10, true, 2.0).target_ms, 52.0);
    }

    #[test]
    fn at_the_minimum_and_above_the_ratio_the_flow_pauses_or_doubts_the_minimum() {
        let step = |inflight| RULES.step(21.0, 20.0, &delay(50.0, 50.0), inflight, true, 2.0);
        assert_eq!(step(2), Step { target_ms: 20.0, min_ms: 20.0, pause: true });
        assert_eq!(step(1), Step { target_ms: 20.0, min_ms: 30.0, pause: false });
    }

    #[test]
    fn the_target_is_held_where_something_else_decides() {
        let step = |delay, may_fall, rise_ms| RULES.step(50.0, 20.0, &delay, 10, may_fall, rise_ms).target_ms;
        assert_eq!(step(delay(90.0, 90.0), false, 2.0), 50.0);
        assert_eq!(step(delay(30.0, 30.0), true, 0.0), 50.0);
    }

    #[test]
    fn the_share_of_an_epoch_keeps_the_window_in_flight() {
        // Eleven epochs per RTT: with the window in flight, a tenth of it.
        for (window, inflight, epochs, share) in [
            (100.0, 100, 11, 10),
            (100.0, 0, 11, 100),
            (100.0, 111, 11, 1),
            (100.0, 112, 11, 0),
            (100.9, 100, 11, 10),
            (100.0, 150, 11, 0),
            (40.0, 30, 1, 10),
            (40.0, 50, 1, 0),
            (1.0, 1, 5, 1),
            (1.0, 2, 5, 0),
        ] {
            assert_eq!(
                epoch_share(window, inflight, epochs, Rules::Authors),
                share,
                "W {window}, {inflight} in flight, n {epochs}"
            );
        }
        for (rules, of_one, of_two) in
            [(Rules::Paper, 40, 40), (Rules::Authors, 10, 40), (Rules::Robust, 10, 10)]
        {
            assert_eq!(
                [1, 2].map(|epochs| epoch_share(40.0, 30, epochs, rules)),
                [of_one, of_two],
                "{rules:?}"
            );
        }
    }
}
