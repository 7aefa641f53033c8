//! Position of the parser in a text.

use super::ExpressionError;

/// A place in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes `sign`, where it comes next after spaces.
    pub(super) fn take(&mut self, sign: &str) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(sign);
        if is_next {
            self.at += sign.len();
        }
        is_next
    }

    /// Takes a word such as `and` that no other letter follows.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let is_next = self.name() == word;
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    /// The name that comes next: lower-case letters, digits, `_` and `.`; empty where none does. It is not taken.
    pub(super) fn name(&self) -> &'a str {
        self.while_in(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c))
    }

    /// The signs that come next and fulfil `is_part`. They are not taken.
    pub(super) fn while_in(&self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        &rest[..end]
    }

    /// Takes everything up to one of `ends` outside parentheses and braces, without it.
    pub(super) fn text_until(&mut self, ends: &[char]) -> &'a str {
        let rest = self.rest();
        let mut depth = 0_usize;
        for (at, c) in rest.char_indices() {
            if depth == 0 && ends.contains(&c) {
                self.at += at;
                return rest[..at].trim();
            }
            match c {
                '(' | '{' => depth += 1,
                ')' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        self.at += rest.len();
        rest.trim()
    }

    /// An error at this place.
    pub(super) fn error(&self, problem: impl Into<String>) -> ExpressionError {
        ExpressionError::new(self.at, problem)
    }

    /// The next 20 characters at most, for a message.
    pub(super) fn shown(&self) -> String {
        let shown: String = self.rest().chars().take(20).collect();
        if shown.is_empty() { "the end".into() } else { format!("`{shown}`") }
    }
}
