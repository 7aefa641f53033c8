//! The Guardian of the authors' program of August 2022, as far as its published ports and patches show it.
//!
//! Where it differs from the paper: the delay is the kernel's smoothed RTT; the interval is 20 ms, not the minimum RTT;
//! slopes below 2 % are zero and do nothing; a delay twice as far above the minimum RTT as the target allows sets the
//! window to its floor at once; every other target is averaged with all targets so far; the window stays within 4 and
//! 10000 packets; nothing happens before slow start ends; the AIMD block is CUBIC, and is not told of a cut.
//!
//! Source: an ns-3 port of the program and a patch to it, both by the authors' group.

use super::Interval;
use super::explorer::Explorer;
use super::settings::Settings;
use crate::contract::{Context, Observer};
use crate::growth::Growth;
use cellcc_units::{Bytes, Span};

/// The report period of the authors' wrapper.
pub(super) const INTERVAL: Span = Span::from_millis(20);
/// Slopes smaller than this count as none.
const DEAD_BAND: f64 = 0.02;
/// mu before the first interval, in the port; the paper has 1.
const INITIAL_MU: f64 = 0.0;
const MIN_WINDOW_PACKETS: u64 = 4;
const MAX_WINDOW_PACKETS: u64 = 10_000;
/// Weight of the new target against the mean of all targets.
const SMOOTHING: f64 = 0.7;
/// In a dead zone this deep the window is capped, so that CUBIC cannot grow.
const CAPPED_BELOW: f64 = -8.0;

pub(super) struct Code2022 {
    explorer: Explorer,
    proactive_slowdown: bool,
    catastrophe_mitigation: bool,
    previous_rtt: Option<Span>,
    target_sum: f64,
    target_count: f64,
}

/// What to do with the window.
enum Step {
    Nothing,
    Scale(f64),
    Floor,
}

impl Code2022 {
    pub(super) fn new(settings: &Settings, context: &Context) -> Self {
        Self {
            explorer: Explorer::new(settings.exploration, INITIAL_MU, context.seed),
            proactive_slowdown: settings.proactive_slowdown,
            catastrophe_mitigation: settings.catastrophe_mitigation,
            previous_rtt: None,
            target_sum: 0.0,
            target_count: 0.0,
        }
    }

    pub(super) fn act(&mut self, interval: &Interval, aimd: &mut dyn Growth) {
        let delay = interval.smoothed_rtt;
        let Some(previous) = self.previous_rtt.replace(delay) else { return };
        // The program waits for the end of slow start; without a loss that needs a threshold of its own.
        if aimd.in_slow_start() && delay <= interval.target {
            return;
        }
        if aimd.in_slow_start() && aimd.ssthresh() == Bytes::MAX {
            aimd.set_ssthresh(aimd.window());
        }
        let raw = (delay.as_secs_f64() - previous.as_secs_f64()) / interval.length.as_secs_f64();
        let slope = if raw.abs() < DEAD_BAND { 0.0 } else { raw };
        self.explorer.observe_slope(slope);
        let zone = interval.safe_zone(delay.as_secs_f64());
        let expected = interval.safe_zone(delay.as_secs_f64() + slope * interval.length.as_secs_f64());
        let step = if zone < 0.0 {
            self.mitigate(zone)
        } else if slope < 0.0 && interval.cwnd_limited {
            self.explorer.factor().map_or(Step::Nothing, Step::Scale)
        } else if slope >= 0.0 && expected < 0.0 && self.proactive_slowdown {
            if expected > -1.0 { Step::Scale(libm::exp2(expected)) } else { Step::Floor }
        } else {
            Step::Nothing
        };
        self.apply(step, zone, interval.packet_size, aimd);
    }

    fn mitigate(&self, zone: f64) -> Step {
        match self.catastrophe_mitigation {
            false => Step::Nothing,
            true if zone > -1.0 => Step::Scale(libm::exp2(zone - 1.0)),
            true => Step::Floor,
        }
    }

    fn apply(&mut self, step: Step, zone: f64, packet_size: Bytes, aimd: &mut dyn Growth) {
        let (floor, most) = (packet_size * MIN_WINDOW_PACKETS, packet_size * MAX_WINDOW_PACKETS);
        match step {
            Step::Nothing => {}
            Step::Floor => aimd.set_window(floor),
            Step::Scale(factor) => {
                let target = aimd.window().as_f64() * factor;
                self.target_sum += target;
                self.target_count += 1.0;
                let smoothed = SMOOTHING * target + (1.0 - SMOOTHING) * self.target_sum / self.target_count;
                aimd.set_window(Bytes::new(smoothed as u64));
            }
        }
        let ceiling = if zone < CAPPED_BELOW { floor } else { most };
        aimd.set_window(aimd.window().clamp(floor, ceiling));
    }

    pub(super) fn observe(&self, observer: &mut dyn Observer) {
        observer.value("mu", "", self.explorer.mu());
    }
}
