//! When each packet of a first-in-first-out queue has left, on a given capacity.

use crate::capacity::opportunities::{Opportunities, Slot};
use crate::capacity::steps::{StepIndex, Steps};
use crate::capacity::{Capacity, NANOS_PER_SEC, Shape};
use cellcc_units::{Bytes, Time};
use std::sync::Arc;

/// Serves bytes in order of arrival. The capacity that a packet leaves over (a fraction of a nanosecond, the rest of
/// an opportunity) goes to the next packet if that has arrived by then. So rounding does not add up.
#[derive(Debug, Clone)]
pub struct ServiceClock {
    capacity: Arc<Capacity>,
    position: Position,
}

#[derive(Debug, Clone)]
enum Position {
    Steps(StepsPosition),
    Opportunities(Option<Slot>),
}

/// The capacity until `at` is used, all but `surplus` nanobytes.
#[derive(Debug, Clone, Copy)]
struct StepsPosition {
    at: u64,
    surplus: u64,
    step: StepIndex,
    /// Rate of the segment at `step`, so that the usual packet reads nothing else.
    rate: u64,
    end: u64,
}

/// How many segments or opportunities are tried one by one before a binary search. The next one is the rule; the
/// search bounds the cost of a packet that crosses thousands.
const NEIGHBOURS: usize = 8;

impl ServiceClock {
    /// A clock at time zero.
    pub fn new(capacity: Arc<Capacity>) -> Self {
        let position = match &capacity.shape {
            Shape::Steps(steps) => Position::Steps(StepsPosition::at(steps, 0)),
            // The first opportunity is found on the first packet: those before it are lost.
            Shape::Opportunities(list) => Position::Opportunities(list.first_after(0)),
        };
        Self { capacity, position }
    }

    /// The capacity it moves on.
    pub fn capacity(&self) -> &Arc<Capacity> {
        &self.capacity
    }

    /// When the next `bytes` have left: they arrive at `ready`, and are served after the bytes of all earlier calls.
    /// `ready` must not decrease. [`Time::NEVER`] where the link stays at zero for ever.
    #[inline(always)]
    pub fn finish(&mut self, ready: Time, bytes: Bytes) -> Time {
        let (ready, bytes) = (ready.as_nanos(), bytes.get());
        Time::from_nanos(match (&mut self.position, &self.capacity.shape) {
            (Position::Steps(position), Shape::Steps(steps)) => position.finish(steps, ready, bytes),
            (Position::Opportunities(slot), Shape::Opportunities(list)) => {
                finish_opportunities(slot, list, ready, bytes)
            }
            // `new` makes the position from the shape.
            _ => u64::MAX,
        })
    }

    /// When the service of the next byte begins, if it arrives at `ready`: after an outage, not in it.
    /// [`Time::NEVER`] where the link stays at zero for ever.
    pub(crate) fn begin(&self, ready: Time) -> Time {
        let ready = ready.as_nanos();
        Time::from_nanos(match (&self.position, &self.capacity.shape) {
            (Position::Steps(position), Shape::Steps(steps)) => position.begin(steps, ready),
            (Position::Opportunities(Some(slot)), Shape::Opportunities(list)) => {
                let next = match slot {
                    passed if passed.time <= ready => list.first_after(ready),
                    used if used.left == 0 => list.after(used),
                    open => Some(*open),
                };
                next.map_or(u64::MAX, |slot| slot.time)
            }
            _ => u64::MAX,
        })
    }
}

impl StepsPosition {
    fn at(steps: &Steps, time: u64) -> Self {
        let mut position =
            Self { at: time, surplus: 0, step: StepIndex { index: 0, base: 0 }, rate: 0, end: 0 };
        position.enter(steps, steps.step_at(time));
        position
    }

    fn enter(&mut self, steps: &Steps, step: StepIndex) {
        self.step = step;
        self.rate = steps.segments[step.index].rate;
        self.end = steps.end_time(step);
    }

    #[inline(always)]
    fn finish(&mut self, steps: &Steps, ready: u64, bytes: u64) -> u64 {
        if ready > self.at {
            self.at = ready;
            self.surplus = 0;
            if ready >= self.end {
                self.enter_at(steps, ready);
            }
        }
        // Above 9 GB in one go the product no longer fits 64 bits.
        const LARGEST: u64 = u64::MAX / (2 * NANOS_PER_SEC as u64);
        if bytes <= LARGEST && self.rate > 0 {
            let needed = bytes * NANOS_PER_SEC as u64;
            if needed <= self.surplus {
                self.surplus -= needed;
                return self.at;
            }
            let missing = needed - self.surplus;
            // A link much faster than its packets, such as a reverse path without a limit, needs no division.
            let span = if missing <= self.rate { 1 } else { missing.div_ceil(self.rate) };
            if span <= self.end - self.at {
                self.at += span;
                self.surplus = span * self.rate - missing;
                return self.at;
            }
        }
        self.finish_across(steps, bytes)
    }

    #[cold]
    fn enter_at(&mut self, steps: &Steps, time: u64) {
        self.enter(steps, steps.step_at(time));
    }

    fn begin(&self, steps: &Steps, ready: u64) -> u64 {
        let from = self.at.max(ready);
        if self.surplus > 0 && from == self.at || self.rate > 0 && from < self.end {
            return from;
        }
        match steps.time_of(steps.carried_until(from) + 1) {
            u64::MAX => u64::MAX,
            // A rate above zero carries a nanobyte within a nanosecond.
            carried => carried - 1,
        }
    }

    /// Service that continues in another segment.
    #[cold]
    fn finish_across(&mut self, steps: &Steps, bytes: u64) -> u64 {
        if self.at == u64::MAX {
            return u64::MAX;
        }
        let needed = u128::from(bytes) * NANOS_PER_SEC;
        if needed <= u128::from(self.surplus) {
            self.surplus -= needed as u64;
            return self.at;
        }
        let mut missing = needed - u128::from(self.surplus);
        let goal = steps.carried_until(self.at) + missing;
        for _ in 0..NEIGHBOURS {
            let here = u128::from(self.rate) * u128::from(self.end - self.at);
            if missing <= here || self.end == u64::MAX {
                break;
            }
            missing -= here;
            self.at = self.end;
            self.enter(steps, steps.after(self.step));
        }
        let here = u128::from(self.rate) * u128::from(self.end - self.at);
        if missing > here {
            self.at = steps.time_of(goal);
            self.enter(steps, steps.step_at(self.at));
            if self.at == u64::MAX {
                return u64::MAX;
            }
            self.surplus = (steps.carried_until(self.at) - goal) as u64; // less than one nanosecond's worth
            return self.at;
        }
        let span = missing.div_ceil(u128::from(self.rate.max(1)));
        self.at += span as u64; // within the segment, as `missing <= here`
        self.surplus = (span * u128::from(self.rate) - missing) as u64;
        self.at
    }
}

// A function of its own: the shorter way of a rate needs none of its registers.
#[inline(never)]
fn finish_opportunities(position: &mut Option<Slot>, list: &Opportunities, ready: u64, bytes: u64) -> u64 {
    let Some(mut slot) = *position else { return u64::MAX };
    if slot.time <= ready {
        let next = list.after(&slot).filter(|next| next.time > ready).or_else(|| list.first_after(ready));
        let Some(next) = next else {
            *position = None;
            return u64::MAX;
        };
        slot = next;
    }
    let mut missing = bytes;
    for _ in 0..NEIGHBOURS {
        if missing <= slot.left {
            slot.left -= missing;
            *position = Some(slot);
            return slot.time;
        }
        missing -= slot.left;
        match list.after(&slot) {
            Some(next) => slot = next,
            None => {
                *position = None;
                return u64::MAX;
            }
        }
    }
    // Nothing of `slot` is used here: all that it offers lies after the nanosecond before it.
    *position = list.time_of(list.carried_until(slot.time - 1) + u128::from(missing));
    position.map_or(u64::MAX, |slot| slot.time)
}

#[cfg(test)]
mod tests;
