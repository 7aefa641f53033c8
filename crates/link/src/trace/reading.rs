//! The meaning of a file of bare numbers, where its user states it: `FILE,as=kbit/s@100ms`.

use cellcc_units::{ParseError, Span};
use std::fmt;
use std::str::FromStr;

/// The meaning of the lines of a file with one number per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Milliseconds of delivery opportunities.
    Mahimahi,
    /// Values at even steps.
    Even {
        /// Their unit.
        unit: Unit,
        /// The step.
        every: Span,
    },
}

/// A unit of values at even steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    name: &'static str,
    pub(super) quantity: Quantity,
    /// In bit/s, or in nanoseconds.
    scale: u64,
}

/// The quantity of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Capacity.
    Rate,
    /// Delay from the sender to the receiver.
    OneWay,
    /// Round-trip time.
    RoundTrip,
}

const UNITS: [Unit; 6] = [
    Unit { name: "bit/s", quantity: Quantity::Rate, scale: 1 },
    KBIT,
    Unit { name: "Mbit/s", quantity: Quantity::Rate, scale: 1_000_000 },
    Unit { name: "Gbit/s", quantity: Quantity::Rate, scale: 1_000_000_000 },
    MS,
    Unit { name: "rtt-ms", quantity: Quantity::RoundTrip, scale: 1_000_000 },
];
const KBIT: Unit = Unit { name: "kbit/s", quantity: Quantity::Rate, scale: 1_000 };
const MS: Unit = Unit { name: "ms", quantity: Quantity::OneWay, scale: 1_000_000 };

const EXPECTED: &str = "the meaning of bare numbers: `mahimahi`, or a unit and a step such as `kbit/s@100ms`; units are \
                        bit/s, kbit/s, Mbit/s, Gbit/s, ms (one-way delays) and rtt-ms (round-trip times)";

impl Reading {
    /// That of SCReAM's traces (EricssonResearch/scream, `traces/trace_flat.txt`); refusals offer it.
    pub(super) const SCREAM: Self = Self::Even { unit: KBIT, every: Span::from_millis(100) };
    /// That of LeoCC's delays of Starlink (SpaceNetLab/LeoCC, LeoReplayer's `delay` files).
    pub(super) const LEOCC: Self = Self::Even { unit: MS, every: Span::from_millis(10) };
}

impl Unit {
    /// The value in Mbit/s, or in seconds.
    pub(super) fn value(self, number: f64) -> f64 {
        let per_unit = if self.quantity == Quantity::Rate { 1e6 } else { 1e9 };
        number * self.scale as f64 / per_unit
    }
}

impl FromStr for Reading {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text == "mahimahi" {
            return Ok(Self::Mahimahi);
        }
        let refused = || ParseError::new(text, EXPECTED);
        let (unit, every) = text.split_once('@').ok_or_else(refused)?;
        let unit = UNITS.into_iter().find(|known| known.name == unit).ok_or_else(refused)?;
        let every: Span = every.parse().map_err(|_| refused())?;
        if every.is_zero() { Err(refused()) } else { Ok(Self::Even { unit, every }) }
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mahimahi => f.write_str("mahimahi"),
            Self::Even { unit, every } => write!(f, "{}@{every}", unit.name),
        }
    }
}
