//! The window estimator: the delay to aim for (paper, equation 4) and the packets of an epoch (equation 5).

use super::delay::EpochDelay;

/// Fewer packets in flight than this, and the program takes its minimum delay for outdated instead of pausing.
const FEW_IN_FLIGHT: u64 = 2;

/// How the delay to aim for moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetRules {
    /// The largest ratio of delay to minimum delay.
    pub(super) r: f64,
    /// Step down where the delay rises, ms.
    pub(super) delta1_ms: f64,
    /// Step up otherwise, and step down above the ratio, ms.
    pub(super) delta2_ms: f64,
    /// The ratio counts the epoch that has ended, as the paper has it, and not the one before, as the program has it.
    pub(super) ratio_of_current: bool,
    /// At the minimum delay and above the ratio nothing is sent.
    pub(super) pause: bool,
    /// How much the minimum delay is raised where it is aimed for in vain with next to nothing in flight, ms.
    pub(super) creep_ms: f64,
}

/// What an epoch decides.
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

/// Equation 5: packets that may leave in an epoch, of which an RTT has `epochs`, for a window of `window` packets.
/// `W_i`, the paper's current sending window, is what is in flight, as in the program. With `ignores_inflight` an RTT of
/// two epochs gets a whole window per epoch, as the equation has it: up to two windows in flight.
pub(super) fn epoch_share(window: f64, inflight: u64, epochs: u64, ignores_inflight: bool) -> u64 {
    let window = window as u64;
    match epochs {
        2 if ignores_inflight => window,
        0..=2 => window.saturating_sub(inflight),
        // Whole numbers in this order, as in the program.
        _ => window.saturating_sub(inflight.saturating_mul(epochs - 2) / (epochs - 1)),
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
                epoch_share(window, inflight, epochs, true),
                share,
                "W {window}, {inflight} in flight, n {epochs}"
            );
        }
        assert_eq!(epoch_share(40.0, 30, 2, true), 40);
        assert_eq!(epoch_share(40.0, 30, 2, false), 10);
    }
}
