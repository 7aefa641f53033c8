//! The settings. `delay` is the one knob. The rest is there so that each constant can be varied by a Scenario
//! (`scenarios/tide/*.toml`), and is best left alone.

use super::Tide;
use crate::in_kernel::{CONTROL_WITH_FLAGS, InKernel, KernelCore, MapSettings};
use crate::kernel_view::{micros, q16};
use cellcc_control::{Arguments, Assignment, Parameter, Preset, SchemeInfo, ShownValue, kind};
use cellcc_fixed::tide::Config;
use cellcc_fixed::tide::step::{TideSettings, TideStep};
use cellcc_units::{Ratio, Span};

const PAGE: &str = "docs/algorithms/tide.md";
/// Prototype: the delay that `swing-share` refers to.
const DEFAULT_DELAY: Span = Span::from_millis(5);

/// The presets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Default,
    Interactive,
    Bulk,
}

const PRESET: Parameter<kind::Choice<Use>> = Parameter::new(
    "preset",
    kind::Choice(&[("default", Use::Default), ("interactive", Use::Interactive), ("bulk", Use::Bulk)]),
    Use::Default,
    "the delay where none is given",
    PAGE,
);

/// The knob.
const DELAY: Parameter<kind::Time> = Parameter::new(
    "delay",
    kind::Time(Span::from_micros(500), Span::from_secs(1)),
    DEFAULT_DELAY,
    "the knob: queueing delay aimed for on a steady link; an unsteady one gets more in proportion",
    PAGE,
);

const SWING_SHARE: Parameter<kind::Number> = Parameter::new(
    "swing-share",
    kind::Number(0.0, 10.0),
    0.5,
    "share of the RTT's swing that a delay of 5ms adds to the target",
    PAGE,
);

const SWING_QUANTILE: Parameter<kind::Number> = Parameter::new(
    "swing-quantile",
    kind::Number(0.01, 0.99),
    0.8,
    "which quantile of the swing counts",
    PAGE,
);

const MEAN_ABOVE: Parameter<kind::Number> = Parameter::new(
    "mean-above",
    kind::Number(0.0, 1000.0),
    1.5,
    "targets of queueing delay above which the mean of both rates counts, and not the larger",
    PAGE,
);

const MAX_TARGET: Parameter<kind::Time> = Parameter::new(
    "max-target",
    kind::Time(Span::from_millis(1), Span::from_secs(10)),
    Span::from_millis(60),
    "largest target, unless the delay is larger",
    PAGE,
);

const FLOOR_SWINGS: Parameter<kind::Number> = Parameter::new(
    "floor-swings",
    kind::Number(0.0, 100.0),
    1.25,
    "swings of the RTT that the target is at least, up to floor-limit",
    PAGE,
);

const FLOOR_LIMIT: Parameter<kind::Time> = Parameter::new(
    "floor-limit",
    kind::Time(Span::ZERO, Span::from_secs(10)),
    Span::from_millis(10),
    "the most that floor-swings make of the target",
    PAGE,
);

const EXTRA_PACKETS: Parameter<kind::Number> = Parameter::new(
    "extra-packets",
    kind::Number(0.0, 100.0),
    2.0,
    "packets that the window has besides those of the rate",
    PAGE,
);

const RESTART_WINDOW: Parameter<kind::Number> = Parameter::new(
    "restart-window",
    kind::Number(0.0, 1000.0),
    10.0,
    "packets that the window holds at least where the application lately had nothing to send",
    "RFC 5681, section 4.1; RFC 6928",
);

const RAMP: Parameter<kind::Number> = Parameter::new(
    "ramp",
    kind::Number(0.1, 1e6),
    4.0,
    "base RTTs of an empty queue before the window grows by a base RTT",
    PAGE,
);

const PACING: Parameter<kind::Number> = Parameter::new(
    "pacing",
    kind::Number(1.0, 100.0),
    1.5,
    "how much faster packets leave than the window asks for",
    PAGE,
);

const DRAIN_EVERY: Parameter<kind::Time> = Parameter::new(
    "drain-every",
    kind::Time(Span::from_secs(1), Span::from_secs(3600)),
    Span::from_secs(10),
    "time without a nearly empty queue until one is made",
    PAGE,
);

const LOSS_THRESHOLD: Parameter<kind::Share> = Parameter::new(
    "loss-threshold",
    kind::Share,
    Ratio::new(0.03),
    "more lost in a round shows a full queue",
    PAGE,
);

const LOSS_CORRECTED: Parameter<kind::Number> = Parameter::new(
    "loss-corrected",
    kind::Number(0.0, 0.9),
    0.06,
    "share of lost packets up to which the rate makes up for them",
    PAGE,
);

const COMPETE: Parameter<kind::Switch> =
    Parameter::new("compete", kind::Switch, true, "answer in kind where others fill the queue", PAGE);

const RIVAL_ROUNDS: Parameter<kind::Count> = Parameter::new(
    "rival-rounds",
    kind::Count(1, 10_000),
    24,
    "rounds with too long a queue that show competing flows",
    PAGE,
);

const RIVAL_MARGIN: Parameter<kind::Number> = Parameter::new(
    "rival-margin",
    kind::Number(0.0, 10.0),
    1.0,
    "a queue is too long by this share of the target, or of 5ms where that is more",
    PAGE,
);

const FLOWS: Parameter<kind::Number> = Parameter::new(
    "flows",
    kind::Number(0.0, 1000.0),
    8.0,
    "flows of this kind whose extra packets make no queue too long",
    PAGE,
);

const SAWTOOTH_ROUNDS: Parameter<kind::Count> = Parameter::new(
    "sawtooth-rounds",
    kind::Count(1, 10_000),
    4,
    "rounds with the queue below the target again that rule out flows of this kind",
    PAGE,
);

/// The values that it exposes.
const SHOWS: [ShownValue; 5] = [
    ShownValue::switch("competing", "another flow fills the queue, as far as this one knows"),
    ShownValue::number("rate_mbit_s", "the delivery rate that the window is made of"),
    ShownValue::number("target_ms", "the queueing delay that it aims for"),
    ShownValue::number("swing_ms", "a quantile of largest less smallest RTT within a base RTT"),
    ShownValue::number("base_rtt_ms", "the RTT of an empty queue"),
];

pub(in super::super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "tide",
        "keeps one BDP plus a delay target that grows with the link's variability",
        "this project: docs/algorithms/tide.md",
        |arguments, context| Box::new(Tide::new(config(arguments), context)),
    )
    .parameters(vec![
        PRESET.into(),
        DELAY.into(),
        SWING_SHARE.into(),
        SWING_QUANTILE.into(),
        MAX_TARGET.into(),
        FLOOR_SWINGS.into(),
        FLOOR_LIMIT.into(),
        MEAN_ABOVE.into(),
        EXTRA_PACKETS.into(),
        RESTART_WINDOW.into(),
        RAMP.into(),
        PACING.into(),
        DRAIN_EVERY.into(),
        LOSS_THRESHOLD.into(),
        LOSS_CORRECTED.into(),
        COMPETE.into(),
        RIVAL_ROUNDS.into(),
        RIVAL_MARGIN.into(),
        FLOWS.into(),
        SAWTOOTH_ROUNDS.into(),
    ])
    .presets(presets())
    .shows(&SHOWS)
}

fn presets() -> Vec<Preset> {
    let preset = |name: &'static str, summary: &'static str, sets: &'static str| Preset {
        parameter: PRESET.name,
        name: name.into(),
        summary: summary.into(),
        source: PAGE.into(),
        sets: sets.into(),
    };
    vec![
        preset("default", "most of a link with little delay: every default", ""),
        preset("interactive", "calls and games: the least delay", "delay=2.5ms"),
        preset("bulk", "downloads: all of the link", "delay=20ms"),
    ]
}

/// In the kernel.
pub(in super::super) const IN_KERNEL: InKernel = InKernel {
    name: "cellcc_tide",
    registry: "tide",
    always: &[],
    since: CONTROL_WITH_FLAGS,
    calls: &[],
    core: &const { KernelCore::of::<TideStep, TideSettings>(6, "tide") },
};

impl MapSettings for TideSettings {
    fn set(arguments: &Arguments) -> Option<Self> {
        Some(config(arguments).into())
    }

    fn arguments(&self) -> Vec<Assignment> {
        vec![DELAY.with(&Span::from_micros(self.delay_us.into()))]
    }
}

/// The core's configuration: numbers in units of 2^-16, times in microseconds.
fn config(arguments: &Arguments) -> Config {
    let number = |parameter: &Parameter<kind::Number>| q16(arguments.get(parameter));
    let config = Config {
        delay: micros(DEFAULT_DELAY),
        share_of_swing: number(&SWING_SHARE),
        swing_quantile: number(&SWING_QUANTILE),
        max_target: micros(arguments.get(&MAX_TARGET)),
        floor_swings: number(&FLOOR_SWINGS),
        floor_limit: micros(arguments.get(&FLOOR_LIMIT)),
        mean_above: number(&MEAN_ABOVE),
        extra_packets: number(&EXTRA_PACKETS),
        restart_window: number(&RESTART_WINDOW),
        ramp_rtts: number(&RAMP),
        pacing: number(&PACING),
        drain_every: micros(arguments.get(&DRAIN_EVERY)),
        loss_threshold: q16(arguments.get(&LOSS_THRESHOLD).get()),
        loss_corrected: number(&LOSS_CORRECTED),
        competes: arguments.get(&COMPETE),
        rival_rounds: arguments.get(&RIVAL_ROUNDS),
        rival_margin: number(&RIVAL_MARGIN),
        flows: number(&FLOWS),
        sawtooth_rounds: arguments.get(&SAWTOOTH_ROUNDS),
    };
    // The share of the swing is in proportion to the delay, so that the knob moves both.
    config.with_delay(micros(arguments.get(&DELAY)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_runs_with_the_registrys_defaults() {
        assert_eq!(config(&Arguments::default()), Config::DEFAULT);
    }
}
