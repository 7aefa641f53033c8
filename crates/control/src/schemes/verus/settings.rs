//! What can be set in Verus, the three presets, and where the values come from.

use super::profile::ProfileRules;
use super::window::TargetRules;
use crate::contract::Context;
use crate::parameter::{Arguments, Kind, Parameter};
use cellcc_units::{Ratio, Span};

const MS: Span = Span::from_millis(1);
const HOUR: Span = Span::from_secs(3600);

const PAPER_AND_PROGRAM: &str = "paper; the same in the authors' program";
const PROGRAM: &str = "the authors' program, 2017";

const fn parameter(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    meaning: &'static str,
    source: &'static str,
) -> Parameter {
    Parameter { name, kind, default, meaning, source }
}

/// The defaults are those of `preset=reference`.
pub(super) const PARAMETERS: &[Parameter] = &[
    parameter(
        "preset",
        Kind::Choice(&["reference", "sigcomm15", "robust"]),
        "reference",
        "what the other parameters are where they are not given: the authors' program, the paper, or what this project made of it",
        "docs/algorithms/verus.md",
    ),
    parameter(
        "r",
        Kind::Number(1.0, 1000.0),
        "6",
        "largest ratio of delay to minimum delay; sigcomm15: 2, robust: 4",
        "program since July 2015; paper, section 6.1: 2, 4 and 6",
    ),
    parameter(
        "profile",
        Kind::Choice(&["learned", "static"]),
        "learned",
        "static: the first curve is kept",
        "paper, Figure 15",
    ),
    parameter(
        "fit",
        Kind::Choice(&["penalised", "interpolated", "monotone"]),
        "penalised",
        "the curve: penalised regression spline, cubic spline through every point, or the nearest curve that never falls; robust: monotone",
        "program; paper, section 5.1, by its letter; this project",
    ),
    parameter("epoch", Kind::Time(MS, HOUR), "5ms", "how often the window is decided", PAPER_AND_PROGRAM),
    parameter("refit", Kind::Time(MS, HOUR), "1s", "how often the curve is drawn anew", PAPER_AND_PROGRAM),
    parameter(
        "delta1",
        Kind::Time(Span::ZERO, HOUR),
        "1ms",
        "step down of the delay aimed for, where delay rises",
        PAPER_AND_PROGRAM,
    ),
    parameter(
        "delta2",
        Kind::Time(Span::ZERO, HOUR),
        "2ms",
        "step up of the delay aimed for; step down above r",
        PAPER_AND_PROGRAM,
    ),
    parameter(
        "m",
        Kind::Number(0.01, 1.0),
        "0.7",
        "what a loss leaves of the window it happened in",
        "program; the paper names no value",
    ),
    parameter(
        "alpha",
        Kind::Number(0.0, 1.0),
        "0.2",
        "share of the old value in the average of the epochs' largest delays",
        "program; the paper names no value",
    ),
    parameter(
        "rtt-alpha",
        Kind::Number(0.0, 0.999),
        "0.875",
        "share of the old value in the smoothed RTT, which epochs are counted in",
        PROGRAM,
    ),
    parameter(
        "point-alpha",
        Kind::Number(0.0, 0.999),
        "0.875",
        "share of the old value in a point of the profile",
        "program; the paper names no value",
    ),
    parameter(
        "ratio-of",
        Kind::Choice(&["previous", "current"]),
        "previous",
        "which epoch's average is compared with r; sigcomm15: current",
        "program; paper, equation 4: current",
    ),
    parameter(
        "slow-start-delay",
        Kind::TimeOrMultiple,
        "500ms",
        "slow start ends above this RTT, or multiple of the minimum RTT; sigcomm15: 15x, robust: 2x",
        "program; paper, section 5.1: 15x",
    ),
    parameter(
        "slow-start-loss",
        Kind::Packets(0, 1_000_000),
        "20pkt",
        "a loss ends slow start above this window; sigcomm15: 0pkt",
        "program; paper, section 5.1: any loss",
    ),
    parameter(
        "loss-timer",
        Kind::TimeOrMultiple,
        "150ms",
        "a missing packet counts as lost after this, or this multiple of the last delay; sigcomm15: 3x, robust: at once",
        "program; paper, section 5.2: 3x",
    ),
    parameter(
        "recovery",
        Kind::Choice(&["epochs", "acks"]),
        "epochs",
        "what moves the window in loss recovery: the epochs as ever, or 1/W per acknowledgement; sigcomm15 and robust: acks",
        "program; paper, section 4: acks",
    ),
    parameter(
        "rto",
        Kind::Number(1.0, 100.0),
        "5",
        "the time-out in last delays, within rto-min and rto-max",
        "program; paper: \"similar to TCP\"",
    ),
    parameter("rto-min", Kind::Time(MS, HOUR), "150ms", "the shortest time-out", PROGRAM),
    parameter(
        "rto-max",
        Kind::Time(MS, HOUR),
        "1s",
        "the longest time-out, and that before the first delay",
        PROGRAM,
    ),
    parameter(
        "initial-window",
        Kind::Packets(1, 10_000),
        "1pkt",
        "the window that slow start begins with; robust: that of every other scheme, 10pkt",
        "paper, section 5.1; the same in the program",
    ),
    parameter("max-window", Kind::Packets(2, 1_000_000), "40000pkt", "the largest window", PROGRAM),
    parameter(
        "knot-spacing",
        Kind::Number(1.0, 10_000.0),
        "15",
        "windows per knot of the penalised spline, less where there would be fewer than five knots",
        PROGRAM,
    ),
    parameter(
        "smoothing",
        Kind::Number(-10.0, 10.0),
        "2",
        "rho of the penalised spline: its penalty grows as 10^rho",
        PROGRAM,
    ),
    parameter(
        "pause",
        Kind::Switch,
        "on",
        "send nothing while the delay is above r and the minimum is aimed for already; sigcomm15: off",
        "program; not in the paper",
    ),
    parameter(
        "min-delay-creep",
        Kind::Time(Span::ZERO, HOUR),
        "10ms",
        "how much the minimum delay is raised per epoch while it is aimed for in vain with under two packets in flight; sigcomm15: 0ms",
        "program; not in the paper",
    ),
    parameter(
        "restart",
        Kind::Switch,
        "on",
        "slow start anew where no window has the delay aimed for; off keeps the window; robust: off",
        "program; the paper does not say",
    ),
    parameter(
        "point-lifetime",
        Kind::Time(Span::ZERO, HOUR),
        "0s",
        "points of the profile are dropped when they are not refreshed for so long; 0s keeps them; robust: 10s",
        "program; paper, section 5.1",
    ),
    parameter(
        "label",
        Kind::Choice(&["window", "inflight"]),
        "window",
        "the window that a packet's point counts for: W, or what is in flight with it; robust: inflight",
        "program; this project",
    ),
    parameter(
        "bounded",
        Kind::Switch,
        "off",
        "the delay aimed for stays within r times the minimum and rises once per RTT for 3 s after a loss, W stays within twice the largest window on the profile; robust: on",
        "this project",
    ),
    parameter(
        "min-delay-lifetime",
        Kind::Time(Span::ZERO, HOUR),
        "0s",
        "a minimum delay that was not met for so long is measured anew, with four packets in flight; 0s keeps it; robust: 10s",
        "this project; BBR's ProbeRTT",
    ),
    parameter(
        "loss-tolerance",
        Kind::Number(0.0, 1.0),
        "0",
        "share of lost packets, of the last 128 or so, up to which a loss cuts nothing; robust: 0.02",
        "this project; BBR's LossThresh is the same 2 %",
    ),
    parameter(
        "pacing",
        Kind::Switch,
        "off",
        "an epoch's packets are spread over it; robust: on",
        "this project",
    ),
];

/// Which rules are meant where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preset {
    Reference,
    Sigcomm15,
    Robust,
}

/// How the curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Penalised,
    Interpolated,
    Monotone,
}

/// A time, or a multiple of a delay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Threshold(Result<Span, Ratio>);

impl Threshold {
    /// In ms, with the delay that a multiple counts.
    pub(super) fn millis(self, delay_ms: f64) -> f64 {
        match self.0 {
            Ok(span) => span.as_millis_f64(),
            Err(multiple) => multiple.get() * delay_ms,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) epoch: Span,
    pub(super) refit: Span,
    pub(super) target: TargetRules,
    pub(super) profile: ProfileRules,
    /// What a loss leaves of the window.
    pub(super) decrease: f64,
    pub(super) average_old_share: f64,
    pub(super) rtt_old_share: f64,
    /// Packets.
    pub(super) initial_window: f64,
    pub(super) slow_start_delay: Threshold,
    /// Packets.
    pub(super) slow_start_loss: f64,
    pub(super) loss_timer: Threshold,
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
    /// An RTT of two epochs gets a whole window per epoch, whatever is in flight.
    pub(super) short_rtt_ignores_inflight: bool,
}

impl Settings {
    pub(super) fn read(arguments: &Arguments, context: &Context) -> Self {
        let preset = match arguments.choice("preset") {
            "sigcomm15" => Preset::Sigcomm15,
            "robust" => Preset::Robust,
            _ => Preset::Reference,
        };
        // What a preset sets otherwise than the defaults, unless it is given.
        let set = |name, presets: &[Preset]| presets.contains(&preset) && !arguments.is_given(name);
        let paper = |name| set(name, &[Preset::Sigcomm15]);
        let robust = |name| set(name, &[Preset::Robust]);
        let number = |name| arguments.number(name);
        let packets = |name| arguments.packets(name, context).in_packets(context.packet);
        let threshold = |name, of_paper, of_robust| {
            Threshold(if paper(name) {
                Err(Ratio::new(of_paper))
            } else if robust(name) {
                of_robust
            } else {
                arguments.time_or_multiple(name)
            })
        };
        let creep_ms = arguments.time("min-delay-creep").as_millis_f64();
        Self {
            epoch: arguments.time("epoch"),
            refit: arguments.time("refit"),
            target: TargetRules {
                r: match () {
                    () if paper("r") => 2.0,
                    () if robust("r") => 4.0,
                    () => number("r"),
                },
                delta1_ms: arguments.time("delta1").as_millis_f64(),
                delta2_ms: arguments.time("delta2").as_millis_f64(),
                ratio_of_current: paper("ratio-of") || arguments.choice("ratio-of") == "current",
                pause: !paper("pause") && arguments.switch("pause"),
                creep_ms: if paper("min-delay-creep") { 0.0 } else { creep_ms },
            },
            profile: ProfileRules {
                fit: match arguments.choice("fit") {
                    _ if robust("fit") => Fit::Monotone,
                    "monotone" => Fit::Monotone,
                    "interpolated" => Fit::Interpolated,
                    _ => Fit::Penalised,
                },
                knot_spacing: number("knot-spacing") as u64,
                smoothing: number("smoothing"),
                old_share: number("point-alpha"),
                learned: arguments.choice("profile") == "learned",
                max_window: packets("max-window") as u64,
                lifetime: if robust("point-lifetime") {
                    Span::from_secs(10)
                } else {
                    arguments.time("point-lifetime")
                },
            },
            decrease: number("m"),
            average_old_share: number("alpha"),
            rtt_old_share: number("rtt-alpha"),
            initial_window: if robust("initial-window") {
                context.initial_window.in_packets(context.packet)
            } else {
                packets("initial-window")
            },
            slow_start_delay: threshold("slow-start-delay", 15.0, Err(Ratio::new(2.0))),
            slow_start_loss: if paper("slow-start-loss") { 0.0 } else { packets("slow-start-loss") },
            loss_timer: threshold("loss-timer", 3.0, Ok(Span::ZERO)),
            recovery_by_acks: paper("recovery")
                || robust("recovery")
                || arguments.choice("recovery") == "acks",
            rto_factor: number("rto"),
            rto_min: arguments.time("rto-min"),
            rto_max: arguments.time("rto-max"),
            restart: !robust("restart") && arguments.switch("restart"),
            label_is_inflight: robust("label") || arguments.choice("label") == "inflight",
            bounded: robust("bounded") || arguments.switch("bounded"),
            min_delay_lifetime: if robust("min-delay-lifetime") {
                Span::from_secs(10)
            } else {
                arguments.time("min-delay-lifetime")
            },
            loss_tolerance: if robust("loss-tolerance") { 0.02 } else { number("loss-tolerance") },
            pacing: robust("pacing") || arguments.switch("pacing"),
            short_rtt_ignores_inflight: preset != Preset::Robust,
        }
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
