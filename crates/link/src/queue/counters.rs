//! Counters of a queue: what a base station can report of a user.

use cellcc_units::{Bytes, Span, Time};

/// Counters of a queue since time zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueCounters {
    /// Bytes that have left the queue.
    pub served: Bytes,
    /// How long the queue was not empty, the packet in service included.
    pub busy: Span,
    /// Bytes in the queue now, the packet in service included.
    pub backlog: Bytes,
    /// RED's average length, which its thresholds are compared with; `None` for other disciplines.
    pub average: Option<Bytes>,
    /// DualPI2's; `None` for other disciplines.
    pub dual: Option<DualCounters>,
}

/// What DualPI2 counts since time zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DualCounters {
    /// Up to when.
    pub until: Time,
    /// The base probability, added up over time.
    pub base: Span,
    /// Whole seconds in which a classic packet waited throughout and the classic queue got less than a twentieth of the bytes.
    pub starved: Span,
}

impl DualCounters {
    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            until: Time::ZERO + self.until.since(earlier.until),
            base: self.base.saturating_sub(earlier.base),
            starved: self.starved.saturating_sub(earlier.starved),
        }
    }
}

/// Counts for one queue. A busy period lasts from the packet that finds the queue empty to the departure that leaves
/// it empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueMeter {
    served: Bytes,
    /// Of finished busy periods.
    busy: Span,
    /// When the present busy period began; `None` while the queue is empty.
    busy_since: Option<Time>,
}

impl QueueMeter {
    /// A packet was admitted.
    #[inline]
    pub(crate) fn on_admitted(&mut self, now: Time) {
        self.busy_since.get_or_insert(now);
    }

    /// A packet of this size left.
    #[inline]
    pub(crate) fn on_departed(&mut self, size: Bytes) {
        self.served += size;
    }

    /// The packet that left at `departed_at` was the last.
    #[inline]
    pub(crate) fn on_empty(&mut self, departed_at: Time) {
        if let Some(since) = self.busy_since.take() {
            self.busy += departed_at.since(since);
        }
    }

    /// The counters at `now`, with `backlog` in the queue.
    pub(crate) fn counters(&self, now: Time, backlog: Bytes) -> QueueCounters {
        let present = self.busy_since.map_or(Span::ZERO, |since| now.since(since));
        QueueCounters { served: self.served, busy: self.busy + present, backlog, ..QueueCounters::default() }
    }
}
