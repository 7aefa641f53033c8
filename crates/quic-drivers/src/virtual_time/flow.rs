//! Both ends of a flow's connection.

use super::control::{Control, Foreign};
use super::endpoint::{Datagram, Peer};
use super::settings::Settings;
use super::signaling::Signaling;
use super::source::Streams;
use super::tap::Tap;
use cellcc_control::{Advice, Limits, Observed, Registry, Scheme};
use cellcc_experiment::virtual_time::{Ends, Network};
use cellcc_experiment::{Application, FlowSetup, RunError, Scenario};
use cellcc_quic::{Clock, Congestion, DrivenFlow, PacketSize, Timers};
use cellcc_units::{Bytes, Span, Time};
use noq_proto::{Dir, Event, StreamEvent};
use std::sync::Arc;

/// Full packets of data that wait in noq beyond the window: enough for a burst, and few enough that a source that stops
/// does so at once.
const READY_PACKETS: u64 = 16;

/// Both ends of one flow.
pub struct QuicEnds {
    control: Control,
    scheme: Scheme,
    sender: Peer,
    receiver: Peer,
    sender_signaling: Signaling,
    receiver_signaling: Signaling,
    streams: Streams,
    clock: Clock,
    packet: Bytes,
    start: Time,
    is_connected: bool,
    /// The note for the reader of the Record on a controller that is not cellcc's.
    note: Option<&'static str>,
    /// Packets sent that count as retransmissions.
    repeated: u64,
}

/// The settings of a flow's ends.
pub(super) struct FlowSettings<'a> {
    pub(super) noq: &'a Settings,
    pub(super) scheme: Scheme,
    /// The controller in place of the scheme's own.
    pub(super) foreign: Option<&'a Foreign>,
    pub(super) seed: u64,
    /// The schemes whose components run at a receiver.
    pub(super) registry: &'a Registry,
    pub(super) clock: Clock,
}

impl QuicEnds {
    /// The flow `setup`. Its handshake begins when the flow starts.
    pub(super) fn new(
        scenario: &Scenario,
        setup: &FlowSetup,
        settings: FlowSettings<'_>,
    ) -> Result<Self, RunError> {
        let end = Time::ZERO + scenario.duration;
        let FlowSettings { noq, scheme, foreign, seed, registry, clock } = settings;
        let (sender, control) = match foreign {
            Some(foreign) => {
                let payload = Bytes::new(noq.payload().into());
                let tap = Tap::new(clock, PacketSize { payload, headers: PacketSize::IPV4_HEADERS });
                let congestion = tap.on(Arc::clone(&foreign.factory));
                (Peer::sender(noq, seed, congestion, clock, setup.start)?, Control::Foreign(tap))
            }
            None => {
                let congestion = Congestion::in_virtual_time(scheme.clone())
                    .map_err(|error| RunError(error.to_string()))?
                    .with_seed(seed)
                    .with_initial_window(scenario.initial_window(setup))
                    .with_epoch(clock.epoch())
                    .with_rtt_samples();
                let mut sender = Peer::sender(noq, seed, congestion.factory(), clock, setup.start)?;
                let handle = sender.connection().and_then(|connection| DrivenFlow::of_proto(connection));
                let handle =
                    handle.ok_or_else(|| RunError("the connection has another congestion control".into()))?;
                // The loop polls for packets after every event.
                _ = handle.set_timers(Timers::Exact);
                (sender, Control::Ours(handle))
            }
        };
        let receiver = Peer::receiver(noq, seed, clock)?;
        Ok(Self {
            control,
            note: foreign.and_then(|foreign| foreign.note),
            scheme,
            sender_signaling: Signaling::new(registry, clock, sender.ecn()),
            receiver_signaling: Signaling::new(registry, clock, receiver.ecn()),
            sender,
            receiver,
            streams: Streams::new(
                setup,
                &scenario.endpoint,
                PacketSize::IPV4_HEADERS,
                (scenario.measured_from(), end),
            ),
            clock,
            packet: scenario.endpoint.packet(),
            start: setup.start,
            is_connected: false,
            repeated: 0,
        })
    }

    /// Packets declared lost so far.
    pub fn lost_packets(&self) -> u64 {
        self.control.limits_and_lost().1
    }

    /// Handles the sender's events and sends allowed packets.
    fn send(&mut self, network: &mut Network<'_, Self>) -> Result<(), RunError> {
        let now = network.now();
        while let Some(event) = self.sender.poll()? {
            match event {
                Event::Connected => {
                    self.is_connected = true;
                    if let Some(connection) = self.sender.connection() {
                        let scheme = self.control.ours().map(|_| &self.scheme);
                        self.sender_signaling.begin(now, connection, scheme);
                    }
                }
                Event::DatagramReceived => {
                    if let Some(connection) = self.sender.connection() {
                        self.sender_signaling.on_datagrams(now, connection, self.control.ours());
                    }
                }
                Event::Stream(StreamEvent::Finished { .. }) => self.streams.on_finished(now),
                _ => {}
            }
        }
        for (at, rtt) in self.control.take_rtt_samples() {
            network.meter().on_rtt(at, rtt);
        }
        if now < self.start || now >= self.streams.application().stop() {
            return Ok(());
        }
        let (limits, lost) = self.control.limits_and_lost();
        if self.is_connected
            && let Some(connection) = self.sender.connection()
        {
            let ready = limits.window.get().saturating_add((self.packet * READY_PACKETS).get());
            connection.set_send_window(ready);
            self.streams.write(now, connection);
            self.sender_signaling.transmit(now, connection, self.control.ours());
        }
        while let Some(datagram) = self.sender.poll_transmit(now) {
            let repeats = self.repeated < lost;
            self.repeated += u64::from(repeats);
            network.send_data(datagram, repeats);
        }
        Ok(())
    }

    /// Handles the receiver's events and sends allowed packets.
    fn receive(&mut self, network: &mut Network<'_, Self>) -> Result<(), RunError> {
        let now = network.now();
        while let Some(event) = self.receiver.poll()? {
            let Some(connection) = self.receiver.connection() else { break };
            match event {
                Event::Connected => self.receiver_signaling.begin(now, connection, None),
                Event::DatagramReceived => self.receiver_signaling.on_datagrams(now, connection, None),
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
            self.receiver_signaling.transmit(now, connection, None);
        }
        while let Some(datagram) = self.receiver.poll_transmit(now) {
            network.send_ack(datagram);
        }
        Ok(())
    }
}

impl Ends for QuicEnds {
    type Data = Datagram;
    type Ack = Datagram;
    type Scratch = ();

    fn on_data(
        &mut self,
        network: &mut Network<'_, Self>,
        _sent_at: Time,
        data: Datagram,
    ) -> Result<(), RunError> {
        self.receiver.on_datagram(network.now(), data)?;
        self.receive(network)?;
        self.receiver.read_timer();
        Ok(())
    }

    fn on_ack(&mut self, network: &mut Network<'_, Self>, ack: Datagram) -> Result<(), RunError> {
        self.sender.on_datagram(network.now(), ack)?;
        self.send(network)?;
        self.sender.read_timer();
        Ok(())
    }

    /// Packets that the advice releases leave with the wake-up that follows.
    fn on_advice(&mut self, network: &mut Network<'_, Self>, advice: &Advice) {
        self.control.on_advice(self.clock.instant(network.now()), advice);
    }

    fn on_wake(&mut self, network: &mut Network<'_, Self>) -> Result<(), RunError> {
        let now = network.now();
        self.receiver.on_time(now);
        self.receive(network)?;
        self.receiver.read_timer();
        // Polled between its timers, noq's own pacer releases packets earlier.
        let is_due = self.sender.is_due(now) || self.streams.has_new_data(now);
        if self.control.ours().is_none() && !is_due {
            return Ok(());
        }
        self.sender.on_time(now);
        self.control.on_time(self.clock.instant(now));
        self.send(network)?;
        self.sender.read_timer();
        Ok(())
    }

    fn next_wake(&self, now: Time) -> Time {
        if now < self.start {
            return self.start;
        }
        let timer = self.control.next_timer();
        let application = if self.is_connected { self.streams.next_time(now) } else { Time::NEVER };
        let ends = self.sender.next_time().into_iter().chain(self.receiver.next_time()).min();
        let ends = ends.map_or(Time::NEVER, |due| self.clock.time(due));
        let signaling = self.sender_signaling.next_wake(now).min(self.receiver_signaling.next_wake(now));
        // Clocks coarser than a nanosecond give times in the past.
        ends.min(signaling).min(timer).min(application).max(now + Span::from_nanos(1))
    }

    fn has_receiver_component(&self) -> bool {
        self.receiver_signaling.runs_component()
    }

    fn on_user_flows(&mut self, now: Time, flows: u32) {
        self.receiver_signaling.on_user_flows(now, flows);
    }

    fn application(&self) -> &Application {
        self.streams.application()
    }

    fn completed_at(&self) -> Option<Time> {
        self.streams.completed_at()
    }

    fn frames(&self, end: Time) -> Option<(u64, f64)> {
        self.streams.frames(end)
    }

    fn ecn_validation(&self) -> Option<&'static str> {
        self.sender_signaling.l4s().validation()
    }

    fn limits(&self) -> Limits {
        self.control.limits_and_lost().0
    }

    fn decisions(&self) -> u64 {
        self.control.decisions()
    }

    fn observe(&self, observed: &mut Observed) {
        self.control.observe(observed);
        self.receiver_signaling.observe(observed);
    }

    fn notes(&self) -> Vec<String> {
        let lacks = self.sender_signaling.lacks_component();
        let note = format!("`{}` ran without its receiver-side component", self.scheme.text());
        let l4s = self.sender_signaling.l4s();
        let unfit = l4s.is_missing().then(|| format!("`{}`: {l4s}", self.scheme.text()));
        lacks.then_some(note).into_iter().chain(unfit).chain(self.note.map(String::from)).collect()
    }
}
