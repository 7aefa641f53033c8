//! The part of a trace that its user chooses: the keys after a trace's or a link's name.

use super::spec::EXPECTED;
use crate::texture::{self, Texture};
use crate::trace::{Choice, Reading};
use cellcc_units::{ParseError, Span};
use std::fmt;

/// A part of a trace, with its texture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cut {
    /// The number of the run in a file with several; all of them if `None`.
    pub run: Option<u64>,
    /// The column of a table with several that could be the rate.
    pub column: Option<String>,
    /// The meaning of a file of bare numbers, where its name does not say.
    pub reading: Option<Reading>,
    /// Where it begins.
    pub offset: Span,
    /// How long it is; to the end of the trace where there is none.
    pub duration: Option<Span>,
    /// The texture within its seconds.
    pub texture: Texture,
}

impl Cut {
    /// The part of a file.
    pub(super) fn choice(&self) -> Choice<'_> {
        Choice { run: self.run, column: self.column.as_deref(), reading: self.reading }
    }

    /// True where only a file can be meant.
    pub(super) fn is_of_a_file(&self) -> bool {
        self.run.is_some() || self.column.is_some() || self.reading.is_some()
    }
}

/// Takes `,run=..`, `,column=..`, `,as=..`, `,offset=..`, `,duration=..` and the texture's keys off the end; a file name may hold other commas.
pub(super) fn split(text: &str) -> Result<(&str, Cut), ParseError> {
    let refused = || ParseError::new(text, EXPECTED);
    let (mut rest, mut run, mut column, mut offset, mut duration) = (text, None, None, None, None);
    let (mut reading, mut wander, mut slots, mut seed) = (None, None, None, None);
    while let Some((before, last)) = rest.rsplit_once(',') {
        let was_there = match last.split_once('=') {
            Some(("run", value)) => run.replace(value.parse().map_err(|_| refused())?).is_some(),
            Some(("column", "")) => return Err(refused()),
            Some(("column", value)) => column.replace(value.to_owned()).is_some(),
            Some(("as", value)) => reading.replace(value.parse()?).is_some(),
            Some(("offset", value)) => offset.replace(value.parse::<Span>()?).is_some(),
            Some(("duration", value)) => duration.replace(value.parse::<Span>()?).is_some(),
            Some(("texture", value)) => wander.replace(value.parse()?).is_some(),
            Some(("slots", value)) => slots.replace(texture::duplex(value)?).is_some(),
            Some(("texture-seed", value)) => seed.replace(value.parse().map_err(|_| refused())?).is_some(),
            _ => break,
        };
        if was_there {
            return Err(refused());
        }
        rest = before;
    }
    let texture = Texture { wander, slots, seed: seed.unwrap_or(0) };
    if texture.is_none() && seed.is_some() {
        return Err(refused());
    }
    Ok((rest, Cut { run, column, reading, offset: offset.unwrap_or(Span::ZERO), duration, texture }))
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(run) = self.run {
            write!(f, ",run={run}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ",column={column}")?;
        }
        if let Some(reading) = self.reading {
            write!(f, ",as={reading}")?;
        }
        if !self.offset.is_zero() {
            write!(f, ",offset={}", self.offset)?;
        }
        if let Some(duration) = self.duration {
            write!(f, ",duration={duration}")?;
        }
        self.texture.fmt(f)
    }
}
