//! The signal delay: the age of the newest data that could have arrived.
//!
//! Mahimahi's definition (`mm-throughput-graph`), for each millisecond of the run: the shortest time in which something
//! sent then was at the other end. Where packets came in that millisecond, that is the least of their delays; where none
//! came, one millisecond more than that of the millisecond after it.

use super::percentile::Counts;
use std::collections::BTreeMap;

/// Packets leave a link nearly in order of arrival. So a millisecond is counted after so many later milliseconds with
/// packets; a packet of it that comes even later is left out.
const OPEN_MILLIS: usize = 1 << 16;

/// Collects signal delays in an amount of memory that does not grow with the log.
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
