//! When data leave a base station: in the slots of its duplex pattern, in order.
//!
//! 1. Downlink slots carry what the rate says, the others nothing: `DDDSU`, of which the special slot `S` carries half.
//! 2. What a slot carried arrives with its end. One in ten arrives damaged, and comes whole some milliseconds later, or later still.
//! 3. What follows waits for it: data are handed on in order.

use super::{Radio, Random, process, rate_of};
use crate::capacity::{Capacity, CapacityError};
use cellcc_units::Span;

/// How a radio's slots are.
pub(super) struct Slots {
    length: Span,
    /// What each slot of the pattern carries, a whole one being 1.
    pattern: &'static [f64],
    /// How many come damaged.
    damaged: f64,
    /// Until the repetition.
    again: Span,
}

/// The pattern of the mid-band networks of the SIGCOMM 2024 study; LTE with paired spectrum has downlink slots only.
const DDDSU: [f64; 5] = [1.0, 1.0, 1.0, 0.5, 0.0];
const PAIRED: [f64; 1] = [1.0];
/// After so many repetitions a block is given up by the radio; what is above it repeats it, which is not modelled.
const MOST_REPETITIONS: u32 = 4;

impl Slots {
    /// Damaged: 10 to 11 % in Korean networks. Again: 7.5 ms was measured for `DDDSU` at mid-band (srsRAN); for mmWave 2.5 ms is an
    /// assumption; 8 ms is LTE's (3GPP TS 36.321, synchronous HARQ of 8 processes).
    pub(super) fn of(radio: Radio) -> Self {
        let micros = Span::from_micros;
        match radio {
            Radio::MmWave => {
                Self { length: micros(125), pattern: &DDDSU, damaged: 0.1, again: micros(2_500) }
            }
            Radio::MidBand => {
                Self { length: micros(500), pattern: &DDDSU, damaged: 0.1, again: micros(7_500) }
            }
            Radio::Lte => {
                Self { length: micros(1_000), pattern: &PAIRED, damaged: 0.08, again: micros(8_000) }
            }
        }
    }
}

/// Rates of each 5 ms as what arrives in each slot.
pub(super) fn steps(rates: &[f64], slots: &Slots, random: &mut Random) -> Result<Capacity, CapacityError> {
    let per_step = (process::STEP.as_nanos() / slots.length.as_nanos()) as usize;
    let again = (slots.again.as_nanos() / slots.length.as_nanos()) as usize;
    let share = slots.pattern.len() as f64 / slots.pattern.iter().sum::<f64>();
    let mut arriving = vec![0.0; rates.len() * per_step];
    let mut whole_until = 0;
    for slot in 0..arriving.len() {
        let carried = rates[slot / per_step] * share * slots.pattern[slot % slots.pattern.len()];
        if carried <= 0.0 {
            continue;
        }
        let mut repetitions = 0;
        while repetitions < MOST_REPETITIONS && random.uniform() < slots.damaged {
            repetitions += 1;
        }
        whole_until = whole_until.max(slot + again * repetitions as usize);
        // The last ones of the link would come in its next period.
        arriving[whole_until.min(rates.len() * per_step - 1)] += carried;
    }
    Capacity::from_steps(arriving.iter().map(|&rate| (slots.length, rate_of(rate))).collect())
}
