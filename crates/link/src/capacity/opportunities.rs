//! Mahimahi's delivery opportunities.

use crate::capacity::{Capacity, CapacityError};

/// A repeating list of times at which some bytes may leave at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opportunities {
    /// In order of time, one entry for each time with opportunities; at least one, the last at `period` or before it.
    pub(crate) list: Vec<Opportunity>,
    /// Nanoseconds after which the list restarts.
    pub(crate) period: u64,
}

/// All opportunities of one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opportunity {
    /// Nanoseconds since the beginning of the period: above zero, at most the period.
    pub(crate) at: u64,
    /// Bytes carried from the beginning of the period through this time.
    pub(crate) through: u64,
}

/// An entry of the list at its absolute time, with the bytes that are still unused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) index: usize,
    pub(crate) base: u64,
    pub(crate) time: u64,
    pub(crate) left: u64,
}

const NANOS_PER_MILLI: u64 = 1_000_000;

impl Opportunities {
    pub(crate) fn new(millis: impl IntoIterator<Item = u64>) -> Result<Self, CapacityError> {
        let size = Capacity::OPPORTUNITY.get();
        let (mut list, mut through, mut last) = (Vec::<Opportunity>::new(), 0u64, 0u64);
        let mut at_zero = 0u64;
        for (index, milli) in millis.into_iter().enumerate() {
            if milli < last {
                return Err(CapacityError::OutOfOrder(index + 1));
            }
            last = milli;
            if milli > Capacity::MAX_PERIOD.as_nanos() / NANOS_PER_MILLI {
                return Err(CapacityError::TooLong);
            }
            if milli == 0 {
                at_zero += size;
                continue;
            }
            through += size;
            let at = milli * NANOS_PER_MILLI;
            match list.last_mut() {
                Some(same) if same.at == at => same.through = through,
                _ => list.push(Opportunity { at, through }),
            }
        }
        let Some(end) = list.last_mut() else {
            return Err(if at_zero > 0 { CapacityError::NeverCarries } else { CapacityError::Empty });
        };
        // Time 0 of the next round is the end of this one; at the very first time 0 no packet can be waiting yet.
        end.through += at_zero;
        let period = end.at;
        list.shrink_to_fit();
        Ok(Self { list, period })
    }

    /// The part after `offset`, up to `offset + duration`, as a list of that period.
    pub(crate) fn cut(&self, offset: u64, duration: u64) -> Result<Self, CapacityError> {
        if duration == 0 {
            return Err(CapacityError::Empty);
        }
        let first = self.list.partition_point(|entry| entry.at <= offset);
        let end = self.list.partition_point(|entry| entry.at <= offset + duration);
        let before = self.through_before(first);
        let list: Vec<Opportunity> = self.list[first..end]
            .iter()
            .map(|entry| Opportunity { at: entry.at - offset, through: entry.through - before })
            .collect();
        if list.is_empty() {
            return Err(CapacityError::NeverCarries);
        }
        Ok(Self { list, period: duration })
    }

    /// Shifts the beginning by `offset`, which is less than the period.
    pub(crate) fn beginning_at(&self, offset: u64) -> Self {
        let first = self.list.partition_point(|entry| entry.at <= offset);
        let (before, total) = (self.through_before(first), self.total());
        let later = self.list[first..]
            .iter()
            .map(|entry| Opportunity { at: entry.at - offset, through: entry.through - before });
        let earlier = self.list[..first].iter().map(|entry| Opportunity {
            at: entry.at + (self.period - offset),
            through: entry.through + (total - before),
        });
        Self { list: later.chain(earlier).collect(), period: self.period }
    }

    /// Bytes carried in one period.
    pub(crate) fn total(&self) -> u64 {
        self.list[self.list.len() - 1].through
    }

    fn through_before(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(0, |before| self.list[before].through)
    }

    /// Bytes carried after time zero, through `time`.
    pub(crate) fn carried_until(&self, time: u64) -> u128 {
        let passed = self.list.partition_point(|entry| entry.at <= time % self.period);
        u128::from(time / self.period) * u128::from(self.total()) + u128::from(self.through_before(passed))
    }

    /// The slot in which the `carried`th byte leaves, and the rest of the slot then; `None` beyond all time.
    pub(crate) fn time_of(&self, carried: u128) -> Option<Slot> {
        let total = u128::from(self.total());
        let periods = carried.saturating_sub(1) / total;
        let rest = (carried - periods * total) as u64; // at most `total`
        let index = self.list.partition_point(|entry| entry.through < rest);
        let base = u64::try_from(periods).ok()?.checked_mul(self.period)?;
        let mut slot = self.slot(index, base)?;
        slot.left = self.list[index].through - rest;
        Some(slot)
    }

    /// The first slot after `time`.
    pub(crate) fn first_after(&self, time: u64) -> Option<Slot> {
        let base = time - time % self.period;
        let index = self.list.partition_point(|entry| entry.at <= time - base);
        match index == self.list.len() {
            true => self.slot(0, base.checked_add(self.period)?),
            false => self.slot(index, base),
        }
    }

    /// The slot after `slot`.
    #[inline]
    pub(crate) fn after(&self, slot: &Slot) -> Option<Slot> {
        match slot.index + 1 == self.list.len() {
            true => self.slot(0, slot.base.checked_add(self.period)?),
            false => self.slot(slot.index + 1, slot.base),
        }
    }

    /// A wholly unused slot.
    #[inline]
    fn slot(&self, index: usize, base: u64) -> Option<Slot> {
        let entry = self.list[index];
        let left = entry.through - self.through_before(index);
        Some(Slot { index, base, time: base.checked_add(entry.at)?, left })
    }
}
