//! NetAssist at the simulated base station: what it measures of a user, and how its reports reach the sender.

use cellcc_assist::{Class, CounterReader, Counters, PacketTime, Period};
use cellcc_control::{Advice, AdviceClass, AdviceRequest, AdviceRoute, AdviceSource, MinRttParts};
use cellcc_experiment::{NetAssist, NetAssistRoute, NetAssistSource, Randomness, ResolveError, Scenario};
use cellcc_link::{Capacities, Capacity, Delay, Loss, QueueCounters};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// Reports to one flow: every flow is served by itself, as its scheme asks for it.
pub(crate) struct Assistance {
    asked: NetAssist,
    reader: CounterReader,
    /// What the user alone could be served with.
    channel: Arc<Capacity>,
    uplink: Arc<Capacity>,
    network: Delay,
    packet: Bytes,
    ack: Bytes,
    downlink_time: PacketTime,
    uplink_time: PacketTime,
    next_report: Time,
    stop: Time,
    /// Reports that were made, with the time at which they were.
    made: VecDeque<(Time, Advice)>,
    loss: Loss,
}

/// What the base station sees of a user at the end of a period.
pub(crate) struct Sight {
    pub(crate) service: QueueCounters,
    /// Flows that sent something of late; at least one.
    pub(crate) flows: u32,
    /// Users among whom the cell is shared, this one included.
    pub(crate) busy_users: u32,
}

/// What the scheme asks for, and the Scenario's where it leaves something open.
fn asked(scenario: &NetAssist, request: &AdviceRequest) -> NetAssist {
    let source = request.source.map(|source| match source {
        AdviceSource::Causal => NetAssistSource::Causal,
        AdviceSource::Oracle => NetAssistSource::Oracle,
    });
    let route = request.route.map(|route| match route {
        AdviceRoute::OutOfBand => NetAssistRoute::OutOfBand,
        AdviceRoute::InBand => NetAssistRoute::InBand,
    });
    NetAssist {
        source: source.unwrap_or(scenario.source),
        period: request.period.unwrap_or(scenario.period).max(SHORTEST_PERIOD),
        route: route.unwrap_or(scenario.route),
        delay: request.delay.unwrap_or(scenario.delay),
        loss: request.loss.unwrap_or(scenario.loss),
        ..scenario.clone()
    }
}

/// LTE's transmission time interval: no base station knows more often what it served.
const SHORTEST_PERIOD: Span = Span::from_millis(1);

impl Assistance {
    /// Reports for flow `index`, which asks for `request`.
    pub(crate) fn new(
        scenario: &Scenario,
        capacities: &Capacities,
        index: usize,
        request: &AdviceRequest,
    ) -> Result<Self, ResolveError> {
        let flow = &scenario.flows[index];
        let asked = asked(&scenario.netassist, request);
        let back = scenario.reverse_delay() + flow.extra_rtt;
        Ok(Self {
            loss: Loss::new(asked.loss, scenario.seed_of(Randomness::Assistance(index))),
            asked,
            reader: CounterReader::default(),
            channel: Arc::clone(&capacities.forward[flow.user]),
            uplink: Arc::clone(&capacities.reverse),
            network: scenario.forward_delay()?.plus(back),
            packet: scenario.endpoint.packet(),
            ack: scenario.endpoint.header,
            downlink_time: PacketTime::default(),
            uplink_time: PacketTime::default(),
            next_report: flow.start,
            stop: flow.stop.unwrap_or(Time::NEVER),
            made: VecDeque::new(),
        })
    }

    /// When the next report is made, or one arrives at the sender by itself.
    pub(crate) fn next_wake(&self) -> Time {
        let arrival = match self.asked.route {
            NetAssistRoute::OutOfBand => {
                self.made.front().map_or(Time::NEVER, |(at, _)| *at + self.asked.delay)
            }
            NetAssistRoute::InBand => Time::NEVER,
        };
        self.next_report.min(arrival)
    }

    /// True where a report is due: [`report`](Self::report) wants to know what the base station sees.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.next_report <= now
    }

    /// Makes the report that is due.
    pub(crate) fn report(&mut self, now: Time, sight: &Sight) {
        self.next_report = if now < self.stop { now + self.asked.period } else { Time::NEVER };
        let advice = self.measure(now, sight);
        let is_out = self.asked.outages.iter().any(|outage| outage.from <= now && now < outage.to);
        if let Some(advice) = advice.filter(|_| !is_out && !self.loss.strikes()) {
            self.made.push_back((now, advice));
        }
    }

    /// `None` while nothing is known of the user.
    fn measure(&mut self, now: Time, sight: &Sight) -> Option<Advice> {
        let (bandwidth, class) = match self.asked.source {
            NetAssistSource::Oracle => (self.coming(now, sight), AdviceClass::Backlogged),
            NetAssistSource::Causal => self.passed(now, sight)?,
        };
        let bandwidth = bandwidth.mul_f64(self.asked.scale.get());
        let uplink = self.uplink.rate_in(now - self.asked.period, now);
        let min_rtt = MinRttParts {
            network: self.network.at(now),
            downlink: self.downlink_time.at(bandwidth, self.packet),
            uplink: self.uplink_time.at(uplink, self.ack),
        };
        let (flows, backlog, period) = (sight.flows, sight.service.backlog, self.asked.period);
        Some(Advice { bandwidth, class, min_rtt, flows, backlog, period, age: Span::ZERO })
    }

    /// What the link will offer the user in the coming period.
    fn coming(&self, now: Time, sight: &Sight) -> Rate {
        self.share(self.channel.rate_in(now, now + self.asked.period), sight)
    }

    /// What the link served in the period that has passed.
    fn passed(&mut self, now: Time, sight: &Sight) -> Option<(Rate, AdviceClass)> {
        let QueueCounters { served, busy, backlog } = sight.service;
        let length = self.asked.period;
        let channel =
            self.asked.channel_known.then(|| self.share(self.channel.rate_in(now - length, now), sight));
        let period = Period { length, channel, packet: self.packet };
        let estimate = self.reader.read(Counters { served, busy, backlog }, period)?;
        let class = match estimate.class {
            Class::Backlogged => AdviceClass::Backlogged,
            Class::Partial => AdviceClass::Partial,
            Class::Idle => AdviceClass::Idle,
        };
        Some((estimate.bandwidth, class))
    }

    /// The user's part of what its channel would carry alone, while others are served too.
    fn share(&self, alone: Rate, sight: &Sight) -> Rate {
        alone.mul_f64(1.0 / f64::from(sight.busy_users.max(1)))
    }

    /// The newest report that has arrived out of band by `now`.
    pub(crate) fn arrived(&mut self, now: Time) -> Option<Advice> {
        match self.asked.route {
            NetAssistRoute::OutOfBand => {
                let earliest = Time::ZERO + self.asked.delay;
                if now < earliest { None } else { self.take_made_by(now - self.asked.delay, now) }
            }
            NetAssistRoute::InBand => None,
        }
    }

    /// The report on an acknowledgement that passed the base station at `passed` and arrives at `now`.
    pub(crate) fn on_acknowledgement(&mut self, passed: Time, now: Time) -> Option<Advice> {
        match self.asked.route {
            NetAssistRoute::OutOfBand => None,
            NetAssistRoute::InBand => self.take_made_by(passed, now),
        }
    }

    /// The newest report made by `time`, told at `now`; older ones are of no use.
    fn take_made_by(&mut self, time: Time, now: Time) -> Option<Advice> {
        let mut newest = None;
        while let Some((made_at, advice)) = self.made.front().copied().filter(|(made_at, _)| *made_at <= time)
        {
            self.made.pop_front();
            newest = Some(Advice { age: now.since(made_at), ..advice });
        }
        newest
    }
}
