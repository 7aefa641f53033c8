//! The Guardian of the authors' program of August 2022, as far as its published ports and patches show it.
//!
//! Where it differs from the paper: the delay is the kernel's smoothed RTT; the interval is 20 ms, not the minimum RTT;
//! slopes below 2 % are zero and do nothing; a delay twice as far above the minimum RTT as the target allows sets the
//! window to its floor at once; every other target is averaged with all targets so far; the window stays within 4 and
//! 10000 packets; nothing happens before slow start ends; the AIMD block is CUBIC, and does not learn of a cut.
//!
//! Source: an ns-3 port of the program and a patch to it, both by the authors' group.

use super::settings::{DEFAULT_MULTIPLE, Settings};
use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, growth::Growth, kind::TimeOrMultiple,
};
use cellcc_fixed::reminis::Exploration;
use cellcc_units::{Bytes, Span, Time};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// The report period of the authors' wrapper.
const INTERVAL: Span = Span::from_millis(20);
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
    target: TimeOrMultiple,
    proactive_slowdown: bool,
    catastrophe_mitigation: bool,
    packet_size: Bytes,
    aimd: Box<dyn Growth>,
    explorer: Explorer,
    /// Report of the current interval; none before its first sample.
    latest: Option<Latest>,
    /// End of the interval; none before the first RTT sample.
    interval_ends_at: Option<Time>,
    previous_rtt: Option<Span>,
    target_sum: f64,
    target_count: f64,
}

/// The kernel's report at the end of an interval.
#[derive(Debug, Clone, Copy)]
struct Latest {
    smoothed_rtt: Span,
    min_rtt: Span,
    cwnd_limited: bool,
}

impl Latest {
    /// 1 at the minimum RTT, 0 at the target, negative above it (paper, Equation 1); `delay` in seconds.
    fn safe_zone(&self, delay: f64, target: Span) -> f64 {
        let min = self.min_rtt.as_secs_f64();
        1.0 - (delay - min) / (target.as_secs_f64() - min)
    }
}

/// A change of the window.
enum Step {
    Nothing,
    Scale(f64),
    Floor,
}

impl Code2022 {
    pub(super) fn new(settings: &Settings, context: &Context) -> Self {
        Self {
            target: settings.target,
            proactive_slowdown: settings.proactive_slowdown,
            catastrophe_mitigation: settings.catastrophe_mitigation,
            packet_size: context.packet,
            aimd: settings.aimd(context),
            explorer: Explorer::new(settings.exploration, INITIAL_MU, context.seed),
            latest: None,
            interval_ends_at: None,
            previous_rtt: None,
            target_sum: 0.0,
            target_count: 0.0,
        }
    }

    /// DTT; one that no queue could meet is raised to the default multiple (paper, section 6, "Choice of DTT").
    fn target(&self, min_rtt: Span) -> Span {
        let asked = self.target.of(min_rtt);
        if asked > min_rtt { asked } else { min_rtt.mul_f64(DEFAULT_MULTIPLE) }
    }

    /// The end of an interval with a sample.
    fn act(&mut self, latest: Latest) {
        let delay = latest.smoothed_rtt;
        let Some(previous) = self.previous_rtt.replace(delay) else { return };
        let target = self.target(latest.min_rtt);
        // The program waits for the end of slow start; without a loss that needs a threshold of its own.
        if self.aimd.in_slow_start() && delay <= target {
            return;
        }
        if self.aimd.in_slow_start() && self.aimd.ssthresh() == Bytes::MAX {
            self.aimd.set_ssthresh(self.aimd.window());
        }
        let raw = (delay.as_secs_f64() - previous.as_secs_f64()) / INTERVAL.as_secs_f64();
        let slope = if raw.abs() < DEAD_BAND { 0.0 } else { raw };
        self.explorer.observe_slope(slope);
        let zone = latest.safe_zone(delay.as_secs_f64(), target);
        let expected = latest.safe_zone(delay.as_secs_f64() + slope * INTERVAL.as_secs_f64(), target);
        let step = if zone < 0.0 {
            self.mitigate(zone)
        } else if slope < 0.0 && latest.cwnd_limited {
            self.explorer.factor().map_or(Step::Nothing, Step::Scale)
        } else if slope >= 0.0 && expected < 0.0 && self.proactive_slowdown {
            if expected > -1.0 { Step::Scale(libm::exp2(expected)) } else { Step::Floor }
        } else {
            Step::Nothing
        };
        self.apply(step, zone);
    }

    fn mitigate(&self, zone: f64) -> Step {
        match self.catastrophe_mitigation {
            false => Step::Nothing,
            true if zone > -1.0 => Step::Scale(libm::exp2(zone - 1.0)),
            true => Step::Floor,
        }
    }

    fn apply(&mut self, step: Step, zone: f64) {
        let (floor, most) = (self.packet_size * MIN_WINDOW_PACKETS, self.packet_size * MAX_WINDOW_PACKETS);
        let aimd = &mut self.aimd;
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
}

impl Controller for Code2022 {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        self.aimd.on_ack(ack);
        if ack.rtt_sample.is_some() {
            self.latest = Some(Latest {
                smoothed_rtt: ack.rtt.smoothed(),
                min_rtt: ack.rtt.min(),
                cwnd_limited: ack.cwnd_limited,
            });
            self.interval_ends_at.get_or_insert(ack.now + INTERVAL);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.packet_size = loss.packet_size;
        self.aimd.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.aimd.on_event(now, event);
    }

    fn next_timer(&self) -> Option<Time> {
        self.interval_ends_at
    }

    fn on_timer(&mut self, now: Time) {
        self.interval_ends_at = Some(now + INTERVAL);
        if let Some(latest) = self.latest.take() {
            self.act(latest);
        }
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.aimd.window())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("mu", "", self.explorer.mu());
        self.aimd.observe(observer);
    }
}

// Non-deterministic exploration (paper, section 3.2): how far to raise the window in Zone 1.

/// The variance is |mu| over this (paper, section 3.2).
const VARIANCE_DIVISOR: f64 = 4.0;

/// The Gaussian that exploration draws from; its mean follows the slope of the delay.
pub(super) struct Explorer {
    exploration: Exploration,
    rng: Pcg64Mcg,
    mu: f64,
}

impl Explorer {
    pub(super) fn new(exploration: Exploration, initial_mu: f64, seed: u64) -> Self {
        Self { exploration, rng: Pcg64Mcg::seed_from_u64(seed), mu: initial_mu }
    }

    pub(super) fn mu(&self) -> f64 {
        self.mu
    }

    /// Takes the delay's slope (seconds per second) of an interval: falling delay makes exploration bolder.
    fn observe_slope(&mut self, slope: f64) {
        self.mu -= slope;
    }

    /// The factor 2^S(x) for the window, 1 to 2 (paper, Equation 2); none where exploration is off.
    fn factor(&mut self) -> Option<f64> {
        let x = match self.exploration {
            Exploration::Off => return None,
            Exploration::Deterministic => self.mu,
            Exploration::Random => {
                let gaussian: f64 = StandardNormal.sample(&mut self.rng);
                self.mu + (self.mu.abs() / VARIANCE_DIVISOR).sqrt() * gaussian
            }
        };
        Some(libm::exp2(1.0 / (1.0 + libm::exp(-x))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_factor(mu: f64) -> f64 {
        let mut explorer = Explorer::new(Exploration::Random, mu, 7);
        (0..100_000).map(|_| explorer.factor().unwrap()).sum::<f64>() / 100_000.0
    }

    #[test]
    fn the_mean_factor_is_that_of_an_independent_integration() {
        // E[2^S(x)], x ~ N(mu, |mu|/4), by Monte Carlo of 400 000 draws elsewhere.
        for (mu, expected) in [(1.0, 1.651), (-1.0, 1.216), (-5.0, 1.008), (5.0, 1.983)] {
            assert!((mean_factor(mu) - expected).abs() < 0.003, "mu {mu}: {}", mean_factor(mu));
        }
    }

    #[test]
    fn falling_delay_makes_exploration_bolder() {
        let mut explorer = Explorer::new(Exploration::Deterministic, 0.0, 1);
        let before = explorer.factor();
        explorer.observe_slope(-0.5);
        assert!(explorer.factor() > before);
    }
}
