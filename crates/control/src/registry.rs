//! Schemes by name: `"reminis(dtt=40ms)"` becomes a controller, and every parameter is known with its range, its
//! default, its meaning and its source.

use crate::advice::AdviceRequest;
use crate::contract::{Context, Controller};
use crate::parameter::{Arguments, Kind, Parameter, Value, listed};
use crate::receiver::ReceiverComponent;
use crate::schemes::BUILTIN;
use cellcc_units::split_outside_parentheses;
use std::collections::BTreeMap;
use thiserror::Error;

/// What a registry knows of a scheme.
#[derive(Debug, Clone, Copy)]
pub struct SchemeInfo {
    /// The name in `name(key=value, ...)`.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// Paper, RFC or draft.
    pub source: &'static str,
    /// Everything that can be set.
    pub parameters: &'static [Parameter],
    /// What it needs beside a path; a driver that cannot give it refuses the scheme by name.
    pub needs: Needs,
    /// Builds the controller from checked arguments.
    pub build: fn(&Arguments, &Context) -> Box<dyn Controller>,
}

/// What a scheme needs beside packets, acknowledgements and a timer.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// The receiver-side component.
    pub receiver: Option<BuildReceiver>,
    /// What it asks of the network's assistance.
    pub advice: Option<fn(&Arguments) -> AdviceRequest>,
}

/// Builds the receiver-side component of a scheme; `None` where these arguments need none.
pub type BuildReceiver = fn(&Arguments, &Context) -> Option<Box<dyn ReceiverComponent>>;

impl Needs {
    /// Nothing: a sender alone is enough.
    pub const NOTHING: Self = Self { receiver: None, advice: None };
}

/// A scheme with its arguments: what a flow of a Scenario runs.
#[derive(Debug, Clone)]
pub struct Scheme {
    text: String,
    info: SchemeInfo,
    arguments: Arguments,
}

/// The schemes that can be named.
#[derive(Debug, Clone)]
pub struct Registry(Vec<SchemeInfo>);

/// Why a text names no scheme. The message says what would.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemeError {
    /// No such scheme.
    #[error("unknown scheme `{name}`; there are {known}. `cellcc schemes` describes them")]
    UnknownScheme {
        /// The name as given.
        name: String,
        /// All names, for the message.
        known: String,
    },
    /// No such parameter.
    #[error("scheme `{scheme}` has no parameter `{key}`; it has {known}")]
    UnknownParameter {
        /// The scheme.
        scheme: &'static str,
        /// The key as given.
        key: String,
        /// All keys, for the message.
        known: String,
    },
    /// A value that its parameter does not take.
    #[error("scheme `{scheme}`: `{key}={value}` is refused; {key} takes {expected}")]
    BadValue {
        /// The scheme.
        scheme: &'static str,
        /// The key.
        key: &'static str,
        /// The value as given.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// A scheme as a parameter that itself needs more than its sender.
    #[error(
        "scheme `{scheme}`: `{key}={inner}` is refused; `{inner}` itself {needs}, and {key} takes a scheme that needs only its sender, such as cubic"
    )]
    BadInner {
        /// The outer scheme.
        scheme: &'static str,
        /// The key.
        key: &'static str,
        /// The name of the scheme that was given.
        inner: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// Not of the form `name(key=value, ...)`.
    #[error("`{text}` is not a scheme; write `name` or `name(key=value, ...)`: {problem}")]
    Syntax {
        /// The text as given.
        text: String,
        /// What is wrong.
        problem: &'static str,
    },
}

impl Default for Registry {
    fn default() -> Self {
        Self(BUILTIN.to_vec())
    }
}

impl Registry {
    /// Adds a scheme from outside; one of the same name is replaced.
    pub fn register(&mut self, info: SchemeInfo) {
        self.0.retain(|known| known.name != info.name);
        self.0.push(info);
    }

    /// All schemes, in the order in which they are listed.
    pub fn schemes(&self) -> &[SchemeInfo] {
        &self.0
    }

    /// Reads `name` or `name(key=value, ...)`.
    ///
    /// # Errors
    /// An unknown name or key, a key given twice, a value outside its range.
    pub fn parse(&self, text: &str) -> Result<Scheme, SchemeError> {
        let text = text.trim();
        let (name, inside) = split_call(text)?;
        let info = *self.find(name)?;
        let mut given = BTreeMap::new();
        for assignment in split_list(inside) {
            let (key, value) = assignment
                .split_once('=')
                .map(|(key, value)| (key.trim(), value.trim()))
                .ok_or_else(|| syntax(text, "an argument has no `=`"))?;
            let parameter = info.parameters.iter().find(|known| known.name == key).ok_or_else(|| {
                SchemeError::UnknownParameter {
                    scheme: info.name,
                    key: key.into(),
                    known: listed(info.parameters.iter().map(|known| known.name)),
                }
            })?;
            if given.insert(parameter.name, value).is_some() {
                return Err(syntax(text, "a parameter is given twice"));
            }
        }
        let arguments = info
            .parameters
            .iter()
            .map(|parameter| {
                let text = given.get(parameter.name).copied().unwrap_or(parameter.default);
                Ok((parameter.name, self.read(info.name, parameter, text)?))
            })
            .collect::<Result<_, _>>()?;
        let arguments = Arguments::new(arguments, given.keys().copied());
        Ok(Scheme { text: canonical(&info, &given, &arguments), info, arguments })
    }

    fn find(&self, name: &str) -> Result<&SchemeInfo, SchemeError> {
        self.0.iter().find(|info| info.name == name).ok_or_else(|| SchemeError::UnknownScheme {
            name: name.into(),
            known: listed(self.0.iter().map(|info| info.name)),
        })
    }

    fn read(&self, scheme: &'static str, parameter: &Parameter, text: &str) -> Result<Value, SchemeError> {
        if matches!(parameter.kind, Kind::Scheme) {
            return self.read_inner(scheme, parameter.name, text);
        }
        parameter.kind.read(text).ok_or_else(|| SchemeError::BadValue {
            scheme,
            key: parameter.name,
            value: text.into(),
            expected: parameter.kind.expected(),
        })
    }

    /// A scheme within a scheme. It is judged by its name before its own arguments are read, so that no text nests deeper.
    fn read_inner(&self, scheme: &'static str, key: &'static str, text: &str) -> Result<Value, SchemeError> {
        let info = self.find(split_call(text.trim())?.0)?;
        let needs = if info.needs.advice.is_some() {
            "needs the network's advice"
        } else if info.needs.receiver.is_some() {
            "needs a component at the receiver"
        } else if info.parameters.iter().any(|parameter| matches!(parameter.kind, Kind::Scheme)) {
            "holds a scheme"
        } else {
            return self.parse(text).map(|inner| Value::Scheme(Box::new(inner)));
        };
        Err(SchemeError::BadInner { scheme, key, inner: info.name, needs })
    }
}

impl PartialEq for Scheme {
    /// The same canonical text.
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Scheme {
    /// The canonical text: the name and the arguments that were given, in the order of the parameter list.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the registry knows of it.
    pub fn info(&self) -> &SchemeInfo {
        &self.info
    }

    /// A fresh controller.
    pub fn build(&self, context: &Context) -> Box<dyn Controller> {
        (self.info.build)(&self.arguments, context)
    }

    /// A fresh receiver-side component, where the scheme with these arguments has one.
    pub fn build_receiver(&self, context: &Context) -> Option<Box<dyn ReceiverComponent>> {
        (self.info.needs.receiver?)(&self.arguments, context)
    }

    /// What the scheme asks of the network, where it asks anything.
    pub fn advice_request(&self) -> Option<AdviceRequest> {
        self.info.needs.advice.map(|request| request(&self.arguments))
    }
}

fn syntax(text: &str, problem: &'static str) -> SchemeError {
    SchemeError::Syntax { text: text.chars().take(80).collect(), problem }
}

/// `name(inside)` or `name`.
fn split_call(text: &str) -> Result<(&str, &str), SchemeError> {
    match text.split_once('(') {
        None if text.contains(')') => Err(syntax(text, "a `)` has no `(`")),
        None => Ok((text, "")),
        Some((name, rest)) => {
            let inside =
                rest.strip_suffix(')').ok_or_else(|| syntax(text, "the `)` at the end is missing"))?;
            Ok((name.trim_end(), inside))
        }
    }
}

/// Splits at the commas that stand outside all parentheses, so that a list of schemes can hold arguments, and an
/// argument can hold a scheme. Empty parts are left out.
pub fn split_list(text: &str) -> Vec<&str> {
    split_outside_parentheses(text, ',').map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn canonical(info: &SchemeInfo, given: &BTreeMap<&'static str, &str>, arguments: &Arguments) -> String {
    let given: Vec<_> = info
        .parameters
        .iter()
        .filter_map(|parameter| {
            let text = given.get(parameter.name)?;
            let text = match parameter.kind {
                Kind::Scheme => arguments.scheme(parameter.name).text(),
                _ => text,
            };
            Some(format!("{}={text}", parameter.name))
        })
        .collect();
    if given.is_empty() { info.name.into() } else { format!("{}({})", info.name, given.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::CONTEXT;

    fn message(text: &str) -> String {
        Registry::default().parse(text).expect_err("refused").to_string()
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_there_are() {
        let message = message("cubicle");
        assert!(message.starts_with("unknown scheme `cubicle`; there are "), "{message}");
        for info in Registry::default().schemes() {
            assert!(message.contains(info.name), "{message}");
        }
    }

    #[test]
    fn an_unknown_key_is_answered_with_those_there_are() {
        assert_eq!(
            message("bbr(pace=on)"),
            "scheme `bbr` has no parameter `pace`; it has aggregation, sampler, pacing"
        );
    }

    #[test]
    fn a_bad_value_is_answered_with_what_is_taken() {
        for (text, expected) in [
            ("cubic(hystart=yes)", "`hystart=yes` is refused; hystart takes on or off"),
            ("bbr(sampler=mean)", "`sampler=mean` is refused; sampler takes min, max"),
            (
                "rbbr(feedback-every=1.5)",
                "`feedback-every=1.5` is refused; feedback-every takes a whole number from 1 to 1000",
            ),
            ("rbbr(feedback-every=0)", "feedback-every takes a whole number from 1 to 1000"),
            ("fixed-window(window=100)", "window takes a count of packets from 1pkt to 10000000pkt"),
            ("fixed-window(window=0pkt)", "window takes a count of packets from 1pkt"),
            ("fixed-window(window=-1pkt)", "window takes a count of packets from 1pkt"),
            ("fixed-rate(rate=0Mbit/s)", "rate takes a rate above zero"),
            ("fixed-rate(rate=10)", "rate takes a rate above zero"),
            ("fixed-rate(rate=)", "rate takes a rate above zero"),
        ] {
            assert!(message(text).contains(expected), "{text}: {}", message(text));
        }
    }

    #[test]
    fn what_is_not_a_call_is_refused_with_the_reason() {
        for (text, problem) in [
            ("cubic(hystart=on,hystart=on)", "a parameter is given twice"),
            ("cubic(hystart=on", "the `)` at the end is missing"),
            ("cubic)", "a `)` has no `(`"),
            ("cubic(hystart)", "an argument has no `=`"),
        ] {
            assert!(message(text).ends_with(problem), "{text}: {}", message(text));
        }
    }

    #[test]
    fn every_scheme_builds_from_its_defaults_spelled_out() {
        let registry = Registry::default();
        for info in registry.schemes() {
            let spelled: Vec<_> =
                info.parameters.iter().map(|p| format!("{}={}", p.name, p.default)).collect();
            let text = format!("{}({})", info.name, spelled.join(","));
            let scheme = registry.parse(&text).unwrap_or_else(|error| panic!("{error}"));
            let bare = registry.parse(info.name).unwrap_or_else(|error| panic!("{error}"));
            assert!(scheme.arguments.has_values_of(&bare.arguments), "{text}");
            assert_eq!(scheme.build(&CONTEXT).limits(), bare.build(&CONTEXT).limits(), "{text}");
            assert!(scheme.build(&CONTEXT).limits().window >= CONTEXT.packet, "{text}");
        }
    }

    #[test]
    fn the_canonical_text_has_the_order_of_the_parameter_list() {
        let scheme = Registry::default().parse(" bbr ( pacing = off , aggregation=on ) ").expect("known");
        assert_eq!(scheme.text(), "bbr(aggregation=on,pacing=off)");
        assert_eq!(Registry::default().parse("cubic()").expect("known").text(), "cubic");
    }

    #[test]
    fn a_scheme_of_the_same_name_takes_the_place_of_the_old_one() {
        let mut registry = Registry::default();
        let count = registry.schemes().len();
        let cubic = *registry.parse("cubic").expect("known").info();
        registry.register(SchemeInfo { summary: "mine", ..cubic });
        assert_eq!(registry.schemes().len(), count);
        assert_eq!(registry.parse("cubic").expect("known").info().summary, "mine");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(cubic|bbr|fixed-rate|x)?[(]?[a-z=,() 0-9.\\PC]{0,20}[)]?") {
            let _ = Registry::default().parse(&text);
            let _ = split_list(&text);
        }
    }
}
