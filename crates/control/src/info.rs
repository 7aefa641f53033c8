//! The entry of a scheme in the registry: its name, its parameters, its presets, and how it is built.

use crate::advice::AdviceRequest;
use crate::contract::{Context, Controller};
use crate::observer::ShownValue;
use crate::parameter::{Arguments, ParameterInfo};
use crate::receiver::ReceiverComponent;
use cellcc_units::split_outside_parentheses;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The registry entry of a scheme, as [`new`](Self::new) begins it and the methods of its fields' names go on.
#[derive(Clone)]
#[non_exhaustive]
pub struct SchemeInfo {
    /// The name in `name(key=value, ...)`.
    pub name: Cow<'static, str>,
    /// A summary in one line.
    pub summary: Cow<'static, str>,
    /// Paper, RFC or draft.
    pub source: Cow<'static, str>,
    /// The program or the figures of others that it was held against.
    pub held_against: Option<HeldAgainst>,
    /// Everything that can be set.
    pub parameters: Vec<ParameterInfo>,
    /// Values under one name; at most one preset of a scheme is in force.
    pub presets: Vec<Preset>,
    /// The meaning of the values that its two ends give to an [`Observer`](crate::Observer).
    pub shows: Vec<ShownValue>,
    /// Settings that it has in the TCP of Linux 6.18, where they are not its defaults: keys and values. A scheme of the
    /// kernel's own as its module has them (tcp_cubic.c: its HyStart is on unless a module parameter says otherwise); one of
    /// cellcc as eBPF leaves them.
    pub in_linux: &'static [(&'static str, &'static str)],
    /// Its authors ran it as a program over UDP, which acknowledges every packet: no TCP is below it.
    pub over_udp: bool,
    /// Its needs besides a path; a driver that cannot meet them refuses the scheme by name.
    pub needs: Needs,
    /// Builds the controller; nothing does for a controller with a transport's own interface.
    build: Option<BuildController>,
}

/// A comparison of an implementation with a program or with figures of others, such as its authors'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldAgainst {
    /// Whose they are, in how many cells, and how far off it is.
    pub by: &'static str,
    /// The use for which the comparison says that it is unfit.
    pub not_for: &'static str,
}

/// Builds a controller from checked arguments.
type BuildController = Arc<dyn Fn(&Arguments, &Context) -> Box<dyn Controller> + Send + Sync>;

/// Builds the receiver-side component of a scheme; `None` where these arguments need none.
pub type BuildReceiver =
    Arc<dyn Fn(&Arguments, &Context) -> Option<Box<dyn ReceiverComponent>> + Send + Sync>;

/// The request to the network's assistance by a scheme with these arguments.
pub type RequestAdvice = Arc<dyn Fn(&Arguments) -> AdviceRequest + Send + Sync>;

/// The needs of a scheme besides packets, acknowledgements and a timer.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Needs {
    /// The receiver-side component.
    pub receiver: Option<BuildReceiver>,
    /// Its request to the network's assistance.
    pub advice: Option<RequestAdvice>,
    /// Counts of arrived bytes by ECN codepoint ([`Ack::ecn`](crate::Ack::ecn)).
    pub ecn_counts: bool,
    /// When each packet arrived: Calls of [`Controller::on_arrivals`](crate::Controller::on_arrivals) with the reports of its
    /// receiver-side component.
    pub arrivals: bool,
    /// That a signal arrives with the very packet it was given to, and feedback leaves when the component's timer says so.
    pub packet_signals: bool,
}

impl SchemeInfo {
    /// A scheme without parameters that needs nothing but a sender. `build` makes its controller from checked arguments.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        summary: impl Into<Cow<'static, str>>,
        source: impl Into<Cow<'static, str>>,
        build: impl Fn(&Arguments, &Context) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        Self { build: Some(Arc::new(build)), ..Self::of_transport(name, summary, source) }
    }

    /// A controller with a transport's own interface, for the registry of the driver that runs it: of this entry nothing can be
    /// built.
    pub fn of_transport(
        name: impl Into<Cow<'static, str>>,
        summary: impl Into<Cow<'static, str>>,
        source: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            source: source.into(),
            held_against: None,
            parameters: Vec::new(),
            presets: Vec::new(),
            shows: Vec::new(),
            in_linux: &[],
            over_udp: false,
            needs: Needs::default(),
            build: None,
        }
    }

    /// Was held against this.
    #[must_use]
    pub fn held_against(self, held: HeldAgainst) -> Self {
        Self { held_against: Some(held), ..self }
    }

    /// Takes these parameters.
    #[must_use]
    pub fn parameters(self, parameters: Vec<ParameterInfo>) -> Self {
        Self { parameters, ..self }
    }

    /// Takes these presets.
    #[must_use]
    pub fn presets(self, presets: Vec<Preset>) -> Self {
        Self { presets, ..self }
    }

    /// Shows these values, besides those that it shows already.
    #[must_use]
    pub fn shows(mut self, values: &[ShownValue]) -> Self {
        self.shows.extend_from_slice(values);
        self
    }

    /// Has these settings in Linux.
    #[must_use]
    pub fn in_linux(self, in_linux: &'static [(&'static str, &'static str)]) -> Self {
        Self { in_linux, ..self }
    }

    /// Was a program over UDP.
    #[must_use]
    pub fn over_udp(self) -> Self {
        Self { over_udp: true, ..self }
    }

    /// Has a receiver-side component, which `build` makes.
    #[must_use]
    pub fn with_receiver(
        mut self,
        build: impl Fn(&Arguments, &Context) -> Option<Box<dyn ReceiverComponent>> + Send + Sync + 'static,
    ) -> Self {
        self.needs.receiver = Some(Arc::new(build));
        self
    }

    /// Makes this request to the network's assistance.
    #[must_use]
    pub fn with_advice(
        mut self,
        request: impl Fn(&Arguments) -> AdviceRequest + Send + Sync + 'static,
    ) -> Self {
        self.needs.advice = Some(Arc::new(request));
        self
    }

    /// Needs [`Needs::ecn_counts`].
    #[must_use]
    pub fn needs_ecn_counts(mut self) -> Self {
        self.needs.ecn_counts = true;
        self
    }

    /// Needs [`Needs::arrivals`].
    #[must_use]
    pub fn needs_arrivals(mut self) -> Self {
        self.needs.arrivals = true;
        self
    }

    /// Needs [`Needs::packet_signals`].
    #[must_use]
    pub fn needs_packet_signals(mut self) -> Self {
        self.needs.packet_signals = true;
        self
    }

    /// True where only a driver of the transport that it was written for runs it: nothing is built of this entry.
    pub fn is_of_transport(&self) -> bool {
        self.build.is_none()
    }

    pub(crate) fn build(&self, arguments: &Arguments, context: &Context) -> Box<dyn Controller> {
        let build = self.build.as_ref().expect("only its transport's driver runs it");
        build(arguments, context)
    }

    /// The preset of a bare name, which users should run.
    pub fn default_preset(&self) -> Option<&Preset> {
        let is_default = |preset: &&Preset| {
            let chooser = self.parameters.iter().find(|known| known.name == preset.parameter);
            chooser.is_some_and(|chooser| chooser.default == preset.name)
        };
        self.presets.iter().find(is_default)
    }

    /// The preset that is the text of the scheme's paper, where it has one of that name.
    pub fn papers_preset(&self) -> Option<&Preset> {
        self.presets.iter().find(|preset| preset.name == "paper")
    }
}

/// Values under one name. One of the scheme's parameters chooses it, and an argument that is given wins over it.
#[derive(Debug, Clone)]
pub struct Preset {
    /// The parameter that chooses it, such as `profile`. Another parameter that is given this word as its value, such
    /// as `aimd=profile`, is left to the preset.
    pub parameter: Cow<'static, str>,
    /// The value of that parameter which chooses it.
    pub name: Cow<'static, str>,
    /// A summary in one line.
    pub summary: Cow<'static, str>,
    /// Where its values come from.
    pub source: Cow<'static, str>,
    /// The arguments that it sets, as they are written in a scheme: `key=value, ...`.
    pub sets: Cow<'static, str>,
}

impl Preset {
    /// The keys that it sets, with their values.
    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        assignments(&self.sets).filter_map(|(key, value)| Some((key, value?)))
    }
}

impl fmt::Debug for SchemeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.name, self.parameters)
    }
}

/// The keys and values of `key=value, ...`; no value where the `=` is missing.
pub(crate) fn assignments(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    split_list(text).into_iter().map(|part| match part.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim())),
        None => (part, None),
    })
}

/// Splits at the commas that stand outside all parentheses, so that a list of schemes can hold arguments, and an
/// argument can hold a scheme. Empty parts are left out.
pub fn split_list(text: &str) -> Vec<&str> {
    split_outside_parentheses(text, ',').map(str::trim).filter(|part| !part.is_empty()).collect()
}
