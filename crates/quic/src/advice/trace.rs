//! Reports made of a link's trace: what the NATCP authors did, and what a base station could have known.
//!
//! - Oracle: the mean rate of the period to come, as in the authors' feedback files.
//! - Causal, given the queue's counters: the estimate that NetAssist makes of them, as in the simulator.
//! - Causal without counters (real sockets, where nobody sees into the emulator's queue): the mean rate of the period
//!   that has passed. What the link offered, not what it served: an idle user is told too much.

use super::{Timetable, class};
use cellcc_assist::{CounterReader, Counters, PacketTime, Period};
use cellcc_control::{Advice, AdviceClass, AdviceRequest, AdviceSource as Knowledge, MinRttParts};
use cellcc_link::{Capacity, Loss};
use cellcc_units::{Bytes, Rate, Ratio, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// LTE's transmission time interval: no base station knows more often what it served.
const SHORTEST_PERIOD: Span = Span::from_millis(1);

/// The path that reports are made about, and how they travel.
#[derive(Debug, Clone)]
pub struct TracePath {
    /// What the user's downlink can carry.
    pub downlink: Arc<Capacity>,
    /// What its uplink can carry; `None`: enough for its packets to take no time.
    pub uplink: Option<Arc<Capacity>>,
    /// The smallest RTT without the two links.
    pub network: Span,
    /// The size of a full packet.
    pub packet: Bytes,
    /// The size of an acknowledgement.
    pub ack: Bytes,
    /// The user's active flows, where nobody counts them; at least one.
    pub flows: u32,
    /// Where the bandwidth comes from.
    pub source: Knowledge,
    /// When the first report is made.
    pub first_report: Time,
    /// Time between reports, each about as much time.
    pub period: Span,
    /// From the network's edge to the server.
    pub delay: Span,
    /// Share of the reports that are lost.
    pub loss: Ratio,
    /// Seeds their loss.
    pub seed: u64,
}

impl TracePath {
    /// Reports about one flow over `downlink` as the NATCP paper has them: every 50 ms (section 2.2.1), 2 ms there and
    /// back (section 3). The rest is a usual path's: packets of 1500 bytes and acknowledgements of 40.
    pub fn new(downlink: Arc<Capacity>, source: Knowledge, network: Span) -> Self {
        Self {
            downlink,
            uplink: None,
            network,
            packet: Bytes::new(1500),
            ack: Bytes::new(40),
            flows: 1,
            source,
            first_report: Time::ZERO,
            period: Span::from_millis(50),
            delay: Span::from_millis(1),
            loss: Ratio::ZERO,
            seed: 0,
        }
    }

    /// The same where the scheme leaves something open, and what it asks for otherwise. All reports travel out of band.
    #[must_use]
    pub fn asked(self, request: &AdviceRequest) -> Self {
        Self {
            source: request.source.unwrap_or(self.source),
            period: request.period.unwrap_or(self.period),
            delay: request.delay.unwrap_or(self.delay),
            loss: request.loss.unwrap_or(self.loss),
            ..self
        }
    }
}

/// Reports made of a link's trace, from the first one on, until nobody asks any more.
#[derive(Debug, Clone)]
pub struct TraceAdvice {
    path: TracePath,
    reader: CounterReader,
    downlink_time: PacketTime,
    uplink_time: PacketTime,
    next_report: Time,
    /// Reports on their way, with the time at which they were made.
    made: VecDeque<(Time, Advice)>,
    loss: Loss,
}

impl TraceAdvice {
    /// Reports about this path.
    pub fn new(path: TracePath) -> Self {
        let path = TracePath { period: path.period.max(SHORTEST_PERIOD), ..path };
        Self {
            reader: CounterReader::default(),
            downlink_time: PacketTime::default(),
            uplink_time: PacketTime::default(),
            next_report: path.first_report,
            made: VecDeque::new(),
            loss: Loss::new(path.loss, path.seed),
            path,
        }
    }

    /// [`Timetable::poll`] for a driver that sees into the user's queue, and `flows` of which sent something of late.
    pub fn poll_counted(&mut self, now: Time, counters: Counters, flows: u32) -> Option<Advice> {
        self.path.flows = flows;
        self.poll_with(now, Some(counters))
    }

    fn poll_with(&mut self, now: Time, counters: Option<Counters>) -> Option<Advice> {
        if self.next_report <= now {
            // A caller that is late has missed the reports before the newest.
            let late = now.since(self.next_report).as_nanos() % self.path.period.as_nanos();
            let made_at = now - Span::from_nanos(late);
            self.next_report = made_at + self.path.period;
            let advice = self.measure(made_at, counters);
            if let Some(advice) = advice.filter(|_| !self.loss.strikes()) {
                self.made.push_back((made_at, advice));
            }
        }
        let mut newest = None;
        while let Some((made_at, advice)) =
            self.made.front().copied().filter(|(made_at, _)| *made_at + self.path.delay <= now)
        {
            self.made.pop_front();
            newest = Some(Advice { age: now.since(made_at), ..advice });
        }
        newest
    }

    /// `None` while nothing is known of the user.
    fn measure(&mut self, now: Time, counters: Option<Counters>) -> Option<Advice> {
        let length = self.path.period;
        let (bandwidth, class) = match (self.path.source, counters) {
            (Knowledge::Oracle, _) => {
                (self.path.downlink.rate_in(now, now + length), AdviceClass::Backlogged)
            }
            (Knowledge::Causal, Some(counters)) => {
                let period = Period { length, channel: None, packet: self.path.packet };
                let estimate = self.reader.read(counters, period)?;
                (estimate.bandwidth, class(estimate.class))
            }
            (Knowledge::Causal, None) => {
                let from = now - length;
                if now.since(from) < length {
                    return None; // The first period has not passed.
                }
                (self.path.downlink.rate_in(from, now), AdviceClass::Backlogged)
            }
        };
        let uplink = self.path.uplink.as_ref().map_or(Rate::ZERO, |uplink| uplink.rate_in(now - length, now));
        let min_rtt = MinRttParts {
            network: self.path.network,
            downlink: self.downlink_time.at(bandwidth, self.path.packet),
            uplink: self.uplink_time.at(uplink, self.path.ack),
        };
        let backlog = counters.map_or(Bytes::ZERO, |counters| counters.backlog);
        let flows = self.path.flows.max(1);
        Some(Advice { bandwidth, class, min_rtt, flows, backlog, period: length, age: Span::ZERO })
    }
}

impl Timetable for TraceAdvice {
    fn next_wake(&self) -> Time {
        let arrival = self.made.front().map_or(Time::NEVER, |(made_at, _)| *made_at + self.path.delay);
        self.next_report.min(arrival)
    }

    fn poll(&mut self, now: Time) -> Option<Advice> {
        self.poll_with(now, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Span = Span::from_millis(50);

    fn mbit(value: f64) -> Rate {
        Rate::from_mbit_per_sec(value)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// 12 Mbit/s, then 24, then nothing, 50 ms each.
    fn advice(source: Knowledge) -> TraceAdvice {
        let steps = vec![(PERIOD, mbit(12.0)), (PERIOD, mbit(24.0)), (PERIOD, Rate::ZERO)];
        let link = Arc::new(Capacity::from_steps(steps).unwrap());
        TraceAdvice::new(TracePath::new(link, source, Span::from_millis(10)))
    }

    /// The time, bandwidth in Mbit/s and age of every report until `end`.
    fn all(mut advice: TraceAdvice, end: Time) -> Vec<(Time, f64, Span)> {
        let mut told = Vec::new();
        while advice.next_wake() <= end {
            let now = advice.next_wake();
            if let Some(report) = advice.poll(now) {
                told.push((now, report.bandwidth.as_mbit_per_sec(), report.age));
            }
        }
        told
    }

    #[test]
    fn an_oracle_tells_the_coming_period() {
        let age = Span::from_millis(1);
        assert_eq!(
            all(advice(Knowledge::Oracle), at(101)),
            [(at(1), 12.0, age), (at(51), 24.0, age), (at(101), 0.0, age)]
        );
    }

    #[test]
    fn a_causal_source_tells_the_period_that_has_passed() {
        let age = Span::from_millis(1);
        assert_eq!(all(advice(Knowledge::Causal), at(101)), [(at(51), 12.0, age), (at(101), 24.0, age)]);
    }

    #[test]
    fn a_causal_source_with_counters_tells_what_was_served() {
        let mut advice = advice(Knowledge::Causal);
        let counters = |served, busy| Counters {
            served: Bytes::new(served),
            busy: Span::from_millis(busy),
            backlog: Bytes::new(3000),
        };
        assert_eq!(advice.poll_counted(at(0), counters(0, 0), 1), None);
        assert_eq!(advice.poll_counted(at(50), counters(15_000, 50), 3), None, "on its way");
        let report = advice.poll(at(51)).expect("arrived");
        assert_eq!((report.bandwidth, report.class), (mbit(2.4), AdviceClass::Backlogged), "not 12");
        assert_eq!((report.backlog, report.flows), (Bytes::new(3000), 3));
    }

    #[test]
    fn an_outage_is_told_with_the_packet_time_from_before() {
        let mut advice = advice(Knowledge::Oracle);
        let reports: Vec<Advice> =
            [0, 1, 50, 51, 100, 101].map(at).iter().filter_map(|&now| advice.poll(now)).collect();
        let parts: Vec<Span> = reports.iter().map(|report| report.min_rtt.downlink).collect();
        assert_eq!(parts, [1000, 500, 500].map(Span::from_micros));
        assert_eq!(reports[2].min_rtt.total(), Span::from_micros(10_500));
    }

    #[test]
    fn the_first_report_is_made_when_it_is_asked_for() {
        let path = TracePath { first_report: at(70), ..advice(Knowledge::Oracle).path };
        let told: Vec<Time> = all(TraceAdvice::new(path), at(130)).into_iter().map(|(at, ..)| at).collect();
        assert_eq!(told, [at(71), at(121)]);
    }

    #[test]
    fn a_caller_that_was_away_is_told_the_newest_only() {
        let mut advice = advice(Knowledge::Oracle);
        advice.poll(at(0));
        assert_eq!(
            advice.poll(at(207)).map(|report| (report.bandwidth, report.age)),
            Some((mbit(24.0), Span::from_millis(7)))
        );
        assert_eq!(advice.next_wake(), at(250));
    }

    #[test]
    fn the_scheme_has_its_way_where_it_asks() {
        let request = AdviceRequest {
            source: Some(Knowledge::Oracle),
            period: Some(Span::ZERO),
            loss: Some(Ratio::ONE),
            ..AdviceRequest::default()
        };
        let path = advice(Knowledge::Causal).path.asked(&request);
        let mut advice = TraceAdvice::new(path);
        for _ in 0..1000 {
            let now = advice.next_wake();
            assert_eq!(advice.poll(now), None, "every report is lost");
        }
        assert_eq!(advice.next_wake(), at(1000), "no more often than a base station schedules");
    }
}
