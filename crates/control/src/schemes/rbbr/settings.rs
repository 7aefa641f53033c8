//! What can be set in RBBR, and where the values come from.

use crate::parameter::{Arguments, Kind, Parameter};
use cellcc_units::Span;

/// The longest sampling interval and feedback period: slower than any change worth following.
const LONGEST: Span = Span::from_secs(1);

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "profile",
        kind: Kind::Choice(&["paper", "paced"]),
        default: "paper",
        meaning: "paper: limited by the window alone; paced: paces, and takes samples of a short queue for lower bounds",
        source: "docs/fidelity/rbbr.md; the authors do not say",
    },
    Parameter {
        name: "filter",
        kind: Kind::Choice(&["kalman", "kalman-literal", "adaptive", "ewma", "none"]),
        default: "kalman",
        meaning: "what makes an estimate of the samples; kalman-literal: the equations as printed, which diverge; adaptive: a gain that follows the channel",
        source: "paper, sections III.A and V.A.3",
    },
    Parameter {
        name: "alpha",
        kind: Kind::Number(0.0, 1.0),
        default: "0.6",
        meaning: "kalman: the share of the old covariances that stays with a sample; ewma: the share of the new sample",
        source: "paper, section V.A and equation 12",
    },
    Parameter {
        name: "interval",
        kind: Kind::Time(Span::from_millis(1), LONGEST),
        default: "10ms",
        meaning: "sampling interval, at the least; longer where fewer than four packets arrive in it, up to 100 ms",
        source: "the grain of the paper's traces (section IV.A); it does not give its own",
    },
    Parameter {
        name: "feedback-every",
        kind: Kind::Count(1, 1000),
        default: "1",
        meaning: "feedback goes with every so many ACKs",
        source: "paper, section III.B",
    },
    Parameter {
        name: "feedback-interval",
        kind: Kind::Time(Span::ZERO, LONGEST),
        default: "0s",
        meaning: "above zero: feedback goes by this clock instead of with ACKs",
        source: "paper, section III.B",
    },
    Parameter {
        name: "cwnd-gain",
        kind: Kind::Number(1.0, 4.0),
        default: "2",
        meaning: "bandwidth-delay products that may be in flight; less trades throughput for delay",
        source: "BBR draft, section 4.2.3.2",
    },
    Parameter {
        name: "soft-limit",
        kind: Kind::Choice(&["profile", "on", "off"]),
        default: "profile",
        meaning: "samples taken while the RTT is within 5 ms of its minimum may only raise the estimate; `profile`: on where it paces",
        source: "docs/algorithms/rbbr.md; not in the paper",
    },
    Parameter {
        name: "bound",
        kind: Kind::Number(1.0, 100.0),
        default: "1.25",
        meaning: "the receiver is believed up to so many times the sender's largest delivery rate of ten rounds",
        source: "BBR's probing gain; the paper leaves greedy receivers to later work (section VII)",
    },
    Parameter {
        name: "bias",
        kind: Kind::Switch,
        default: "off",
        meaning: "where packets are lost, adds up to a standard deviation of the samples: a buffer that overflows is too small to show a rising rate",
        source: "paper, section V.A.2, as later work",
    },
    Parameter {
        name: "aggregation",
        kind: Kind::Choice(&["off", "receiver"]),
        default: "off",
        meaning: "receiver: the window also holds the largest burst that the receiver saw of late",
        source: "off: paper, section III; receiver: section V.A.1, as later work",
    },
];

/// What the receiver-side component is built from.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiverSettings {
    pub(super) filter: &'static str,
    pub(super) alpha: f64,
    pub(super) interval: Span,
    pub(super) feedback: FeedbackWhen,
    pub(super) compensates_bias: bool,
    pub(super) measures_bursts: bool,
}

/// When feedback leaves.
#[derive(Debug, Clone, Copy)]
pub(super) enum FeedbackWhen {
    /// With every so many ACKs.
    EveryAcks(u32),
    /// By the clock, with an ACK of its own where none is due.
    Every(Span),
}

/// What the sender is built from.
#[derive(Debug, Clone, Copy)]
pub(super) struct SenderSettings {
    pub(super) paces: bool,
    pub(super) gates_samples: bool,
    pub(super) cwnd_gain: f64,
    pub(super) bound: f64,
    pub(super) holds_bursts: bool,
}

impl ReceiverSettings {
    pub(super) fn read(arguments: &Arguments) -> Self {
        let period = arguments.time("feedback-interval");
        Self {
            filter: arguments.choice("filter"),
            alpha: arguments.number("alpha"),
            interval: arguments.time("interval"),
            feedback: if period.is_zero() {
                FeedbackWhen::EveryAcks(arguments.count("feedback-every"))
            } else {
                FeedbackWhen::Every(period)
            },
            compensates_bias: arguments.switch("bias"),
            measures_bursts: measures_bursts(arguments),
        }
    }
}

impl SenderSettings {
    pub(super) fn read(arguments: &Arguments) -> Self {
        let paces = arguments.choice("profile") == "paced";
        Self {
            paces,
            gates_samples: match arguments.choice("soft-limit") {
                "on" => true,
                "off" => false,
                _ => paces,
            },
            cwnd_gain: arguments.number("cwnd-gain"),
            bound: arguments.number("bound"),
            holds_bursts: measures_bursts(arguments),
        }
    }
}

fn measures_bursts(arguments: &Arguments) -> bool {
    arguments.choice("aggregation") == "receiver"
}
