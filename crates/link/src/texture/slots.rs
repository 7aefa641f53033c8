//! When data leave a base station: in the slots of its duplex pattern.
//!
//! Downlink slots carry what the rate says, the others nothing: `DDDSU`, of which the special slot `S` carries half. What has to be sent
//! again is no matter of capacity: see `harq.rs`.

use super::{Radio, process, rate_of};
use crate::capacity::{Capacity, CapacityError};
use cellcc_units::Span;

/// How a radio's slots are.
pub(super) struct Slots {
    length: Span,
    /// What each slot of the pattern carries, a whole one being 1.
    pattern: &'static [f64],
}

/// The pattern of the mid-band networks of the SIGCOMM 2024 study; LTE with paired spectrum has downlink slots only.
const DDDSU: [f64; 5] = [1.0, 1.0, 1.0, 0.5, 0.0];
const PAIRED: [f64; 1] = [1.0];

impl Slots {
    pub(super) fn of(radio: Radio) -> Self {
        let (micros, pattern): (_, &'static [f64]) = match radio {
            Radio::MmWave => (125, &DDDSU),
            Radio::MidBand => (500, &DDDSU),
            Radio::Lte => (1_000, &PAIRED),
        };
        Self { length: Span::from_micros(micros), pattern }
    }
}

/// Rates of each 5 ms as what each slot carries.
pub(super) fn steps(rates: &[f64], slots: &Slots) -> Result<Capacity, CapacityError> {
    let per_step = (process::STEP.as_nanos() / slots.length.as_nanos()) as usize;
    let share = slots.pattern.len() as f64 / slots.pattern.iter().sum::<f64>();
    let all = rates.iter().flat_map(|&rate| std::iter::repeat_n(rate * share, per_step));
    let carried = all.zip(slots.pattern.iter().cycle()).map(|(rate, part)| rate * part);
    Capacity::from_steps(carried.map(|rate| (slots.length, rate_of(rate))).collect())
}
