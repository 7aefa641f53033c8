//! Text forms: a number and a unit, written together ("20ms"), the unit never left out.

use core::fmt::{Display, Formatter};
use core::marker::PhantomData;
use core::str::FromStr;
use std::borrow::Cow;
use thiserror::Error;

/// Why a text is not a quantity. The message names the text, the expected form and an example; first, where it is known, the
/// probable meaning.
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

    /// Adds the probable meaning `meant` to the error.
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

// Bounds of one text in every language that is read here: expressions, mixes of flows, alternatives in braces, keys with
// dots, values within values. Readers call themselves for each level of a text, and work for each of its terms.

/// Numbers and functions of an expression, flows of a run, alternatives: more of one text are a slip of the keyboard.
pub const MOST_TERMS: usize = 1_000;

/// All that a text stands for: a reader that looks ahead at each term, or copies the text for each alternative, still ends in
/// seconds.
pub const MOST_BYTES: usize = 1_000_000;

/// Brackets, tables or keys in one another. Nothing that can be meant is half as deep.
pub const DEEPEST: usize = 12;

// The probable meaning.

/// The alternatives to `given`: `; there are A, B`. Where one of the `known`, separated by commas, is like it, that one comes
/// first: `; did you mean A? There are A, B`. `there` introduces the list.
pub fn instead(given: &str, there: &str, known: &str) -> String {
    match closest(given, known.split(", ")) {
        Some(name) => {
            let (first, rest) = there.split_at(1);
            format!("; did you mean `{name}`? {}{rest} {known}", first.to_uppercase())
        }
        None => format!("; {there} {known}"),
    }
}

/// The one of these names that a reader would take `given` for, if there is such a one.
fn closest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // One letter in three is another, or two stand in each other's place: then words look alike to a reader.
    const LETTERS_AN_ERROR: usize = 3;
    let errors = |name: &str| strsim::osa_distance(given, name);
    // Among equally close words, the one with the text's length wins: `bbr3` is rather `bbr2` than `bbr`.
    let closest = known
        .into_iter()
        .min_by_key(|name| (errors(name), name.chars().count().abs_diff(given.chars().count())));
    closest.filter(|name| errors(name) * LETTERS_AN_ERROR <= given.len().max(name.len()))
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_name_with_one_letter_wrong_is_meant_before_one_with_a_letter_more() {
        assert_eq!(closest("bbr3", ["bbr", "bbr2"]), Some("bbr2"));
        assert_eq!(closest("lte-drve", ["5g-mmwave-drive", "lte-drive", "lte-static"]), Some("lte-drive"));
        assert_eq!(closest("xyz", ["bbr", "bbr2"]), None);
        assert_eq!(closest("xyz", []), None);
    }
}
