//! The parameters of Verus. The defaults are those of `preset=robust`.

use cellcc_control::{
    Parameter, ParameterInfo, Preset,
    kind::{self, TimeOrMultiple},
};
use cellcc_units::Span;

const MS: Span = Span::from_millis(1);
const HOUR: Span = Span::from_secs(3600);

const PAPER_AND_PROGRAM: &str = "paper; the same in the authors' program";
const PROGRAM: &str = "the authors' program, 2017";
/// Source of defaults that our measurements chose.
const ROBUST: &str = "docs/algorithms/verus.md";

/// The rules that give the other parameters their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    Robust,
    Paper,
    Authors,
}

/// Method of drawing the curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Penalised,
    Interpolated,
    Monotone,
}

pub(super) const PRESET: Parameter<kind::Choice<Rules>> = Parameter::new(
    "preset",
    kind::Choice(&[
        ("robust", Rules::Robust),
        ("paper", Rules::Paper),
        ("authors", Rules::Authors),
        ("sigcomm15", Rules::Paper),
        ("reference", Rules::Authors),
    ]),
    Rules::Robust,
    "values of the other parameters where they are not given",
    ROBUST,
);

pub(super) const R: Parameter<kind::Number> = Parameter::new(
    "r",
    kind::Number(1.0, 1000.0),
    4.0,
    "largest ratio of delay to minimum delay",
    "paper, section 6.1: 2, 4 and 6; program since July 2015: 6",
);

/// True where the curve is learned.
pub(super) const PROFILE: Parameter<kind::Choice<bool>> = Parameter::new(
    "profile",
    kind::Choice(&[("learned", true), ("static", false)]),
    true,
    "static: the first curve is kept",
    "paper, Figure 15",
);

pub(super) const FIT: Parameter<kind::Choice<Fit>> = Parameter::new(
    "fit",
    kind::Choice(&[
        ("penalised", Fit::Penalised),
        ("interpolated", Fit::Interpolated),
        ("monotone", Fit::Monotone),
    ]),
    Fit::Monotone,
    "the curve: penalised regression spline, cubic spline through every point, or the nearest curve that never falls",
    "program; paper, section 5.1, by its letter; this project",
);

pub(super) const EPOCH: Parameter<kind::Time> = Parameter::new(
    "epoch",
    kind::Time(MS, HOUR),
    Span::from_millis(5),
    "how often the window is decided",
    PAPER_AND_PROGRAM,
);

pub(super) const REFIT: Parameter<kind::Time> = Parameter::new(
    "refit",
    kind::Time(MS, HOUR),
    Span::from_secs(1),
    "time between two fits of the curve",
    PAPER_AND_PROGRAM,
);

pub(super) const DELTA1: Parameter<kind::Time> = Parameter::new(
    "delta1",
    kind::Time(Span::ZERO, HOUR),
    Span::from_millis(1),
    "step down of the delay aimed for, where delay rises",
    PAPER_AND_PROGRAM,
);

pub(super) const DELTA2: Parameter<kind::Time> = Parameter::new(
    "delta2",
    kind::Time(Span::ZERO, HOUR),
    Span::from_millis(2),
    "step up of the delay aimed for; step down above r",
    PAPER_AND_PROGRAM,
);

pub(super) const M: Parameter<kind::Number> = Parameter::new(
    "m",
    kind::Number(0.01, 1.0),
    0.7,
    "share of a lost packet's window that remains",
    "program; the paper names no value",
);

pub(super) const ALPHA: Parameter<kind::Number> = Parameter::new(
    "alpha",
    kind::Number(0.0, 1.0),
    0.2,
    "share of the old value in the average of the epochs' largest delays",
    "program; the paper names no value",
);

pub(super) const RTT_ALPHA: Parameter<kind::Number> = Parameter::new(
    "rtt-alpha",
    kind::Number(0.0, 0.999),
    0.875,
    "share of the old value in the smoothed RTT, which epochs are counted in",
    PROGRAM,
);

pub(super) const POINT_ALPHA: Parameter<kind::Number> = Parameter::new(
    "point-alpha",
    kind::Number(0.0, 0.999),
    0.875,
    "share of the old value in a point of the profile",
    "program; the paper names no value",
);

/// True for the current epoch's.
pub(super) const RATIO_OF: Parameter<kind::Choice<bool>> = Parameter::new(
    "ratio-of",
    kind::Choice(&[("previous", false), ("current", true)]),
    false,
    "which epoch's average is compared with r",
    "program; paper, equation 4: current",
);

pub(super) const SLOW_START_DELAY: Parameter<kind::TimeOrMultipleFrom> = Parameter::new(
    "slow-start-delay",
    kind::TimeOrMultipleFrom(Span::from_micros(1)),
    TimeOrMultiple::times(2.0),
    "slow start ends above this RTT, or multiple of the minimum RTT",
    "docs/algorithms/verus.md; program: 500ms; paper, section 5.1: 15x",
);

pub(super) const SLOW_START_LOSS: Parameter<kind::Packets> = Parameter::new(
    "slow-start-loss",
    kind::Packets(0, 1_000_000),
    20,
    "a loss ends slow start above this window",
    "program; paper, section 5.1: any loss",
);

pub(super) const LOSS_TIMER: Parameter<kind::TimeOrMultipleFrom> = Parameter::new(
    "loss-timer",
    kind::TimeOrMultipleFrom(Span::ZERO),
    TimeOrMultiple::Time(Span::ZERO),
    "a missing packet counts as lost after this, or this multiple of the last delay; 0s: at once",
    "docs/algorithms/verus.md; program: 150ms; paper, section 5.2: 3x",
);

/// True where acknowledgements move it.
pub(super) const RECOVERY: Parameter<kind::Choice<bool>> = Parameter::new(
    "recovery",
    kind::Choice(&[("epochs", false), ("acks", true)]),
    true,
    "rule that moves the window in loss recovery: the epochs as usual, or 1/W per acknowledgement",
    "paper, section 4; program: epochs",
);

pub(super) const RTO: Parameter<kind::Number> = Parameter::new(
    "rto",
    kind::Number(1.0, 100.0),
    5.0,
    "the time-out in last delays, within rto-min and rto-max",
    "program; paper: \"similar to TCP\"",
);

pub(super) const RTO_MIN: Parameter<kind::Time> =
    Parameter::new("rto-min", kind::Time(MS, HOUR), Span::from_millis(150), "the shortest time-out", PROGRAM);

pub(super) const RTO_MAX: Parameter<kind::Time> = Parameter::new(
    "rto-max",
    kind::Time(MS, HOUR),
    Span::from_secs(1),
    "the longest time-out, and that before the first delay",
    PROGRAM,
);

pub(super) const INITIAL_WINDOW: Parameter<kind::Packets> = Parameter::new(
    "initial-window",
    kind::Packets(1, 10_000),
    10,
    "the window that slow start begins with",
    "RFC 6928; paper, section 5.1, and program: 1pkt",
);

pub(super) const MAX_WINDOW: Parameter<kind::Packets> =
    Parameter::new("max-window", kind::Packets(2, 1_000_000), 40_000, "the largest window", PROGRAM);

pub(super) const KNOT_SPACING: Parameter<kind::Number> = Parameter::new(
    "knot-spacing",
    kind::Number(1.0, 10_000.0),
    15.0,
    "windows per knot of the penalised spline, less where there would be fewer than five knots",
    PROGRAM,
);

pub(super) const SMOOTHING: Parameter<kind::Number> = Parameter::new(
    "smoothing",
    kind::Number(-10.0, 10.0),
    2.0,
    "rho of the penalised spline: its penalty grows as 10^rho",
    PROGRAM,
);

pub(super) const PAUSE: Parameter<kind::Switch> = Parameter::new(
    "pause",
    kind::Switch,
    true,
    "send nothing while the delay is above r and the minimum is aimed for already",
    "program; not in the paper",
);

pub(super) const MIN_DELAY_CREEP: Parameter<kind::Time> = Parameter::new(
    "min-delay-creep",
    kind::Time(Span::ZERO, HOUR),
    Span::from_millis(10),
    "how much the minimum delay is raised per epoch while it is aimed for in vain with under two packets in flight",
    "program; not in the paper",
);

pub(super) const RESTART: Parameter<kind::Switch> = Parameter::new(
    "restart",
    kind::Switch,
    false,
    "slow start again where no window has the delay aimed for; off keeps the window",
    "docs/algorithms/verus.md; program: on; the paper does not say",
);

pub(super) const POINT_LIFETIME: Parameter<kind::Time> = Parameter::new(
    "point-lifetime",
    kind::Time(Span::ZERO, HOUR),
    Span::from_secs(10),
    "points of the profile are dropped when they are not refreshed for so long; 0s keeps them",
    "docs/algorithms/verus.md; paper, section 5.1, and program: 0s",
);

/// True for the packets in flight.
pub(super) const LABEL: Parameter<kind::Choice<bool>> = Parameter::new(
    "label",
    kind::Choice(&[("window", false), ("inflight", true)]),
    true,
    "the window that a packet's point counts for: W, or the packets in flight with it",
    "window: program; inflight: this project",
);

pub(super) const BOUNDED: Parameter<kind::Switch> = Parameter::new(
    "bounded",
    kind::Switch,
    true,
    "the delay aimed for stays within r times the minimum and rises once per RTT for 3 s after a loss, W stays within twice the largest window on the profile",
    "this project",
);

pub(super) const MIN_DELAY_LIFETIME: Parameter<kind::Time> = Parameter::new(
    "min-delay-lifetime",
    kind::Time(Span::ZERO, HOUR),
    Span::from_secs(10),
    "a minimum delay that was not met for so long is measured again, with four packets in flight; 0s keeps it",
    "this project; BBR's ProbeRTT",
);

pub(super) const LOSS_TOLERANCE: Parameter<kind::Number> = Parameter::new(
    "loss-tolerance",
    kind::Number(0.0, 1.0),
    0.02,
    "share of lost packets, of the last 128 or so, up to which a loss cuts nothing",
    "this project; BBR's LossThresh is the same 2 %",
);

pub(super) const PACING: Parameter<kind::Switch> =
    Parameter::new("pacing", kind::Switch, true, "an epoch's packets are spread over it", "this project");

pub(super) fn parameters() -> Vec<ParameterInfo> {
    vec![
        PRESET.into(),
        R.into(),
        PROFILE.into(),
        FIT.into(),
        EPOCH.into(),
        REFIT.into(),
        DELTA1.into(),
        DELTA2.into(),
        M.into(),
        ALPHA.into(),
        RTT_ALPHA.into(),
        POINT_ALPHA.into(),
        RATIO_OF.into(),
        SLOW_START_DELAY.into(),
        SLOW_START_LOSS.into(),
        LOSS_TIMER.into(),
        RECOVERY.into(),
        RTO.into(),
        RTO_MIN.into(),
        RTO_MAX.into(),
        INITIAL_WINDOW.into(),
        MAX_WINDOW.into(),
        KNOT_SPACING.into(),
        SMOOTHING.into(),
        PAUSE.into(),
        MIN_DELAY_CREEP.into(),
        RESTART.into(),
        POINT_LIFETIME.into(),
        LABEL.into(),
        BOUNDED.into(),
        MIN_DELAY_LIFETIME.into(),
        LOSS_TOLERANCE.into(),
        PACING.into(),
    ]
}

// The presets of Verus: the values of each that differ from the defaults.

pub(super) fn presets() -> Vec<Preset> {
    vec![
        Preset {
            parameter: PRESET.name,
            name: "robust".into(),
            summary: "this project: a bounded delay, a profile that forgets, and no more in an epoch than its share \
                      of the window less the packets in flight, however short the RTT: half of the program's delay, and no path \
                      stops it"
                .into(),
            source: ROBUST.into(),
            sets: "".into(),
        },
        paper("paper"),
        authors("authors"),
        // The names that these two had first.
        paper("sigcomm15"),
        authors("reference"),
    ]
}

/// Values that the paper and the program share and that differ from `robust`.
const PUBLISHED: &str = "fit=penalised, initial-window=1pkt, restart=on, point-lifetime=0s, label=window, bounded=off, \
                         min-delay-lifetime=0s, loss-tolerance=0, pacing=off";

fn paper(name: &'static str) -> Preset {
    Preset {
        parameter: PRESET.name,
        name: name.into(),
        summary: "the paper, and the program where the paper says nothing".into(),
        source: "Zaki et al., SIGCOMM 2015, sections 4, 5.1, 5.2 and 6.1".into(),
        sets: format!(
            "{PUBLISHED}, r=2, ratio-of=current, slow-start-delay=15x, slow-start-loss=0pkt, loss-timer=3x, pause=off, \
             min-delay-creep=0s"
        )
        .into(),
    }
}

fn authors(name: &'static str) -> Preset {
    Preset {
        parameter: PRESET.name,
        name: name.into(),
        summary: "the authors' program".into(),
        source: "github.com/yzaki/verus, 4b1bbf0, June 2017".into(),
        sets: format!("{PUBLISHED}, r=6, slow-start-delay=500ms, loss-timer=150ms, recovery=epochs").into(),
    }
}
