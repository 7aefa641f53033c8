//! What can be set in Reminis, and where the values come from.

use super::fixed_aimd::FixedAimd;
use crate::contract::Context;
use crate::growth::{Cubic, Growth, HystartMode, NewReno};
use crate::parameter::{Arguments, Kind, Parameter};
use cellcc_units::{Ratio, Span};

/// The default DTT in minimum RTTs, also what a target that cannot be met is raised to (paper, section 3.1).
pub(super) const DEFAULT_MULTIPLE: f64 = 1.5;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "dtt",
        kind: Kind::TimeOrMultiple,
        default: "1.5x",
        meaning: "delay tolerance threshold: the round-trip time to stay below",
        source: "paper, section 3.1; the authors' Pantheon wrapper ran with 2x",
    },
    Parameter {
        name: "profile",
        kind: Kind::Choice(&["paper", "literal", "code2022", "following"]),
        default: "paper",
        meaning: "paper: the reading that reproduces the paper's results; literal: Algorithms 1 and 2 as printed; code2022: the authors' program; following: ours, ssthresh follows the window that meets the target",
        source: "docs/fidelity/reminis.md",
    },
    Parameter {
        name: "nde",
        kind: Kind::Choice(&["random", "deterministic", "off"]),
        default: "random",
        meaning: "exploration: draw from the Gaussian, take its mean, or none",
        source: "paper, section 3.2 and Figure 3",
    },
    Parameter {
        name: "ps",
        kind: Kind::Switch,
        default: "on",
        meaning: "proactive slowdown in Zone 2",
        source: "paper, section 3.3 and Figure 4",
    },
    Parameter {
        name: "cm",
        kind: Kind::Switch,
        default: "on",
        meaning: "catastrophe mitigation in Zone 3",
        source: "paper, section 3.3 and Figure 5",
    },
    Parameter {
        name: "aimd",
        kind: Kind::Choice(&["profile", "reno", "cubic", "off"]),
        default: "profile",
        meaning: "the AIMD block; `profile`: cubic for code2022, reno for the others",
        source: "paper, section 2 (\"classic AIMD\") and section 5.2",
    },
    Parameter {
        name: "slow-start",
        kind: Kind::Switch,
        default: "on",
        meaning: "off: the AIMD block begins in congestion avoidance",
        source: "paper, section 6",
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    Paper,
    Literal,
    Code2022,
    Following,
}

/// How the exploration picks its x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exploration {
    Random,
    Deterministic,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aimd {
    Reno,
    Cubic,
    Off,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) profile: Profile,
    /// A time, or a multiple of the minimum RTT.
    pub(super) target: Result<Span, Ratio>,
    pub(super) exploration: Exploration,
    pub(super) proactive_slowdown: bool,
    pub(super) catastrophe_mitigation: bool,
    pub(super) slow_start: bool,
    aimd: Aimd,
}

impl Settings {
    pub(super) fn read(arguments: &Arguments) -> Self {
        let profile = match arguments.choice("profile") {
            "literal" => Profile::Literal,
            "code2022" => Profile::Code2022,
            "following" => Profile::Following,
            _ => Profile::Paper,
        };
        Self {
            profile,
            target: arguments.time_or_multiple("dtt"),
            exploration: match arguments.choice("nde") {
                "deterministic" => Exploration::Deterministic,
                "off" => Exploration::Off,
                _ => Exploration::Random,
            },
            proactive_slowdown: arguments.switch("ps"),
            catastrophe_mitigation: arguments.switch("cm"),
            slow_start: arguments.switch("slow-start"),
            aimd: match (arguments.choice("aimd"), profile) {
                ("off", _) => Aimd::Off,
                ("cubic", _) | ("profile", Profile::Code2022) => Aimd::Cubic,
                _ => Aimd::Reno,
            },
        }
    }

    pub(super) fn aimd(&self, context: &Context) -> Box<dyn Growth> {
        match self.aimd {
            Aimd::Reno => Box::new(NewReno::new(context)),
            Aimd::Cubic => Box::new(Cubic::new(context, HystartMode::Off)),
            Aimd::Off => Box::new(FixedAimd::new(context)),
        }
    }
}
