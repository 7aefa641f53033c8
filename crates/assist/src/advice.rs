//! One report of a mobile edge to a sender about its user's bottleneck. "Advice" is the IETF's word for it (throughput advice,
//! draft-ietf-scone-protocol).

use cellcc_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One report about one user's bottleneck (NATCP paper, section 2.2.1: one every 50 ms).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Bandwidth of the user's bottleneck, all its flows together, averaged over the period. Zero in an outage.
    pub bandwidth: Rate,
    /// How far `bandwidth` can be trusted.
    pub class: AdviceClass,
    /// The smallest round-trip time without waiting in queues, in its three parts. `None` where any of them is not known: a sum
    /// that lacks one would be taken for the whole.
    #[serde(serialize_with = "write_parts", deserialize_with = "read_parts")]
    pub min_rtt: Option<MinRttParts>,
    /// The user's active flows, as the network counts them; at least one.
    pub flows: u32,
    /// The user's queue at the base station.
    pub backlog: Bytes,
    /// How long the measured period was.
    pub period: Span,
    /// How long ago the measured period ended. Zero where it is yet to come (an oracle).
    pub age: Span,
}

/// The minimum RTT in the paper's three parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MinRttParts {
    /// Between the servers' gateway and the base station, both ways.
    pub network: Span,
    /// Scheduling and transmission of a packet towards the user.
    pub downlink: Span,
    /// Scheduling and transmission of a packet from the user.
    pub uplink: Span,
}

impl MinRttParts {
    /// The whole.
    pub fn total(&self) -> Span {
        self.network + self.downlink + self.uplink
    }

    /// These parts, as they were written: all zero where nothing is known.
    pub(crate) fn known(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

fn write_parts<S: Serializer>(parts: &Option<MinRttParts>, serializer: S) -> Result<S::Ok, S::Error> {
    parts.unwrap_or_default().serialize(serializer)
}

fn read_parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MinRttParts>, D::Error> {
    MinRttParts::deserialize(deserializer).map(MinRttParts::known)
}

/// The meaning of a reported bandwidth: the link's capacity, or only the demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdviceClass {
    /// The user's queue was never empty for long: the served rate is the capacity.
    Backlogged,
    /// The queue was empty for a part of the period: the rate while it was not.
    Partial,
    /// Nothing was served: predicted from the channel, or held from before.
    Idle,
}

// Reports at times that are known beforehand.

/// Reports at times that are known beforehand. It has no clock: a driver in virtual time asks it directly; a real-time driver
/// waits for [`next_wake`](Self::next_wake).
pub trait Timetable: Send {
    /// When the next report reaches the sender, or is made; [`Time::NEVER`] after the last one.
    fn next_wake(&self) -> Time;

    /// The newest report that has reached the sender by `now`; `None` where it was returned before. Older ones are dropped.
    fn poll(&mut self, now: Time) -> Option<Advice>;
}
