//! The reports about one user's flow: made once a period, lost or delivered, as [`NetAssist`] has it. Every driver and
//! every service makes its reports here.
//!
//! - Causal with the queue's counters: the [`Estimator`](crate::Estimator)'s bandwidth of what was served.
//! - Causal without counters (nobody sees into the queue): the mean rate that the channel offered. An idle user is told
//!   too much.
//! - Oracle: the mean rate of the coming period, as in the NATCP authors' feedback files.
//!
//! In a cell the channel's rate is divided by the number of users who are served.

use crate::advice::{Advice, AdviceClass, MinRttParts};
use crate::counted::{CounterReader, Counters, PacketTime, Period};
use crate::settings::{AdviceRoute, NetAssist, ReportSource};
use crate::timetable::Timetable;
use cellcc_units::{Bytes, Rate, Ratio, Span, Time};
use std::collections::VecDeque;

/// The path that reports are about.
pub trait AssistedPath: Send {
    /// The mean rate at which the user alone could be served in this time.
    fn downlink(&self, from: Time, to: Time) -> Rate;

    /// The mean rate of the uplink in this time; zero where packets on it take no time.
    fn uplink(&self, from: Time, to: Time) -> Rate;

    /// The smallest RTT without the two links' transmission times.
    fn network_rtt(&self, now: Time) -> Span;

    /// Whether this happens to the next report. Each is asked once for each report that may meet it.
    fn strikes(&mut self, fault: ReportFault) -> bool;
}

/// What may happen to a report at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFault {
    /// It never arrives.
    Loss,
    /// It arrives twice.
    Duplication,
    /// It arrives after younger ones.
    Reordering,
}

/// What a base station sees of a user when it makes a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserState {
    /// The counters of the user's queue; `None` where nobody sees into it.
    pub counters: Option<Counters>,
    /// The user's flows that sent something of late; at least one.
    pub flows: u32,
    /// Users among whom the cell is shared, this one included; at least one.
    pub busy_users: u32,
}

/// The flow that reports are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedFlow {
    /// The size of a full packet.
    pub packet: Bytes,
    /// The size of an acknowledgement.
    pub ack: Bytes,
    /// When the first report is made.
    pub start: Time,
    /// No report is made a period after this.
    pub stop: Time,
}

impl ReportedFlow {
    /// A usual path's packets of 1500 bytes and acknowledgements of 40, from time zero on.
    pub const DEFAULT: Self =
        Self { packet: Bytes::new(1500), ack: Bytes::new(40), start: Time::ZERO, stop: Time::NEVER };
}

/// The reports for one flow.
#[derive(Debug, Clone)]
pub struct Reports<P> {
    settings: NetAssist,
    path: P,
    flow: ReportedFlow,
    reader: CounterReader,
    downlink_time: PacketTime,
    uplink_time: PacketTime,
    next_report: Time,
    last_report: Time,
    /// Reports on their way, by the time at which each leaves the base station.
    leaving: VecDeque<Leaving>,
}

/// A report on its way.
#[derive(Debug, Clone, Copy)]
struct Leaving {
    at: Time,
    made_at: Time,
    advice: Advice,
}

impl<P: AssistedPath> Reports<P> {
    /// Reports about `path` for `flow`.
    pub fn new(settings: NetAssist, path: P, flow: ReportedFlow) -> Self {
        Self {
            settings,
            path,
            flow,
            reader: CounterReader::default(),
            downlink_time: PacketTime::default(),
            uplink_time: PacketTime::default(),
            next_report: flow.start,
            last_report: flow.start,
            leaving: VecDeque::new(),
        }
    }

    /// When the next report is made, or one arrives at the sender by itself.
    pub fn next_wake(&self) -> Time {
        let arrival = match self.settings.route {
            AdviceRoute::OutOfBand => {
                self.leaving.front().map_or(Time::NEVER, |report| report.at + self.settings.delay)
            }
            AdviceRoute::InBand => Time::NEVER,
        };
        self.next_report.min(arrival)
    }

    /// True where [`make`](Self::make) has a report to make.
    pub fn is_due(&self, now: Time) -> bool {
        self.next_report <= now
    }

    /// Makes the report that is due. A caller that is late has missed the reports before the newest.
    pub fn make(&mut self, now: Time, user: &UserState) {
        if !self.is_due(now) {
            return;
        }
        let late = now.since(self.next_report).as_nanos() % self.settings.period.as_nanos();
        let made_at = now - Span::from_nanos(late);
        self.next_report = if now < self.flow.stop { made_at + self.settings.period } else { Time::NEVER };
        if self.settings.has_handover(self.last_report, made_at) {
            self.forget();
        }
        self.last_report = made_at;
        let advice = self.measure(made_at, user);
        let is_out = self.settings.is_out(made_at);
        if let Some(advice) = advice.filter(|_| !is_out && !self.path.strikes(ReportFault::Loss)) {
            self.send(made_at, advice);
        }
    }

    /// What another cell's NetAssist knows: nothing.
    fn forget(&mut self) {
        self.reader = CounterReader::default();
        self.downlink_time = PacketTime::default();
        self.uplink_time = PacketTime::default();
    }

    fn is_wrong(&self, now: Time) -> bool {
        now >= self.settings.wrong_from
    }

    /// Puts a report on its way, late, twice or behind younger ones as the settings have it.
    fn send(&mut self, made_at: Time, advice: Advice) {
        if !self.is_wrong(made_at) {
            return self.leave(made_at, made_at, advice);
        }
        let (late, overtaken) = (made_at + self.settings.late, self.settings.overtaken_by);
        let is_overtaken = self.path.strikes(ReportFault::Reordering);
        self.leave(late + if is_overtaken { overtaken } else { Span::ZERO }, made_at, advice);
        if self.path.strikes(ReportFault::Duplication) {
            self.leave(late + overtaken, made_at, advice);
        }
    }

    fn leave(&mut self, at: Time, made_at: Time, advice: Advice) {
        let behind = self.leaving.partition_point(|report| report.at <= at);
        self.leaving.insert(behind, Leaving { at, made_at, advice });
    }

    /// The newest report that has arrived out of band by `now`.
    pub fn arrived(&mut self, now: Time) -> Option<Advice> {
        match self.settings.route {
            AdviceRoute::OutOfBand => self.take_left_until(now, |left_at, delay| left_at + delay <= now),
            AdviceRoute::InBand => None,
        }
    }

    /// The newest report on an acknowledgement that passed the base station at `passed` and arrives at `now`.
    pub fn on_acknowledgement(&mut self, passed: Time, now: Time) -> Option<Advice> {
        match self.settings.route {
            AdviceRoute::OutOfBand => None,
            AdviceRoute::InBand => self.take_left_until(now, |left_at, _| left_at <= passed),
        }
    }

    /// The newest report that is `there`, given when it left and the route's delay; told at `now`.
    fn take_left_until(&mut self, now: Time, there: impl Fn(Time, Span) -> bool) -> Option<Advice> {
        let mut newest: Option<Leaving> = None;
        while let Some(&report) = self.leaving.front()
            && there(report.at, self.settings.delay)
        {
            self.leaving.pop_front();
            newest = newest.filter(|newest| newest.made_at > report.made_at).or(Some(report));
        }
        newest.map(|report| {
            let since = if self.settings.age_known { report.made_at } else { report.at };
            Advice { age: now.since(since), ..report.advice }
        })
    }

    /// `None` while nothing is known of the user.
    fn measure(&mut self, now: Time, user: &UserState) -> Option<Advice> {
        let period = self.settings.period;
        let (bandwidth, class) = match (self.settings.source, user.counters) {
            (ReportSource::Oracle, _) => {
                (self.share(self.path.downlink(now, now + period), user), AdviceClass::Backlogged)
            }
            (ReportSource::Causal, Some(counters)) => self.served(now, counters, user)?,
            (ReportSource::Causal, None) => (self.offered(now, user)?, AdviceClass::Backlogged),
        };
        let scale = if self.is_wrong(now) { self.settings.scale } else { Ratio::ONE };
        let bandwidth = bandwidth.mul_f64(scale.get());
        let uplink = self.path.uplink(now - period, now);
        let min_rtt = MinRttParts {
            network: self.path.network_rtt(now),
            downlink: self.downlink_time.at(bandwidth, self.flow.packet),
            uplink: self.uplink_time.at(uplink, self.flow.ack),
        };
        let backlog = user.counters.map_or(Bytes::ZERO, |counters| counters.backlog);
        Some(Advice { bandwidth, class, min_rtt, flows: user.flows.max(1), backlog, period, age: Span::ZERO })
    }

    /// What the link served in the period that has passed.
    fn served(&mut self, now: Time, counters: Counters, user: &UserState) -> Option<(Rate, AdviceClass)> {
        let length = self.settings.period;
        let channel =
            self.settings.channel_known.then(|| self.share(self.path.downlink(now - length, now), user));
        let estimate = self.reader.read(counters, Period { length, channel, packet: self.flow.packet })?;
        Some((estimate.bandwidth, estimate.class))
    }

    /// What the channel offered in the period that has passed; `None` before the end of the first one.
    fn offered(&self, now: Time, user: &UserState) -> Option<Rate> {
        let length = self.settings.period;
        let from = now - length;
        (now.since(from) == length).then(|| self.share(self.path.downlink(from, now), user))
    }

    /// The user's part of what its channel would carry alone.
    fn share(&self, alone: Rate, user: &UserState) -> Rate {
        alone.mul_f64(1.0 / f64::from(user.busy_users.max(1)))
    }
}

/// Reports made where nobody sees into the user's queue: of the path alone.
#[derive(Debug, Clone)]
pub struct UnseenReports<P> {
    reports: Reports<P>,
    flows: u32,
}

impl<P: AssistedPath> UnseenReports<P> {
    /// `flows`: what is reported as the user's number of flows.
    pub fn new(reports: Reports<P>, flows: u32) -> Self {
        Self { reports, flows }
    }
}

impl<P: AssistedPath> Timetable for UnseenReports<P> {
    fn next_wake(&self) -> Time {
        self.reports.next_wake()
    }

    fn poll(&mut self, now: Time) -> Option<Advice> {
        self.reports.make(now, &UserState { counters: None, flows: self.flows, busy_users: 1 });
        self.reports.arrived(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{AdviceRequest, Outage};

    const PERIOD: Span = Span::from_millis(50);

    /// 12 Mbit/s, then 24, then nothing, 50 ms each, again and again. Periods of reports are never longer than a step.
    #[derive(Clone)]
    struct Steps {
        struck_by: Option<ReportFault>,
    }

    impl AssistedPath for Steps {
        fn downlink(&self, from: Time, _to: Time) -> Rate {
            let step = from.since(Time::ZERO).as_nanos() / PERIOD.as_nanos() % 3;
            [mbit(12.0), mbit(24.0), Rate::ZERO][step as usize]
        }

        fn uplink(&self, _from: Time, _to: Time) -> Rate {
            Rate::ZERO
        }

        fn network_rtt(&self, _now: Time) -> Span {
            Span::from_millis(10)
        }

        fn strikes(&mut self, fault: ReportFault) -> bool {
            self.struck_by == Some(fault)
        }
    }

    fn mbit(value: f64) -> Rate {
        Rate::from_mbit_per_sec(value)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn settings(source: ReportSource) -> NetAssist {
        NetAssist { source, ..NetAssist::default() }
    }

    fn reports(settings: NetAssist) -> Reports<Steps> {
        Reports::new(settings, Steps { struck_by: None }, ReportedFlow::DEFAULT)
    }

    fn unseen(source: ReportSource) -> UnseenReports<Steps> {
        UnseenReports::new(reports(settings(source)), 1)
    }

    /// The time, bandwidth in Mbit/s and age of every report until `end`.
    fn all(mut reports: UnseenReports<Steps>, end: Time) -> Vec<(Time, f64, Span)> {
        let mut told = Vec::new();
        while reports.next_wake() <= end {
            let now = reports.next_wake();
            if let Some(report) = reports.poll(now) {
                told.push((now, report.bandwidth.as_mbit_per_sec(), report.age));
            }
        }
        told
    }

    fn counters(served: u64, busy_millis: u64) -> UserState {
        let counters = Counters {
            served: Bytes::new(served),
            busy: Span::from_millis(busy_millis),
            backlog: Bytes::new(3000),
        };
        UserState { counters: Some(counters), flows: 3, busy_users: 2 }
    }

    #[test]
    fn an_oracle_tells_the_coming_period() {
        let age = Span::from_millis(1);
        let told = all(unseen(ReportSource::Oracle), at(101));
        assert_eq!(told, [(at(1), 12.0, age), (at(51), 24.0, age), (at(101), 0.0, age)]);
    }

    #[test]
    fn a_causal_source_tells_the_period_that_has_passed() {
        let age = Span::from_millis(1);
        let told = all(unseen(ReportSource::Causal), at(101));
        assert_eq!(told, [(at(51), 12.0, age), (at(101), 24.0, age)]);
    }

    #[test]
    fn a_causal_source_with_counters_tells_what_was_served() {
        let mut reports = reports(settings(ReportSource::Causal));
        reports.make(at(0), &counters(0, 0));
        assert_eq!(reports.arrived(at(1)), None, "the first look only begins a period");
        reports.make(at(50), &counters(15_000, 50));
        assert_eq!(reports.arrived(at(50)), None, "on its way");
        let report = reports.arrived(at(51)).expect("arrived");
        assert_eq!((report.bandwidth, report.class), (mbit(2.4), AdviceClass::Backlogged), "not 12");
        assert_eq!((report.backlog, report.flows), (Bytes::new(3000), 3));
    }

    #[test]
    fn in_a_cell_the_channel_is_shared_among_those_who_are_served() {
        let mut reports = reports(settings(ReportSource::Oracle));
        reports.make(at(0), &counters(0, 0));
        assert_eq!(reports.arrived(at(1)).map(|report| report.bandwidth), Some(mbit(6.0)));
    }

    #[test]
    fn an_acknowledgement_carries_what_was_made_before_it_passed() {
        let in_band = NetAssist { route: AdviceRoute::InBand, ..settings(ReportSource::Oracle) };
        let mut reports = reports(in_band);
        reports.make(at(0), &counters(0, 0));
        reports.make(at(50), &counters(0, 0));
        assert_eq!(reports.arrived(at(60)), None, "nothing travels by itself");
        let report = reports.on_acknowledgement(at(49), at(58)).expect("the first report");
        assert_eq!((report.bandwidth, report.age), (mbit(6.0), Span::from_millis(58)));
    }

    #[test]
    fn wrong_reports_are_scaled_and_an_outage_has_none() {
        let outages = vec![Outage { from: at(50), to: at(60) }];
        let settings = NetAssist { scale: Ratio::new(2.0), outages, ..settings(ReportSource::Oracle) };
        let told = all(UnseenReports::new(reports(settings), 1), at(152));
        let times: Vec<_> = told.iter().map(|(at, mbit, _)| (*at, *mbit)).collect();
        assert_eq!(times, [(at(1), 24.0), (at(101), 0.0), (at(151), 24.0)]);
    }

    /// What is told until `end` of reports that meet `fault` from 100 ms on: when, of which rate, and how old.
    fn told_wrongly(fault: Option<ReportFault>, settings: NetAssist, end: u64) -> Vec<(u64, f64, u64)> {
        let settings = NetAssist { source: ReportSource::Oracle, wrong_from: at(100), ..settings };
        let reports = Reports::new(settings, Steps { struck_by: fault }, ReportedFlow::DEFAULT);
        let millis = |span: Span| span.as_nanos() / 1_000_000;
        let told = all(UnseenReports::new(reports, 1), at(end)).into_iter();
        told.map(|(now, mbit, age)| (millis(now.since(Time::ZERO)), mbit, millis(age))).collect()
    }

    #[test]
    fn late_reports_tell_their_age_where_it_is_known() {
        let late = NetAssist { late: Span::from_millis(70), ..NetAssist::default() };
        let told = told_wrongly(None, late.clone(), 225);
        assert_eq!(told, [(1, 12.0, 1), (51, 24.0, 1), (171, 0.0, 71), (221, 12.0, 71)]);
        let told = told_wrongly(None, NetAssist { age_known: false, ..late }, 225);
        assert_eq!(told, [(1, 12.0, 1), (51, 24.0, 1), (171, 0.0, 1), (221, 12.0, 1)]);
    }

    #[test]
    fn a_duplicate_comes_after_a_younger_report() {
        let told = told_wrongly(Some(ReportFault::Duplication), NetAssist::default(), 177);
        assert_eq!(told, [(1, 12.0, 1), (51, 24.0, 1), (101, 0.0, 1), (151, 12.0, 1), (176, 0.0, 76)]);
    }

    #[test]
    fn reordered_reports_are_overtaken_by_those_that_are_not() {
        let told = told_wrongly(Some(ReportFault::Reordering), NetAssist::default(), 177);
        assert_eq!(told, [(1, 12.0, 1), (51, 24.0, 1), (176, 0.0, 76)]);
    }

    #[test]
    fn of_reports_that_arrive_at_once_the_youngest_is_told() {
        let mut reports =
            reports(NetAssist { late: Span::from_millis(60), ..settings(ReportSource::Oracle) });
        for millis in [0, 50] {
            reports.make(at(millis), &counters(0, 0));
        }
        let report = reports.arrived(at(200)).expect("two have arrived");
        assert_eq!((report.bandwidth, report.age), (mbit(12.0), Span::from_millis(150)));
        assert_eq!(reports.arrived(at(300)), None);
    }

    #[test]
    fn an_outage_without_an_end_is_for_good() {
        let outages = vec![Outage { from: at(50), to: Time::NEVER }];
        let reports = reports(NetAssist { outages, ..settings(ReportSource::Oracle) });
        assert_eq!(all(UnseenReports::new(reports, 1), at(10_000)), [(at(1), 12.0, Span::from_millis(1))]);
    }

    #[test]
    fn another_cells_netassist_knows_nothing_of_the_user() {
        let mut reports = reports(NetAssist { handovers: vec![at(90)], ..settings(ReportSource::Causal) });
        let mut told = |millis, served| {
            reports.make(at(millis), &counters(served, millis));
            reports.arrived(at(millis + 1)).map(|report| report.bandwidth)
        };
        let bandwidths =
            [(0, 0), (50, 15_000), (100, 30_000), (150, 60_000)].map(|(at, bytes)| told(at, bytes));
        assert_eq!(bandwidths, [None, Some(mbit(2.4)), None, Some(mbit(4.8))]);
    }

    #[test]
    fn a_link_that_serves_nothing_is_reported_with_the_packet_time_from_before() {
        let mut reports = unseen(ReportSource::Oracle);
        let told: Vec<Advice> =
            [0, 1, 50, 51, 100, 101].map(at).iter().filter_map(|&now| reports.poll(now)).collect();
        let parts: Vec<Span> = told.iter().map(|report| report.min_rtt.downlink).collect();
        assert_eq!(parts, [1000, 500, 500].map(Span::from_micros));
        assert_eq!(told[2].min_rtt.total(), Span::from_micros(10_500));
    }

    #[test]
    fn reports_begin_and_end_with_the_flow() {
        let flow = ReportedFlow { start: at(70), stop: at(130), ..ReportedFlow::DEFAULT };
        let reports = Reports::new(settings(ReportSource::Oracle), Steps { struck_by: None }, flow);
        let told: Vec<Time> =
            all(UnseenReports::new(reports, 1), at(1000)).into_iter().map(|(at, ..)| at).collect();
        assert_eq!(told, [at(71), at(121), at(171)], "the last one is made by what is known as it stops");
    }

    #[test]
    fn a_caller_that_was_away_is_told_the_newest_only() {
        let mut reports = unseen(ReportSource::Oracle);
        reports.poll(at(0));
        let report = reports.poll(at(207)).expect("a report");
        assert_eq!((report.bandwidth, report.age), (mbit(24.0), Span::from_millis(7)));
        assert_eq!(reports.next_wake(), at(250));
    }

    #[test]
    fn a_schemes_request_comes_before_the_settings() {
        let request = AdviceRequest {
            source: Some(ReportSource::Oracle),
            period: Some(Span::ZERO),
            ..AdviceRequest::default()
        };
        let settings = settings(ReportSource::Causal).requested(&request);
        assert_eq!(settings.source, ReportSource::Oracle);
        assert_eq!(settings.period, Span::from_millis(1), "no more often than a base station schedules");
        assert_eq!(settings.delay, NetAssist::default().delay, "what it leaves open");
    }

    #[test]
    fn a_lost_report_never_arrives() {
        let lossy = Reports::new(
            settings(ReportSource::Oracle),
            Steps { struck_by: Some(ReportFault::Loss) },
            ReportedFlow::DEFAULT,
        );
        assert_eq!(all(UnseenReports::new(lossy, 1), at(1000)), []);
    }
}
