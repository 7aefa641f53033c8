//! A user's bandwidth without a base station: from the user's traffic through a host, in both directions.
//!
//! Acknowledged data have left the bottleneck. Only the round trips show that it was full: while the RTT is above its minimum,
//! packets wait somewhere. So a period's observation here has the bytes that were acknowledged, and for how long packets are
//! known to have waited ([`Evidence::RoundTrips`]).
//!
//! Acknowledgements come in steps. A period begins and ends with one, and its rates are those between them. Where the two are close
//! together, as the middle and the end of a burst are, they say nothing of the rest of the period: they are joined to the next one.

use crate::estimator::{Evidence, FAIR_SAMPLE_SHARE, Observation};
use cellcc_units::{Bytes, Rate, Span, Time};

/// The packet that the minimum RTT is about.
const PACKET: Bytes = Bytes::new(1500);

/// A host's counts of a user since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PassiveCounters {
    /// Bytes that arrived at the user, with IP headers, except those that only the end of a loss recovery reveals.
    pub delivered: Bytes,
    /// Bytes from the user.
    pub received: Bytes,
    /// How long packets are known to have waited.
    pub waited: Span,
    /// The RTT between the host and the user: the last one, and the smallest of some minutes. `None` before the first.
    pub rtt: Option<PassiveRtt>,
    /// When the last acknowledgement came, on any clock.
    pub acknowledged_at: Time,
}

/// The RTT between a host and a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassiveRtt {
    /// The last one.
    pub last: Span,
    /// The smallest.
    pub min: Span,
}

/// The results of a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassivePeriod {
    /// The way to the user.
    pub downlink: Observation,
    /// Bytes from it.
    pub received: Bytes,
    /// The smallest RTT between the host and the user.
    pub min_rtt: Span,
}

/// Turns one user's counters, looked at once a period, into observations.
#[derive(Debug, Clone, Copy, Default)]
pub struct PassiveReader {
    last_look: Option<(Time, Bytes)>,
    /// The counters when an acknowledgement was last new.
    before: Option<PassiveCounters>,
}

impl PassiveReader {
    /// The period that ends now; `None` before there is one, and before the first RTT.
    pub fn read(&mut self, now: Time, counters: &PassiveCounters) -> Option<PassivePeriod> {
        let (looked_at, received) = self.last_look.replace((now, counters.received))?;
        let rtt = counters.rtt?;
        let period = now.since(looked_at);
        let received = counters.received.saturating_sub(received);
        let downlink = self.downlink(period, rtt, counters);
        Some(PassivePeriod { downlink, received, min_rtt: rtt.min })
    }

    fn downlink(&mut self, period: Span, rtt: PassiveRtt, counters: &PassiveCounters) -> Observation {
        let nothing = Observation {
            period,
            served: Bytes::ZERO,
            busy: Span::ZERO,
            backlog: Bytes::ZERO,
            channel: None,
            packet: PACKET,
            evidence: Evidence::RoundTrips,
        };
        let Some(before) = self.before else {
            self.before = Some(*counters);
            return nothing;
        };
        let between = counters.acknowledged_at.since(before.acknowledged_at);
        if between.is_zero() || between < period.mul_f64(FAIR_SAMPLE_SHARE) {
            return nothing;
        }
        self.before = Some(*counters);
        let rate = Rate::from_transfer(counters.delivered.saturating_sub(before.delivered), between);
        let waited = counters.waited.saturating_sub(before.waited).min(between);
        let queueing = if waited.is_zero() { Span::ZERO } else { rtt.last.saturating_sub(rtt.min) };
        Observation {
            served: rate.bytes_in(period),
            busy: period.mul_f64(waited.as_secs_f64() / between.as_secs_f64()),
            // Little's law.
            backlog: rate.bytes_in(queueing),
            ..nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Estimator;
    use cellcc_control::AdviceClass;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// Counters after `millis`, with a wait of `waited` and the last acknowledgement at `acknowledged`.
    fn counters(delivered: u64, waited: u64, rtt: u64, acknowledged: u64) -> PassiveCounters {
        PassiveCounters {
            delivered: Bytes::new(delivered),
            received: Bytes::ZERO,
            waited: Span::from_millis(waited),
            rtt: Some(PassiveRtt { last: Span::from_millis(rtt), min: Span::from_millis(20) }),
            acknowledged_at: at(acknowledged),
        }
    }

    #[test]
    fn a_period_lies_between_two_acknowledgements() {
        let mut reader = PassiveReader::default();
        assert_eq!(reader.read(at(0), &counters(0, 0, 20, 0)), None);
        reader.read(at(50), &counters(15_000, 0, 20, 46));
        // 48 ms later 72,000 bytes: 12 Mbit/s, all of the time with a queue of 30 ms.
        let period = reader.read(at(100), &counters(87_000, 48, 50, 94)).expect("two acknowledgements");
        let observation = period.downlink;
        assert_eq!(observation.served, Bytes::new(75_000));
        assert_eq!((observation.busy, observation.period), (Span::from_millis(50), Span::from_millis(50)));
        assert_eq!(observation.backlog, Bytes::new(45_000));
        assert_eq!(period.min_rtt, Span::from_millis(20));
    }

    #[test]
    fn without_an_acknowledgement_nothing_is_known_to_have_arrived() {
        let mut reader = PassiveReader::default();
        for now in [0, 50, 100] {
            reader.read(at(now), &counters(15_000, 0, 20, 40));
        }
        let silent = reader.read(at(150), &counters(15_000, 0, 20, 40)).expect("a period").downlink;
        assert_eq!((silent.served, silent.busy), (Bytes::ZERO, Span::ZERO));
        assert_eq!(Estimator::new().estimate(&silent).class, AdviceClass::Idle);
        // Data acknowledged later count for the whole time since.
        let late = reader.read(at(200), &counters(165_000, 0, 20, 190)).expect("a period").downlink;
        assert_eq!(late.served, Bytes::new(50_000));
    }

    #[test]
    fn the_rest_of_a_burst_does_not_speak_for_a_period() {
        let mut reader = PassiveReader::default();
        let mut estimator = Estimator::new();
        reader.read(at(0), &counters(0, 0, 20, 0));
        let mut tell = |now, counters| {
            estimator.estimate(&reader.read(at(now), &counters).expect("a period").downlink).class
        };
        tell(50, counters(3_000, 0, 20, 49));
        // A burst's first packets, whose waiting ended before the look; and its last ones, all of which waited.
        assert_eq!(tell(100, counters(6_000, 1, 22, 99)), AdviceClass::Partial);
        assert_eq!(tell(150, counters(15_000, 5, 25, 103)), AdviceClass::Idle);
        // 54 ms, and packets waited for 5 of them.
        assert_eq!(tell(200, counters(18_000, 6, 22, 153)), AdviceClass::Partial);
    }

    #[test]
    fn before_the_first_round_trip_nothing_is_reported() {
        let mut reader = PassiveReader::default();
        let counters = PassiveCounters { rtt: None, ..counters(1500, 0, 20, 0) };
        assert_eq!(reader.read(at(0), &counters), None);
        assert_eq!(reader.read(at(50), &counters), None);
    }
}
