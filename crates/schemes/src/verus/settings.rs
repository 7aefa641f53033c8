//! Settings of Verus: its arguments, in the units that it computes with.

use super::parameters::*;
use super::profile::ProfileRules;
use cellcc_control::{
    Arguments, Parameter,
    kind::{self, TimeOrMultiple},
};
use cellcc_units::Span;

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) epoch: Span,
    pub(super) refit: Span,
    pub(super) target: TargetRules,
    pub(super) profile: ProfileRules,
    /// Share of the window that a loss leaves.
    pub(super) decrease: f64,
    pub(super) average_old_share: f64,
    pub(super) rtt_old_share: f64,
    /// Packets.
    pub(super) initial_window: f64,
    slow_start_delay: TimeOrMultiple,
    /// Packets.
    pub(super) slow_start_loss: f64,
    loss_timer: TimeOrMultiple,
    pub(super) recovery_by_acks: bool,
    pub(super) rto_factor: f64,
    pub(super) rto_min: Span,
    pub(super) rto_max: Span,
    pub(super) restart: bool,
    pub(super) label_is_inflight: bool,
    pub(super) bounded: bool,
    /// Zero: for ever.
    pub(super) min_delay_lifetime: Span,
    pub(super) loss_tolerance: f64,
    pub(super) pacing: bool,
    /// Rules that no parameter has.
    pub(super) rules: Rules,
}

/// Rules for the target delay.
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
    /// Rise of the minimum delay where it cannot be met even with next to nothing in flight, ms.
    pub(super) creep_ms: f64,
}

impl Settings {
    pub(super) fn read(arguments: &Arguments) -> Self {
        let ms = |parameter: &Parameter<kind::Time>| arguments.get(parameter).as_millis_f64();
        Self {
            epoch: arguments.get(&EPOCH),
            refit: arguments.get(&REFIT),
            target: TargetRules {
                r: arguments.get(&R),
                delta1_ms: ms(&DELTA1),
                delta2_ms: ms(&DELTA2),
                ratio_of_current: arguments.get(&RATIO_OF),
                pause: arguments.get(&PAUSE),
                creep_ms: ms(&MIN_DELAY_CREEP),
            },
            profile: ProfileRules {
                fit: arguments.get(&FIT),
                knot_spacing: arguments.get(&KNOT_SPACING) as u64,
                smoothing: arguments.get(&SMOOTHING),
                old_share: arguments.get(&POINT_ALPHA),
                learned: arguments.get(&PROFILE),
                max_window: arguments.get(&MAX_WINDOW),
                lifetime: arguments.get(&POINT_LIFETIME),
            },
            decrease: arguments.get(&M),
            average_old_share: arguments.get(&ALPHA),
            rtt_old_share: arguments.get(&RTT_ALPHA),
            initial_window: arguments.get(&INITIAL_WINDOW) as f64,
            slow_start_delay: arguments.get(&SLOW_START_DELAY),
            slow_start_loss: arguments.get(&SLOW_START_LOSS) as f64,
            loss_timer: arguments.get(&LOSS_TIMER),
            recovery_by_acks: arguments.get(&RECOVERY),
            rto_factor: arguments.get(&RTO),
            rto_min: arguments.get(&RTO_MIN),
            rto_max: arguments.get(&RTO_MAX),
            restart: arguments.get(&RESTART),
            label_is_inflight: arguments.get(&LABEL),
            bounded: arguments.get(&BOUNDED),
            min_delay_lifetime: arguments.get(&MIN_DELAY_LIFETIME),
            loss_tolerance: arguments.get(&LOSS_TOLERANCE),
            pacing: arguments.get(&PACING),
            rules: arguments.get(&PRESET),
        }
    }

    /// Slow start ends above this RTT, in ms.
    pub(super) fn slow_start_delay_ms(&self, min_delay_ms: f64) -> f64 {
        millis(self.slow_start_delay, min_delay_ms)
    }

    /// A missing packet counts as lost after this many ms.
    pub(super) fn loss_timer_ms(&self, last_delay_ms: f64) -> f64 {
        millis(self.loss_timer, last_delay_ms)
    }

    /// The time-out after a delay of `delay_ms`, where there was one.
    pub(super) fn rto(&self, delay_ms: Option<f64>) -> Span {
        let Some(delay_ms) = delay_ms else { return self.rto_max };
        Span::from_secs_f64(self.rto_factor * delay_ms / 1e3).max(self.rto_min).min(self.rto_max)
    }

    /// Epochs in an RTT of `rtt_ms` (equation 5's n).
    pub(super) fn epochs_in(&self, rtt_ms: f64) -> u64 {
        (rtt_ms / self.epoch.as_millis_f64()).ceil() as u64
    }
}

/// In ms, where a multiple counts `delay_ms`.
fn millis(value: TimeOrMultiple, delay_ms: f64) -> f64 {
    match value {
        TimeOrMultiple::Time(span) => span.as_millis_f64(),
        TimeOrMultiple::Multiple(factor) => factor.get() * delay_ms,
    }
}
