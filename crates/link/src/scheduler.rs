//! The scheduler of a cell's slots.

use cellcc_units::{Bytes, ParseError, Span};
use std::fmt;
use std::str::FromStr;

/// How a base station shares its slots, written `"round-robin"`, `"proportional-fair"` or
/// `"proportional-fair(time_constant=100ms)"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// Each user in turn.
    RoundRobin,
    /// The user whose rate in this slot is largest in relation to its average rate so far, an exponentially
    /// weighted mean over `time_constant` (Jalali, Padovani and Pankaj, "Data throughput of CDMA-HDR", VTC 2000;
    /// Viswanath, Tse and Laroia, "Opportunistic beamforming using dumb antennas", IEEE Trans. IT 2002, section II).
    ProportionalFair {
        /// Time constant of the average rate.
        time_constant: Span,
    },
}

impl Scheduler {
    /// Proportional fair with the time constant of Jalali et al.: 1000 slots, here of a millisecond each.
    pub const PROPORTIONAL_FAIR: Self = Self::ProportionalFair { time_constant: Span::from_secs(1) };
}

/// The state of a scheduler.
#[derive(Debug, Clone)]
pub(crate) enum State {
    /// The user served last.
    RoundRobin { last: usize },
    /// Bytes per slot of each user, averaged, and the share of a new slot in the average.
    ProportionalFair { averages: Vec<f64>, gain: f64 },
}

impl State {
    pub(crate) fn new(scheduler: Scheduler, users: usize, slot: Span) -> Self {
        match scheduler {
            Scheduler::RoundRobin => Self::RoundRobin { last: users.saturating_sub(1) },
            Scheduler::ProportionalFair { time_constant } => {
                // A time constant of one slot or less is no average at all: only the last slot counts.
                let slots = (time_constant.as_secs_f64() / slot.as_secs_f64()).max(1.0);
                Self::ProportionalFair { averages: vec![0.0; users], gain: 1.0 / slots }
            }
        }
    }

    /// The user to serve. `offers` is each user's capacity in this slot: zero for a user without packets.
    pub(crate) fn choose(&self, offers: &[Bytes]) -> Option<usize> {
        match self {
            Self::RoundRobin { last } => {
                let next = last + 1;
                (next..offers.len()).chain(0..next.min(offers.len())).find(|&user| !offers[user].is_zero())
            }
            Self::ProportionalFair { averages, .. } => {
                // One byte per slot stands for "nothing so far", as a divisor must be above zero.
                let metric = |user: usize| offers[user].as_f64() / averages[user].max(1.0);
                let mut best = None;
                for user in (0..offers.len()).filter(|&user| !offers[user].is_zero()) {
                    if best.is_none_or(|best| metric(user) > metric(best)) {
                        best = Some(user);
                    }
                }
                best
            }
        }
    }

    /// Notes that a slot carried `bytes` for `user` and nothing for the others.
    pub(crate) fn served(&mut self, user: usize, bytes: Bytes) {
        match self {
            Self::RoundRobin { last } => *last = user,
            Self::ProportionalFair { averages, gain } => {
                for (index, average) in averages.iter_mut().enumerate() {
                    let carried = if index == user { bytes.as_f64() } else { 0.0 };
                    *average += *gain * (carried - *average);
                }
            }
        }
    }

    /// Notes `slots` slots that carried nothing.
    pub(crate) fn unused(&mut self, slots: u64) {
        if let Self::ProportionalFair { averages, gain } = self {
            let kept = libm::pow(1.0 - *gain, slots as f64);
            averages.iter_mut().for_each(|average| *average *= kept);
        }
    }
}

const EXPECTED: &str =
    "a scheduler: `round-robin`, `proportional-fair` or `proportional-fair(time_constant=100ms)`";

impl FromStr for Scheduler {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::new(text, EXPECTED);
        match text.trim() {
            "round-robin" => Ok(Self::RoundRobin),
            "proportional-fair" => Ok(Self::PROPORTIONAL_FAIR),
            text => {
                let value = text.strip_prefix("proportional-fair(time_constant=");
                let span = value.and_then(|value| value.strip_suffix(')')).ok_or_else(refused)?.parse();
                let time_constant = span.map_err(|_| refused())?;
                Some(Self::ProportionalFair { time_constant })
                    .filter(|_| time_constant > Span::ZERO)
                    .ok_or_else(refused)
            }
        }
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundRobin => f.pad("round-robin"),
            &Self::PROPORTIONAL_FAIR => f.pad("proportional-fair"),
            Self::ProportionalFair { time_constant } => {
                f.pad(&format!("proportional-fair(time_constant={time_constant})"))
            }
        }
    }
}

impl serde::Serialize for Scheduler {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Scheduler {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        cellcc_units::deserialize_text(deserializer, EXPECTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let slow = Scheduler::ProportionalFair { time_constant: Span::from_millis(100) };
        for scheduler in [Scheduler::RoundRobin, Scheduler::PROPORTIONAL_FAIR, slow] {
            assert_eq!(scheduler.to_string().parse(), Ok(scheduler));
        }
        assert!("proportional-fair(time_constant=0s)".parse::<Scheduler>().is_err());
        assert!("fair".parse::<Scheduler>().is_err());
    }

    #[test]
    fn unused_slots_fade_as_if_each_were_counted() {
        let fresh = State::ProportionalFair { averages: vec![1500.0, 20.0], gain: 0.01 };
        let (mut at_once, mut one_by_one) = (fresh.clone(), fresh);
        at_once.unused(250);
        (0..250).for_each(|_| one_by_one.served(0, Bytes::ZERO));
        let averages = |state| match state {
            State::ProportionalFair { averages, .. } => averages,
            State::RoundRobin { .. } => unreachable!("it began as proportional fair"),
        };
        let (at_once, one_by_one) = (averages(at_once), averages(one_by_one));
        assert_eq!((at_once.len(), one_by_one.len()), (2, 2));
        for (one, other) in at_once.into_iter().zip(one_by_one) {
            assert!((one - other).abs() < 1e-9 * one, "{one} {other}");
        }
    }
}
