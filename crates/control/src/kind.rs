//! The kinds of values that a parameter takes, each with its range and its text form.

use crate::contract::{Context, Controller};
use cellcc_units::{Ratio, Span};
use std::fmt;
use std::fmt::Debug;
use std::sync::Arc;

/// The values that a parameter takes. A scheme may bring a kind of its own.
pub trait ValueKind: Send + Sync + 'static {
    /// A value, as the scheme uses it.
    type Value: Clone + Debug + Send + Sync + 'static;

    /// Reads a value; `None` where the text is not one, or the value is out of range.
    fn read(&self, text: &str) -> Option<Self::Value>;

    /// The text form of a value: [`ValueKind::read`] gives the same value again.
    fn text(&self, value: &Self::Value) -> String;

    /// The values in words, for listings and error messages.
    fn expected(&self) -> String;

    /// Names the mistake in a text that [`ValueKind::read`] refuses; `None` where the list of values says enough.
    fn problem(&self, _text: &str) -> Option<String> {
        None
    }

    /// A given value, as the canonical text of its scheme has it: a text that is incomplete, such as the name of a file, is
    /// completed.
    fn canonical(&self, text: &str, _value: &Self::Value) -> String {
        text.into()
    }

    /// All values in their text form, where the kind has a list of them.
    fn words(&self) -> Vec<String> {
        Vec::new()
    }

    /// True where a value is a scheme: the registry reads it.
    fn is_scheme(&self) -> bool {
        false
    }
}

/// `on` or `off`.
#[derive(Debug, Clone, Copy)]
pub struct Switch;

impl ValueKind for Switch {
    type Value = bool;

    fn read(&self, text: &str) -> Option<bool> {
        match text {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        }
    }

    fn text(&self, on: &bool) -> String {
        if *on { "on".into() } else { "off".into() }
    }

    fn expected(&self) -> String {
        "on or off".into()
    }

    fn words(&self) -> Vec<String> {
        vec!["on".into(), "off".into()]
    }
}

/// One of the words, with its value.
#[derive(Debug, Clone, Copy)]
pub struct Choice<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy + PartialEq + Debug + Send + Sync> ValueKind for Choice<T> {
    type Value = T;

    fn read(&self, text: &str) -> Option<T> {
        self.0.iter().find(|(word, _)| *word == text).map(|&(_, value)| value)
    }

    fn text(&self, value: &T) -> String {
        self.0.iter().find(|(_, known)| known == value).map_or_else(String::new, |&(word, _)| word.into())
    }

    fn expected(&self) -> String {
        self.words().join(", ")
    }

    fn words(&self) -> Vec<String> {
        self.0.iter().map(|&(word, _)| word.into()).collect()
    }
}

/// A plain number from the first to the second.
#[derive(Debug, Clone, Copy)]
pub struct Number(pub f64, pub f64);

impl ValueKind for Number {
    type Value = f64;

    fn read(&self, text: &str) -> Option<f64> {
        text.parse().ok().filter(|number| (self.0..=self.1).contains(number))
    }

    fn text(&self, number: &f64) -> String {
        number.to_string()
    }

    fn expected(&self) -> String {
        format!("a number from {} to {}", self.0, self.1)
    }
}

/// A whole number from the first to the second.
#[derive(Debug, Clone, Copy)]
pub struct Count(pub u32, pub u32);

impl ValueKind for Count {
    type Value = u32;

    fn read(&self, text: &str) -> Option<u32> {
        text.parse().ok().filter(|count| (self.0..=self.1).contains(count))
    }

    fn text(&self, count: &u32) -> String {
        count.to_string()
    }

    fn expected(&self) -> String {
        format!("a whole number from {} to {}", self.0, self.1)
    }
}

/// A count of full packets, `10pkt`, from the first to the second.
#[derive(Debug, Clone, Copy)]
pub struct Packets(pub u64, pub u64);

impl ValueKind for Packets {
    type Value = u64;

    fn read(&self, text: &str) -> Option<u64> {
        text.strip_suffix("pkt")?.trim().parse().ok().filter(|count| (self.0..=self.1).contains(count))
    }

    fn text(&self, count: &u64) -> String {
        format!("{count}pkt")
    }

    fn expected(&self) -> String {
        format!("a count of packets from {}pkt to {}pkt", self.0, self.1)
    }
}

/// A time, from the first to the second.
#[derive(Debug, Clone, Copy)]
pub struct Time(pub Span, pub Span);

impl ValueKind for Time {
    type Value = Span;

    fn read(&self, text: &str) -> Option<Span> {
        text.parse().ok().filter(|span| (self.0..=self.1).contains(span))
    }

    fn text(&self, span: &Span) -> String {
        span.to_string()
    }

    fn expected(&self) -> String {
        format!("a time from {} to {}", self.0, self.1)
    }
}

/// A rate above zero.
#[derive(Debug, Clone, Copy)]
pub struct Rate;

impl ValueKind for Rate {
    type Value = cellcc_units::Rate;

    fn read(&self, text: &str) -> Option<Self::Value> {
        text.parse().ok().filter(|rate: &Self::Value| !rate.is_zero())
    }

    fn text(&self, rate: &Self::Value) -> String {
        rate.to_string()
    }

    fn expected(&self) -> String {
        "a rate above zero such as 12Mbit/s".into()
    }
}

/// A share in per cent, from nothing to all: `10%`.
#[derive(Debug, Clone, Copy)]
pub struct Share;

impl ValueKind for Share {
    type Value = Ratio;

    fn read(&self, text: &str) -> Option<Ratio> {
        text.strip_suffix('%').and_then(|_| text.parse().ok()).filter(|ratio| *ratio <= Ratio::ONE)
    }

    fn text(&self, share: &Ratio) -> String {
        format!("{}%", share.get() * 100.0)
    }

    fn expected(&self) -> String {
        "a share from 0% to 100%".into()
    }
}

/// A time from this one to an hour, or a multiple of an RTT above one: `40ms`, `1.5x`.
#[derive(Debug, Clone, Copy)]
pub struct TimeOrMultipleFrom(pub Span);

/// A value of [`TimeOrMultipleFrom`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeOrMultiple {
    /// A fixed time.
    Time(Span),
    /// A multiple of an RTT, as a rule the minimum RTT; the parameter names it.
    Multiple(Ratio),
}

impl TimeOrMultiple {
    /// The multiple `factor`.
    pub const fn times(factor: f64) -> Self {
        Self::Multiple(Ratio::new(factor))
    }

    /// The time, where a multiple counts `rtt`.
    pub fn of(self, rtt: Span) -> Span {
        match self {
            Self::Time(span) => span,
            Self::Multiple(factor) => rtt.mul_f64(factor.get()),
        }
    }
}

impl ValueKind for TimeOrMultipleFrom {
    type Value = TimeOrMultiple;

    fn read(&self, text: &str) -> Option<TimeOrMultiple> {
        if let Ok(span) = text.parse::<Span>() {
            let range = self.0..=Span::from_secs(3600);
            return range.contains(&span).then_some(TimeOrMultiple::Time(span));
        }
        let ratio = text.strip_suffix('x').and_then(|_| text.parse::<Ratio>().ok())?;
        (ratio.get() > 1.0 && ratio.get() <= 1000.0).then_some(TimeOrMultiple::Multiple(ratio))
    }

    fn text(&self, value: &TimeOrMultiple) -> String {
        match value {
            TimeOrMultiple::Time(span) => span.to_string(),
            TimeOrMultiple::Multiple(ratio) => ratio.to_string(),
        }
    }

    fn expected(&self) -> String {
        format!(
            "a time such as 40ms ({} to 1h), or a multiple of the minimum RTT such as 1.5x (above 1x, up to 1000x)",
            self.0
        )
    }
}

/// Another scheme, with its own arguments: `cubic`, `bbr(pacing=off)`. It may need no more than its sender.
#[derive(Debug, Clone, Copy)]
pub struct Scheme;

impl ValueKind for Scheme {
    type Value = InnerScheme;

    /// Only a registry knows the schemes, and reads them.
    fn read(&self, _text: &str) -> Option<InnerScheme> {
        None
    }

    fn text(&self, scheme: &InnerScheme) -> String {
        scheme.text().into()
    }

    fn expected(&self) -> String {
        "a scheme that needs only its sender, such as cubic or bbr(pacing=off)".into()
    }

    fn is_scheme(&self) -> bool {
        true
    }
}

// A scheme as a part of another: the fallback of `natcp`, the base of `nacap`.

/// A scheme that another one builds and runs.
#[derive(Clone)]
pub struct InnerScheme {
    text: Arc<str>,
    build: Arc<BuildInner>,
}

/// Builds the scheme's controller.
type BuildInner = dyn Fn(&Context) -> Box<dyn Controller> + Send + Sync;

impl InnerScheme {
    /// The scheme whose canonical text is `text`, and how to build it.
    pub fn new(text: &str, build: impl Fn(&Context) -> Box<dyn Controller> + Send + Sync + 'static) -> Self {
        Self { text: text.into(), build: Arc::new(build) }
    }

    /// The canonical text, such as `bbr(pacing=off)`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A fresh controller.
    pub fn build(&self, context: &Context) -> Box<dyn Controller> {
        (self.build)(context)
    }
}

impl fmt::Debug for InnerScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InnerScheme").field(&self.text).finish()
    }
}
