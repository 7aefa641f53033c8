//! Rate variation within a second, for traces that have one rate per second.
//!
//! A recording of whole seconds flatters every sender that follows the rate: within its seconds nothing changes. A texture adds
//! the measured variation below a second, and keeps the bytes of every second:
//!
//! 1. Within the second the rate wanders as a process that was fitted to recordings of every 100 ms ([`process`]), or as in a
//!    second of such recordings that was alike ([`shapes`]).
//! 2. Data leave in the slots of a duplex pattern: downlink slots carry the rate, the others nothing. It is `DDDSU`; the
//!    special slot `S` carries half. Retransmissions do not belong to capacity: see `stages/harq.rs`.
//!
//! As text: `drive.mbps,texture=mmwave,slots=mmwave,texture-seed=2`, and `texture=shapes:FOLDER`. Seeded: the same text is the
//! same link on every machine.
//!
//! Source: fits to recordings of every 100 ms (Lumos5G's and others' of mmWave uplink and mid-band downlink), and published
//! slots; docs/link-model.md has the numbers and their validation.

mod process;
mod shapes;

use crate::capacity::{Capacity, CapacityError, Shape};
use cellcc_units::{ParseError, Rate, Span, Time};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;

/// The radio whose texture it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Radio {
    /// 5G above 24 GHz, slots of 0.125 ms.
    MmWave,
    /// 5G at 2.5 to 4 GHz, slots of 0.5 ms.
    MidBand,
    /// LTE, slots of a millisecond.
    Lte,
}

/// How a rate wanders within a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wander {
    /// As a process that was fitted to recordings of this radio.
    Process(Radio),
    /// As in recordings of every 100 ms: the traces of this folder.
    Shapes(PathBuf),
}

/// The variation added within the seconds of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texture {
    /// How the rate wanders.
    pub wander: Option<Wander>,
    /// When data leave.
    pub slots: Option<Radio>,
    /// Which of all possible textures.
    pub seed: u64,
}

/// The longest link that gets slots: half an hour of mmWave is 14 million of them.
const MOST_SECONDS: u64 = 1800;

impl Texture {
    /// True where nothing is added.
    pub(crate) fn is_none(&self) -> bool {
        self.wander.is_none() && self.slots.is_none()
    }

    /// The link with its texture.
    ///
    /// # Errors
    /// A link that has a texture of its own: delivery opportunities, or rates that last for less than a second; one without an
    /// end or longer than half an hour. A folder without recordings of every 100 ms.
    pub(crate) fn add_to(&self, capacity: &Capacity) -> Result<Capacity, TextureError> {
        let means = means(capacity)?;
        let mut random = Random::new(self.seed);
        let rates = match &self.wander {
            Some(Wander::Process(radio)) => process::rates(&means, &process::Fit::of(*radio), &mut random),
            Some(Wander::Shapes(folder)) => shapes::Library::read(folder)?.rates(&means, &mut random),
            None => means.iter().flat_map(|&mean| [mean; process::STEPS_PER_SECOND]).collect(),
        };
        let textured = match self.slots {
            Some(radio) => in_slots(&rates, &Slots::of(radio)),
            None => Capacity::from_steps(rates.iter().map(|&rate| (process::STEP, rate_of(rate))).collect()),
        };
        Ok(Capacity { delay: capacity.delay.clone(), ..textured? })
    }
}

/// The mean of each second, in bytes a second.
fn means(capacity: &Capacity) -> Result<Vec<f64>, CapacityError> {
    let Shape::Steps(steps) = &capacity.shape else { return Err(CapacityError::HasTexture) };
    let second = Span::from_secs(1);
    let period = capacity.period().ok_or(CapacityError::CutOfEndless)?;
    // The last second of a recording may be cut.
    if steps.steps().take(steps.segments.len() - 1).any(|(length, _)| length < second) {
        return Err(CapacityError::HasTexture);
    }
    let seconds = period.as_nanos().div_ceil(second.as_nanos());
    if seconds > MOST_SECONDS {
        return Err(CapacityError::TooLong);
    }
    let mean = |at: u64| {
        let from = Time::ZERO + Span::from_secs(at);
        capacity.rate_in(from, from + second).as_bytes_per_sec() as f64
    };
    Ok((0..seconds).map(mean).collect())
}

/// Why a link gets no texture.
#[derive(Debug, Error)]
pub enum TextureError {
    /// The link.
    #[error(transparent)]
    Link(#[from] CapacityError),
    /// The recordings whose seconds are taken.
    #[error("texture=shapes:{folder}: {problem}; name a folder with traces of rates that last 100 ms each")]
    Shapes {
        /// As it was named.
        folder: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// A rate of so many bytes a second.
fn rate_of(bytes_per_sec: f64) -> Rate {
    Rate::from_bytes_per_sec((bytes_per_sec + 0.5) as u64)
}

/// Seeded random numbers, the same on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Random(Pcg64Mcg);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// In (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        const GRAIN: u64 = 1 << 53;
        ((self.0.next_u64() >> 11) as f64 + 0.5) / GRAIN as f64
    }

    /// Standard normal: Box and Muller (1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(std::f64::consts::TAU * angle)
    }

    /// Exponential, of mean one.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }
}

const RADIOS: [(Radio, &str); 3] =
    [(Radio::MmWave, "mmwave"), (Radio::MidBand, "midband"), (Radio::Lte, "lte")];

impl fmt::Display for Radio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = RADIOS.iter().find(|(radio, _)| radio == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for Radio {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let found = RADIOS.iter().find(|(_, name)| *name == text);
        found.map(|(radio, _)| *radio).ok_or_else(|| ParseError::new(text, "`mmwave`, `midband` or `lte`"))
    }
}

/// The radio of `slots=`: one with a duplex pattern.
pub(crate) fn duplex(text: &str) -> Result<Radio, ParseError> {
    const EXPECTED: &str = "the radio of a duplex pattern, `mmwave` or `midband`; repetitions are a condition of their own, `harq`";
    match text.parse()? {
        Radio::Lte => Err(ParseError::new(text, EXPECTED)),
        radio => Ok(radio),
    }
}

impl fmt::Display for Wander {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(radio) => radio.fmt(f),
            Self::Shapes(folder) => write!(f, "shapes:{}", folder.display()),
        }
    }
}

impl FromStr for Wander {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.strip_prefix("shapes:") {
            Some("") => {
                Err(ParseError::new(text, "`shapes:FOLDER`, a folder with recordings of every 100 ms"))
            }
            Some(folder) => Ok(Self::Shapes(folder.into())),
            None => text.parse().map(Self::Process),
        }
    }
}

/// As at the end of a link's text: `,texture=mmwave,slots=mmwave,texture-seed=2`.
impl fmt::Display for Texture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(wander) = &self.wander {
            write!(f, ",texture={wander}")?;
        }
        if let Some(radio) = self.slots {
            write!(f, ",slots={radio}")?;
        }
        if self.seed > 0 {
            write!(f, ",texture-seed={}", self.seed)?;
        }
        Ok(())
    }
}

/// How a radio's slots are.
struct Slots {
    length: Span,
    /// The capacity of each slot of the pattern, a whole one being 1.
    pattern: &'static [f64],
}

/// The pattern of the mid-band networks of the SIGCOMM 2024 study; LTE with paired spectrum has downlink slots only.
const DDDSU: [f64; 5] = [1.0, 1.0, 1.0, 0.5, 0.0];
const PAIRED: [f64; 1] = [1.0];

impl Slots {
    fn of(radio: Radio) -> Self {
        let (micros, pattern): (_, &'static [f64]) = match radio {
            Radio::MmWave => (125, &DDDSU),
            Radio::MidBand => (500, &DDDSU),
            Radio::Lte => (1_000, &PAIRED),
        };
        Self { length: Span::from_micros(micros), pattern }
    }
}

/// Rates of each 5 ms as the capacity of each slot.
fn in_slots(rates: &[f64], slots: &Slots) -> Result<Capacity, CapacityError> {
    let per_step = (process::STEP.as_nanos() / slots.length.as_nanos()) as usize;
    let share = slots.pattern.len() as f64 / slots.pattern.iter().sum::<f64>();
    let all = rates.iter().flat_map(|&rate| std::iter::repeat_n(rate * share, per_step));
    let carried = all.zip(slots.pattern.iter().cycle()).map(|(rate, part)| rate * part);
    Capacity::from_steps(carried.map(|rate| (slots.length, rate_of(rate))).collect())
}

#[cfg(test)]
mod tests;
