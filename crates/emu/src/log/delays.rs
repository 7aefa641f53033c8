//! The delays of a log in little memory: over time, their percentiles, and the signal delay.

use std::collections::BTreeMap;

/// The delays of all packets that left the link within a short time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayRange {
    /// The shortest, in milliseconds.
    pub least_ms: u64,
    /// The longest.
    pub most_ms: u64,
}

/// Delays over time: a range for every so many milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelaySeries {
    /// The start of the first range in milliseconds.
    pub start_ms: u64,
    /// The width of each range in milliseconds.
    pub width_ms: u64,
    /// `None` where no packet left.
    pub ranges: Vec<Option<DelayRange>>,
}

/// More ranges than a picture has points.
const MOST_RANGES: u64 = 4096;

impl DelaySeries {
    pub(super) fn new(start_ms: u64) -> Self {
        Self { start_ms, width_ms: 1, ranges: Vec::new() }
    }

    pub(super) fn add(&mut self, at_ms: u64, delay_ms: u64) {
        let since = at_ms.saturating_sub(self.start_ms);
        while since / self.width_ms >= MOST_RANGES {
            self.ranges = self.ranges.chunks(2).map(|pair| pair.iter().copied().fold(None, joined)).collect();
            self.width_ms *= 2;
        }
        let index = (since / self.width_ms) as usize; // below MOST_RANGES
        if index >= self.ranges.len() {
            self.ranges.resize(index + 1, None);
        }
        let one = Some(DelayRange { least_ms: delay_ms, most_ms: delay_ms });
        self.ranges[index] = joined(self.ranges[index], one);
    }
}

fn joined(a: Option<DelayRange>, b: Option<DelayRange>) -> Option<DelayRange> {
    let (Some(x), Some(y)) = (a, b) else { return a.or(b) };
    Some(DelayRange { least_ms: x.least_ms.min(y.least_ms), most_ms: x.most_ms.max(y.most_ms) })
}

/// Percentiles of whole milliseconds, exact and in little memory: how often each value came, as changes from value to value: a run of values one apart costs two entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    changes: BTreeMap<u64, i64>,
    total: u64,
}

impl Counts {
    /// One of `value`.
    pub(super) fn add(&mut self, value: u64) {
        self.add_run(value, 1);
    }

    /// One each of `first`, `first + 1`, ..., `count` values in all.
    pub(super) fn add_run(&mut self, first: u64, count: u64) {
        if count > 0 {
            *self.changes.entry(first).or_default() += 1;
            *self.changes.entry(first + count).or_default() -= 1;
            self.total += count;
        }
    }

    /// The 95th percentile as Mahimahi's scripts take it: of n values in order, the one at 0.95 n rounded down, counted
    /// from zero.
    pub(super) fn p95(&self) -> Option<u64> {
        let mut rank = (0.95 * self.total as f64) as u64;
        let (mut value, mut each) = (0, 0_i64);
        for (&next, change) in &self.changes {
            let here = each.unsigned_abs() * (next - value);
            if rank < here {
                return Some(value + rank / each.unsigned_abs());
            }
            rank -= here;
            value = next;
            each += change;
        }
        None
    }
}

/// Packets leave a link nearly in order of arrival. So a millisecond is counted after so many later milliseconds with
/// packets; a packet of it that comes even later is left out.
const OPEN_MILLIS: usize = 1 << 16;

/// The signal delay: the age of the newest data that could have arrived, in an amount of memory that does not grow with the log.
///
/// Mahimahi's definition (`mm-throughput-graph`), for each millisecond of the run: the shortest time in which something
/// sent then was at the other end. Where packets came in that millisecond, that is the least of their delays; where none
/// came, one millisecond more than that of the millisecond after it.
#[derive(Debug, Clone, Default)]
pub(super) struct SignalDelay {
    /// The least delay of the packets of each millisecond of arrival.
    open: BTreeMap<u64, u64>,
    /// Up to where everything is counted.
    counted: Option<u64>,
    counts: Counts,
}

impl SignalDelay {
    pub(super) fn add(&mut self, arrived_ms: u64, delay_ms: u64) {
        if self.counted.is_some_and(|counted| arrived_ms <= counted) {
            return;
        }
        self.open.entry(arrived_ms).and_modify(|least| *least = delay_ms.min(*least)).or_insert(delay_ms);
        if self.open.len() > OPEN_MILLIS {
            self.count_first();
        }
    }

    pub(super) fn p95(mut self) -> Option<u64> {
        while self.count_first() {}
        self.counts.p95()
    }

    fn count_first(&mut self) -> bool {
        let Some((arrived, delay)) = self.open.pop_first() else { return false };
        let without_packets = self.counted.map_or(0, |before| arrived - before - 1);
        self.counts.add_run(delay, without_packets + 1);
        self.counted = Some(arrived);
        true
    }
}
