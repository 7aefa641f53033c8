//! Files of claims, figures and cases as text: places in them, and the expressions that they hold.

use crate::expression::{Expression, parse};
use thiserror::Error;
use toml::Spanned;

/// A mistake in a file of claims: file, line, and the correction.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}: {problem}")]
pub struct ClaimError {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) problem: String,
}

/// The name of a file without its folder and its ending.
pub(crate) fn group(file: &str) -> String {
    file.rsplit('/').next().unwrap_or(file).trim_end_matches(".toml").to_owned()
}

/// The expression that a value of the file holds; `id` names its claim or figure.
pub(crate) fn expression(
    file: &str,
    text: &str,
    id: &str,
    value: &Spanned<String>,
) -> Result<Expression, ClaimError> {
    let given = value.get_ref();
    parse(given).map_err(|error| {
        let byte = error.at.min(given.len());
        let line = line_of(text, value.span().start) + given[..byte].matches('\n').count();
        at(file, line, format!("{id}, in `{}`: {error}", near(given, byte)))
    })
}

pub(crate) fn at(file: &str, line: usize, problem: String) -> ClaimError {
    ClaimError { file: file.to_owned(), line, problem }
}

pub(crate) fn malformed(file: &str, text: &str, error: &toml::de::Error) -> ClaimError {
    let line = error.span().map_or(1, |span| line_of(text, span.start));
    at(file, line, error.message().replace('\n', ", "))
}

pub(crate) fn line_of(text: &str, byte: usize) -> usize {
    text.get(..byte).unwrap_or_default().matches('\n').count() + 1
}

/// The text at a byte of an expression, for a message.
pub(crate) fn near(text: &str, byte: usize) -> String {
    let from = (0..=byte.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let shown: String = text[from..].chars().take(50).collect();
    if shown.is_empty() { "the end".to_owned() } else { shown.replace('\n', " ") }
}
