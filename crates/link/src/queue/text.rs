//! How a discipline is written: `name(key=value, word)`. One list of parts serves reading, printing and error texts.

use super::Discipline;
use cellcc_units::{Bytes, ParseError, Parts, QueueLimit, Ratio, Span};

/// Settings that are written as a list of parts.
pub(crate) trait Notation: Copy + PartialEq + 'static {
    /// Its name in errors; for a discipline, the word before the parentheses.
    const NAME: &'static str;
    /// A word that tells them from others of the same name.
    const VARIANT: Option<&'static str> = None;
    /// Values of parts that are not written: the default, and then presets by the word that chooses them.
    const BASES: &'static [(&'static str, Self)];
    /// The parts of the notation.
    const PARTS: &'static [Part<Self>];

    /// The parts that cannot be together.
    fn contradiction(&self) -> Option<String> {
        None
    }
}

impl<D: Discipline> Notation for D {
    const NAME: &'static str = <D as Discipline>::NAME;
    const VARIANT: Option<&'static str> = <D as Discipline>::VARIANT;
    const BASES: &'static [(&'static str, Self)] = <D as Discipline>::BASES;
    const PARTS: &'static [Part<Self>] = <D as Discipline>::PARTS;

    fn contradiction(&self) -> Option<String> {
        Discipline::contradiction(self)
    }
}

/// One part of the notation of the settings `D`.
pub(crate) struct Part<D> {
    /// With an example of its value, as `target=5ms`; `ecn` for a word; `LIMIT` for a limit without a key, which must be there.
    form: &'static str,
    /// The range of its value, beyond the form; often empty.
    range: &'static str,
    field: fn(&mut D) -> &mut dyn Value,
    /// True for settings whose value is accepted.
    accepts: fn(&D) -> bool,
}

/// A part, and the field that has its value: `part("update=15ms", |own| &mut own.update)`.
pub(crate) const fn part<D>(form: &'static str, field: fn(&mut D) -> &mut dyn Value) -> Part<D> {
    part_in(form, "", field, |_| true)
}

/// A part with a limited range: the accepted settings, and the range for errors.
pub(crate) const fn part_in<D>(
    form: &'static str,
    range: &'static str,
    field: fn(&mut D) -> &mut dyn Value,
    accepts: fn(&D) -> bool,
) -> Part<D> {
    Part { form, range, field, accepts }
}

/// The text form of settings that are a list of parts alone: `fdd, failed=9%`. `$usual` stands for the default, whose list is
/// empty.
macro_rules! parts_form {
    ($type:ty, $usual:literal, $expected:literal) => {
        impl std::str::FromStr for $type {
            type Err = cellcc_units::ParseError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let refused = || cellcc_units::ParseError::new(text, $expected);
                let settings = Some(text).filter(|text| !text.trim().is_empty());
                let settings = settings.map(|text| $crate::queue::text::read(text)).transpose()?.flatten();
                settings.ok_or_else(refused)
            }
        }

        impl std::fmt::Display for $type {
            /// The shortest text that reads back.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let parts = $crate::queue::text::written_parts(self);
                f.pad(if parts.is_empty() { $usual } else { &parts })
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                cellcc_units::deserialize_text(deserializer, $expected)
            }
        }
    };
}
pub(crate) use parts_form;

/// The value of a part.
pub(crate) trait Value {
    /// Takes the value that is written; `None` where it is refused.
    fn read(&mut self, text: &str) -> Option<()>;
    /// The value as it is written; `None` for one that is not.
    fn written(&self) -> Option<String>;
}

macro_rules! values {
    ($($type:ty),+) => {
        $(impl Value for $type {
            fn read(&mut self, text: &str) -> Option<()> {
                *self = text.parse().ok()?;
                Some(())
            }
            fn written(&self) -> Option<String> {
                Some(self.to_string())
            }
        })+
    };
}
values!(Bytes, QueueLimit, Span, f64, u32);

/// A share: above 0 %, up to 100 %.
impl Value for Ratio {
    fn read(&mut self, text: &str) -> Option<()> {
        *self = text.strip_suffix('%').and_then(|_| text.parse().ok())?;
        (!self.is_zero() && *self <= Self::ONE).then_some(())
    }
    fn written(&self) -> Option<String> {
        Some(format!("{}%", self.get() * 100.0))
    }
}

/// A word that is there or not.
impl Value for bool {
    fn read(&mut self, _: &str) -> Option<()> {
        *self = true;
        Some(())
    }
    fn written(&self) -> Option<String> {
        self.then(String::new)
    }
}

impl Value for Option<Span> {
    fn read(&mut self, text: &str) -> Option<()> {
        *self = Some(text.parse().ok()?);
        Some(())
    }
    fn written(&self) -> Option<String> {
        self.map(|span| span.to_string())
    }
}

impl<D: Copy> Part<D> {
    const LIMIT: &'static str = "LIMIT";

    /// Empty for a limit without a key.
    fn key(&self) -> &'static str {
        match self.form {
            Self::LIMIT => "",
            form => form.split_once('=').map_or(form, |(key, _)| key),
        }
    }

    fn is_word(&self) -> bool {
        self.form == self.key()
    }

    fn text(&self, settings: &D) -> Option<String> {
        let value = (self.field)(&mut { *settings }).written()?;
        Some(match self.key() {
            "" => value,
            key if self.is_word() => key.to_owned(),
            key => format!("{key}={value}"),
        })
    }

    /// As errors name it.
    fn described(&self) -> String {
        match self.form {
            Self::LIMIT => "a limit such as `100pkt`".to_owned(),
            form if self.range.is_empty() => format!("`{form}`"),
            form => format!("`{form}` ({})", self.range),
        }
    }
}

/// Reads a list of parts; nothing where a limit is missing.
///
/// # Errors
/// An unknown part, one given twice, a value that is refused.
pub(crate) fn read<D: Notation>(inside: &str) -> Result<Option<D>, ParseError> {
    let mut parts = Parts::new(inside, parts_of::<D>())?;
    D::VARIANT.map(|word| parts.take_word(word));
    let base = D::BASES.iter().skip(1).find(|(word, _)| parts.take_word(word)).unwrap_or(&D::BASES[0]);
    let mut settings = base.1;
    // Words first: the remaining part without a key is the limit.
    let (words, others): (Vec<_>, Vec<_>) = D::PARTS.iter().partition(|part| part.is_word());
    for part in words.into_iter().chain(others) {
        let key = part.key();
        let value = if part.is_word() {
            parts.take_word(key).then(String::new)
        } else {
            parts.take::<String>(key)?
        };
        let Some(value) = value else {
            if key.is_empty() {
                return Ok(None);
            }
            continue;
        };
        let refused = || ParseError::new(format!("{key}={value}").trim_start_matches('='), parts_of::<D>());
        let taken = (part.field)(&mut settings).read(&value);
        taken.filter(|()| (part.accepts)(&settings)).ok_or_else(refused)?;
    }
    parts.end()?;
    match settings.contradiction() {
        Some(parts) => Err(ParseError::new(&parts, parts_of::<D>())),
        None => Ok(Some(settings)),
    }
}

/// The shortest list of parts that reads back.
pub(crate) fn written_parts<D: Notation>(settings: &D) -> String {
    let parts_from = |(word, base): &(&str, D)| {
        let words = D::VARIANT.into_iter().chain([*word]).filter(|word| !word.is_empty()).map(str::to_owned);
        let differing =
            D::PARTS.iter().filter(|part| part.key().is_empty() || part.text(settings) != part.text(base));
        words.chain(differing.filter_map(|part| part.text(settings))).collect::<Vec<_>>()
    };
    D::BASES.iter().map(parts_from).min_by_key(Vec::len).unwrap_or_default().join(", ")
}

/// The notation with the name, as for a discipline.
pub(super) fn written<D: Notation>(settings: &D) -> String {
    let parts = written_parts(settings);
    if parts.is_empty() { D::NAME.to_owned() } else { format!("{}({parts})", D::NAME) }
}

/// `codel(target=5ms, interval=100ms, limit=1000pkt, ecn)`: every part that can be written.
pub(super) fn form<D: Notation>() -> String {
    let forms = D::VARIANT.into_iter().chain(D::PARTS.iter().map(|part| part.form));
    format!("{}({})", D::NAME, forms.collect::<Vec<_>>().join(", "))
}

/// The parts of a discipline for an error.
fn parts_of<D: Notation>() -> String {
    let variant = D::VARIANT.map(|word| format!("({word})")).unwrap_or_default();
    let presets = D::BASES.iter().skip(1).map(|(word, _)| format!("`{word}`"));
    let takes: Vec<_> = D::PARTS.iter().map(Part::described).chain(presets).collect();
    let takes = match takes.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}, each", others.join(", ")),
        None => "nothing".to_owned(),
    };
    format!("a part of `{}{variant}`, which takes {takes} at most once", D::NAME)
}
