use super::*;
use crate::settings::Outage;
use cellcc_control::AdviceRequest;

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
    let mut reported = Vec::new();
    while reports.next_wake() <= end {
        let now = reports.next_wake();
        if let Some(report) = reports.poll(now) {
            reported.push((now, report.bandwidth.as_mbit_per_sec(), report.age));
        }
    }
    reported
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
    let reported = all(unseen(ReportSource::Oracle), at(101));
    assert_eq!(reported, [(at(1), 12.0, age), (at(51), 24.0, age), (at(101), 0.0, age)]);
}

#[test]
fn an_oracle_may_see_no_farther_than_now_or_farther_than_a_period() {
    let reported = |foresight, end| {
        let (period, foresight) = (Span::from_millis(10), Some(Span::from_millis(foresight)));
        let settings = NetAssist { period, foresight, ..settings(ReportSource::Oracle) };
        let reported = all(UnseenReports::new(reports(settings), 1), at(end)).into_iter();
        reported.map(|(now, mbit, _)| (now, mbit)).collect::<Vec<_>>()
    };
    // The rate is 24 Mbit/s from 50 ms on.
    assert_eq!(reported(0, 11), [(at(11), 12.0)], "nothing has passed at the beginning");
    assert_eq!(reported(0, 61)[4..], [(at(51), 12.0), (at(61), 24.0)]);
    assert_eq!(reported(20, 41)[3..], [(at(31), 12.0), (at(41), 24.0)]);
}

#[test]
fn a_causal_source_tells_the_period_that_has_passed() {
    let age = Span::from_millis(1);
    let reported = all(unseen(ReportSource::Causal), at(101));
    assert_eq!(reported, [(at(51), 12.0, age), (at(101), 24.0, age)]);
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
    let reported = all(UnseenReports::new(reports(settings), 1), at(152));
    let times: Vec<_> = reported.iter().map(|(at, mbit, _)| (*at, *mbit)).collect();
    assert_eq!(times, [(at(1), 24.0), (at(101), 0.0), (at(151), 24.0)]);
}

/// The reports until `end` that meet `fault` from 100 ms on: their times, rates, and ages.
fn reported_wrongly(fault: Option<ReportFault>, settings: NetAssist, end: u64) -> Vec<(u64, f64, u64)> {
    let settings = NetAssist { source: ReportSource::Oracle, wrong_from: at(100), ..settings };
    let reports = Reports::new(settings, Steps { struck_by: fault }, ReportedFlow::DEFAULT);
    let millis = |span: Span| span.as_nanos() / 1_000_000;
    let reported = all(UnseenReports::new(reports, 1), at(end)).into_iter();
    reported.map(|(now, mbit, age)| (millis(now.since(Time::ZERO)), mbit, millis(age))).collect()
}

#[test]
fn late_reports_tell_their_age_where_it_is_known() {
    let late = NetAssist { late: Span::from_millis(70), ..NetAssist::default() };
    let reported = reported_wrongly(None, late.clone(), 225);
    assert_eq!(reported, [(1, 12.0, 1), (51, 24.0, 1), (171, 0.0, 71), (221, 12.0, 71)]);
    let reported = reported_wrongly(None, NetAssist { age_known: false, ..late }, 225);
    assert_eq!(reported, [(1, 12.0, 1), (51, 24.0, 1), (171, 0.0, 1), (221, 12.0, 1)]);
}

#[test]
fn a_duplicate_comes_after_a_younger_report() {
    let reported = reported_wrongly(Some(ReportFault::Duplication), NetAssist::default(), 177);
    assert_eq!(reported, [(1, 12.0, 1), (51, 24.0, 1), (101, 0.0, 1), (151, 12.0, 1), (176, 0.0, 76)]);
}

#[test]
fn reordered_reports_are_overtaken_by_those_that_are_not() {
    let reported = reported_wrongly(Some(ReportFault::Reordering), NetAssist::default(), 177);
    assert_eq!(reported, [(1, 12.0, 1), (51, 24.0, 1), (176, 0.0, 76)]);
}

#[test]
fn of_reports_that_arrive_at_once_the_youngest_is_reported() {
    let mut reports = reports(NetAssist { late: Span::from_millis(60), ..settings(ReportSource::Oracle) });
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
    let mut reported = |millis, served| {
        reports.make(at(millis), &counters(served, millis));
        reports.arrived(at(millis + 1)).map(|report| report.bandwidth)
    };
    let bandwidths =
        [(0, 0), (50, 15_000), (100, 30_000), (150, 60_000)].map(|(at, bytes)| reported(at, bytes));
    assert_eq!(bandwidths, [None, Some(mbit(2.4)), None, Some(mbit(4.8))]);
}

#[test]
fn a_link_that_serves_nothing_is_reported_with_the_packet_time_from_before() {
    let mut reports = unseen(ReportSource::Oracle);
    let reported: Vec<Advice> =
        [0, 1, 50, 51, 100, 101].map(at).iter().filter_map(|&now| reports.poll(now)).collect();
    let parts: Vec<_> = reported.iter().filter_map(|report| report.min_rtt).collect();
    assert_eq!(
        parts.iter().map(|parts| parts.downlink).collect::<Vec<_>>(),
        [1000, 500, 500].map(Span::from_micros)
    );
    assert_eq!(parts[2].total(), Span::from_micros(10_500));
}

#[test]
fn reports_begin_and_end_with_the_flow() {
    let flow = ReportedFlow { start: at(70), stop: at(130), ..ReportedFlow::DEFAULT };
    let reports = Reports::new(settings(ReportSource::Oracle), Steps { struck_by: None }, flow);
    let reported: Vec<Time> =
        all(UnseenReports::new(reports, 1), at(1000)).into_iter().map(|(at, ..)| at).collect();
    assert_eq!(reported, [at(71), at(121), at(171)], "the last one is made by what is known as it stops");
}

#[test]
fn a_caller_that_was_away_hears_the_newest_only() {
    let mut reports = unseen(ReportSource::Oracle);
    reports.poll(at(0));
    let report = reports.poll(at(207)).expect("a report");
    assert_eq!((report.bandwidth, report.age), (mbit(24.0), Span::from_millis(7)));
    assert_eq!(reports.next_wake(), at(250));
}

#[test]
fn a_schemes_request_comes_before_the_settings() {
    let mut request = AdviceRequest::default();
    (request.source, request.period) = (Some(ReportSource::Oracle), Some(Span::ZERO));
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
