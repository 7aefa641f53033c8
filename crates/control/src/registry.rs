//! Schemes by name: `"reminis(dtt=40ms)"` becomes a controller, and every parameter is known with its range, its
//! default, its meaning and its source.

use crate::advice::AdviceRequest;
use crate::contract::{Context, Controller};
use crate::event_log::Destination;
use crate::info::{Preset, SchemeInfo, assignments};
use crate::kind::InnerScheme;
use crate::parameter::{Arguments, ParameterInfo, Value};
use crate::receiver::ReceiverComponent;
use cellcc_units::instead;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use thiserror::Error;

/// A scheme with its arguments, as a flow of a Scenario runs it.
#[derive(Debug, Clone)]
pub struct Scheme {
    text: String,
    info: Arc<SchemeInfo>,
    arguments: Arguments,
    destination: Option<Destination>,
}

/// The schemes that can be named. `cellcc_schemes::registry()` has those that come with cellcc.
#[derive(Debug, Clone)]
pub struct Registry(Vec<Arc<SchemeInfo>>);

/// Why a text names no scheme. The message says what would.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// No such scheme.
    #[error("unknown scheme `{name}`{}. `cellcc schemes` describes them", instead(name, "there are", known))]
    UnknownScheme {
        /// The name as given.
        name: String,
        /// All names, for the message.
        known: String,
    },
    /// No such parameter.
    #[error("scheme `{scheme}` has no parameter `{key}`{}", instead(key, "it has", known))]
    UnknownParameter {
        /// The scheme.
        scheme: String,
        /// The key as given.
        key: String,
        /// All keys, for the message.
        known: String,
    },
    /// A value that its parameter does not take.
    #[error("scheme `{scheme}`: `{key}={value}` is refused; {reason}")]
    BadValue {
        /// The scheme.
        scheme: String,
        /// The key.
        key: String,
        /// The value as given.
        value: String,
        /// The valid values, or the fault.
        reason: String,
    },
    /// A parameter without a default was left out.
    #[error("scheme `{scheme}` needs {key}={expected}")]
    Missing {
        /// The scheme.
        scheme: String,
        /// The key.
        key: String,
        /// The valid values.
        expected: String,
    },
    /// A scheme as a parameter that itself needs more than its sender.
    #[error(
        "scheme `{scheme}`: `{key}={inner}` is refused; `{inner}` itself {needs}, and {key} takes a scheme that needs only its sender, such as cubic"
    )]
    BadInner {
        /// The outer scheme.
        scheme: String,
        /// The key.
        key: String,
        /// The name of the scheme that was given.
        inner: String,
        /// The unmet need.
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

impl Registry {
    /// A registry of these schemes.
    pub fn new(schemes: impl IntoIterator<Item = SchemeInfo>) -> Self {
        Self(schemes.into_iter().map(Arc::new).collect())
    }

    /// Adds a scheme from outside; one of the same name is replaced.
    pub fn register(&mut self, info: SchemeInfo) {
        self.0.retain(|known| known.name != info.name);
        self.0.push(Arc::new(info));
    }

    /// All schemes, in the order in which they are listed.
    pub fn schemes(&self) -> &[Arc<SchemeInfo>] {
        &self.0
    }

    /// Reads `name` or `name(key=value, ...)`. Arguments that are not given come from the preset, else from the default.
    ///
    /// # Errors
    /// An unknown name or key, a key given twice, a value outside its range.
    pub fn parse(&self, text: &str) -> Result<Scheme, SchemeError> {
        let text = text.trim();
        let (name, inside) = split_call(text)?;
        let info = self.find(name)?.clone();
        let given = self.read_arguments(&info, text, inside)?;
        let preset = chosen_preset(&info, &given);
        let set = match preset {
            Some(preset) => self.read_arguments(&info, &preset.sets, &preset.sets)?,
            None => BTreeMap::new(),
        };
        let mut values = BTreeMap::new();
        for parameter in &info.parameters {
            let own = given.get(&parameter.name).filter(|own| !is_left_to(preset, own));
            let value = match own.or_else(|| set.get(&parameter.name)) {
                Some(argument) => argument.value.clone(),
                None => self.default_of(&info, parameter)?,
            };
            values.insert(parameter.name.clone(), value);
        }
        let text = canonical(&info, &given);
        let arguments = Arguments::new(values, given.into_keys().collect());
        Ok(Scheme { text, info, arguments, destination: None })
    }

    fn find(&self, name: &str) -> Result<&Arc<SchemeInfo>, SchemeError> {
        self.0.iter().find(|info| info.name == name).ok_or_else(|| SchemeError::UnknownScheme {
            name: name.into(),
            known: enumerated(self.0.iter().map(|info| &*info.name)),
        })
    }

    /// Reads `key=value, ...`; `whole` is the text for an error.
    fn read_arguments(
        &self,
        info: &SchemeInfo,
        whole: &str,
        inside: &str,
    ) -> Result<BTreeMap<Cow<'static, str>, Argument>, SchemeError> {
        let mut texts = BTreeMap::new();
        for (key, value) in assignments(inside) {
            let value = value.ok_or_else(|| syntax(whole, "an argument has no `=`"))?;
            if !info.parameters.iter().any(|known| known.name == key) {
                return Err(SchemeError::UnknownParameter {
                    scheme: info.name.to_string(),
                    key: key.into(),
                    known: enumerated(info.parameters.iter().map(|known| &*known.name)),
                });
            }
            if texts.insert(key, value).is_some() {
                return Err(syntax(whole, "a parameter is given twice"));
            }
        }
        let given = info.parameters.iter().filter_map(|known| Some((known, *texts.get(&*known.name)?)));
        given.map(|(known, text)| Ok((known.name.clone(), self.read(info, known, text)?))).collect()
    }

    fn read(
        &self,
        info: &SchemeInfo,
        parameter: &ParameterInfo,
        text: &str,
    ) -> Result<Argument, SchemeError> {
        if parameter.is_scheme {
            let inner = self.read_inner(info, parameter, text)?;
            return Ok(Argument { text: inner.text().into(), value: Arc::new(inner) });
        }
        match (parameter.read)(text) {
            Ok((value, text)) => Ok(Argument { text, value }),
            Err(reason) => Err(SchemeError::BadValue {
                scheme: info.name.to_string(),
                key: parameter.name.to_string(),
                value: text.into(),
                reason,
            }),
        }
    }

    /// The default; one that is a scheme is looked up, since its name may have been registered again.
    fn default_of(&self, info: &SchemeInfo, parameter: &ParameterInfo) -> Result<Value, SchemeError> {
        if parameter.is_scheme {
            return Ok(self.read(info, parameter, &parameter.default)?.value);
        }
        if parameter.default.is_empty() {
            return Err(SchemeError::Missing {
                scheme: info.name.to_string(),
                key: parameter.name.to_string(),
                expected: parameter.expected.clone(),
            });
        }
        Ok(parameter.default_value.clone())
    }

    /// A scheme within a scheme. It is judged by its name before its own arguments are read, so that no text nests
    /// deeper.
    fn read_inner(
        &self,
        outer: &SchemeInfo,
        parameter: &ParameterInfo,
        text: &str,
    ) -> Result<InnerScheme, SchemeError> {
        let info = self.find(split_call(text.trim())?.0)?;
        let needs = if info.is_of_transport() {
            "needs its own transport"
        } else if info.needs.advice.is_some() {
            "needs the network's advice"
        } else if info.needs.receiver.is_some() {
            "needs a component at the receiver"
        } else if info.needs.ecn_counts {
            "needs the marks of its own queue"
        } else if info.parameters.iter().any(|parameter| parameter.is_scheme) {
            "holds a scheme"
        } else {
            let scheme = self.parse(text)?;
            let text = scheme.text.clone();
            return Ok(InnerScheme::new(&text, move |context| scheme.build(context)));
        };
        Err(SchemeError::BadInner {
            scheme: outer.name.to_string(),
            key: parameter.name.to_string(),
            inner: info.name.to_string(),
            needs,
        })
    }
}

/// A parsed argument: its canonical text, and the value.
struct Argument {
    text: String,
    value: Value,
}

/// The preset that the arguments choose, or the defaults where they say nothing.
fn chosen_preset<'a>(
    info: &'a SchemeInfo,
    given: &BTreeMap<Cow<'static, str>, Argument>,
) -> Option<&'a Preset> {
    let word = |key: &str| match given.get(key) {
        Some(argument) => Some(&*argument.text),
        None => info.parameters.iter().find(|known| known.name == key).map(|known| &*known.default),
    };
    info.presets.iter().find(|preset| word(&preset.parameter) == Some(&*preset.name))
}

/// True for `aimd=profile`, where `profile` chooses the preset.
fn is_left_to(preset: Option<&Preset>, argument: &Argument) -> bool {
    preset.is_some_and(|preset| preset.parameter == argument.text)
}

impl PartialEq for Scheme {
    /// Equal canonical texts.
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Scheme {
    /// The canonical text: the name and the arguments that were given, in the order of the parameter list.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The arguments that were given, key and value, in the order of the parameter list.
    pub fn given(&self) -> impl Iterator<Item = (&str, &str)> {
        let inside = split_call(&self.text).map_or("", |(_, inside)| inside);
        assignments(inside).filter_map(|(key, value)| Some((key, value?)))
    }

    /// The checked arguments: a value for every parameter.
    pub fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// Its registry entry.
    pub fn info(&self) -> &SchemeInfo {
        &self.info
    }

    /// The preset in force where the text names none.
    pub fn default_preset(&self) -> Option<&Preset> {
        let preset = self.info.default_preset()?;
        let is_named = self.given().any(|(key, _)| key == preset.parameter);
        (!is_named).then_some(preset)
    }

    /// A fresh controller.
    ///
    /// # Panics
    /// Where only its transport's driver runs it ([`SchemeInfo::is_of_transport`]).
    pub fn build(&self, context: &Context) -> Box<dyn Controller> {
        let controller = self.info.build(&self.arguments, context);
        match &self.destination {
            Some(destination) => destination.record(&self.text, context, controller),
            None => controller,
        }
    }

    /// Writes the [event log](crate::event_log) of the next controller that is built from it, or from a clone of it, to
    /// `destination` in blocks. The log ends when the controller is dropped. It also ends where writing fails, and the flow
    /// goes on: `destination` must report the error itself.
    pub fn recorded(self, destination: Box<dyn Write + Send>) -> Self {
        Self { destination: Some(Destination::new(destination)), ..self }
    }

    /// A fresh receiver-side component, where the scheme with these arguments has one.
    pub fn build_receiver(&self, context: &Context) -> Option<Box<dyn ReceiverComponent>> {
        self.info.needs.receiver.as_ref()?(&self.arguments, context)
    }

    /// The scheme's request to the network, if it has one.
    pub fn advice_request(&self) -> Option<AdviceRequest> {
        self.info.needs.advice.as_ref().map(|request| request(&self.arguments))
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

/// The name with the arguments that were given, in the order of the parameter list.
fn canonical(info: &SchemeInfo, given: &BTreeMap<Cow<'static, str>, Argument>) -> String {
    let given: Vec<_> = info
        .parameters
        .iter()
        .filter_map(|parameter| Some(format!("{}={}", parameter.name, given.get(&parameter.name)?.text)))
        .collect();
    if given.is_empty() { info.name.to_string() } else { format!("{}({})", info.name, given.join(",")) }
}

/// Words for a message: `a, b, c`, or `none`.
fn enumerated<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.collect();
    if words.is_empty() { "none".into() } else { words.join(", ") }
}
