//! Text forms: a number and a unit, written together ("20ms"), the unit never left out.

use core::fmt::{Display, Formatter};
use core::marker::PhantomData;
use core::str::FromStr;
use std::borrow::Cow;
use thiserror::Error;

/// Why a text is not a quantity. The message names the text, what was expected and an example; first, where it is known, what
/// was meant.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}`{text}` is not {expected}", suggested(meant))]
pub struct ParseError {
    text: String,
    expected: Cow<'static, str>,
    meant: Option<String>,
}

fn suggested(meant: &Option<String>) -> String {
    meant.as_ref().map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default()
}

impl ParseError {
    /// An error for `text` where `expected` ("a time such as `20ms`") was wanted.
    pub fn new(text: &str, expected: impl Into<Cow<'static, str>>) -> Self {
        // A binary file given as a quantity must not flood the terminal.
        const SHOWN: usize = 60;
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Self { text: shown, expected: expected.into(), meant: None }
    }

    /// The same error, where the text was probably meant as `meant`.
    pub fn meaning(self, meant: Option<String>) -> Self {
        Self { meant, ..self }
    }
}

/// Splits `"12.5Mbit/s"` into `(12.5, "Mbit/s")`. The number is finite and not negative; the unit may be empty.
pub fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| !(c.is_ascii_digit() || c == '.' || (c == 'e' && exponent_follows(&text[i + 1..]))))
        .map_or(text.len(), |(i, _)| i);
    let number: f64 = text[..end].parse().ok()?;
    (number.is_finite() && number >= 0.0).then(|| (number, text[end..].trim_start()))
}

/// Splits at each `sign` that stands outside all parentheses and braces: `"a(x=1,y=2),b"` at `,` into `"a(x=1,y=2)"`
/// and `"b"`.
pub fn split_outside_parentheses(text: &str, sign: char) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |c| {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == sign && depth == 0
    })
}

/// "1e9bit/s" has an exponent; the "e" of "1ether" is the start of a unit.
fn exponent_follows(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_digit())
}

/// The number times the factor of its unit, rounded to a whole count; `None` where it does not fit.
pub(crate) fn scaled(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let (number, unit) = split_number(text)?;
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    let value = (number * factor).round();
    // Above 2^63 a float is no longer an exact count, and nothing real is that large.
    (value < 9.2e18).then_some(value as u64)
}

/// Writes `count` in the largest unit in which it stays exact; `units` run from the largest to the smallest.
pub(crate) fn exact(count: u64, units: &[(&str, u64)]) -> String {
    for &(name, factor) in units {
        // Up to three decimals: 1.5ms rather than 1500us.
        if count >= factor && (count as u128 * 1000).is_multiple_of(factor as u128) {
            let thousandths = count as u128 * 1000 / factor as u128;
            let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
            return format!("{}{name}", text.trim_end_matches('0').trim_end_matches('.'));
        }
    }
    let (name, _) = units[units.len() - 1];
    format!("{count}{name}")
}

/// Reads a value from its string form.
///
/// # Errors
/// Where the text does not parse; and where there is something else, a bare number say: then the message names `expected`.
pub fn deserialize_text<'de, T, D>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: serde::Deserializer<'de>,
{
    deserializer.deserialize_str(TextVisitor { expected, value: PhantomData })
}

struct TextVisitor<T> {
    expected: &'static str,
    value: PhantomData<T>,
}

impl<T: FromStr<Err: Display>> serde::de::Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// Gives a quantity its `FromStr`, `Display`, and string form in serde, from `parse` and `format` functions. With `exact 0`,
/// serde has the number in field 0 where the form is binary.
macro_rules! text_form {
    ($type:ty, $parse:expr, $format:expr, $expected:literal $(, exact $count:tt)?) => {
        impl core::str::FromStr for $type {
            type Err = $crate::ParseError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $parse(text).ok_or_else(|| $crate::ParseError::new(text, $expected))
            }
        }
        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(&$format(*self))
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $(if !serializer.is_human_readable() {
                    return self.$count.serialize(serializer);
                })?
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $(if !deserializer.is_human_readable() {
                    return Ok(Self { $count: serde::Deserialize::deserialize(deserializer)? });
                })?
                $crate::deserialize_text(deserializer, $expected)
            }
        }
    };
}
pub(crate) use text_form;
