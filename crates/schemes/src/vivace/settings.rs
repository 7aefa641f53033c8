//! The settings of Vivace, its profiles, and the sources of the values.

use cellcc_control::{Arguments, Parameter, ParameterInfo, kind};

/// Paper, rate control; WebRTC's port has it: the relative step of tried rates (epsilon).
const EPSILON: f64 = 0.05;
/// PCC-Uspace, branch NSDI-2018: the smallest difference that is tried, in Mbit/s.
const NSDI2018_MIN_DIFFERENCE: f64 = 0.5;
/// PCC-Uspace, branch NSDI-2018: the smallest rate, in Mbit/s.
pub(super) const NSDI2018_MIN_RATE: f64 = 1.3;
/// PCC-Uspace, branch NSDI-2018, `pcc.h`, `kMaxRateMbps`: the largest rate, in Mbit/s.
pub(super) const NSDI2018_MAX_RATE: f64 = 1024.0;
/// PCC-Uspace, branch NSDI-2018: the rate after time-outs, in Mbit/s (`HIBERNATE`).
pub(super) const NSDI2018_HIBERNATE_RATE: f64 = 0.04;
/// PCC-Uspace, branch NSDI-2018: an interval that lost more than this share halves the rate.
pub(super) const NSDI2018_COLLAPSE: f64 = 0.5;
/// PCC-Uspace, branch NSDI-2018: losses that slow start forgives.
const NSDI2018_FORGIVEN: u32 = 50;

const UTILITY: Parameter<kind::Choice<Utility>> = Parameter::new(
    "utility",
    kind::Choice(&[("latency", Utility::Latency), ("loss", Utility::Loss)]),
    Utility::Latency,
    "costs in the utility: a rising RTT and loss, or only loss",
    "paper: Vivace-Latency and Vivace-Loss",
);

const PROFILE: Parameter<kind::Choice<Profile>> = Parameter::new(
    "profile",
    kind::Choice(&[("paper", Profile::Paper), ("nsdi2018", Profile::Nsdi2018)]),
    Profile::Paper,
    "the paper, or the authors' program of that year",
    "docs/algorithms/vivace.md",
);

pub(super) fn parameters() -> Vec<ParameterInfo> {
    vec![UTILITY.into(), PROFILE.into()]
}

/// Costs in the utility besides loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Utility {
    /// A rising RTT.
    Latency,
    /// Nothing.
    Loss,
}

/// Version of the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    Paper,
    Nsdi2018,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) profile: Profile,
    pub(super) utility: Utility,
}

impl Settings {
    pub(super) fn read(arguments: &Arguments) -> Self {
        Self { profile: arguments.get(&PROFILE), utility: arguments.get(&UTILITY) }
    }

    /// The step of tried rates around `rate`, in Mbit/s, as a share.
    pub(super) fn epsilon(&self, rate: f64) -> f64 {
        match self.profile {
            Profile::Paper => EPSILON,
            // Below a difference of all the rate nothing would be left to try.
            Profile::Nsdi2018 => EPSILON.max((NSDI2018_MIN_DIFFERENCE / rate).min(0.5)),
        }
    }

    /// Pairs that are tried after so many steps in one direction.
    pub(super) fn pairs(&self, in_one_direction: u32) -> usize {
        match self.profile {
            Profile::Nsdi2018 if in_one_direction < 2 => 2,
            Profile::Paper | Profile::Nsdi2018 => 1,
        }
    }

    /// Losses that slow start forgives, in packets.
    pub(super) fn forgiven_losses(&self) -> u32 {
        match self.profile {
            Profile::Paper => 0,
            Profile::Nsdi2018 => NSDI2018_FORGIVEN,
        }
    }
}
