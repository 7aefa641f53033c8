//! Reports whose times are known beforehand, one timetable for each user: traces and the NATCP authors' files.

use super::{NextEvent, Source, SourceEvent};
use crate::clock::ServiceClock;
use crate::identity::SourceName;
use crate::sample::Sample;
use cellcc_assist::{Measured, Timetable};
use cellcc_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Timetables in real time.
pub struct Timetables {
    clock: ServiceClock,
    began: Time,
    users: Vec<(String, Box<dyn Timetable>)>,
    turns: BinaryHeap<Reverse<(Time, usize)>>,
}

impl std::fmt::Debug for Timetables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timetables").field("users", &self.users.len()).finish_non_exhaustive()
    }
}

impl Timetables {
    /// Begins the timetables of these users, by name, at `began` on the service's clock.
    pub fn new(users: Vec<(String, Box<dyn Timetable>)>, began: Time, clock: ServiceClock) -> Self {
        let turn = |(index, (_, timetable)): (usize, &(String, Box<dyn Timetable>))| {
            Reverse((timetable.next_wake(), index))
        };
        let turns = users.iter().enumerate().map(turn).collect();
        Self { clock, began, users, turns }
    }

    /// Begins one user's timetable now.
    pub(crate) fn of_one(user: &str, timetable: Box<dyn Timetable>, clock: ServiceClock) -> Self {
        Self::new(vec![(user.into(), timetable)], clock.now(), clock)
    }

    /// The samples of all whose time has come by `now`, since the beginning.
    fn due(&mut self, now: Time) -> Vec<Sample> {
        let mut samples = Vec::new();
        while let Some(&Reverse((at, index))) = self.turns.peek()
            && at <= now
        {
            self.turns.pop();
            let (name, timetable) = &mut self.users[index];
            if let Some(advice) = timetable.poll(now) {
                // The measurement's own time, however late we are.
                let until = self.began + (at.since(Time::ZERO));
                let user = SourceName::Name(name.clone());
                samples.push(Sample { user, cell: 0, until, measured: Measured::Known(advice) });
            }
            self.turns.push(Reverse((timetable.next_wake(), index)));
        }
        samples
    }
}

impl Source for Timetables {
    fn next(&mut self) -> NextEvent<'_> {
        Box::pin(async move {
            loop {
                let &Reverse((at, _)) = self.turns.peek()?;
                if at == Time::NEVER {
                    return None;
                }
                let due = self.began + at.since(Time::ZERO);
                tokio::time::sleep_until(self.clock.instant(due).into()).await;
                let now = Time::ZERO + self.clock.now().since(self.began).max(Span::ZERO);
                let samples = self.due(now);
                if !samples.is_empty() {
                    return Some(SourceEvent::Samples(samples));
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_assist::{FeedbackFile, FeedbackPath};

    #[test]
    fn each_user_has_its_own_times() {
        let path = FeedbackPath { network: Span::from_millis(10), delay: Span::ZERO };
        let file = |text| Box::new(FeedbackFile::parse("file", text, path).unwrap()) as Box<dyn Timetable>;
        let users = vec![("a".into(), file("0.01 1 1\n0.06 2 1\n")), ("b".into(), file("0.03 5 1\n"))];
        let clock = ServiceClock::start();
        let began = clock.now();
        let mut source = Timetables::new(users, began, clock);
        let mut names = |millis| {
            let samples = source.due(Time::ZERO + Span::from_millis(millis));
            let name = |sample: &Sample| match &sample.user {
                SourceName::Name(name) => (name.clone(), sample.until.since(began).as_nanos() / 1_000_000),
                SourceName::Radio(_) | SourceName::Address(_) | SourceName::Tunnel(_) => panic!(),
            };
            samples.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(names(10), [("a".into(), 10)]);
        assert_eq!(names(70), [("b".into(), 30), ("a".into(), 60)]);
        assert_eq!(names(900), []);
    }
}
