//! One user's records as they arrive: which are new, and how old they are.

use crate::record::AdviceRecord;
use cellcc_control::Advice;
use cellcc_units::{Span, Time};

/// The arrivals on one user.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrivals {
    newest: Option<Newest>,
}

#[derive(Debug, Clone, Copy)]
struct Newest {
    sequence: u32,
    measured_until: Time,
    /// Smallest difference so far between a record's arrival (our clock) and its measurement (the reporter's), in
    /// nanoseconds. The clocks differ by an unknown constant, so the age of the record with this difference counts as zero.
    min_offset: i128,
}

/// Why a record is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No newer than the last.
    Replayed,
    /// Older than it is valid for, or made of old measurements.
    Stale,
}

impl Arrivals {
    /// The advice in a record that arrived at `now`.
    ///
    /// # Errors
    /// It is not new, or of no use any more.
    pub fn accept(&mut self, now: Time, record: &AdviceRecord) -> Result<Advice, Refusal> {
        let offset = i128::from(now.as_nanos()) - i128::from(record.measured_until.as_nanos());
        let min_offset = match self.newest {
            // Another service, whose clock has nothing to do with that of the one before.
            Some(_) if record.first && record.handover => offset,
            Some(newest) if is_newer(record, &newest) => newest.min_offset.min(offset),
            Some(_) => return Err(Refusal::Replayed),
            None => offset,
        };
        let AdviceRecord { sequence, measured_until, .. } = *record;
        self.newest = Some(Newest { sequence, measured_until, min_offset });
        let age = Span::from_nanos(u64::try_from(offset - min_offset).unwrap_or(u64::MAX));
        if record.stale || age > record.valid_for {
            return Err(Refusal::Stale);
        }
        let mut advice = Advice::new(record.downlink, record.class, record.period).with_age(age);
        advice.min_rtt = record.min_rtt;
        advice.flows = record.flows.into();
        advice.backlog = record.backlog;
        Ok(advice)
    }
}

/// Sequence numbers wrap: half of all numbers are newer. A reporter that restarts sets `first`, and its times go on.
fn is_newer(record: &AdviceRecord, newest: &Newest) -> bool {
    let ahead = record.sequence.wrapping_sub(newest.sequence);
    let is_ahead = ahead != 0 && ahead <= u32::MAX / 2;
    let is_later = record.measured_until > newest.measured_until;
    is_later && (is_ahead || record.first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record that is valid for 150 ms.
    fn record(sequence: u32, until_millis: u64) -> AdviceRecord {
        AdviceRecord { sequence, measured_until: at(until_millis), ..AdviceRecord::EXAMPLE }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn refusal(records: &mut Arrivals, now: u64, record: &AdviceRecord) -> Option<Refusal> {
        records.accept(at(now), record).err()
    }

    #[test]
    fn a_record_is_reported_once() {
        let mut records = Arrivals::default();
        assert_eq!(refusal(&mut records, 1000, &record(7, 50)), None);
        assert_eq!(refusal(&mut records, 1010, &record(7, 50)), Some(Refusal::Replayed));
        assert_eq!(refusal(&mut records, 1010, &record(6, 0)), Some(Refusal::Replayed));
        assert_eq!(refusal(&mut records, 1050, &record(8, 100)), None);
    }

    #[test]
    fn the_sequence_wraps() {
        let mut records = Arrivals::default();
        assert_eq!(refusal(&mut records, 1000, &record(u32::MAX, 50)), None);
        assert_eq!(refusal(&mut records, 1050, &record(0, 100)), None);
        assert_eq!(refusal(&mut records, 1050, &record(u32::MAX, 50)), Some(Refusal::Replayed));
    }

    #[test]
    fn a_reporter_may_begin_anew_but_not_go_back() {
        let mut records = Arrivals::default();
        let anew = |until| AdviceRecord { first: true, ..record(0, until) };
        assert_eq!(refusal(&mut records, 1000, &record(1000, 50)), None);
        assert_eq!(refusal(&mut records, 1050, &record(0, 100)), Some(Refusal::Replayed));
        assert_eq!(refusal(&mut records, 1050, &anew(100)), None);
        assert_eq!(refusal(&mut records, 1060, &anew(100)), Some(Refusal::Replayed));
    }

    #[test]
    fn after_a_handover_the_clock_of_another_service_counts() {
        let mut records = Arrivals::default();
        assert_eq!(refusal(&mut records, 1000, &record(1000, 900_000)), None);
        let elsewhere = AdviceRecord { first: true, handover: true, ..record(7, 50) };
        let reported = records.accept(at(1060), &elsewhere).expect("its clock is behind");
        assert_eq!(reported.age, Span::ZERO);
        assert_eq!(refusal(&mut records, 1110, &record(8, 100)), None);
        assert_eq!(refusal(&mut records, 1120, &record(1001, 900_050)), None, "a later record of its own");
    }

    #[test]
    fn the_age_counts_from_the_quickest_record() {
        let mut records = Arrivals::default();
        let mut age =
            |now, sequence, until| records.accept(at(now), &record(sequence, until)).map(|advice| advice.age);
        assert_eq!(age(10_000, 1, 50), Ok(Span::ZERO), "nothing to compare it with");
        assert_eq!(age(10_070, 2, 100), Ok(Span::from_millis(20)));
        assert_eq!(age(10_090, 3, 150), Ok(Span::ZERO), "quicker than the first");
        assert_eq!(age(10_400, 4, 200), Err(Refusal::Stale), "valid for 150 ms");
    }

    #[test]
    fn old_measurements_are_no_advice() {
        let mut records = Arrivals::default();
        assert_eq!(
            refusal(&mut records, 0, &AdviceRecord { stale: true, ..record(1, 50) }),
            Some(Refusal::Stale)
        );
    }
}
