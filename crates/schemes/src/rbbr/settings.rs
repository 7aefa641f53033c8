//! Parameters of RBBR, its profiles, and the sources of the values.

use super::filter::Filter;
use crate::bbr::SAMPLER;
use cellcc_control::{Arguments, Parameter, ParameterInfo, Preset, Sampler, kind};
use cellcc_units::Span;

/// The longest sampling interval and feedback period: slower than any change worth following.
const LONGEST: Span = Span::from_secs(1);

const PROFILE: Parameter<kind::Choice<Profile>> = Parameter::new(
    "profile",
    kind::Choice(&[("paced", Profile::Paced), ("paper", Profile::Paper), ("tperf", Profile::Tperf)]),
    Profile::Paced,
    "limits of the sender, and samples that count in full",
    "docs/algorithms/rbbr.md",
);

const FILTER: Parameter<kind::Choice<Filter>> = Parameter::new(
    "filter",
    kind::Choice(Filter::NAMED),
    Filter::Kalman,
    "filter that estimates the bandwidth from the samples; kalman-literal: the equations as printed, which diverge; adaptive: a gain that follows the channel",
    "paper, sections III.A and V.A.3",
);

const ALPHA: Parameter<kind::Number> = Parameter::new(
    "alpha",
    kind::Number(0.0, 1.0),
    0.6,
    "kalman: the share of the old covariances that stays with a sample; ewma: the share of the new sample",
    "paper, section V.A and equation 12",
);

const INTERVAL: Parameter<kind::Time> = Parameter::new(
    "interval",
    kind::Time(Span::from_millis(1), LONGEST),
    Span::from_millis(10),
    "sampling interval, at the least; longer where fewer than four packets arrive in it, up to 100 ms",
    "the grain of the paper's traces (section IV.A); it does not give its own",
);

const FEEDBACK_EVERY: Parameter<kind::Count> = Parameter::new(
    "feedback-every",
    kind::Count(1, 1000),
    1,
    "feedback goes with every so many ACKs",
    "paper, section III.B",
);

const FEEDBACK_INTERVAL: Parameter<kind::Time> = Parameter::new(
    "feedback-interval",
    kind::Time(Span::ZERO, LONGEST),
    Span::ZERO,
    "above zero: feedback goes by this clock instead of with ACKs",
    "paper, section III.B",
);

const CWND_GAIN: Parameter<kind::Number> = Parameter::new(
    "cwnd-gain",
    kind::Number(1.0, 4.0),
    2.0,
    "bandwidth-delay products that may be in flight; less trades throughput for delay",
    "BBR draft, section 4.2.3.2",
);

/// `None`: left to the profile, and every profile sets it.
const SOFT_LIMIT: Parameter<kind::Choice<Option<bool>>> = Parameter::new(
    "soft-limit",
    kind::Choice(&[("profile", None), ("on", Some(true)), ("off", Some(false))]),
    None,
    "samples taken while the RTT is within 5 ms of its minimum may only raise the estimate; `profile`: as the profile sets it",
    "docs/algorithms/rbbr.md; not in the paper",
);

const BOUND: Parameter<kind::Number> = Parameter::new(
    "bound",
    kind::Number(1.0, 100.0),
    1.25,
    "the receiver is believed up to so many times the sender's largest delivery rate of ten rounds",
    "BBR's probing gain; the paper leaves greedy receivers to later work (section VII)",
);

const BIAS: Parameter<kind::Switch> = Parameter::new(
    "bias",
    kind::Switch,
    false,
    "where packets are lost, adds up to a standard deviation of the samples: a buffer that overflows is too small to show a rising rate",
    "paper, section V.A.2, as later work",
);

const AGGREGATION: Parameter<kind::Choice<Aggregation>> = Parameter::new(
    "aggregation",
    kind::Choice(&[("off", Aggregation::Off), ("receiver", Aggregation::Receiver)]),
    Aggregation::Off,
    "receiver: the window also holds the largest burst that the receiver saw recently",
    "off: paper, section III; receiver: section V.A.1, as later work",
);

pub(super) fn parameters() -> Vec<ParameterInfo> {
    vec![
        PROFILE.into(),
        FILTER.into(),
        ALPHA.into(),
        INTERVAL.into(),
        FEEDBACK_EVERY.into(),
        FEEDBACK_INTERVAL.into(),
        CWND_GAIN.into(),
        SOFT_LIMIT.into(),
        BOUND.into(),
        SAMPLER.into(),
        BIAS.into(),
        AGGREGATION.into(),
    ]
}

pub(super) fn presets() -> Vec<Preset> {
    vec![
        Preset {
            parameter: PROFILE.name,
            name: "paced".into(),
            summary: "the paper's pacing, and samples of a short queue are lower bounds: without them the loop settles below \
                      the path's rate, and can fall to a fifth of it"
                .into(),
            source: "docs/algorithms/rbbr.md; not in the paper".into(),
            sets: "soft-limit=on".into(),
        },
        Preset {
            parameter: PROFILE.name,
            name: "paper".into(),
            summary: "the estimate governs pacing rate and window, and every sample counts".into(),
            source: "paper, sections II.B and VII".into(),
            sets: "soft-limit=off".into(),
        },
        Preset {
            parameter: PROFILE.name,
            name: "tperf".into(),
            summary: "limited by the window alone, as the server of the authors' tool was without a flag; the paper's delays \
                      come out"
                .into(),
            source: "docs/fidelity/rbbr.md; the authors do not say".into(),
            sets: "soft-limit=off".into(),
        },
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Profile {
    Paced,
    Paper,
    /// Unpaced, as mvfst's `tperf` is unless a flag asks it to pace.
    Tperf,
}

/// Compensation for aggregated ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aggregation {
    Off,
    Receiver,
}

/// Settings of the receiver-side component.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiverSettings {
    pub(super) filter: Filter,
    pub(super) alpha: f64,
    pub(super) interval: Span,
    pub(super) feedback: FeedbackWhen,
    pub(super) compensates_bias: bool,
    pub(super) measures_bursts: bool,
}

/// Schedule of feedback.
#[derive(Debug, Clone, Copy)]
pub(super) enum FeedbackWhen {
    /// With every n-th ACK.
    EveryAcks(u32),
    /// By the clock, with an ACK of its own where none is due.
    Every(Span),
}

/// Settings of the sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct SenderSettings {
    pub(super) paces: bool,
    pub(super) gates_samples: bool,
    pub(super) cwnd_gain: f64,
    pub(super) bound: f64,
    /// Sampler of the sender's own filter.
    pub(super) sampler: Sampler,
    pub(super) holds_bursts: bool,
    /// `profile=paper`, which had another meaning.
    pub(super) is_paper: bool,
}

impl ReceiverSettings {
    pub(super) fn read(arguments: &Arguments) -> Self {
        let period = arguments.get(&FEEDBACK_INTERVAL);
        Self {
            filter: arguments.get(&FILTER),
            alpha: arguments.get(&ALPHA),
            interval: arguments.get(&INTERVAL),
            feedback: if period.is_zero() {
                FeedbackWhen::EveryAcks(arguments.get(&FEEDBACK_EVERY))
            } else {
                FeedbackWhen::Every(period)
            },
            compensates_bias: arguments.get(&BIAS),
            measures_bursts: measures_bursts(arguments),
        }
    }
}

impl SenderSettings {
    pub(super) fn read(arguments: &Arguments) -> Self {
        Self {
            paces: arguments.get(&PROFILE) != Profile::Tperf,
            gates_samples: arguments.get(&SOFT_LIMIT) == Some(true),
            cwnd_gain: arguments.get(&CWND_GAIN),
            bound: arguments.get(&BOUND),
            sampler: arguments.get(&SAMPLER),
            holds_bursts: measures_bursts(arguments),
            is_paper: arguments.get(&PROFILE) == Profile::Paper,
        }
    }
}

fn measures_bursts(arguments: &Arguments) -> bool {
    arguments.get(&AGGREGATION) == Aggregation::Receiver
}
