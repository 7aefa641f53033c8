//! What can be set in a scheme: parameters with their ranges, and arguments that were checked against them.

use crate::contract::Context;
use crate::registry::Scheme;
use cellcc_units::{Bytes, Rate, Ratio, Span};
use std::collections::{BTreeMap, BTreeSet};

/// One setting of a scheme.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The key in `name(key=value, ...)`.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// The value where none is given, in its text form.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

/// The values a parameter takes; the range is part of it and is checked before a scheme is built.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `on` or `off`.
    Switch,
    /// One of the words.
    Choice(&'static [&'static str]),
    /// A plain number from the first to the second.
    Number(f64, f64),
    /// A whole number from the first to the second.
    Count(u32, u32),
    /// A count of full packets, `10pkt`, from the first to the second.
    Packets(u64, u64),
    /// A time, from the first to the second.
    Time(Span, Span),
    /// A rate above zero.
    Rate,
    /// A time of at least 1us, or a multiple of the minimum RTT above one: `40ms`, `1.5x`.
    TimeOrMultiple,
    /// A share in per cent from nothing to all: `10%`.
    Share,
    /// Another scheme, with its own arguments: `cubic`, `bbr(pacing=off)`. One that needs only its sender; the registry
    /// reads it.
    Scheme,
}

/// A value after checking.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Switch(bool),
    Choice(&'static str),
    Number(f64),
    Count(u32),
    Packets(u64),
    Time(Span),
    Rate(Rate),
    Multiple(Ratio),
    Share(Ratio),
    Scheme(Box<Scheme>),
}

/// The checked arguments of one scheme: every parameter has a value of its kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    values: BTreeMap<&'static str, Value>,
    given: BTreeSet<&'static str>,
}

impl Arguments {
    pub(crate) fn new(
        values: BTreeMap<&'static str, Value>,
        given: impl Iterator<Item = &'static str>,
    ) -> Self {
        Self { values, given: given.collect() }
    }

    /// True where the parameter was given, and is not its default: a preset, or the Scenario, decides otherwise.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains(name)
    }

    #[cfg(test)]
    pub(crate) fn has_values_of(&self, other: &Self) -> bool {
        self.values == other.values
    }

    /// The value of a [`Kind::Switch`].
    pub fn switch(&self, name: &str) -> bool {
        match self.values.get(name) {
            Some(&Value::Switch(on)) => on,
            other => wrong_kind(name, other),
        }
    }

    /// The value of a [`Kind::Choice`].
    pub fn choice(&self, name: &str) -> &'static str {
        match self.values.get(name) {
            Some(&Value::Choice(word)) => word,
            other => wrong_kind(name, other),
        }
    }

    /// The value of a [`Kind::Number`].
    pub fn number(&self, name: &str) -> f64 {
        match self.values.get(name) {
            Some(&Value::Number(number)) => number,
            other => wrong_kind(name, other),
        }
    }

    /// The value of a [`Kind::Count`].
    pub fn count(&self, name: &str) -> u32 {
        match self.values.get(name) {
            Some(&Value::Count(count)) => count,
            other => wrong_kind(name, other),
        }
    }

    /// The value of a [`Kind::Packets`], as bytes of full packets.
    pub fn packets(&self, name: &str, context: &Context) -> Bytes {
        match self.values.get(name) {
            Some(&Value::Packets(count)) => context.packet * count,
            other => wrong_kind(name, other),
        }
    }

    /// The value of a [`Kind::Time`].
    pub fn time(&self, name: &str) -> Span {
        match self.values.get(name) {
            Some(&Value::Time(span)) => span,
            other => wrong_kind(name, other),
        }
    }

    /// The value of a [`Kind::Rate`].
    pub fn rate(&self, name: &str) -> Rate {
        match self.values.get(name) {
            Some(&Value::Rate(rate)) => rate,
            other => wrong_kind(name, other),
        }
    }

    /// The value of a [`Kind::TimeOrMultiple`].
    pub fn time_or_multiple(&self, name: &str) -> Result<Span, Ratio> {
        match self.values.get(name) {
            Some(&Value::Time(span)) => Ok(span),
            Some(&Value::Multiple(ratio)) => Err(ratio),
            other => wrong_kind(name, other),
        }
    }

    /// The value of a [`Kind::Share`].
    pub fn share(&self, name: &str) -> Ratio {
        match self.values.get(name) {
            Some(&Value::Share(ratio)) => ratio,
            other => wrong_kind(name, other),
        }
    }

    /// The value of a [`Kind::Scheme`].
    pub fn scheme(&self, name: &str) -> &Scheme {
        match self.values.get(name) {
            Some(Value::Scheme(scheme)) => scheme,
            other => wrong_kind(name, other),
        }
    }
}

/// A scheme asked for a parameter that its own list does not have: an error in the scheme, not in the input.
fn wrong_kind(name: &str, found: Option<&Value>) -> ! {
    panic!("the scheme's parameter list does not agree with its use of `{name}`: {found:?}")
}

impl Kind {
    pub(crate) fn read(self, text: &str) -> Option<Value> {
        match self {
            Self::Switch => match text {
                "on" => Some(Value::Switch(true)),
                "off" => Some(Value::Switch(false)),
                _ => None,
            },
            Self::Choice(words) => words.iter().find(|word| **word == text).map(|word| Value::Choice(word)),
            Self::Number(from, to) => {
                let number = text.parse().ok().filter(|number| (from..=to).contains(number))?;
                Some(Value::Number(number))
            }
            Self::Count(from, to) => {
                let count = text.parse().ok().filter(|count| (from..=to).contains(count))?;
                Some(Value::Count(count))
            }
            Self::Packets(from, to) => {
                let count = text.strip_suffix("pkt")?.trim().parse().ok()?;
                (from..=to).contains(&count).then_some(Value::Packets(count))
            }
            Self::Time(from, to) => {
                let span = text.parse().ok().filter(|span| (from..=to).contains(span))?;
                Some(Value::Time(span))
            }
            Self::Rate => text.parse().ok().filter(|rate: &Rate| !rate.is_zero()).map(Value::Rate),
            Self::TimeOrMultiple => match text.parse::<Span>() {
                Ok(span) => (Span::from_micros(1)..=Span::from_secs(3600))
                    .contains(&span)
                    .then_some(Value::Time(span)),
                Err(_) => {
                    let ratio = text.strip_suffix('x').and_then(|_| text.parse::<Ratio>().ok())?;
                    (ratio.get() > 1.0 && ratio.get() <= 1000.0).then_some(Value::Multiple(ratio))
                }
            },
            Self::Share => {
                let ratio = text.strip_suffix('%').and_then(|_| text.parse::<Ratio>().ok())?;
                (ratio <= Ratio::ONE).then_some(Value::Share(ratio))
            }
            Self::Scheme => None, // Needs the registry, which reads it itself.
        }
    }

    /// The values it takes, in words.
    pub fn expected(self) -> String {
        match self {
            Self::Switch => "on or off".into(),
            Self::Choice(words) => listed(words.iter().copied()),
            Self::Number(from, to) => format!("a number from {from} to {to}"),
            Self::Count(from, to) => format!("a whole number from {from} to {to}"),
            Self::Packets(from, to) => format!("a count of packets from {from}pkt to {to}pkt"),
            Self::Time(from, to) => format!("a time from {from} to {to}"),
            Self::Rate => "a rate above zero such as 12Mbit/s".into(),
            Self::TimeOrMultiple => {
                "a time such as 40ms (1us to 1h), or a multiple of the minimum RTT such as 1.5x (above 1x, up to 1000x)".into()
            }
            Self::Share => "a share from 0% to 100%".into(),
            Self::Scheme => "a scheme that needs only its sender, such as cubic or bbr(pacing=off)".into(),
        }
    }
}

/// Words for a message: `a, b, c`, or `none`.
pub(crate) fn listed(words: impl Iterator<Item = &'static str>) -> String {
    let words: Vec<_> = words.collect();
    if words.is_empty() { "none".into() } else { words.join(", ") }
}
