//! A user's bandwidth from a base station's counts of its service.
//!
//! 1. A base station knows what it *served* a user. That is the capacity only while the user had something to serve.
//! 2. The queue was never empty for long (backlogged): bytes served / time with something in the queue.
//! 3. It was empty for a part of the period (partial): the same quotient over as many periods as make a fair sample, and no
//!    more than twice the last report, since a few packets that hit good slots promise too much.
//! 4. Nothing was there to serve (idle): the channel's rate, or the last report.
//! 5. A channel estimate, where the scheduler has one, bounds both quotients, and stands in for that factor of two.
//! 6. Where only round trips tell of a queue, a period that is partly busy proves no more than a lower bound. The last report
//!    is kept, and raised if the user reached about as much: a sender that paces at the report makes no queue. It falls when a
//!    queue shows the capacity.
//! 7. Where nothing ever tells of a queue, no period shows the capacity. The report is the highest service of the latest
//!    periods, and a quarter more if the user reached about all of the last report. So it falls with the service, within eight
//!    periods, and it is never more than a quarter above it.
//! 8. In 6 and 7 an initial window is no first report: two packets of a handshake would hold the transfer that follows to two
//!    packets a round trip.
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
//! The plain service would not do: a sender that paces at it sends a little less, is served a little less, and is told less: a
//! ratchet that only turns downwards. An application that sends less than it may starts it.
//!
//! Source: the NATCP paper, section 2.2.1 ("averaged at each feedback period"). The paper's feedback came from a flow
//! that kept the queue full, so the classes are ours.

#[cfg(test)]
mod tests;

use cellcc_control::AdviceClass;
use cellcc_units::{Bytes, Rate, Span};
use std::collections::VecDeque;

/// A queue that was busy for this share of a period counts as backlogged. Our choice: a scheduler that leaves out one
/// slot in ten to report or to retransmit should not change the class.
const BACKLOGGED_SHARE: f64 = 0.9;
/// A quotient over less busy time than this share of a period is a handful of packets. Our choice: at the paper's 50 ms
/// it is 25 ms, 25 slots of LTE.
pub(crate) const FAIR_SAMPLE_SHARE: f64 = 0.5;
/// Periods that may be joined into a fair sample, and the window of the best one as a lower bound; 400 ms at the paper's 50 ms,
/// over which an LTE channel has changed.
const MAX_JOINED_PERIODS: usize = 8;
/// An estimate from a partly busy queue grows by this factor per period at most: slow start's.
const MAX_GROWTH: f64 = 2.0;
/// A user with this share of the last report, and without a queue, may get more. Our choice: as BACKLOGGED_SHARE.
const USED_SHARE: f64 = 0.9;
/// By this factor once the capacity was seen: BBR's gain while it probes for bandwidth (Cardwell et al. 2016).
const PROBE_GROWTH: f64 = 1.25;

/// A sender's initial window (RFC 6928: 10 segments).
pub const INITIAL_WINDOW: Bytes = Bytes::new(10 * 1500);

/// A base station's measurements of one user in one period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// How long the period was.
    pub period: Span,
    /// Bytes that left for the user.
    pub served: Bytes,
    /// How long something was in the user's queue, or on its way out of it.
    pub busy: Span,
    /// The queue at the period's end.
    pub backlog: Bytes,
    /// The channel's rate for this user, had its queue been full: from the channel quality, at the user's share of the cell.
    /// `None` where the scheduler does not tell.
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
    /// Round trips took longer than the shortest. A short queue is not seen, and its absence is no proof of none.
    RoundTrips,
    /// It is not known at all: only the service is.
    Served,
}

/// An estimate of a user's bottleneck.
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
    /// Rates of the latest periods in which something was served, newest last, where nothing else is known.
    served: VecDeque<Rate>,
    bandwidth: Rate,
    downlink: PacketTime,
    /// The queue was full once: the bandwidth is more than the demand.
    was_backlogged: bool,
}

impl Estimator {
    /// An estimator that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the period that has just ended.
    pub fn estimate(&mut self, observation: &Observation) -> Estimate {
        let class = self.classify(observation);
        push(&mut self.recent, (observation.served, observation.busy));
        let bandwidth = match (class, observation.evidence) {
            (AdviceClass::Partial | AdviceClass::Backlogged, Evidence::Served) => {
                self.best_served(observation)
            }
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

    fn classify(&self, observation: &Observation) -> AdviceClass {
        let Observation { period, served, busy, backlog, evidence, .. } = *observation;
        let is_first = self.bandwidth.is_zero() && evidence != Evidence::Queue && served <= INITIAL_WINDOW;
        let is_silent = served.is_zero() && backlog.is_zero();
        if busy.is_zero() && (is_silent || is_first) {
            AdviceClass::Idle
        } else if busy.as_secs_f64() >= BACKLOGGED_SHARE * period.as_secs_f64() {
            AdviceClass::Backlogged
        } else {
            AdviceClass::Partial
        }
    }

    fn lower_bound(&self, observation: &Observation) -> Rate {
        let achieved = Rate::from_transfer(observation.served, observation.period);
        let growth = if self.was_backlogged { PROBE_GROWTH } else { MAX_GROWTH };
        let is_used = achieved >= self.bandwidth.mul_f64(USED_SHARE) && observation.busy.is_zero();
        let growth = if is_used { growth } else { 1.0 };
        self.bandwidth.mul_f64(growth).max(achieved)
    }

    /// A pause carries no information, and is not among the latest periods: a user of short downloads keeps the last report.
    fn best_served(&mut self, observation: &Observation) -> Rate {
        let achieved = Rate::from_transfer(observation.served, observation.period);
        push(&mut self.served, achieved);
        let best = self.served.iter().copied().max().unwrap_or(achieved);
        let had_all = !self.bandwidth.is_zero() && achieved >= self.bandwidth.mul_f64(USED_SHARE);
        if had_all { best.mul_f64(PROBE_GROWTH) } else { best }
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
        // The service is a lower bound whatever the clock of the queue says: a packet that left at once took no time.
        let achieved = Rate::from_transfer(observation.served, observation.period);
        let before = self.bandwidth.max(achieved);
        if served.is_zero() && busy.is_zero() {
            return before; // The first packet came as the period ended.
        }
        let bound = if observation.channel.is_some() { Rate::MAX } else { before.mul_f64(MAX_GROWTH) };
        Rate::from_transfer(served, busy).min(bound).max(achieved)
    }
}

/// Adds the newest of the latest periods.
fn push<T>(latest: &mut VecDeque<T>, newest: T) {
    if latest.len() == MAX_JOINED_PERIODS {
        latest.pop_front();
    }
    latest.push_back(newest);
}

// From the counters of a queue to its measurements in a period.

/// The counters of a user's queue since its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Bytes that have left the queue.
    pub served: Bytes,
    /// Time in which something waited in the queue or was on its way out of it.
    pub busy: Span,
    /// Bytes that wait now.
    pub backlog: Bytes,
}

/// The period that ends with a look at the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Its duration.
    pub length: Span,
    /// [`Observation::channel`].
    pub channel: Option<Rate>,
    /// The size of a full packet.
    pub packet: Bytes,
}

impl Period {
    /// The measurements of the queue between two looks.
    pub fn observation(&self, before: &Counters, counters: &Counters) -> Observation {
        Observation {
            period: self.length,
            served: counters.served - before.served,
            busy: counters.busy.saturating_sub(before.busy),
            backlog: counters.backlog,
            channel: self.channel,
            packet: self.packet,
            evidence: Evidence::Queue,
        }
    }
}

// How long a packet takes.

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
