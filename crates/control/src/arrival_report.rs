//! When each packet arrived: the receiver-side component that makes the [`ArrivalReport`]. Schemes for media decide by these
//! times, which acknowledgements do not have.

use crate::message::{ArrivalReport, ReportedPacket};
use crate::receiver::{Arrival, ReceiverComponent};
use cellcc_units::{Span, Time};
use std::collections::BTreeMap;

/// The schedule and content of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportSchedule {
    /// After so many packets, ...
    pub packets: u64,
    /// ... or so long after the last report, where anything has arrived since.
    pub interval: Span,
    /// The newest packets are in it, whether an earlier report had them or not.
    pub repeats: u64,
    /// The unit of its times.
    pub unit: Span,
}

/// Reports when packets arrive.
#[derive(Debug, Clone)]
pub struct ArrivalReporter {
    schedule: ReportSchedule,
    arrived: BTreeMap<u64, ReportedPacket>,
    /// Packets since the last report, and the smallest number among them and those that are next.
    unreported: u64,
    begin: u64,
    reported_at: Time,
    due_at: Option<Time>,
}

impl ArrivalReporter {
    /// The most packets in a report: a DATAGRAM frame has no room for more.
    const MOST_PACKETS: u64 = 500;

    /// Nothing has arrived.
    pub fn new(schedule: ReportSchedule) -> Self {
        Self {
            schedule,
            arrived: BTreeMap::new(),
            unreported: 0,
            begin: 0,
            reported_at: Time::ZERO,
            due_at: None,
        }
    }
}

impl ReceiverComponent for ArrivalReporter {
    fn on_packet(&mut self, arrival: &Arrival) {
        let Arrival { now, number, ecn, .. } = *arrival;
        let unit = self.schedule.unit.as_nanos().max(1);
        let arrived_at = Time::from_nanos(now.as_nanos() / unit * unit);
        self.arrived.insert(number, ReportedPacket { arrived_at, ecn });
        self.begin = self.begin.min(number);
        self.unreported += 1;
        let due_at = if self.unreported >= self.schedule.packets {
            now
        } else {
            now.max(self.reported_at + self.schedule.interval)
        };
        self.due_at = Some(self.due_at.map_or(due_at, |due| due.min(due_at)));
    }

    fn next_timer(&self) -> Option<Time> {
        self.due_at
    }

    fn has_urgent_feedback(&self, now: Time) -> bool {
        self.due_at.is_some_and(|due| due <= now)
    }

    fn report(&mut self, now: Time) -> Option<ArrivalReport> {
        self.due_at.take_if(|due| *due <= now)?;
        let (&newest, _) = self.arrived.last_key_value()?;
        let end = newest + 1;
        let begin = self
            .begin
            .min(end.saturating_sub(self.schedule.repeats))
            .max(end.saturating_sub(Self::MOST_PACKETS));
        let packets = (begin..end).map(|number| self.arrived.get(&number).copied()).collect();
        self.arrived = self.arrived.split_off(&end.saturating_sub(Self::MOST_PACKETS));
        self.unreported = 0;
        self.begin = end;
        self.reported_at = now;
        Some(ArrivalReport { begin, sent_at: now, packets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::{Bytes, Ecn};

    const MS: u64 = 1_000_000;

    fn reporter(packets: u64, repeats: u64) -> ArrivalReporter {
        let (interval, unit) = (Span::from_millis(40), Span::from_micros(250));
        ArrivalReporter::new(ReportSchedule { packets, interval, repeats, unit })
    }

    fn arrives(reporter: &mut ArrivalReporter, nanos: u64, number: u64) {
        let (now, bytes) = (Time::from_nanos(nanos), Bytes::new(1500));
        reporter.on_packet(&Arrival { now, number, bytes, ecn: Ecn::Ce });
    }

    #[test]
    fn a_report_names_each_packet_since_the_last_one_and_shows_the_gaps() {
        let mut reporter = reporter(3, 0);
        for (at, number) in [(50 * MS + 999, 0), (51 * MS, 1), (52 * MS, 3)] {
            assert_eq!(reporter.report(Time::from_nanos(at - 1)), None);
            arrives(&mut reporter, at, number);
            if number == 0 {
                assert!(reporter.report(Time::from_nanos(at)).is_some(), "the interval is over");
            }
        }
        assert_eq!(reporter.next_timer(), Some(Time::from_nanos(90 * MS + 999)));
        let report = reporter.report(Time::from_nanos(91 * MS)).unwrap();
        assert_eq!((report.begin, report.packets.len(), report.packets[1]), (1, 3, None));
        let arrived: Vec<_> = report.arrived().map(|(number, packet)| (number, packet.ecn)).collect();
        assert_eq!(arrived, [(1, Ecn::Ce), (3, Ecn::Ce)]);
        assert_eq!(report.bytes(), Bytes::new(28));
        assert_eq!(reporter.next_timer(), None);
    }

    #[test]
    fn times_are_in_the_unit_and_a_late_packet_is_reported_too() {
        let mut reporter = reporter(2, 0);
        arrives(&mut reporter, MS, 0);
        arrives(&mut reporter, 2 * MS + 300_000, 2);
        let first = reporter.report(Time::from_nanos(3 * MS)).unwrap();
        assert_eq!(first.packets[2].unwrap().arrived_at, Time::from_nanos(2 * MS + 250_000));
        arrives(&mut reporter, 4 * MS, 1);
        arrives(&mut reporter, 4 * MS, 3);
        assert_eq!(reporter.report(Time::from_nanos(4 * MS)).unwrap().begin, 1);
    }

    #[test]
    fn the_newest_packets_are_repeated_and_no_gap_makes_a_report_too_long() {
        let mut reporter = reporter(1, 2);
        arrives(&mut reporter, MS, 7);
        assert_eq!(reporter.report(Time::from_nanos(MS)).unwrap().begin, 0);
        arrives(&mut reporter, MS, 8);
        assert_eq!(reporter.report(Time::from_nanos(MS)).unwrap().begin, 7);
        arrives(&mut reporter, MS, 1 << 40);
        assert_eq!(reporter.report(Time::from_nanos(MS)).unwrap().packets.len(), 500);
    }
}
