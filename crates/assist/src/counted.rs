//! From what a queue has counted since it began to one estimate a period.

use crate::advice::AdviceClass;
use crate::estimator::{Estimate, Estimator, Evidence, Observation};
use cellcc_units::{Bytes, Rate, Span};

/// What a user's queue has counted since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Bytes that have left the queue.
    pub served: Bytes,
    /// How long something waited in the queue or was on its way out of it.
    pub busy: Span,
    /// What waits now.
    pub backlog: Bytes,
}

/// The period that ends with a look at the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// How long it was.
    pub length: Span,
    /// [`Observation::channel`].
    pub channel: Option<Rate>,
    /// The size of a full packet.
    pub packet: Bytes,
}

/// An [`Estimator`] that is shown a queue's counters at the end of each period.
#[derive(Debug, Clone, Default)]
pub struct CounterReader {
    estimator: Estimator,
    before: Option<Counters>,
}

impl CounterReader {
    /// What the period that has just ended tells; `None` while nothing is known of the user.
    pub fn read(&mut self, counters: Counters, period: Period) -> Option<Estimate> {
        let before = self.before.replace(counters)?;
        let estimate = self.estimator.estimate(&Observation {
            period: period.length,
            served: counters.served - before.served,
            busy: counters.busy.saturating_sub(before.busy),
            backlog: counters.backlog,
            channel: period.channel,
            packet: period.packet,
            evidence: Evidence::Queue,
        });
        let is_known = estimate.class != AdviceClass::Idle || !estimate.bandwidth.is_zero();
        is_known.then_some(estimate)
    }
}

/// How long a packet takes at a rate, and, while that rate is zero, how long it took before: as in the NATCP authors'
/// feedback files.
#[derive(Debug, Clone, Copy, Default)]
pub struct PacketTime(Span);

impl PacketTime {
    /// The time at `rate`; zero before the first rate above zero.
    pub fn at(&mut self, rate: Rate, packet: Bytes) -> Span {
        if !rate.is_zero() {
            self.0 = rate.time_for(packet);
        }
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Period = Period { length: Span::from_millis(50), channel: None, packet: Bytes::new(1500) };

    fn counters(served: u64, busy_millis: u64) -> Counters {
        Counters { served: Bytes::new(served), busy: Span::from_millis(busy_millis), backlog: Bytes::ZERO }
    }

    #[test]
    fn the_first_look_only_begins_a_period() {
        let mut reader = CounterReader::default();
        assert_eq!(reader.read(counters(1_000_000, 900), PERIOD), None);
        let estimate = reader.read(counters(1_075_000, 950), PERIOD).expect("something was served");
        assert_eq!(estimate.bandwidth, Rate::from_mbit_per_sec(12.0));
        assert_eq!(estimate.class, AdviceClass::Backlogged);
    }

    #[test]
    fn of_a_user_who_was_never_served_nothing_is_known() {
        let mut reader = CounterReader::default();
        assert_eq!(reader.read(counters(0, 0), PERIOD), None);
        assert_eq!(reader.read(counters(0, 0), PERIOD), None);
    }

    #[test]
    fn the_time_of_a_packet_is_held_while_nothing_moves() {
        let mut time = PacketTime::default();
        assert_eq!(time.at(Rate::ZERO, PERIOD.packet), Span::ZERO);
        assert_eq!(time.at(Rate::from_mbit_per_sec(12.0), PERIOD.packet), Span::from_millis(1));
        assert_eq!(time.at(Rate::ZERO, PERIOD.packet), Span::from_millis(1));
    }
}
