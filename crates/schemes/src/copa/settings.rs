//! The settings of Copa, its profiles, and the sources of the values.

use cellcc_control::{Ack, Arguments, Parameter, ParameterInfo, Preset, kind};
use cellcc_units::{Span, Time};

/// RFC 9002, section 7.2; mvfst `minCwndInMss`: the smallest window, in packets.
pub(super) const MIN_WINDOW_PACKETS: u64 = 2;

const DELTA: Parameter<kind::Number> = Parameter::new(
    "delta",
    kind::Number(0.001, 10.0),
    0.5,
    "1/delta packets wait in the queue; the largest delta of the competitive mode",
    "paper, section 2.2; Pantheon has run with 0.1 since March 2020; mvfst uses 0.05",
);

const MODE: Parameter<kind::Choice<Mode>> = Parameter::new(
    "mode",
    kind::Choice(&[
        ("auto", Mode::Auto),
        ("literal", Mode::Literal),
        ("default", Mode::Default),
        ("competitive", Mode::Competitive),
    ]),
    Mode::Auto,
    "default; competitive; auto: competes where the queue is never nearly empty; literal: by the paper's rule to the letter",
    "paper, section 2.2, which has auto; mvfst has the default mode only",
);

const DELAY: Parameter<kind::Choice<Delay>> = Parameter::new(
    "delay",
    kind::Choice(&[("standing", Delay::Standing), ("latest", Delay::Latest)]),
    Delay::Standing,
    "the RTT that the queueing delay is taken from",
    "paper, section 2.1; mvfst takes the latest by default",
);

const PROFILE: Parameter<kind::Choice<Profile>> = Parameter::new(
    "profile",
    kind::Choice(&[("paper", Profile::Paper), ("mvfst", Profile::Mvfst)]),
    Profile::Paper,
    "which version of the algorithm",
    "docs/algorithms/copa.md",
);

pub(super) fn parameters() -> Vec<ParameterInfo> {
    vec![DELTA.into(), MODE.into(), DELAY.into(), PROFILE.into()]
}

pub(super) fn presets() -> Vec<Preset> {
    vec![
        Preset {
            parameter: PROFILE.name,
            name: "paper".into(),
            summary: "the paper: every default".into(),
            source: "Arun and Balakrishnan, NSDI 2018, sections 2.1 and 2.2".into(),
            sets: "".into(),
        },
        Preset {
            parameter: PROFILE.name,
            name: "mvfst".into(),
            summary: "Facebook's QUIC: ten times the queue, the latest RTT".into(),
            source: "facebook/mvfst, quic/congestion_control/Copa.cpp, 2023".into(),
            sets: "delta=0.05, delay=latest, mode=default".into(),
        },
    ]
}

/// Condition for a flow to compete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Where the queue is never nearly empty, as far as the flow's own packets can tell.
    Auto,
    /// Where the queue is never nearly empty by the paper's threshold.
    Literal,
    /// Never.
    Default,
    /// Always.
    Competitive,
}

/// The RTT whose excess over the minimum is the queueing delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delay {
    Standing,
    Latest,
}

/// The version of the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    Paper,
    Mvfst,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) delta: f64,
    pub(super) mode: Mode,
    pub(super) delay: Delay,
    pub(super) profile: Profile,
}

impl Settings {
    pub(super) fn read(arguments: &Arguments) -> Self {
        Self {
            delta: arguments.get(&DELTA),
            mode: arguments.get(&MODE),
            delay: arguments.get(&DELAY),
            profile: arguments.get(&PROFILE),
        }
    }

    /// The standing RTT is the minimum of so long (paper, section 2.1; mvfst `setWindowLength`).
    pub(super) fn standing_window(&self, smoothed: Span) -> Span {
        match (self.profile, self.delay) {
            (Profile::Mvfst, Delay::Standing) => smoothed,
            _ => smoothed / 2,
        }
    }

    /// The round that the velocity counts in is over; it began at `began`.
    pub(super) fn is_round_over(&self, ack: &Ack<'_>, began: Option<Time>) -> bool {
        match self.profile {
            Profile::Paper => ack.round_start,
            Profile::Mvfst => began.is_none_or(|began| ack.now.since(began) >= ack.rtt.smoothed()),
        }
    }

    /// The velocity doubles after so many rounds with the direction of the round before: three (paper, section 2.1, step
    /// 4); in mvfst four with the standing RTT, whose window is longer there.
    pub(super) fn rounds_before_doubling(&self) -> u32 {
        match (self.profile, self.delay) {
            (Profile::Mvfst, Delay::Standing) => 4,
            _ => 3,
        }
    }
}
