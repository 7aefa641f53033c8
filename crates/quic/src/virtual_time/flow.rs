//! Both ends of a flow's connection, and what is measured of it.

use super::endpoint::{Ends, Peer};
use super::network::Datagram;
use super::source::Streams;
use super::talk::Talk;
use crate::advice::{Timetable, TraceAdvice};
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::handle::SchemeHandle;
use crate::pacing::Timers;
use crate::packet_size::PacketSize;
use crate::sender::Observed;
use cellcc_assist::Counters;
use cellcc_control::Scheme;
use cellcc_experiment::{FlowMeter, FlowSetup, RunError, Scenario};
use cellcc_link::Delivery;
use cellcc_units::{Bytes, Span, Time};
use noq_proto::{Dir, Event, StreamEvent};
use std::collections::VecDeque;

/// Full packets that the application has ready beyond the window: as many as leave in a burst before it is asked again,
/// and so few that a source that falls silent does so at once.
const READY_PACKETS: u64 = 16;

/// One flow of a run.
pub(super) struct Flow {
    pub(super) user: usize,
    pub(super) meter: FlowMeter,
    pub(super) handle: SchemeHandle,
    index: usize,
    scheme: Scheme,
    sender: Peer,
    receiver: Peer,
    asking: Talk,
    answering: Talk,
    streams: Streams,
    /// What the network tells the scheme, where that asks.
    reports: Option<TraceAdvice>,
    /// When the sender's last packet left.
    pub(super) last_sent_at: Time,
    /// The user's flows, as the receiver-side component was told last.
    user_flows: u32,
    clock: Clock,
    packet: Bytes,
    payload: u16,
    start: Time,
    is_connected: bool,
    /// Packets that repeated what was declared lost.
    repeated: u64,
    extra_rtt: Span,
    /// On the part of the way back that this flow does not share.
    on_extra_path: VecDeque<(Time, Datagram)>,
    /// Packets that leave the link after this are no part of the flow's throughput.
    counts_until: Time,
    /// The wake-up that stands in the queue of events; others of this flow are out of date.
    pub(super) scheduled: Time,
}

impl Flow {
    /// The flow `setup`, number `index`, whose handshake begins with it.
    pub(super) fn new(
        scenario: &Scenario,
        index: usize,
        setup: &FlowSetup,
        congestion: &Congestion,
        reports: Option<TraceAdvice>,
        ends: &Ends<'_>,
    ) -> Result<Self, RunError> {
        let end = Time::ZERO + scenario.duration;
        let mut sender = ends.sender(setup.start, congestion)?;
        let handle = sender.connection().and_then(|connection| SchemeHandle::of_proto(connection));
        let handle =
            handle.ok_or_else(|| RunError("the connection has another congestion control".into()))?;
        handle.set_timers(Timers::Exact);
        Ok(Self {
            user: setup.user,
            meter: FlowMeter::new(scenario.endpoint.series_bin),
            handle,
            index,
            scheme: congestion.scheme().clone(),
            sender,
            receiver: ends.receiver()?,
            asking: Talk::new(ends.registry, ends.clock),
            answering: Talk::new(ends.registry, ends.clock),
            streams: Streams::new(setup, &scenario.endpoint, PacketSize::IPV4_HEADERS, end),
            reports,
            last_sent_at: setup.start,
            user_flows: 0,
            clock: ends.clock,
            packet: scenario.endpoint.packet(),
            payload: ends.payload,
            start: setup.start,
            is_connected: false,
            repeated: 0,
            extra_rtt: setup.extra_rtt,
            on_extra_path: VecDeque::new(),
            counts_until: setup.stop.unwrap_or(end),
            scheduled: Time::NEVER,
        })
    }

    pub(super) fn streams(&self) -> &Streams {
        &self.streams
    }

    /// True where the receiver-side component does not run.
    pub(super) fn lacks_component(&self) -> bool {
        self.asking.lacks_component()
    }

    /// What the controller and the receiver-side component show of their inside.
    pub(super) fn observe(&self, observed: &mut Observed) {
        self.handle.observe(observed);
        self.answering.observe(observed);
    }

    /// From when to when the flow is active: until it stops, or a sized source is through.
    pub(super) fn active(&self) -> (Time, Time) {
        let application = self.streams.application();
        let stop = self.streams.completed_at().unwrap_or(Time::NEVER).min(application.stop());
        (application.start().min(stop), stop)
    }

    pub(super) fn is_active(&self, now: Time) -> bool {
        let (start, stop) = self.active();
        start <= now && now < stop
    }

    /// True where the network has a report to make or to deliver.
    pub(super) fn wants_advice(&self, now: Time) -> bool {
        self.next_advice() <= now
    }

    fn next_advice(&self) -> Time {
        let next = self.reports.as_ref().map_or(Time::NEVER, TraceAdvice::next_wake);
        if next < self.streams.application().stop() { next } else { Time::NEVER }
    }

    /// Makes the report that is due of what the network sees at `now`, and tells the scheme what has arrived.
    pub(super) fn advise(&mut self, now: Time, counters: Counters, flows: u32) {
        let advice = self.reports.as_mut().and_then(|reports| reports.poll_counted(now, counters, flows));
        if let Some(advice) = advice {
            self.handle.on_advice(self.clock.instant(now), &advice);
        }
    }

    /// True where a receiver-side component runs.
    pub(super) fn runs_component(&self) -> bool {
        self.answering.runs_component()
    }

    /// The receiver's user has so many flows.
    pub(super) fn tell_user_flows(&mut self, now: Time, flows: u32) {
        if self.user_flows != flows {
            self.user_flows = flows;
            self.answering.on_user_flows(now, flows);
        }
    }

    /// When [`on_wake`](Self::on_wake) has something to do, after all was done that is due by `now`.
    pub(super) fn next_wake(&self, now: Time) -> Time {
        if now < self.start {
            return self.start;
        }
        let timer = self.handle.next_time().map_or(Time::NEVER, |due| self.clock.time(due));
        let application = if self.is_connected { self.streams.next_time(now) } else { Time::NEVER };
        let extra = self.on_extra_path.front().map_or(Time::NEVER, |(due, _)| *due);
        let ends = self.sender.next_time().min(self.receiver.next_time());
        let talk = self.asking.next_wake(now).min(self.answering.next_wake(now));
        // Clocks of a coarser grain than a nanosecond name times that have passed.
        let advice = self.next_advice();
        ends.min(talk).min(timer).min(application).min(extra).min(advice).max(now + Span::from_nanos(1))
    }

    /// Does what is due by `now`; what leaves goes to `forward` and `back`.
    pub(super) fn on_wake(
        &mut self,
        now: Time,
        forward: impl FnMut(Datagram) -> bool,
        back: impl FnMut(Datagram),
    ) -> Result<(), RunError> {
        while let Some(datagram) = self.arrived_by_extra_path(now) {
            self.sender.on_datagram(now, datagram)?;
        }
        self.receiver.on_time(now);
        self.receive(now, back)?;
        self.sender.on_time(now);
        self.handle.on_time(self.clock.instant(now));
        self.send(now, forward)
    }

    fn arrived_by_extra_path(&mut self, now: Time) -> Option<Datagram> {
        let (due, _) = self.on_extra_path.front()?;
        if *due > now {
            return None;
        }
        self.on_extra_path.pop_front().map(|(_, datagram)| datagram)
    }

    /// A datagram has crossed the shared part of the way back.
    pub(super) fn on_return(
        &mut self,
        now: Time,
        datagram: Datagram,
        forward: impl FnMut(Datagram) -> bool,
    ) -> Result<(), RunError> {
        if !self.extra_rtt.is_zero() {
            self.on_extra_path.push_back((now + self.extra_rtt, datagram));
            return Ok(());
        }
        self.sender.on_datagram(now, datagram)?;
        self.send(now, forward)
    }

    /// A datagram arrives at the receiver.
    pub(super) fn on_arrival(
        &mut self,
        now: Time,
        datagram: Datagram,
        back: impl FnMut(Datagram),
    ) -> Result<(), RunError> {
        self.receiver.on_datagram(now, datagram)?;
        self.receive(now, back)
    }

    /// Records a datagram that left the link.
    pub(super) fn measure(&mut self, delivery: &Delivery<Datagram>) {
        if delivery.departed_at <= self.counts_until {
            self.meter.on_delivery(&cellcc_experiment::Delivery {
                bytes: delivery.packet.bytes,
                sent_at: delivery.packet.sent_at,
                queued_at: delivery.queued_at,
                departed_at: delivery.departed_at,
                arrived_at: delivery.arrived_at,
            });
        }
    }

    /// What has happened at the sender, and what leaves because of it. `forward` tells whether the link took it.
    fn send(&mut self, now: Time, mut forward: impl FnMut(Datagram) -> bool) -> Result<(), RunError> {
        while let Some(event) = self.sender.poll()? {
            match event {
                Event::Connected => {
                    self.is_connected = true;
                    if let Some(connection) = self.sender.connection() {
                        self.asking.begin(now, connection, Some(&self.scheme));
                    }
                }
                Event::DatagramReceived => {
                    if let Some(connection) = self.sender.connection() {
                        self.asking.hear(now, connection, Some(&self.handle));
                    }
                }
                Event::Stream(StreamEvent::Finished { .. }) => self.streams.on_finished(now),
                _ => {}
            }
        }
        for (at, rtt) in self.handle.take_rtt_samples() {
            self.meter.on_rtt(at, rtt);
        }
        if now < self.start || now >= self.streams.application().stop() {
            return Ok(());
        }
        let snapshot = self.handle.snapshot();
        if self.is_connected
            && let Some(connection) = self.sender.connection()
        {
            let ready = snapshot.limits.window.get().saturating_add((self.packet * READY_PACKETS).get());
            connection.set_send_window(ready);
            self.streams.write(now, connection);
            self.asking.speak(now, connection, Some(&self.handle));
        }
        while let Some(datagram) = self.sender.poll_transmit(now, self.index, self.payload.into()) {
            let repeats = self.repeated < snapshot.packets.lost;
            self.repeated += u64::from(repeats);
            self.meter.on_sent(repeats);
            self.last_sent_at = now;
            if !forward(datagram) {
                self.meter.on_lost();
            }
        }
        Ok(())
    }

    /// What has happened at the receiver, and what leaves because of it.
    fn receive(&mut self, now: Time, mut back: impl FnMut(Datagram)) -> Result<(), RunError> {
        while let Some(event) = self.receiver.poll()? {
            let Some(connection) = self.receiver.connection() else { break };
            match event {
                Event::Connected => self.answering.begin(now, connection, None),
                Event::DatagramReceived => self.answering.hear(now, connection, None),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    while let Some(id) = connection.streams().accept(Dir::Uni) {
                        self.streams.read(now, id, connection);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.streams.read(now, id, connection),
                _ => {}
            }
        }
        if let Some(connection) = self.receiver.connection() {
            self.answering.speak(now, connection, None);
        }
        while let Some(datagram) = self.receiver.poll_transmit(now, self.index, self.payload.into()) {
            back(datagram);
        }
        Ok(())
    }
}
