//! Texts of the form `name(key=value, word)`.

use crate::text::split_outside_parentheses;
use crate::{ParseError, Span};
use core::str::FromStr;
use std::borrow::Cow;

/// Splits `"codel(target=5ms)"` into the name and the part inside the parentheses, which may be missing; `None` where they
/// are not closed.
pub fn name_and_parts(text: &str) -> Option<(&str, &str)> {
    match text.trim().split_once('(') {
        Some((name, rest)) => Some((name.trim(), rest.strip_suffix(')')?)),
        None => Some((text.trim(), "")),
    }
}

/// The arguments between the parentheses: `key=value`, or a value alone, whose key is empty.
#[derive(Debug)]
pub struct Parts<'a> {
    left: Vec<&'a str>,
    expected: Cow<'static, str>,
}

impl<'a> Parts<'a> {
    /// Splits the text `inside` the parentheses. `expected` goes into every error.
    ///
    /// # Errors
    /// An empty part, as after a comma too many.
    pub fn new(inside: &'a str, expected: impl Into<Cow<'static, str>>) -> Result<Self, ParseError> {
        let left: Vec<_> = match inside.trim() {
            "" => Vec::new(),
            inside => split_outside_parentheses(inside, ',').map(str::trim).collect(),
        };
        let expected = expected.into();
        match left.iter().find(|part| part.is_empty()) {
            Some(part) => Err(ParseError::new(part, expected)),
            None => Ok(Self { left, expected }),
        }
    }

    /// Removes the value of `key` and returns it; `None` where it is not given.
    ///
    /// # Errors
    /// A value that cannot be read as a `T`.
    pub fn take<T: FromStr>(&mut self, key: &str) -> Result<Option<T>, ParseError> {
        let split = |part: &'a str| match part.split_once('=') {
            Some((key, value)) => (key.trim_end(), value.trim_start()),
            None => ("", part),
        };
        let Some(index) = self.left.iter().position(|part| split(part).0 == key) else { return Ok(None) };
        let part = self.left.remove(index);
        let value = split(part).1.parse();
        value.map(Some).map_err(|_| ParseError::new(part, self.expected.clone()))
    }

    /// Removes a part that is a word alone; false where it is not given.
    pub fn take_word(&mut self, word: &str) -> bool {
        let index = self.left.iter().position(|part| *part == word);
        index.map(|index| self.left.remove(index)).is_some()
    }

    /// Refuses the arguments that are left: an unknown key, or a key that is given twice.
    ///
    /// # Errors
    /// The first of them.
    pub fn end(&self) -> Result<(), ParseError> {
        self.left.first().map_or(Ok(()), |part| Err(ParseError::new(part, self.expected.clone())))
    }
}

/// A time above zero.
#[derive(Debug, Clone, Copy)]
pub struct NotZero(pub Span);

impl FromStr for NotZero {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse().ok().filter(|span: &Span| !span.is_zero()).map(Self).ok_or(())
    }
}
