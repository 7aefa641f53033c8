//! Reports whose times are known beforehand, one timetable for each user: traces and the NATCP authors' files.

use super::kind::{Services, SourceKind};
use super::{NextEvent, Source, SourceEvent};
use crate::clock::ServiceClock;
use crate::identity::SourceName;
use crate::sample::Sample;
use cellcc_assist::{
    FeedbackFile, FeedbackPath, Knowledge, NetAssist, ReportedFlow, Reports, Timetable, UnseenReports,
};
use cellcc_control::ReportSource;
use cellcc_experiment::TracedPath;
use cellcc_link::Delay;
use cellcc_units::{Span, Time};
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;

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
                samples.push(Sample { user, cell: 0, until, measured: Knowledge::Known(advice) });
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

// A file in the form of the NATCP authors, which begins when the daemon does.

/// A file of reports about one user.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedbackSource {
    /// The user's name.
    pub user: String,
    /// The file.
    pub file: PathBuf,
    /// The RTT without the downlink's transmission.
    pub network_rtt: Span,
}

impl SourceKind for FeedbackSource {
    fn reads(&self) -> String {
        self.file.display().to_string()
    }

    fn file(&mut self) -> Option<&mut PathBuf> {
        Some(&mut self.file)
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let path = FeedbackPath { network: self.network_rtt, delay: Span::ZERO };
        let timetable = FeedbackFile::read(&self.file, path).map_err(|error| error.to_string())?;
        services.user(&self.user)?;
        Ok(Box::new(Timetables::of_one(&self.user, Box::new(timetable), services.clock)))
    }
}

// A link's trace, which begins when the daemon does.

/// A link's trace, as the knowledge about one user.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The user's name.
    pub user: String,
    /// The link, as `cellcc compare --traces` names it.
    pub link: String,
    /// The reported period: the past one, or the coming one.
    pub knows: ReportSource,
    /// The RTT without the link.
    pub network_rtt: Span,
}

impl SourceKind for Trace {
    fn reads(&self) -> String {
        self.link.clone()
    }

    async fn open(&self, services: &Services<'_>) -> Result<Box<dyn Source>, String> {
        let capacity = services.traces.open(&self.link).map_err(|error| error.to_string())?.capacity;
        let path = TracedPath::of_downlink(capacity, Delay::constant(self.network_rtt));
        // How long reports travel is not up to the source here.
        let settings = NetAssist { source: self.knows, delay: Span::ZERO, ..NetAssist::default() };
        // Each user has its turn at another time of the period.
        let offset = services.identities.key(services.user(&self.user)?).offset_in(settings.period);
        let flow = ReportedFlow { start: Time::ZERO + offset, ..ReportedFlow::DEFAULT };
        let reports = UnseenReports::new(Reports::new(settings, path, flow), 1);
        Ok(Box::new(Timetables::of_one(&self.user, Box::new(reports), services.clock)))
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
