//! The receiver's log of arrivals, and the reports of it.

use crate::wire::{Arrival, MAX_REPORTED, Report};
use cellcc_units::{Span, Time};

/// How long an arrival waits at most, so that several share a report: 2 % of the queue's lower bound.
const REPORT_INTERVAL: Span = Span::from_millis(5);

/// The receiver without its socket: everything that arrived, and how much of it was reported.
#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    log: Vec<Arrival>,
    reported: usize,
    last_report: Time,
    highest: u64,
}

impl Arrivals {
    /// A packet arrived. A time before that of the last packet, as clocks may give, is replaced by it.
    pub fn push(&mut self, mut arrival: Arrival) {
        if let Some(last) = self.log.last() {
            arrival.arrived = arrival.arrived.max(last.arrived);
        }
        self.highest = self.highest.max(arrival.number);
        self.log.push(arrival);
    }

    /// The next report, where one is due.
    pub fn next_report(&mut self, now: Time) -> Option<Report> {
        if now < self.next_wake() {
            return None;
        }
        let report = self.report(self.reported as u64)?;
        self.reported += report.arrivals.len();
        self.last_report = now;
        Some(report)
    }

    /// When the next report is due, if nothing else arrives.
    pub fn next_wake(&self) -> Time {
        match self.log.len() - self.reported {
            0 => Time::NEVER,
            pending if pending >= MAX_REPORTED => Time::ZERO,
            _ => self.last_report + REPORT_INTERVAL,
        }
    }

    /// A report about the arrivals from `first` on, counted from 0 in order of arrival; `None` where there is none.
    pub fn report(&self, first: u64) -> Option<Report> {
        let from = usize::try_from(first).ok()?;
        let rest = self.log.get(from..).filter(|rest| !rest.is_empty())?;
        Some(Report { first, arrivals: rest[..rest.len().min(MAX_REPORTED)].to_vec() })
    }

    /// In order of arrival.
    pub fn log(&self) -> &[Arrival] {
        &self.log
    }

    /// The highest number that arrived.
    pub fn highest(&self) -> u64 {
        self.highest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(number: u64) -> Arrival {
        Arrival { number, sent: Time::ZERO, arrived: Time::ZERO + Span::from_micros(number) }
    }

    #[test]
    fn arrivals_share_a_report_for_five_milliseconds() {
        let mut arrivals = Arrivals::default();
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        arrivals.push(arrival(0));
        assert_eq!(
            arrivals.next_report(at(10)).map(|report| (report.first, report.arrivals.len())),
            Some((0, 1))
        );
        arrivals.push(arrival(1));
        arrivals.push(arrival(2));
        assert_eq!((arrivals.next_report(at(12)), arrivals.next_wake()), (None, at(15)));
        assert_eq!(
            arrivals.next_report(at(15)).map(|report| (report.first, report.arrivals.len())),
            Some((1, 2))
        );
        assert_eq!(arrivals.next_wake(), Time::NEVER);
    }

    #[test]
    fn a_full_report_leaves_at_once() {
        let mut arrivals = Arrivals::default();
        (0..MAX_REPORTED as u64 + 1).for_each(|number| arrivals.push(arrival(number)));
        assert_eq!(arrivals.next_report(Time::ZERO).map(|report| report.arrivals.len()), Some(MAX_REPORTED));
    }

    #[test]
    fn a_lost_report_can_be_had_again() {
        let mut arrivals = Arrivals::default();
        (0..5).for_each(|number| arrivals.push(arrival(number)));
        assert_eq!(arrivals.report(3), Some(Report { first: 3, arrivals: vec![arrival(3), arrival(4)] }));
        assert_eq!((arrivals.report(5), arrivals.report(u64::MAX)), (None, None));
    }
}
