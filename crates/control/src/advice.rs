//! One report of a mobile edge to a sender about its user's bottleneck, and a scheme's request for such reports.
//!
//! "Advice" is the IETF's word for it (throughput advice, draft-ietf-scone-protocol).

use cellcc_units::{Bytes, Rate, Ratio, Span};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One report about one user's bottleneck (NATCP paper, section 2.2.1: one every 50 ms).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
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

impl Advice {
    /// A report of a period that has just ended, about a user with one flow and an empty queue; the minimum RTT is not known.
    pub const fn new(bandwidth: Rate, class: AdviceClass, period: Span) -> Self {
        Self { bandwidth, class, min_rtt: None, flows: 1, backlog: Bytes::ZERO, period, age: Span::ZERO }
    }

    /// The report at another age.
    #[must_use]
    pub const fn with_age(self, age: Span) -> Self {
        Self { age, ..self }
    }
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
    pub fn known(self) -> Option<Self> {
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

/// The request of a scheme to the network. The Scenario decides what the scheme leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct AdviceRequest {
    /// Where the bandwidth comes from.
    pub source: Option<ReportSource>,
    /// Time between reports.
    pub period: Option<Span>,
    /// How reports travel.
    pub route: Option<AdviceRoute>,
    /// From the network's edge to the server, out of band.
    pub delay: Option<Span>,
    /// Share of the reports that are lost.
    pub loss: Option<Ratio>,
}

/// Where a reported bandwidth comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportSource {
    /// The link's service in the period that has passed: all that a real network can know.
    #[default]
    Causal,
    /// The link's capacity in the coming period: the content of the NATCP authors' feedback files.
    Oracle,
}

/// How reports travel to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceRoute {
    /// In messages of their own, from the network's edge straight to the server.
    #[default]
    OutOfBand,
    /// On the acknowledgements that pass the base station.
    InBand,
}
