//! A rate that changes in steps, served continuously, in exact integers.

use crate::capacity::{Capacity, CapacityError};
use cellcc_units::{Rate, Span};

/// Piecewise constant rate. Amounts are in nanobytes (bytes per second times nanoseconds): exact, never rounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Steps {
    /// At least one; the first starts at 0, neighbours differ in rate.
    pub(crate) segments: Vec<Segment>,
    /// Length of all segments in nanoseconds, above zero.
    pub(crate) length: u64,
    /// Nanobytes in `length`.
    total: u128,
    /// Restarts after `length`; otherwise the last rate stays.
    pub(crate) repeats: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Nanoseconds since the beginning of the period.
    pub(crate) start: u64,
    /// Bytes per second.
    pub(crate) rate: u64,
    /// Nanobytes carried before `start`.
    before: u128,
}

/// The segment in which a time lies, and the beginning of its period.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepIndex {
    pub(crate) index: usize,
    pub(crate) base: u64,
}

impl Steps {
    pub(crate) fn new(steps: &[(Span, Rate)], repeats: bool) -> Result<Self, CapacityError> {
        let mut segments: Vec<Segment> = Vec::with_capacity(steps.len());
        let (mut length, mut total) = (0u64, 0u128);
        for &(span, rate) in steps.iter().filter(|(span, _)| !span.is_zero()) {
            if rate > Capacity::MAX_RATE {
                return Err(CapacityError::TooFast(rate));
            }
            let rate = rate.as_bytes_per_sec();
            if segments.last().is_none_or(|last| last.rate != rate) {
                segments.push(Segment { start: length, rate, before: total });
            }
            length = length.saturating_add(span.as_nanos());
            total += u128::from(rate) * u128::from(span.as_nanos());
        }
        if segments.is_empty() {
            return Err(CapacityError::Empty);
        }
        if length > Capacity::MAX_PERIOD.as_nanos() {
            return Err(CapacityError::TooLong);
        }
        if repeats && total == 0 {
            return Err(CapacityError::NeverCarries);
        }
        segments.shrink_to_fit();
        Ok(Self { segments, length, total, repeats })
    }

    /// Each rate and how long it lasts, once.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (Span, Rate)> {
        self.segments.iter().enumerate().map(|(index, segment)| {
            (Span::from_nanos(self.end_of(index) - segment.start), Rate::from_bytes_per_sec(segment.rate))
        })
    }

    pub(crate) fn cut(&self, offset: u64, duration: u64) -> Result<Self, CapacityError> {
        Self::new(&self.steps_within(offset, offset + duration).collect::<Vec<_>>(), true)
    }

    /// Shifts the beginning by `offset`.
    pub(crate) fn beginning_at(&self, offset: u64) -> Result<Self, CapacityError> {
        let steps = self.steps_within(offset, self.length).chain(self.steps_within(0, offset));
        Self::new(&steps.collect::<Vec<_>>(), true)
    }

    /// Each rate, and how long it lasts between two times of the period.
    fn steps_within(&self, from: u64, to: u64) -> impl Iterator<Item = (Span, Rate)> {
        (0..self.segments.len()).map(move |index| {
            let (from, to) = (self.segments[index].start.max(from), self.end_of(index).min(to));
            let rate = Rate::from_bytes_per_sec(self.segments[index].rate);
            (Span::from_nanos(to.saturating_sub(from)), rate)
        })
    }

    /// Where segment `index` ends within the period.
    pub(crate) fn end_of(&self, index: usize) -> u64 {
        self.segments.get(index + 1).map_or(self.length, |next| next.start)
    }

    /// Nanobytes carried from time zero until `time`.
    pub(crate) fn carried_until(&self, time: u64) -> u128 {
        let StepIndex { index, base } = self.step_at(time);
        let segment = &self.segments[index];
        let periods = u128::from(base / self.length);
        let within = u128::from(segment.rate) * u128::from(time - base - segment.start);
        periods * self.total + segment.before + within
    }

    /// The first nanosecond at which `carried` nanobytes have been carried; `u64::MAX` for never.
    pub(crate) fn time_of(&self, carried: u128) -> u64 {
        let (periods, rest) = match self.repeats {
            // A full period ends in the period that it fills, not at the beginning of the next.
            true if carried > 0 => {
                let periods = (carried - 1) / self.total;
                (periods, carried - periods * self.total)
            }
            _ => (0, carried),
        };
        let index = self.segments.partition_point(|segment| segment.before < rest).saturating_sub(1);
        let segment = &self.segments[index];
        let missing = rest - segment.before;
        if missing > 0 && segment.rate == 0 {
            return u64::MAX;
        }
        let within = if missing == 0 { 0 } else { missing.div_ceil(u128::from(segment.rate)) };
        let time = periods * u128::from(self.length) + u128::from(segment.start) + within;
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// The segment in which `time` lies, its beginning included and its end not.
    pub(crate) fn step_at(&self, time: u64) -> StepIndex {
        let base = if self.repeats { time - time % self.length } else { 0 };
        let within = time - base;
        let index = self.segments.partition_point(|segment| segment.start <= within) - 1;
        StepIndex { index, base }
    }

    /// When the segment at `step` ends; `u64::MAX` where it lasts for ever.
    pub(crate) fn end_time(&self, step: StepIndex) -> u64 {
        if !self.repeats && step.index + 1 == self.segments.len() {
            return u64::MAX;
        }
        step.base.saturating_add(self.end_of(step.index))
    }

    /// The segment after `step`.
    pub(crate) fn after(&self, step: StepIndex) -> StepIndex {
        if step.index + 1 < self.segments.len() {
            return StepIndex { index: step.index + 1, ..step };
        }
        StepIndex { index: 0, base: step.base.saturating_add(self.length) }
    }
}
