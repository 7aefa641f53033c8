//! Reassembles the peer's arrival reports; lost ones are requested again at the end.

use crate::wire::Arrival;
use crate::wire::Report;

#[derive(Debug, Default)]
pub(crate) struct PeerLog {
    entries: Vec<Option<Arrival>>,
    /// All entries before this one are there.
    complete: usize,
}

impl PeerLog {
    /// Adds a report; arrivals beyond the first `most` of the recording are ignored. True where it has the newest
    /// arrivals.
    pub(crate) fn take(&mut self, report: &Report, most: u64) -> bool {
        let end = report.first.saturating_add(report.arrivals.len() as u64);
        let (Ok(first), Ok(end)) = (usize::try_from(report.first), usize::try_from(end.min(most))) else {
            return false;
        };
        let latest = first >= self.entries.len() && end > first;
        self.entries.resize(self.entries.len().max(end), None);
        for (entry, arrival) in self.entries.iter_mut().skip(first).zip(&report.arrivals) {
            *entry = Some(*arrival);
        }
        self.complete += self.entries[self.complete..].iter().take_while(|entry| entry.is_some()).count();
        latest
    }

    /// The first missing arrival of `all`; `None` where none is missing.
    pub(crate) fn missing(&self, all: u64) -> Option<u64> {
        let complete = self.complete as u64;
        (complete < all).then_some(complete)
    }

    /// How many arrivals are known of: up to the end of the last report, those of lost reports included.
    pub(crate) fn known(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The arrivals that are there, in order.
    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        self.entries.iter().flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Time;
    use proptest::prelude::*;

    fn report(first: u64, count: u64) -> Report {
        let arrival = |number| Arrival { number, sent: Time::ZERO, arrived: Time::from_nanos(number) };
        Report { first, arrivals: (first..first.saturating_add(count)).map(arrival).collect() }
    }

    #[test]
    fn a_lost_report_leaves_a_gap_that_is_filled_later() {
        let mut log = PeerLog::default();
        assert!(log.take(&report(0, 3), 100) && log.take(&report(5, 2), 100));
        assert_eq!((log.missing(7), log.arrivals().len()), (Some(3), 5));
        assert!(!log.take(&report(3, 3), 100), "it is late");
        assert_eq!((log.missing(7), log.missing(8), log.arrivals()), (None, Some(7), report(0, 7).arrivals));
    }

    proptest! {
        #[test]
        fn no_report_takes_more_memory_than_was_sent(
            reports in proptest::collection::vec((any::<u64>(), 0u64..40), 0..10), most in 0u64..100
        ) {
            let mut log = PeerLog::default();
            for (first, count) in reports {
                log.take(&report(first % 200, count), most);
                log.take(&report(first, count), most);
                prop_assert!(log.entries.len() as u64 <= most);
            }
        }
    }
}
