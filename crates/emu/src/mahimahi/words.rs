//! The words of one shell: its options and arguments, up to the command that runs within it.

use super::{Direction, Shell};
use crate::error::EmuError;
use std::ffi::OsString;

/// The words of a shell that are not read yet.
pub(super) struct Words<'a> {
    shell: Shell,
    /// All words from the shell's name on, the command included.
    line: &'a [OsString],
    rest: &'a [OsString],
}

impl<'a> Words<'a> {
    /// `line` begins with the shell's name.
    pub(super) fn new(shell: Shell, line: &'a [OsString]) -> Self {
        Self { shell, line, rest: line.get(1..).unwrap_or_default() }
    }

    /// Everything from the shell's name to the end of the command, as Mahimahi's logs have it.
    pub(super) fn whole_line(&self) -> String {
        let words: Vec<_> = self.line.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    /// The next word, if there is one.
    pub(super) fn peek(&self) -> Option<&'a OsString> {
        self.rest.first()
    }

    /// The next word as text, for something that the shell cannot do without.
    pub(super) fn next(&mut self, what: &str) -> Result<&'a str, EmuError> {
        let (first, rest) = self.rest.split_first().ok_or_else(|| self.missing(what))?;
        let text = first.to_str().ok_or_else(|| {
            self.refused(&format!("`{}` is not UTF-8; rename the file", first.to_string_lossy()))
        })?;
        self.rest = rest;
        Ok(text)
    }

    /// The value of a word that is read by `parse`, an option's or an argument's.
    pub(super) fn next_parsed<T>(
        &mut self,
        what: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, EmuError> {
        let text = self.next(what)?;
        parse(text).map_err(|problem| self.refused(&format!("`{text}`: {problem}")))
    }

    /// `uplink` or `downlink`.
    pub(super) fn next_direction(&mut self) -> Result<Direction, EmuError> {
        self.next_parsed("the direction", |text| match text {
            "uplink" => Ok(Direction::Up),
            "downlink" => Ok(Direction::Down),
            _ => Err("write uplink or downlink".into()),
        })
    }

    /// Takes `--seed=NUMBER` where it is next. Mahimahi has no such option: its losses cannot be repeated.
    pub(super) fn next_seed(&mut self, default: u64) -> Result<u64, EmuError> {
        let Some(text) = self.peek().and_then(|word| word.to_str()?.strip_prefix("--seed=")) else {
            return Ok(default);
        };
        self.rest = &self.rest[1..];
        text.parse()
            .map_err(|_| self.refused(&format!("--seed={text}: write a whole number, such as --seed=1")))
    }

    /// The words after the shell's own: the next shell, or the command. One `--` may stand before it.
    pub(super) fn command(self) -> &'a [OsString] {
        match self.rest.split_first() {
            Some((first, rest)) if first == "--" => rest,
            _ => self.rest,
        }
    }

    /// An error about this shell.
    pub(super) fn refused(&self, problem: &str) -> EmuError {
        EmuError::Input(format!("{}: {problem}", self.shell.name()))
    }

    /// An error about a missing word.
    pub(super) fn missing(&self, what: &str) -> EmuError {
        self.refused(&format!("{what} is missing; write `{}`", self.shell.usage()))
    }
}
