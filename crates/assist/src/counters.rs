//! From what a queue has counted since it began to what it measured in a period.

use crate::estimator::{Evidence, Observation};
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

impl Period {
    /// What the queue measured in the period between two looks.
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
