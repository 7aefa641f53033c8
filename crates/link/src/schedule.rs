//! Values that each last for a time, in text: `300Mbit/s@10s,600Mbit/s@20s`.

use cellcc_units::{ParseError, Span};
use std::fmt::{Display, Write};
use std::str::FromStr;

/// Reads `VALUE@DURATION,VALUE@DURATION,...`: each value and how long it lasts. The duration of the last may be left out.
pub(crate) fn parse<V: FromStr>(text: &str, expected: &'static str) -> Result<Vec<(Span, V)>, ParseError> {
    let refused = || ParseError::new(text, expected);
    let parts: Vec<&str> = text.split(',').collect();
    let last = parts.len() - 1;
    parts
        .iter()
        .enumerate()
        .map(|(index, part)| {
            let (value, span) = match part.split_once('@') {
                Some((value, span)) => (value, span.parse().map_err(|_| refused())?),
                None if index == last && last > 0 => (*part, Span::from_secs(1)),
                None => return Err(refused()),
            };
            if span.is_zero() {
                return Err(refused());
            }
            Ok((span, value.parse().map_err(|_| refused())?))
        })
        .collect()
}

/// Writes what [`parse`] reads.
pub(crate) fn format<V: Display>(steps: &[(Span, V)]) -> String {
    let mut text = String::new();
    for (index, (span, value)) in steps.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        // Writing to a String does not fail.
        let _ = write!(text, "{comma}{value}@{span}");
    }
    text
}
