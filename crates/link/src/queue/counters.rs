//! Counters of a queue for a base station's reports on a user.

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
    /// Counters for metrics that this discipline alone has.
    pub own: OwnCounters,
}

/// Metrics that a discipline can have of its own.
const MOST_OWN: usize = 4;

/// Counters since time zero for metrics that one discipline alone has; most have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnCounters {
    /// Up to when.
    until: Time,
    counters: [Option<OwnCounter>; MOST_OWN],
}

/// Counter of one metric of the table of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnCounter {
    /// The metric's key.
    metric: &'static str,
    /// A time, or a number added up over time.
    sum: Span,
    gives: Gives,
}

/// How the metric follows from the sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// The sum in seconds.
    Seconds,
    /// The number's mean over time.
    Mean,
}

impl OwnCounter {
    /// A metric in seconds.
    pub(crate) fn seconds(metric: &'static str, sum: Span) -> Self {
        Self { metric, sum, gives: Gives::Seconds }
    }

    /// A metric that is the mean over time of a number, which was added up over time.
    pub(crate) fn mean(metric: &'static str, sum: Span) -> Self {
        Self { metric, sum, gives: Gives::Mean }
    }
}

impl OwnCounters {
    /// Those of a discipline until now.
    pub(crate) fn new<const N: usize>(until: Time, counters: [OwnCounter; N]) -> Self {
        const { assert!(N <= MOST_OWN) };
        let mut all = [None; MOST_OWN];
        all.iter_mut().zip(counters).for_each(|(place, counter)| *place = Some(counter));
        Self { until, counters: all }
    }

    /// The counts since `earlier`.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        self.until = Time::ZERO + self.until.since(earlier.until);
        for (counter, earlier) in self.counters.iter_mut().flatten().zip(earlier.counters.iter().flatten()) {
            counter.sum = counter.sum.saturating_sub(earlier.sum);
        }
        self
    }

    /// The metrics by their keys.
    pub fn metrics(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let over = self.until.since(Time::ZERO).as_secs_f64();
        let value = move |OwnCounter { metric, sum, gives }: OwnCounter| match gives {
            Gives::Seconds => (metric, sum.as_secs_f64()),
            Gives::Mean => (metric, sum.as_secs_f64() / over),
        };
        self.counters.into_iter().flatten().map(value)
    }
}

/// Counts for one queue. A busy period lasts from the packet that finds the queue empty to the departure that leaves
/// it empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueMeter {
    served: Bytes,
    /// Length of finished busy periods.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_metrics_are_of_the_time_since_the_earlier_counters() {
        let counted = |until, starved, base| {
            let at = |secs| Span::from_secs(secs);
            let own = [OwnCounter::seconds("starved", at(starved)), OwnCounter::mean("base", at(base))];
            OwnCounters::new(Time::ZERO + at(until), own)
        };
        let metrics = |own: OwnCounters| own.metrics().collect::<Vec<_>>();
        let late = counted(10, 4, 5);
        assert_eq!(metrics(late.since(&counted(2, 3, 1))), [("starved", 1.0), ("base", 0.5)]);
        assert_eq!(metrics(late.since(&OwnCounters::default())), [("starved", 4.0), ("base", 0.5)]);
        assert_eq!(metrics(OwnCounters::default()), []);
    }
}
