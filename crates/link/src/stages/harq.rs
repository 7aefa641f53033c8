//! HARQ retransmissions: a block that arrives damaged is sent again, and later ones wait for it.
//!
//! 1. A block is a slot: all packets whose last byte leaves in it share its fate.
//! 2. The channel is good or bad, and forgets which after some milliseconds. Blocks fail seldom while it is good, and often
//!    while it is bad: a failure says that the next one is near.
//! 3. A failed block is sent again `again` later, and again. After [`MOST_REPETITIONS`] it counts as arrived.
//! 4. Blocks are handed on in order. The queue knows nothing of all that: a block that is sent again has left it.
//!
//! The states follow the link's clock, and a block's fate the seed and the number of its slot. So whatever crosses a link, it meets
//! the same radio.
//!
//! Source: every grant of two commercial 5G cells (NR-Scope's recordings of T-Mobile's stand-alone 5G, 15 kHz, FDD, slots of a
//! millisecond); docs/evidence/radio.md has the shares, and the gaps of the recordings.

use crate::queue::text::{Notation, Part, part, part_in, parts_form};
use crate::texture::Random;
use cellcc_units::{Ratio, Span, Time};

/// How blocks of one direction fail, as it is written: `fdd`, or `fdd, failed=9%, memory=20ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Harq {
    /// Length of a slot. A [`Cell`](crate::Cell) has slots of its own.
    pub slot: Span,
    /// Share of the blocks that fail when they are first sent.
    pub failed: Ratio,
    /// Share of the time in which the channel is bad.
    pub bad: Ratio,
    /// Share of the blocks that fail while it is.
    pub failed_when_bad: Ratio,
    /// How long the channel remembers its state: the correlation falls to 1/e in that time.
    pub memory: Span,
    /// From a transmission to the next one of the same block.
    pub again: Span,
    /// Fraction of the first retransmissions that also fail.
    pub again_fails: Ratio,
    /// The fraction for each later one.
    pub later_fails: Ratio,
}

/// RLC's handling of a block that failed five times was not recorded: 0.1 % of them down, 1 % up.
const MOST_REPETITIONS: usize = 4;

impl Harq {
    /// Downlink of FDD: 192,866 grants of two cells. The states were chosen from the first cell, and hold for the second.
    pub const FDD: Self = Self {
        slot: Span::from_millis(1),
        failed: Ratio::new(0.06),
        bad: Ratio::new(0.08),
        failed_when_bad: Ratio::new(0.60),
        memory: Span::from_millis(12),
        again: Span::from_millis(7),
        again_fails: Ratio::new(0.15),
        later_fails: Ratio::new(0.35),
    };
    /// Uplink of FDD: 17,414 grants of one cell, whose users differ: hence the long memory.
    pub const FDD_UP: Self = Self {
        failed: Ratio::new(0.14),
        bad: Ratio::new(0.20),
        failed_when_bad: Ratio::new(0.45),
        memory: Span::from_millis(500),
        again: Span::from_millis(6),
        again_fails: Ratio::new(0.26),
        later_fails: Ratio::new(0.45),
        ..Self::FDD
    };

    /// Slots and time to the repetition as published for `DDDSU` at mid-band (srsRAN); the shares are FDD's, carried over.
    const fn midband(fdd: Self) -> Self {
        Self { slot: Span::from_micros(500), again: Span::from_micros(7_500), ..fdd }
    }

    /// The time to the repetition is an assumption; the shares are FDD's, carried over.
    const fn mmwave(fdd: Self) -> Self {
        Self { slot: Span::from_micros(125), again: Span::from_micros(2_500), ..fdd }
    }

    /// The longest that a repetition holds a packet back.
    pub fn longest(&self) -> Span {
        self.again * MOST_REPETITIONS as u64
    }

    /// Share of the blocks that fail while the channel is good; negative where the others leave nothing for it.
    fn failed_when_good(&self) -> f64 {
        let (failed, bad) = (self.failed.get(), self.bad.get());
        (failed - bad * self.failed_when_bad.get()) / (1.0 - bad)
    }
}

impl Notation for Harq {
    const NAME: &'static str = "harq";
    const BASES: &'static [(&'static str, Self)] = &[
        ("", Self::FDD),
        ("fdd", Self::FDD),
        ("fdd-up", Self::FDD_UP),
        ("midband", Self::midband(Self::FDD)),
        ("midband-up", Self::midband(Self::FDD_UP)),
        ("mmwave", Self::mmwave(Self::FDD)),
        ("mmwave-up", Self::mmwave(Self::FDD_UP)),
    ];
    const PARTS: &'static [Part<Self>] = &[
        part_in("slot=1ms", "", |own| &mut own.slot, |own| !own.slot.is_zero()),
        part_in("failed=6%", "at least `bad` times `failed_when_bad`", |own| &mut own.failed, |_| true),
        part("bad=8%", |own| &mut own.bad),
        part("failed_when_bad=60%", |own| &mut own.failed_when_bad),
        part_in("memory=12ms", "", |own| &mut own.memory, |own| !own.memory.is_zero()),
        part_in("again=7ms", "", |own| &mut own.again, |own| !own.again.is_zero()),
        part("again_fails=15%", |own| &mut own.again_fails),
        part("later_fails=35%", |own| &mut own.later_fails),
    ];

    fn contradiction(&self) -> Option<String> {
        /// Shares are decimal: their product may miss the last digit.
        const ROUNDING: f64 = 1e-9;
        let Self { failed, bad, failed_when_bad, .. } = self;
        let percent = |share: &Ratio| share.get() * 100.0;
        let refused = || {
            let [failed, bad, when_bad] = [failed, bad, failed_when_bad].map(percent);
            format!("failed={failed}%, bad={bad}%, failed_when_bad={when_bad}%")
        };
        (!(-ROUNDING..=1.0).contains(&self.failed_when_good())).then(refused)
    }
}

parts_form!(
    Harq,
    "fdd",
    "repetitions: `fdd`, `fdd-up`, `midband`, `mmwave` or keys such as `fdd, failed=9%`"
);

/// The repetitions at work.
#[derive(Debug, Clone)]
pub(crate) struct HarqOverTime {
    slot: u64,
    again: Span,
    /// The shares that fail: of the first transmissions in each state, and of the repetitions.
    fails: [f64; 2],
    repetition_fails: [f64; MOST_REPETITIONS - 1],
    states: States,
    seed: u64,
    /// The block of the packet that left last: when its slot ends, and how much later it arrives.
    slot_end: u64,
    late: Span,
    /// When the packet before was handed on.
    released: Time,
}

/// Keeps the draws apart from those of other parts of a link with the same seed, and the states from the blocks.
const BLOCKS: u64 = 0x0068_6172_7162; // "harqb"
const STATES: u64 = 0x0068_6172_7173; // "harqs"

impl HarqOverTime {
    pub(crate) fn new(harq: Harq, seed: u64) -> Self {
        let later = harq.later_fails.get();
        Self {
            slot: harq.slot.as_nanos(),
            again: harq.again,
            fails: [harq.failed_when_good(), harq.failed_when_bad.get()],
            repetition_fails: [harq.again_fails.get(), later, later],
            states: States::new(&harq, seed ^ STATES),
            seed: seed ^ BLOCKS,
            slot_end: 0,
            late: Span::ZERO,
            released: Time::ZERO,
        }
    }

    /// When a packet is handed on whose last byte leaves at `departed_at`, which must not decrease.
    #[inline]
    pub(crate) fn release(&mut self, departed_at: Time) -> Time {
        if departed_at.as_nanos() > self.slot_end {
            self.enter(departed_at);
        }
        self.released = self.released.max(departed_at + self.late);
        self.released
    }

    /// Draws the fate of the block that leaves at this time.
    #[inline(never)]
    fn enter(&mut self, departed_at: Time) {
        if departed_at == Time::NEVER {
            return;
        }
        // A packet that leaves as a slot ends was in it.
        let number = (departed_at.as_nanos() - 1) / self.slot;
        let begin = number * self.slot;
        self.slot_end = begin.saturating_add(self.slot);
        let mut random = Random::new(self.seed ^ number);
        let first = self.fails[usize::from(self.states.is_bad_at(begin))];
        let fails = std::iter::once(first).chain(self.repetition_fails);
        let repetitions = fails.take_while(|&share| random.uniform() < share).count();
        self.late = self.again * repetitions as u64;
    }
}

/// The two states of the channel over time, in times that are exponential.
#[derive(Debug, Clone)]
struct States {
    /// The channel forgets all at each multiple of this, so that no time is too far away.
    stretch: u64,
    bad: f64,
    /// Mean length of a good and of a bad time, in nanoseconds.
    means: [f64; 2],
    seed: u64,
    random: Random,
    is_bad: bool,
    /// Until when the state lasts, and the stretch.
    until: u64,
    stretch_end: u64,
}

impl States {
    /// Ours: a thousandth of the states are drawn again although the last one was known.
    const MEMORIES_IN_A_STRETCH: u64 = 1_000;

    fn new(harq: &Harq, seed: u64) -> Self {
        let (memory, bad) = (harq.memory.as_nanos(), harq.bad.get());
        Self {
            stretch: memory.saturating_mul(Self::MEMORIES_IN_A_STRETCH),
            bad,
            means: [bad, 1.0 - bad].map(|leaves| memory as f64 / leaves),
            seed,
            random: Random::new(seed),
            is_bad: false,
            until: 0,
            stretch_end: 0,
        }
    }

    /// The state at a time in nanoseconds, which must not decrease.
    fn is_bad_at(&mut self, time: u64) -> bool {
        if time >= self.stretch_end {
            let number = time / self.stretch;
            let begin = number * self.stretch;
            self.stretch_end = begin.saturating_add(self.stretch);
            self.random = Random::new(self.seed ^ number);
            self.is_bad = self.random.uniform() < self.bad;
            self.until = begin;
            self.lengthen();
        }
        while time >= self.until {
            self.is_bad = !self.is_bad;
            self.lengthen();
        }
        self.is_bad
    }

    /// Adds how long the state lasts, and at least a nanosecond.
    fn lengthen(&mut self) {
        let lasts = self.random.exponential() * self.means[usize::from(self.is_bad)];
        self.until = self.until.saturating_add(lasts as u64).saturating_add(1);
    }
}

#[cfg(test)]
mod tests;
