//! The reports about one user's flow: made once a period, lost or delivered, as [`NetAssist`] has it. Every driver and
//! every service makes its reports here.
//!
//! - Causal with the queue's counters: the [`Estimator`](crate::Estimator)'s bandwidth from the service.
//! - Causal without counters (the queue is not visible): the mean rate of the channel. The report to an idle user is too high.
//! - Oracle: the mean rate of the coming period, as in the NATCP authors' feedback files.
//!
//! In a cell the channel's rate is divided by the number of users who are served.

#[cfg(test)]
mod tests;

use crate::estimator::{Counters, PacketTime, Period};
use crate::settings::NetAssist;
use crate::timetable::Timetable;
use crate::user_model::{BaseRtt, Counted, Knowledge, UserModel};
use cellcc_control::{Advice, AdviceClass, AdviceRoute, MinRttParts, ReportSource};
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

    /// True if this happens to the next report. Each is asked once for each report that may meet it.
    fn strikes(&mut self, fault: ReportFault) -> bool;
}

/// Random faults of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFault {
    /// It never arrives.
    Loss,
    /// It arrives twice.
    Duplication,
    /// It arrives after younger ones.
    Reordering,
}

/// A base station's view of a user when it makes a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserState {
    /// The counters of the user's queue; `None` if it is not visible.
    pub counters: Option<Counters>,
    /// The user's flows that sent something recently; at least one.
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
    model: UserModel,
    /// Another one after each handover.
    cell: u32,
    /// The counters at the last look in this cell.
    before: Option<Counters>,
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
            model: UserModel::default(),
            cell: 0,
            before: None,
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
            self.change_cell();
        }
        self.last_report = made_at;
        let advice = self.measure(made_at, user);
        let is_out = self.settings.is_out(made_at);
        if let Some(advice) = advice.filter(|_| !is_out && !self.path.strikes(ReportFault::Loss)) {
            self.send(made_at, advice);
        }
    }

    /// The state of another cell's NetAssist: empty.
    fn change_cell(&mut self) {
        self.cell = self.cell.wrapping_add(1);
        self.before = None;
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

    /// The newest report that is `there`, given when it left and the route's delay; reported at `now`.
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
            report.advice.with_age(now.since(since))
        })
    }

    /// `None` while nothing is known of the user.
    fn measure(&mut self, now: Time, user: &UserState) -> Option<Advice> {
        let period = self.settings.period;
        let (bandwidth, class) = match (self.settings.source, user.counters) {
            (ReportSource::Oracle, _) => {
                let ahead = self.settings.foresight.unwrap_or(period);
                (self.offered(now + ahead, user)?, AdviceClass::Backlogged)
            }
            (ReportSource::Causal, Some(counters)) => self.served(now, counters, user)?,
            (ReportSource::Causal, None) => (self.offered(now, user)?, AdviceClass::Backlogged),
        };
        let scaled = |scale: Ratio| if self.is_wrong(now) { scale.get() } else { 1.0 };
        let bandwidth = bandwidth.mul_f64(scaled(self.settings.scale));
        let uplink = self.path.uplink(now - period, now);
        let rtt_scale = scaled(self.settings.rtt_scale);
        let min_rtt = MinRttParts {
            network: self.path.network_rtt(now).mul_f64(rtt_scale),
            downlink: self.downlink_time.at(bandwidth, self.flow.packet).mul_f64(rtt_scale),
            uplink: self.uplink_time.at(uplink, self.flow.ack).mul_f64(rtt_scale),
        };
        let mut advice = Advice::new(bandwidth, class, period);
        advice.min_rtt = self.settings.uplink_known.then_some(min_rtt);
        advice.flows = user.flows.max(1);
        advice.backlog = user.counters.map_or(Bytes::ZERO, |counters| counters.backlog);
        Some(advice)
    }

    /// The link's service in the period that has passed.
    fn served(&mut self, now: Time, counters: Counters, user: &UserState) -> Option<(Rate, AdviceClass)> {
        let length = self.settings.period;
        let channel =
            self.settings.channel_known.then(|| self.share(self.path.downlink(now - length, now), user));
        let before = self.before.replace(counters)?;
        let counted = Counted {
            downlink: Period { length, channel, packet: self.flow.packet }.observation(&before, &counters),
            uplink: Rate::ZERO,
            uplink_delay: None,
            base_rtt: BaseRtt::ToBaseStation(None),
        };
        let record = self.model.take(self.cell, now, &Knowledge::Counted(counted), 1)?;
        Some((record.downlink, record.class))
    }

    /// The channel's rate in the period that ends at `to`; `None` where that began before the run.
    fn offered(&self, to: Time, user: &UserState) -> Option<Rate> {
        let length = self.settings.period;
        let from = to - length;
        (to.since(from) == length).then(|| self.share(self.path.downlink(from, to), user))
    }

    /// The user's part of its channel's rate alone.
    fn share(&self, alone: Rate, user: &UserState) -> Rate {
        alone.mul_f64(1.0 / f64::from(user.busy_users.max(1)))
    }
}

/// Reports made without a view of the user's queue: on the path alone.
#[derive(Debug, Clone)]
pub struct UnseenReports<P> {
    reports: Reports<P>,
    flows: u32,
}

impl<P: AssistedPath> UnseenReports<P> {
    /// `flows`: the reported number of the user's flows.
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
