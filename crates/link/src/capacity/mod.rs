//! A link's capacity over time: a rate that changes in steps, or Mahimahi's delivery opportunities.

pub(crate) mod cut;
pub(crate) mod join;
pub(crate) mod opportunities;
pub(crate) mod schedule;
pub(crate) mod service_clock;
pub(crate) mod spec;
pub(crate) mod stats;
pub(crate) mod steps;

use crate::capacity::opportunities::Opportunities;
use crate::capacity::steps::Steps;
use crate::delay::repeating::Repeating;
use cellcc_units::{Bytes, Rate, Span, Time};
use thiserror::Error;

/// A link's capacity over time. Immutable: links, cells and reports share one behind an `Arc`.
///
/// Amounts are exact: `bytes_between(a, b) + bytes_between(b, c)` is always `bytes_between(a, c)`, and the interval is open at
/// its beginning and closed at its end, because an opportunity serves the packets that were there before it (a packet that
/// arrives in the very nanosecond of an opportunity waits for the next one).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacity {
    pub(crate) shape: Shape,
    /// A delay of the link's own behind the service.
    pub(crate) delay: Option<Repeating>,
}

impl From<Shape> for Capacity {
    /// Without a delay.
    fn from(shape: Shape) -> Self {
        Self { shape, delay: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    Steps(Steps),
    Opportunities(Opportunities),
}

/// Why something is not a capacity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CapacityError {
    /// No step, or no opportunity, or steps that take no time at all.
    #[error("it is empty: give at least one rate that lasts longer than zero")]
    Empty,
    /// It repeats and never carries a byte.
    #[error("it never carries anything: a link needs some capacity in at least one place")]
    NeverCarries,
    /// A rate above [`Capacity::MAX_RATE`].
    #[error("a rate of {0} is above {max}, the fastest that is calculated with", max = Capacity::MAX_RATE)]
    TooFast(Rate),
    /// A period above [`Capacity::MAX_PERIOD`].
    #[error("it is longer than a year")]
    TooLong,
    /// The opportunities are not in order of time.
    #[error("opportunity {0} is earlier than the one before")]
    OutOfOrder(usize),
    /// A texture for a link that has one.
    #[error(
        "it has a texture of its own, delivery opportunities or rates that last for less than a second: leave `texture` and `slots` out"
    )]
    HasTexture,
    /// Pieces of different kinds.
    #[error(
        "it joins rates with delivery opportunities, which are served differently: turn the pieces into one kind with \
         `cellcc trace convert`"
    )]
    Mixed,
    /// A cut outside of the trace.
    #[error("offset {offset} and duration {duration} reach beyond its end at {period}: shorten one of them")]
    CutOutside {
        /// Where the cut begins.
        offset: Span,
        /// How long it is.
        duration: Span,
        /// Length of the cut capacity.
        period: Span,
    },
    /// A piece with a delay of its own.
    #[error("it joins a link that has a delay of its own, which a join does not carry: run that link alone")]
    JoinOfDelays,
    /// A cut of something that has no end.
    #[error("it has no end, so that no part of it can be cut out: leave `offset` and `duration` out")]
    CutOfEndless,
}

impl Capacity {
    /// The fastest rate: 10 Tbit/s, far above any link and small enough for exact 64-bit arithmetic.
    pub const MAX_RATE: Rate = Rate::from_bytes_per_sec(1_250_000_000_000);
    /// The longest period: a year.
    pub const MAX_PERIOD: Span = Span::from_secs(366 * 24 * 3600);
    /// The bytes of one Mahimahi opportunity. (Mahimahi's own count is 1504: 1500 and 4 bytes of TUN header.)
    pub const OPPORTUNITY: Bytes = Bytes::new(1500);

    /// A constant rate for ever. Rate zero is a link that is down.
    ///
    /// # Errors
    /// [`CapacityError::TooFast`].
    pub fn constant(rate: Rate) -> Result<Self, CapacityError> {
        Self::from_steps_holding_last(vec![(Span::from_secs(1), rate)])
    }

    /// [`Capacity::MAX_RATE`] for ever: a link without a limit.
    pub fn unlimited() -> Self {
        Self::constant(Self::MAX_RATE).unwrap_or_else(|_| unreachable!("the largest rate is a rate"))
    }

    /// Rates that each last for a time; after the last one the first follows again, as in a trace.
    ///
    /// # Errors
    /// Where nothing is ever carried, or a rate or the whole length is out of range.
    pub fn from_steps(steps: Vec<(Span, Rate)>) -> Result<Self, CapacityError> {
        Steps::new(&steps, true).map(|steps| Shape::Steps(steps).into())
    }

    /// Rates that each last for a time; the last one stays for ever, whatever its length.
    ///
    /// # Errors
    /// As [`Capacity::from_steps`], but the last rate, or all of them, may be zero.
    pub fn from_steps_holding_last(steps: Vec<(Span, Rate)>) -> Result<Self, CapacityError> {
        Steps::new(&steps, false).map(|steps| Shape::Steps(steps).into())
    }

    /// Delivery opportunities in Mahimahi's sense: at each of these milliseconds 1500 bytes may leave; an unused opportunity is
    /// lost. The last one is the period, as in mahimahi's `link_queue.cc`: the whole list restarts there, so that an
    /// opportunity at 0 comes together with the last.
    ///
    /// # Errors
    /// Where the list is empty or out of order, ends at 0, or is longer than a year.
    pub fn from_opportunities(millis: impl IntoIterator<Item = u64>) -> Result<Self, CapacityError> {
        Opportunities::new(millis).map(|list| Shape::Opportunities(list).into())
    }

    /// The part from `offset` on, for `duration` (to the end without one), repeating.
    ///
    /// # Errors
    /// Where the part is empty, goes beyond the end, or carries nothing.
    pub fn cut(&self, offset: Span, duration: Option<Span>) -> Result<Self, CapacityError> {
        let period = self.period().ok_or(CapacityError::CutOfEndless)?;
        let duration = duration.unwrap_or(period.saturating_sub(offset));
        if offset + duration > period || offset >= period {
            return Err(CapacityError::CutOutside { offset, duration, period });
        }
        let shape = match &self.shape {
            Shape::Steps(steps) => Shape::Steps(steps.cut(offset.as_nanos(), duration.as_nanos())?),
            Shape::Opportunities(list) => {
                Shape::Opportunities(list.cut(offset.as_nanos(), duration.as_nanos())?)
            }
        };
        let delay = self.delay.as_ref().and_then(|delay| delay.part(offset.as_nanos(), duration.as_nanos()));
        Ok(Self { shape, delay })
    }

    /// Shifts the beginning by `offset`: the capacity at `offset` is then at time zero. A capacity without a period
    /// stays as it is.
    pub fn beginning_at(&self, offset: Span) -> Self {
        let Some(period) = self.period() else { return self.clone() };
        let offset = offset.as_nanos() % period.as_nanos();
        let shape = match &self.shape {
            // The steps of a capacity are those of a capacity in any order.
            Shape::Steps(steps) => {
                steps.beginning_at(offset).map_or_else(|_| self.shape.clone(), Shape::Steps)
            }
            Shape::Opportunities(list) => Shape::Opportunities(list.beginning_at(offset)),
        };
        Self { shape, delay: self.delay.as_ref().and_then(|delay| delay.beginning_at(offset)) }
    }

    /// Keeps one period, and nothing after it: Mahimahi's `--once`. A capacity without a period stays as it
    /// is. (Opportunities come again after [`Capacity::MAX_PERIOD`].)
    ///
    /// # Errors
    /// [`CapacityError::TooLong`] where it is nearly that long itself.
    pub fn once(&self) -> Result<Self, CapacityError> {
        let shape = match &self.shape {
            Shape::Steps(steps) if steps.repeats => {
                let then_nothing = std::iter::once((Span::from_secs(1), Rate::ZERO));
                let steps: Vec<(Span, Rate)> = steps.steps().chain(then_nothing).collect();
                Shape::Steps(Steps::new(&steps, false)?)
            }
            Shape::Steps(_) => self.shape.clone(),
            Shape::Opportunities(list) => {
                let period = Self::MAX_PERIOD.as_nanos();
                Shape::Opportunities(Opportunities { list: list.list.clone(), period })
            }
        };
        Ok(Self { shape, delay: self.delay.clone() })
    }

    /// The bytes that can leave after `from` and not later than `to`. Additive, and never less than the delivery of a
    /// [`crate::ServiceClock`] in that time.
    pub fn bytes_between(&self, from: Time, to: Time) -> Bytes {
        if to <= from {
            return Bytes::ZERO;
        }
        let bytes_until = |time: Time| self.nanobytes_until(time) / NANOS_PER_SEC;
        Bytes::new(u64::try_from(bytes_until(to) - bytes_until(from)).unwrap_or(u64::MAX))
    }

    /// The exact delivery from time zero until `time`, in nanobytes.
    fn nanobytes_until(&self, time: Time) -> u128 {
        match &self.shape {
            Shape::Steps(steps) => steps.carried_until(time.as_nanos()),
            Shape::Opportunities(list) => list.carried_until(time.as_nanos()) * NANOS_PER_SEC,
        }
    }

    /// When the next `bytes` after `from` have been carried by a link that has nothing else to do;
    /// [`Time::NEVER`] where that never happens.
    pub fn time_to_carry(&self, from: Time, bytes: Bytes) -> Time {
        let from = from.as_nanos();
        Time::from_nanos(match &self.shape {
            Shape::Steps(steps) => {
                steps.time_of(steps.carried_until(from) + u128::from(bytes.get()) * NANOS_PER_SEC)
            }
            Shape::Opportunities(list) => list
                .time_of(list.carried_until(from) + u128::from(bytes.get()))
                .map_or(u64::MAX, |at| at.time),
        })
    }

    /// The first time at which `bytes_between(from, time)` is not zero; [`Time::NEVER`] where there is none.
    pub(crate) fn next_byte_after(&self, from: Time) -> Time {
        match &self.shape {
            Shape::Steps(steps) => {
                let whole_bytes = steps.carried_until(from.as_nanos()) / NANOS_PER_SEC;
                Time::from_nanos(steps.time_of((whole_bytes + 1) * NANOS_PER_SEC))
            }
            Shape::Opportunities(_) => self.time_to_carry(from, Bytes::new(1)),
        }
    }

    /// The mean rate within (`from`, `to`]: the rate itself where it does not change.
    pub fn rate_in(&self, from: Time, to: Time) -> Rate {
        let Some(nanos) = core::num::NonZeroU64::new(to.since(from).as_nanos()) else { return Rate::ZERO };
        // Nanobytes per nanosecond are bytes per second.
        let rate = (self.nanobytes_until(to) - self.nanobytes_until(from)) / u128::from(nanos.get());
        Rate::from_bytes_per_sec(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// The mean rate of one period; of the steps as they were given where the last one stays for ever.
    pub fn mean_rate(&self) -> Rate {
        self.rate_in(Time::ZERO, Time::ZERO + self.length())
    }

    /// After how long it repeats; `None` where it never does.
    pub fn period(&self) -> Option<Span> {
        match &self.shape {
            Shape::Steps(steps) if !steps.repeats => None,
            _ => Some(self.length()),
        }
    }

    /// The delay of the link's own for a packet that leaves it at `time`, in addition to the path's.
    pub fn delay_at(&self, time: Time) -> Span {
        self.delay.as_ref().map_or(Span::ZERO, |delay| delay.at(time))
    }

    /// A sentence about the link's own delay for people; `None` where it has none.
    pub fn delay_note(&self) -> Option<String> {
        let longest_ms = self.delay.as_ref()?.longest().as_secs_f64() * 1e3;
        Some(format!(
            "up to {longest_ms:.0}ms of delay of its own over time, which belongs to the link and not to its rates"
        ))
    }

    /// True for Mahimahi opportunities, false for rates.
    pub fn is_opportunities(&self) -> bool {
        matches!(self.shape, Shape::Opportunities(_))
    }

    fn length(&self) -> Span {
        Span::from_nanos(match &self.shape {
            Shape::Steps(steps) => steps.length,
            Shape::Opportunities(list) => list.period,
        })
    }
}

pub(crate) const NANOS_PER_SEC: u128 = 1_000_000_000;

impl Capacity {
    /// Feeds `sink` the canonical form, the input of a content hash.
    pub(crate) fn canonical(&self, mut sink: impl FnMut(&[u8])) {
        if let Some(delay) = &self.delay {
            delay.canonical(&mut sink);
        }
        match &self.shape {
            Shape::Steps(steps) => {
                sink(if steps.repeats { b"rate, repeating" } else { b"rate, holding" });
                for segment in &steps.segments {
                    sink(&segment.start.to_le_bytes());
                    sink(&segment.rate.to_le_bytes());
                }
                sink(&steps.length.to_le_bytes());
            }
            Shape::Opportunities(list) => {
                sink(b"opportunities");
                for opportunity in &list.list {
                    sink(&opportunity.at.to_le_bytes());
                    sink(&opportunity.through.to_le_bytes());
                }
                sink(&list.period.to_le_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_later_it_carries_what_it_would_have_carried_then() {
        let rates = ["4Mbit/s", "8Mbit/s"].map(|rate| (Span::from_secs(1), rate.parse().unwrap()));
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        for whole in [Capacity::from_steps(rates.to_vec()), Capacity::from_opportunities([700, 1400, 2000])] {
            let whole = whole.unwrap();
            for offset in [0, 1, 699, 700, 1400, 1999, 2000, 5700] {
                let later = whole.beginning_at(Span::from_millis(offset));
                assert_eq!(later.period(), whole.period());
                for (from, to) in [(0, 1), (0, 700), (300, 1500), (1000, 4001)] {
                    assert_eq!(
                        later.bytes_between(at(from), at(to)),
                        whole.bytes_between(at(offset + from), at(offset + to)),
                        "{from} to {to}, {offset} later"
                    );
                }
            }
        }
        let constant = Capacity::constant("4Mbit/s".parse().unwrap()).unwrap();
        assert_eq!(constant.beginning_at(Span::from_secs(1)), constant);
    }

    #[test]
    fn once_it_carries_what_its_first_round_does_and_then_nothing() {
        let rates = ["4Mbit/s", "8Mbit/s"].map(|rate| (Span::from_secs(1), rate.parse().unwrap()));
        let at = |secs| Time::ZERO + Span::from_secs(secs);
        for whole in [Capacity::from_steps(rates.to_vec()), Capacity::from_opportunities([700, 1400, 2000])] {
            let whole = whole.unwrap();
            let once = whole.once().unwrap();
            for secs in [0, 1, 2] {
                assert_eq!(once.bytes_between(at(0), at(secs)), whole.bytes_between(at(0), at(secs)));
            }
            assert_eq!(once.bytes_between(at(2), at(86_400)), Bytes::ZERO);
        }
    }
}
