//! How long the queue is, and how long it shall be.
//!
//! The queueing delay is the smallest RTT of a tick less the base RTT: what every packet of the tick waited. The swing, largest
//! less smallest RTT within a base RTT, is the link's own: no decision of the sender reaches the queue within that time. A smooth
//! link has a small swing and needs little in the queue to stay busy; one that serves in bursts has a large swing, and runs empty
//! between bursts unless more waits.

use super::delivery::TICKS_PER_BASE_RTT;
use super::settings::Settings;
use cellcc_units::Span;

/// Prototype: by which part of a base RTT the estimate of the swing moves in a tick.
const SWING_STEP: u64 = 80;

/// The queue as the last ticks show it.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    /// RTTs since the last tick.
    present: Option<Extremes>,
    /// RTTs of the last ticks, which are a base RTT; none where no sample came.
    ticks: [Option<Extremes>; TICKS_PER_BASE_RTT as usize],
    delay: Span,
    swing: Span,
}

#[derive(Debug, Clone, Copy)]
struct Extremes {
    min: Span,
    max: Span,
}

impl Extremes {
    fn with(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

impl Queue {
    /// The queueing delay of the last tick that had a sample.
    pub(super) fn delay(&self) -> Span {
        self.delay
    }

    /// A quantile of largest less smallest RTT within a base RTT.
    pub(super) fn swing(&self) -> Span {
        self.swing
    }

    /// The queueing delay to aim for.
    pub(super) fn target(&self, settings: &Settings) -> Span {
        let target = settings.delay + self.swing.mul_f64(settings.share_of_swing());
        target.min(settings.max_target.max(settings.delay))
    }

    pub(super) fn add(&mut self, sample: Span) {
        let sample = Extremes { min: sample, max: sample };
        self.present = Some(self.present.map_or(sample, |present| present.with(sample)));
    }

    pub(super) fn on_tick(&mut self, base_rtt: Span, settings: &Settings) {
        self.ticks.rotate_left(1);
        self.ticks[self.ticks.len() - 1] = self.present;
        let Some(present) = self.present.take() else { return };
        self.delay = present.min.saturating_sub(base_rtt);
        let all = self.ticks.iter().flatten().fold(present, |all, &tick| all.with(tick));
        self.move_swing(all.max.saturating_sub(all.min), base_rtt / SWING_STEP, settings.swing_quantile);
    }

    /// Up by `quantile` steps for a sample above the estimate, down by the rest of a step for another: in balance where that
    /// share of the samples is below it.
    fn move_swing(&mut self, sample: Span, step: Span, quantile: f64) {
        if sample > self.swing {
            self.swing += step.mul_f64(quantile);
        } else {
            self.swing = self.swing.saturating_sub(step.mul_f64(1.0 - quantile));
        }
    }
}
