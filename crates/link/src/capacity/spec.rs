//! The text form of a capacity, in Scenarios and flags.

use crate::capacity::cut::{self, Cut};
use crate::capacity::join::{self, Piece, Stretch};
use crate::capacity::schedule;
use crate::capacity::{Capacity, CapacityError};
use crate::synthetic;
use crate::texture::TextureError;
use crate::trace::{self, Trace, TraceError};
use cellcc_units::{ParseError, Rate, Span, instead};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;

/// The text form of a link's capacity:
///
/// | text | meaning |
/// |---|---|
/// | `rate=100Mbit/s` | that rate always |
/// | `step=300Mbit/s@10s,600Mbit/s@20s` | each rate and how long it lasts, from the beginning of the run: 300 Mbit/s for 10 s,
/// then 600; the last one stays (its length may be left out) |
/// | `traces/drive.mahi`, `./drive` | a trace file: anything with a `/` or a `.` in it |
/// | `lte-drive` | a named link: anything else |
/// | `drive.mahi,offset=10s,duration=60s` | a part of a trace or a named link, which repeats; either may be left out |
/// | `lumos5g.csv,run=3` | one run of a CSV file with several; without it, all of them one after the other |
/// | `log.csv,column=ul_mbps` | one of the columns of a table |
/// | `flat.txt,as=kbit/s@100ms` | a file of bare numbers as rates at even steps; `as=mahimahi`: as Mahimahi's milliseconds |
/// | `join(drive.mbps,duration=5s;gap=100ms;lte-drive)` | pieces one after the other: traces, named links, `step=` with every
/// length, and gaps without capacity; the whole repeats |
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapacitySpec {
    /// One rate.
    Constant(Rate),
    /// Rates with the time that each lasts; the last one stays.
    Steps(Vec<(Span, Rate)>),
    /// A trace file.
    File {
        /// Where it is.
        path: PathBuf,
        /// The part of it to use.
        cut: Cut,
    },
    /// A link that the caller knows by name.
    Named {
        /// Its name; not checked here.
        name: String,
        /// The part of it to use.
        cut: Cut,
    },
    /// Pieces of links one after the other.
    Join(Vec<Piece>),
}

/// A capacity with its description for a Record.
#[derive(Debug, Clone)]
pub struct Source {
    /// The trace's name, or the text of the spec.
    pub name: String,
    /// The link's capacity.
    pub capacity: Arc<Capacity>,
    /// SHA-256 of its canonical form, after the cut.
    pub hash: String,
    /// The other content of a trace file.
    pub notes: Vec<String>,
}

/// Why a text is not a capacity, or its trace cannot be used.
#[derive(Debug, Error)]
pub enum SpecError {
    /// The text has not the form of [`CapacitySpec`].
    #[error(transparent)]
    Text(#[from] ParseError),
    /// A rate, a step or a part that is not a valid capacity.
    #[error("`{spec}`: {cause}")]
    Capacity {
        /// The text.
        spec: String,
        /// What is wrong with it.
        cause: CapacityError,
    },
    /// A rate of zero, or one that rounds to zero.
    #[error(
        "`{0}` never carries anything: rates are in whole bytes per second, and the slowest is `rate=8bit/s`"
    )]
    NoRate(String),
    /// A piece of a join that has no end, so that the next piece would never begin.
    #[error(
        "`{0}` has no end, so that nothing can follow it: write `step=` with a length for each rate, such as `step=5Mbit/s@10s`"
    )]
    Endless(String),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A texture whose recordings cannot be used.
    #[error(transparent)]
    Shapes(TextureError),
    /// A list, or a column without its key.
    #[error(
        "there is no link `{0}`: separate links by blanks, such as `--traces lte.csv 5g.csv`, and choose a column of a table by its key, \
         such as `log.csv,column=ul_mbps`"
    )]
    Commas(String),
    /// The caller knows no such link.
    #[error(
        "there is no link named `{0}`{known}, and a trace file is written with its path, such as `./{0}`",
        known = instead(.0, "there are", &synthetic::known())
    )]
    UnknownName(String),
}

pub(crate) const EXPECTED: &str = "a link's capacity: a trace file, the name of a link, `rate=100Mbit/s`, or \
                                   `step=300Mbit/s@10s,600Mbit/s@20s`; a trace or a name may end in \
                                   `,offset=10s,duration=60s,texture=mmwave,slots=mmwave`, and pieces are joined as `join(PIECE;gap=100ms;PIECE)`";

impl CapacitySpec {
    /// Reads the trace, or asks `named` for the link of that name.
    ///
    /// # Errors The trace cannot be read, the name is not known, or the result carries nothing.
    pub fn open(&self, named: impl Fn(&str) -> Option<Arc<Capacity>>) -> Result<Source, SpecError> {
        self.open_with(&named)
    }

    fn open_with(&self, named: &dyn Fn(&str) -> Option<Arc<Capacity>>) -> Result<Source, SpecError> {
        let refused = |cause| SpecError::Capacity { spec: self.to_string(), cause };
        let mut found = Vec::new();
        let (name, whole, cut) = match self {
            Self::Constant(rate) => {
                (self.to_string(), Arc::new(Capacity::constant(*rate).map_err(refused)?), &Cut::default())
            }
            Self::Steps(steps) => {
                let capacity = Capacity::from_steps_holding_last(steps.clone()).map_err(refused)?;
                (self.to_string(), Arc::new(capacity), &Cut::default())
            }
            Self::File { path, cut } => {
                if !path.exists() && path.to_string_lossy().contains(',') {
                    return Err(SpecError::Commas(self.to_string()));
                }
                let Trace { name, capacity, notes, .. } = trace::read_part(path, cut.choice())?;
                found = notes;
                (name, capacity, cut)
            }
            Self::Named { name, cut } => {
                let capacity = named(name).ok_or_else(|| SpecError::UnknownName(name.clone()))?;
                (name.clone(), capacity, cut)
            }
            Self::Join(pieces) => {
                let stretches = pieces.iter().map(|piece| match piece {
                    Piece::Gap(gap) => Ok(Stretch::Gap(*gap)),
                    Piece::Link(link) => Ok(Stretch::Link(link.open_with(named)?.capacity)),
                });
                let stretches = stretches.collect::<Result<Vec<_>, SpecError>>()?;
                (self.to_string(), Arc::new(join::join(&stretches).map_err(refused)?), &Cut::default())
            }
        };
        let capacity = match (cut.offset, cut.duration) {
            (Span::ZERO, None) => whole,
            (offset, duration) => Arc::new(whole.cut(offset, duration).map_err(refused)?),
        };
        let capacity = if cut.texture.is_none() {
            capacity
        } else {
            Arc::new(cut.texture.add_to(&capacity).map_err(|error| match error {
                TextureError::Link(cause) => refused(cause),
                shapes @ TextureError::Shapes { .. } => SpecError::Shapes(shapes),
            })?)
        };
        Ok(Source { name, hash: trace::hash(&capacity), capacity, notes: found })
    }
}

impl FromStr for CapacitySpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let refused = || ParseError::new(text, EXPECTED);
        let zero = || SpecError::Capacity { spec: text.into(), cause: CapacityError::NeverCarries };
        if let Some(rate) = text.strip_prefix("rate=") {
            let rate: Rate = rate.parse()?;
            return if rate.is_zero() {
                Err(SpecError::NoRate(text.into()))
            } else {
                Ok(Self::Constant(rate))
            };
        }
        if let Some(steps) = text.strip_prefix("step=") {
            let steps: Vec<(Span, Rate)> = schedule::parse(steps, EXPECTED)?;
            return if steps.iter().all(|(_, rate)| rate.is_zero()) {
                Err(zero())
            } else {
                Ok(Self::Steps(steps))
            };
        }
        if let Some(pieces) = text.strip_prefix("join(") {
            return Ok(Self::Join(join::parse(pieces.strip_suffix(')').ok_or_else(refused)?)?));
        }
        let (name, cut) = cut::split(text)?;
        if name.is_empty() || name.parse::<Rate>().is_ok() {
            return Err(refused().into());
        }
        if let Some(meant) = Rate::meant_by(name) {
            return Err(refused().meaning(Some(meant)).into());
        }
        if name.contains(['/', '.', std::path::MAIN_SEPARATOR]) {
            return Ok(Self::File { path: name.into(), cut });
        }
        let is_name_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        match name.chars().all(is_name_part) && !cut.is_of_a_file() {
            true => Ok(Self::Named { name: name.into(), cut }),
            false if name.contains(',') => Err(SpecError::Commas(text.into())),
            false => Err(refused().into()),
        }
    }
}

impl fmt::Display for CapacitySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(rate) => write!(f, "rate={rate}"),
            Self::Steps(steps) => write!(f, "step={}", schedule::format(steps)),
            Self::File { path, cut } => write!(f, "{}{cut}", path.display()),
            Self::Named { name, cut } => write!(f, "{name}{cut}"),
            Self::Join(pieces) => {
                f.write_str("join(")?;
                join::format(pieces, f)?;
                f.write_str(")")
            }
        }
    }
}

impl serde::Serialize for CapacitySpec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for CapacitySpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        cellcc_units::deserialize_text(deserializer, EXPECTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Time;

    fn spec(text: &str) -> CapacitySpec {
        text.parse().unwrap()
    }

    fn message(text: &str) -> String {
        text.parse::<CapacitySpec>().unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in [
            "rate=100Mbit/s",
            "step=300Mbit/s@10s,600Mbit/s@20s",
            "traces/drive.mahi",
            "./drive,offset=10s,duration=1min",
            "a,b.mahi,duration=500ms",
            "lumos5g.csv,run=3,offset=10s",
            "flat.txt,as=kbit/s@100ms,offset=10s",
            "flat.txt,as=mahimahi",
            "log.csv,column=RATE (MBit/s),duration=1min",
            "lte-drive,offset=5s",
            "5g-drive,duration=1min,texture=mmwave,slots=midband,texture-seed=3",
            "./drive,texture=shapes:traces/5g-100ms",
            "join(traces/walk.mbps,offset=3s,duration=5s;gap=100ms;lte-drive;step=3Mbit/s@1s,4Mbit/s@2s)",
        ] {
            let read = spec(text);
            assert_eq!(spec(&read.to_string()), read, "{text}");
        }
    }

    #[test]
    fn a_name_is_what_could_not_be_a_path() {
        let cut = Cut::default();
        assert_eq!(spec("lte-drive"), CapacitySpec::Named { name: "lte-drive".into(), cut: cut.clone() });
        assert_eq!(spec("./lte-drive"), CapacitySpec::File { path: "./lte-drive".into(), cut: cut.clone() });
        assert_eq!(spec("drive.up"), CapacitySpec::File { path: "drive.up".into(), cut });
    }

    #[test]
    fn steps_last_as_long_as_they_say_and_the_last_one_stays() {
        let source = spec("step=300Mbit/s@10s,600Mbit/s@20s").open(|_| None).unwrap();
        let rate = |secs| {
            let at = Time::ZERO + Span::from_secs(secs);
            source.capacity.rate_in(at, at + Span::from_secs(1)).as_mbit_per_sec()
        };
        assert_eq!(
            [rate(0), rate(9), rate(10), rate(29), rate(30), rate(999)],
            [300.0, 300.0, 600.0, 600.0, 600.0, 600.0]
        );
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        for text in [
            "",
            "100Mbit/s",
            "rate=100",
            "rate=0Mbit/s",
            "step=",
            "step=3Mbit/s,4Mbit/s",
            "step=0Mbit/s@1s",
            "step=3Mbit/s@0s",
            "a.mahi,offset=10",
            "a.mahi,offset=1s,offset=2s",
            "a.csv,run=1,run=2",
            "a.csv,run=first",
            "lte-drive,run=1",
            "lte-drive,column=dl_mbps",
            "log.csv,column=",
            "log.csv,column=a,column=b",
            "lte-drive,as=mahimahi",
            "flat.txt,as=kbit/s",
            "flat.txt,as=furlongs@1s",
            "rate=1Mbit/s,offset=1s",
            "5g-drive,texture=rain",
            "5g-drive,texture=shapes:",
            "5g-drive,texture-seed=1",
            "5g-drive,slots=lte",
            "two words",
        ] {
            assert!(text.parse::<CapacitySpec>().is_err(), "{text}");
        }
        assert!(message("100Mbit/s").contains("`rate=100Mbit/s`"));
        assert!(message("rate=0Mbit/s").contains("never carries"));
        assert!(message("rate=1bit/s").contains("the slowest is `rate=8bit/s`"));
    }

    #[test]
    fn a_part_beyond_the_end_and_an_unknown_name_are_refused_by_name() {
        let named = |_: &str| Some(Arc::new(Capacity::from_opportunities([500, 1000]).unwrap()));
        let error = spec("lte,offset=1s").open(named).unwrap_err().to_string();
        assert!(error.starts_with("`lte,offset=1s`: offset 1s"), "{error}");
        assert!(spec("lte,offset=400ms,duration=600ms").open(named).is_ok());
        assert!(spec("lte").open(|_| None).unwrap_err().to_string().contains("no link named `lte`"));
    }

    #[test]
    fn a_list_and_a_bare_column_are_told_how_to_write_them() {
        let opened = |text: &str| spec(text).open(|_| None).unwrap_err().to_string();
        let messages = [
            message("lte-drive,5g-drive"),
            opened("a.csv,b.csv"),
            opened("1Mbit/s,2Mbit/s"),
            opened("a.csv,ul_mbps"),
        ];
        for message in messages {
            assert!(
                message.contains("separate links by blanks") && message.contains("`log.csv,column=ul_mbps`"),
                "{message}"
            );
        }
        assert!(opened("a.csv,column=b").contains("a.csv: cannot be read"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(rate=|step=|join\\(|)\\PC*") {
            let _ = text.parse::<CapacitySpec>();
        }
    }
}
