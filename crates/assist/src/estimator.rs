//! A user's bandwidth from what the base station served.
//!
//! 1. A base station knows what it *served* a user. That is the capacity only while the user had something to serve.
//! 2. The queue was never empty for long (backlogged): bytes served / time with something in the queue.
//! 3. It was empty for a part of the period (partial): the same quotient over as many periods as make a fair sample,
//!    and no more than twice what was said before, since a few packets that hit good slots promise too much.
//! 4. Nothing was there to serve (idle): what the channel would carry, or what was said before.
//! 5. A channel estimate, where the scheduler has one, bounds both quotients, and stands in for that factor of two.
//! 6. Where only round trips tell of a queue, a period that is partly busy proves no more than a lower bound. What was said
//!    before is kept, and raised where the user had about as much: a sender that paces at what it is told makes no queue.
//!
//! ```text
//!                   busy for >= 90 % of the period
//!   partial  -------------------------------------->  backlogged
//!     ^  ^   <--------------------------------------    |
//!     |   \                  less                       | nothing queued
//!     |    \ something queued                           v
//!     |     +----------------------------------------  idle
//!     +------------- something queued ----------------+
//! ```
//!
//! Why not simply what was served: a sender that is told so, and paces at it, sends a little less, is served a little
//! less, is told less: a ratchet that only turns downwards. An application that sends less than it may starts it.
//!
//! Source: the NATCP paper, section 2.2.1 ("averaged at each feedback period"). The paper's feedback came from a flow
//! that kept the queue full, so the classes are ours.

use crate::advice::AdviceClass;
use crate::counted::PacketTime;
use cellcc_units::{Bytes, Rate, Span};
use std::collections::VecDeque;

/// A queue that was busy for this share of a period counts as backlogged. Our choice: a scheduler that leaves out one
/// slot in ten to report or to retransmit should not change the class.
const BACKLOGGED_SHARE: f64 = 0.9;
/// A quotient over less busy time than this share of a period is a handful of packets. Our choice: at the paper's 50 ms
/// it is 25 ms, 25 slots of LTE.
pub(crate) const FAIR_SAMPLE_SHARE: f64 = 0.5;
/// Periods that may be joined into a fair sample; 400 ms at the paper's 50 ms, over which an LTE channel has changed.
const MAX_JOINED_PERIODS: usize = 8;
/// An estimate from a partly busy queue grows by this factor per period at most: slow start's.
const MAX_GROWTH: f64 = 2.0;
/// A user that had this share of what was said before, and made no queue, may get more. Our choice: as BACKLOGGED_SHARE.
const USED_SHARE: f64 = 0.9;
/// By this factor once the capacity was seen: BBR's gain while it probes for bandwidth (Cardwell et al. 2016).
const PROBE_GROWTH: f64 = 1.25;

/// What a base station measured of one user in one period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// How long the period was.
    pub period: Span,
    /// Bytes that left for the user.
    pub served: Bytes,
    /// How long something was in the user's queue, or on its way out of it.
    pub busy: Span,
    /// What is in the queue at the period's end.
    pub backlog: Bytes,
    /// What the channel would have carried to this user, had its queue been full: from the channel quality, at the
    /// user's share of the cell. `None` where the scheduler does not tell.
    pub channel: Option<Rate>,
    /// The size of a full packet.
    pub packet: Bytes,
    /// How it is known when something was in the queue.
    pub evidence: Evidence,
}

/// How it is known whether the link limited a user or the application did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The queue itself was looked at.
    Queue,
    /// Round trips took longer than the shortest. A short queue is not seen, and what is not seen is no proof of none.
    RoundTrips,
}

/// What can be said of a user's bottleneck.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Its bandwidth; zero in an outage, or while nothing is known.
    pub bandwidth: Rate,
    /// Where the bandwidth comes from.
    pub class: AdviceClass,
    /// Scheduling and transmission of one full packet at that bandwidth; the last one known while the bandwidth is zero,
    /// and zero before (the form of the NATCP authors' feedback files).
    pub downlink: Span,
}

/// Turns one user's observations, one a period, into estimates.
#[derive(Debug, Clone, Default)]
pub struct Estimator {
    /// Served bytes and busy time of the latest periods, newest last.
    recent: VecDeque<(Bytes, Span)>,
    bandwidth: Rate,
    downlink: PacketTime,
    /// The queue was full once: the bandwidth is not only what was asked for.
    was_backlogged: bool,
}

impl Estimator {
    /// An estimator that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the period that has just ended.
    pub fn estimate(&mut self, observation: &Observation) -> Estimate {
        let class = classify(observation);
        if self.recent.len() == MAX_JOINED_PERIODS {
            self.recent.pop_front();
        }
        self.recent.push_back((observation.served, observation.busy));
        let bandwidth = match (class, observation.evidence) {
            (AdviceClass::Backlogged, _) => Rate::from_transfer(observation.served, observation.busy),
            (AdviceClass::Partial, Evidence::Queue) => self.partial(observation),
            (AdviceClass::Partial, Evidence::RoundTrips) => self.lower_bound(observation),
            (AdviceClass::Idle, _) => observation.channel.unwrap_or(self.bandwidth),
        };
        self.was_backlogged |= class == AdviceClass::Backlogged;
        self.bandwidth = bandwidth.min(observation.channel.unwrap_or(Rate::MAX));
        let downlink = self.downlink.at(self.bandwidth, observation.packet);
        Estimate { bandwidth: self.bandwidth, class, downlink }
    }

    fn lower_bound(&self, observation: &Observation) -> Rate {
        let achieved = Rate::from_transfer(observation.served, observation.period);
        let growth = if self.was_backlogged { PROBE_GROWTH } else { MAX_GROWTH };
        let is_used = achieved >= self.bandwidth.mul_f64(USED_SHARE) && observation.busy.is_zero();
        let growth = if is_used { growth } else { 1.0 };
        self.bandwidth.mul_f64(growth).max(achieved)
    }

    fn partial(&self, observation: &Observation) -> Rate {
        let fair = observation.period.mul_f64(FAIR_SAMPLE_SHARE);
        let (mut served, mut busy) = (Bytes::ZERO, Span::ZERO);
        for &(bytes, time) in self.recent.iter().rev() {
            if busy >= fair {
                break;
            }
            served += bytes;
            busy += time;
        }
        // What was served is a lower bound whatever the clock of the queue says: a packet that left at once took no time.
        let achieved = Rate::from_transfer(observation.served, observation.period);
        let before = self.bandwidth.max(achieved);
        if served.is_zero() && busy.is_zero() {
            return before; // The first packet came as the period ended.
        }
        let bound = if observation.channel.is_some() { Rate::MAX } else { before.mul_f64(MAX_GROWTH) };
        Rate::from_transfer(served, busy).min(bound).max(achieved)
    }
}

fn classify(observation: &Observation) -> AdviceClass {
    if observation.busy.is_zero() && observation.served.is_zero() && observation.backlog.is_zero() {
        AdviceClass::Idle
    } else if observation.busy.as_secs_f64() >= BACKLOGGED_SHARE * observation.period.as_secs_f64() {
        AdviceClass::Backlogged
    } else {
        AdviceClass::Partial
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PERIOD: Span = Span::from_millis(50);
    const PACKET: Bytes = Bytes::new(1500);

    fn observed(served: u64, busy_ms: u64) -> Observation {
        Observation {
            period: PERIOD,
            served: Bytes::new(served),
            busy: Span::from_millis(busy_ms),
            backlog: Bytes::ZERO,
            channel: None,
            packet: PACKET,
            evidence: Evidence::Queue,
        }
    }

    /// Known from round trips only.
    fn passive(served: u64, busy_ms: u64) -> Observation {
        Observation { evidence: Evidence::RoundTrips, ..observed(served, busy_ms) }
    }

    fn mbit(rate: Rate) -> f64 {
        rate.as_mbit_per_sec()
    }

    /// A link of constant rate with a queue; the sender offers at some rate and is observed once a period.
    struct Link {
        capacity: Rate,
        queue: Bytes,
    }

    impl Link {
        fn period(&mut self, offered: Rate) -> Observation {
            let arrived = offered.bytes_in(PERIOD);
            let served = self.capacity.bytes_in(PERIOD).min(self.queue + arrived);
            self.queue = self.queue + arrived - served;
            let busy = self.capacity.time_for(served).min(PERIOD);
            Observation { served, busy, backlog: self.queue, ..observed(0, 0) }
        }
    }

    #[test]
    fn a_full_queue_is_served_at_the_capacity() {
        let estimate = Estimator::new().estimate(&observed(75_000, 50));
        assert_eq!(estimate.class, AdviceClass::Backlogged);
        assert!((mbit(estimate.bandwidth) - 12.0).abs() < 1e-9);
        assert_eq!(estimate.downlink, Span::from_millis(1));
    }

    #[test]
    fn a_queue_that_is_empty_half_of_the_time_could_have_carried_twice_as_much() {
        let estimate = Estimator::new().estimate(&observed(37_500, 25));
        assert_eq!(estimate.class, AdviceClass::Partial);
        assert!((mbit(estimate.bandwidth) - 12.0).abs() < 1e-9);
    }

    #[test]
    fn an_outage_is_a_bandwidth_of_zero_with_the_last_delay() {
        let mut estimator = Estimator::new();
        estimator.estimate(&observed(75_000, 50));
        let estimate = estimator.estimate(&observed(0, 50));
        assert_eq!((estimate.bandwidth, estimate.class), (Rate::ZERO, AdviceClass::Backlogged));
        assert_eq!(estimate.downlink, Span::from_millis(1));
    }

    #[test]
    fn an_idle_user_is_told_what_the_channel_would_carry_or_what_held_before() {
        let mut estimator = Estimator::new();
        estimator.estimate(&observed(75_000, 50));
        let held = estimator.estimate(&observed(0, 0));
        assert_eq!(held.class, AdviceClass::Idle);
        assert!((mbit(held.bandwidth) - 12.0).abs() < 1e-9);
        let channel = Some(Rate::from_mbit_per_sec(30.0));
        let predicted = estimator.estimate(&Observation { channel, ..observed(0, 0) });
        assert_eq!((predicted.class, Some(predicted.bandwidth)), (AdviceClass::Idle, channel));
    }

    #[test]
    fn a_lucky_packet_promises_at_most_twice_what_was_said_before() {
        let mut estimator = Estimator::new();
        estimator.estimate(&observed(75_000, 50));
        for _ in 0..MAX_JOINED_PERIODS {
            estimator.estimate(&observed(0, 0));
        }
        // One packet that waited for 100 us: 120 Mbit/s by the quotient.
        let lucky = Observation { busy: Span::from_micros(100), ..observed(1500, 0) };
        assert!((mbit(estimator.estimate(&lucky).bandwidth) - 24.0).abs() < 1e-9);
    }

    #[test]
    fn the_channel_bounds_what_lucky_packets_promise() {
        let channel = Some(Rate::from_mbit_per_sec(14.0));
        let estimate = Estimator::new().estimate(&Observation { channel, ..observed(37_500, 10) });
        assert_eq!(Some(estimate.bandwidth), channel);
    }

    #[test]
    fn a_queue_whose_first_packet_comes_as_the_period_ends_tells_nothing() {
        let estimate = Estimator::new().estimate(&Observation { backlog: PACKET, ..observed(0, 0) });
        assert_eq!((estimate.bandwidth, estimate.class), (Rate::ZERO, AdviceClass::Partial));
    }

    #[test]
    fn packets_that_wait_for_no_time_are_worth_twice_what_was_served() {
        let estimate = Estimator::new().estimate(&observed(75_000, 0));
        assert_eq!(estimate.class, AdviceClass::Partial);
        assert!((mbit(estimate.bandwidth) - 24.0).abs() < 1e-9);
    }

    #[test]
    fn an_application_limited_flow_that_turns_greedy_reaches_the_capacity_in_two_periods() {
        let mut link = Link { capacity: Rate::from_mbit_per_sec(40.0), queue: Bytes::ZERO };
        let mut estimator = Estimator::new();
        let mut advised = Rate::from_mbit_per_sec(1.0);
        // Ten seconds of a trickle: what is told must not follow it down.
        for _ in 0..200 {
            let trickle = Rate::from_mbit_per_sec(0.4).min(advised);
            advised = estimator.estimate(&link.period(trickle)).bandwidth;
        }
        for _ in 0..2 {
            advised = estimator.estimate(&link.period(advised)).bandwidth;
        }
        assert!((39.0..=41.0).contains(&mbit(advised)), "{advised}");
    }

    #[test]
    fn with_round_trips_only_an_application_limited_flow_lowers_nothing_and_promises_nothing() {
        let mut estimator = Estimator::new();
        assert!((mbit(estimator.estimate(&passive(75_000, 50)).bandwidth) - 12.0).abs() < 1e-9);
        for busy_ms in [0, 5, 40] {
            for _ in 0..100 {
                let estimate = estimator.estimate(&passive(15_000, busy_ms));
                assert_eq!(estimate.class, AdviceClass::Partial);
                assert!((mbit(estimate.bandwidth) - 12.0).abs() < 1e-9, "{estimate:?}");
            }
        }
        let fallen = estimator.estimate(&passive(37_500, 50));
        assert!((mbit(fallen.bandwidth) - 6.0).abs() < 1e-9, "a queue proves the capacity");
    }

    #[test]
    fn with_round_trips_only_a_flow_that_has_what_it_is_told_is_told_more() {
        // The queue of a link with twice the rate than before is not seen: none stands.
        let mut link = Link { capacity: Rate::from_mbit_per_sec(24.0), queue: Bytes::ZERO };
        let mut estimator = Estimator::new();
        let mut advised = estimator.estimate(&passive(75_000, 50)).bandwidth;
        let mut periods = 0;
        while link.queue.is_zero() {
            let seen = link.period(advised);
            let busy = if seen.backlog.is_zero() { Span::ZERO } else { PERIOD };
            advised = estimator.estimate(&Observation { busy, ..passive(seen.served.get(), 0) }).bandwidth;
            periods += 1;
        }
        assert_eq!(periods, 5, "12 Mbit/s to more than 24 at a factor of 1.25 each");
        assert!((mbit(advised) - 24.0).abs() < 0.1, "{advised}");
    }

    #[test]
    fn with_round_trips_only_a_flow_that_begins_doubles_until_there_is_a_queue() {
        let mut estimator = Estimator::new();
        let mut told = |served| mbit(estimator.estimate(&passive(served, 0)).bandwidth);
        assert!((told(7_500) - 1.2).abs() < 1e-9, "what it had");
        assert!((told(7_500) - 2.4).abs() < 1e-9);
        assert!((told(15_000) - 4.8).abs() < 1e-9);
        assert!((told(15_000) - 4.8).abs() < 1e-9, "it does not use it");
    }

    #[test]
    fn a_flow_that_paces_below_what_it_is_told_is_not_told_less_and_less() {
        let mut link = Link { capacity: Rate::from_mbit_per_sec(40.0), queue: Bytes::ZERO };
        let mut estimator = Estimator::new();
        let mut advised = Rate::from_mbit_per_sec(40.0);
        for _ in 0..1000 {
            advised = estimator.estimate(&link.period(advised.mul_f64(0.95))).bandwidth;
        }
        assert!(mbit(advised) > 39.0, "{advised}");
    }

    #[test]
    fn a_flow_that_begins_doubles_per_period_up_to_the_capacity() {
        let mut link = Link { capacity: Rate::from_mbit_per_sec(40.0), queue: Bytes::ZERO };
        let mut estimator = Estimator::new();
        let mut advised = estimator.estimate(&link.period(Rate::from_mbit_per_sec(1.0))).bandwidth;
        let mut periods = 1;
        while mbit(advised) < 39.0 {
            advised = estimator.estimate(&link.period(advised)).bandwidth;
            periods += 1;
        }
        assert_eq!(periods, 6, "1 Mbit/s to 40 at a factor of two each");
    }

    proptest! {
        #[test]
        fn no_estimate_is_below_what_was_served_or_above_the_channel(
            periods in prop::collection::vec((0u64..10_000_000, 0u64..60_000, 0u64..100_000, prop::option::of(0u64..100_000_000)), 1..40),
        ) {
            let mut estimator = Estimator::new();
            for (served, busy_us, backlog, channel) in periods {
                let observation = Observation {
                    busy: Span::from_micros(busy_us).min(PERIOD),
                    backlog: Bytes::new(backlog),
                    channel: channel.map(Rate::from_bytes_per_sec),
                    ..observed(served, 0)
                };
                let estimate = estimator.estimate(&observation);
                let achieved = Rate::from_transfer(observation.served, PERIOD);
                let channel = observation.channel.unwrap_or(Rate::MAX);
                prop_assert!(estimate.bandwidth >= achieved.min(channel));
                prop_assert!(estimate.bandwidth <= channel);
            }
        }
    }
}
