//! The settings of a scheme: typed parameters, and the arguments that give them values.

use crate::kind::ValueKind;
use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// One setting of a scheme. The scheme declares it once, lists it in its entry, and asks its arguments for the value
/// with [`Arguments::get`].
#[derive(Debug, Clone)]
pub struct Parameter<K: ValueKind> {
    /// The key in `name(key=value, ...)`.
    pub name: Cow<'static, str>,
    /// The kind of its values.
    pub takes: K,
    /// The value where none is given.
    pub default: K::Value,
    /// Its effect.
    pub meaning: Cow<'static, str>,
    /// Where the default comes from.
    pub source: Cow<'static, str>,
}

impl<K: ValueKind> Parameter<K> {
    /// A parameter as a constant of its scheme.
    pub const fn new(
        name: &'static str,
        takes: K,
        default: K::Value,
        meaning: &'static str,
        source: &'static str,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            takes,
            default,
            meaning: Cow::Borrowed(meaning),
            source: Cow::Borrowed(source),
        }
    }
}

/// A parameter's key and a value, as in `key=value`.
pub type Assignment = (Cow<'static, str>, String);

impl<K: ValueKind> Parameter<K> {
    /// The parameter with this value, as text.
    pub fn with(&self, value: &K::Value) -> Assignment {
        (self.name.clone(), self.takes.text(value))
    }
}

/// A parameter as its scheme lists it: its values only as text. Made from a [`Parameter`] with `into()`.
#[derive(Clone)]
pub struct ParameterInfo {
    /// The key in `name(key=value, ...)`.
    pub name: Cow<'static, str>,
    /// The value where none is given; empty: one has to be.
    pub default: String,
    /// The values it takes, in words.
    pub expected: String,
    /// All values, where there is a list of them.
    pub words: Vec<String>,
    /// Its effect.
    pub meaning: Cow<'static, str>,
    /// Where the default comes from.
    pub source: Cow<'static, str>,
    /// A value is a scheme.
    pub(crate) is_scheme: bool,
    pub(crate) default_value: Value,
    pub(crate) read: Arc<ReadValue>,
}

/// Reads a value of the parameter's kind, with its canonical text. An error says why the parameter does not take it.
type ReadValue = dyn Fn(&str) -> Result<(Value, String), String> + Send + Sync;

impl<K: ValueKind> From<Parameter<K>> for ParameterInfo {
    fn from(parameter: Parameter<K>) -> Self {
        let Parameter { name, takes, default, meaning, source } = parameter;
        let key = name.clone();
        Self {
            name,
            default: takes.text(&default),
            expected: takes.expected(),
            words: takes.words(),
            meaning,
            source,
            is_scheme: takes.is_scheme(),
            default_value: Arc::new(default),
            read: Arc::new(move |text| match takes.read(text) {
                Some(value) => {
                    let canonical = takes.canonical(text, &value);
                    Ok((Arc::new(value), canonical))
                }
                None => {
                    Err(takes.problem(text).unwrap_or_else(|| format!("{key} takes {}", takes.expected())))
                }
            }),
        }
    }
}

impl ParameterInfo {
    /// True where the text of the default reads as the default; a scheme's tests check it. A default that is a scheme is
    /// read by the registry.
    pub fn default_reads_as_itself(&self) -> bool {
        let is_default = |(read, _)| format!("{read:?}") == format!("{:?}", self.default_value);
        self.is_scheme || (self.read)(&self.default).is_ok_and(is_default)
    }
}

impl fmt::Debug for ParameterInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.default)
    }
}

/// A checked value of any kind.
pub(crate) type Value = Arc<dyn AnyValue>;

/// The common operations of all values.
pub(crate) trait AnyValue: Any + fmt::Debug + Send + Sync {}

impl<T: Any + fmt::Debug + Send + Sync> AnyValue for T {}

/// The checked arguments of one scheme: a value for every parameter that it lists.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    values: BTreeMap<Cow<'static, str>, Value>,
    given: BTreeSet<Cow<'static, str>>,
}

impl Arguments {
    pub(crate) fn new(
        values: BTreeMap<Cow<'static, str>, Value>,
        given: BTreeSet<Cow<'static, str>>,
    ) -> Self {
        Self { values, given }
    }

    /// The value: the given one, else the preset's, else the default. A parameter that the scheme does not list
    /// has its default.
    pub fn get<K: ValueKind>(&self, parameter: &Parameter<K>) -> K::Value {
        self.find(parameter).unwrap_or_else(|| parameter.default.clone())
    }

    /// The value, where it was given by name; `None` where a preset or the default decides.
    pub fn given<K: ValueKind>(&self, parameter: &Parameter<K>) -> Option<K::Value> {
        self.find(parameter).filter(|_| self.given.contains(&parameter.name))
    }

    /// All values are alike, whatever was given by name.
    pub fn has_values_of(&self, other: &Self) -> bool {
        format!("{:?}", self.values) == format!("{:?}", other.values)
    }

    fn find<K: ValueKind>(&self, parameter: &Parameter<K>) -> Option<K::Value> {
        let value: &dyn Any = &**self.values.get(&parameter.name)?;
        value.downcast_ref().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind;

    const GAIN: Parameter<kind::Number> =
        Parameter::new("gain", kind::Number(1.0, 4.0), 2.0, "a factor", "this test");

    #[test]
    fn a_parameter_that_is_not_listed_has_its_own_default() {
        let none = Arguments::new(BTreeMap::new(), BTreeSet::new());
        assert_eq!((none.get(&GAIN), none.given(&GAIN)), (2.0, None));
    }

    #[test]
    fn a_parameter_of_the_same_name_but_another_kind_has_its_own_default() {
        let switch: Value = Arc::new(true);
        let other = Arguments::new([("gain".into(), switch)].into(), BTreeSet::new());
        assert_eq!(other.get(&GAIN), 2.0);
    }
}
