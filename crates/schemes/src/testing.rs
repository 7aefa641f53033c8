//! A path for tests: one bottleneck of constant rate with a drop-tail queue, a constant delay, an ACK per packet. Small
//! enough to be right by reading; the real engine is two floors up.

use cellcc_control::{
    Arrival, Context, Ecn, EcnEcho, Event, Feedback, Flow, Observer, Packet, ReceiverComponent, Scheme,
    Signal,
};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::collections::{BTreeMap, VecDeque};

pub(crate) const CONTEXT: Context = Context::new(Bytes::new(1500), Bytes::new(15_000), 1);
/// The bandwidth-delay product of [`path`] in packets, and its RTT.
pub(crate) const BDP: f64 = 400.0;
pub(crate) const RTT: Span = Span::from_millis(40);
/// Later packets that have to arrive for one to count as lost (RFC 9002, section 6.1.1).
const REORDERING: u64 = 3;

/// `scheme` on 10,000 packets per second.
pub(crate) fn path(scheme: &str) -> Path {
    Path::new(scheme, Rate::from_mbit_per_sec(120.0), Span::from_micros(39_900))
}

/// The state that BBR and its kin show.
pub(crate) fn state(path: &Path) -> f64 {
    path.shows("state").expect("always shown")
}

pub(crate) struct Path {
    pub(crate) flow: Flow,
    /// The receiver-side component. It sees a packet, and its feedback arrives, when the packet's ACK is back: its clock is
    /// late by a constant.
    pub(crate) receiver: Option<Box<dyn ReceiverComponent>>,
    pub(crate) now: Time,
    rate: Rate,
    rtt: Span,
    queue_limit: u64,
    link_free_at: Time,
    pacer_free_at: Time,
    on_path: VecDeque<OnPath>,
    dropped: Vec<Packet>,
    last_arrival: Time,
    to_drop: u64,
    app_packets: u64,
    delivered: Bytes,
    lost: u64,
    signals_arrive: bool,
    /// A lying receiver's change to its feedback.
    lie: fn(Feedback) -> Feedback,
}

struct OnPath {
    packet: Packet,
    signal: Option<Signal>,
    /// Time at which the ACK is back.
    back_at: Time,
}

impl Path {
    /// A flow of `scheme` on a bottleneck of `rate`, with the RTT of an empty queue (less one transmission time).
    pub(crate) fn new(scheme: &str, rate: Rate, rtt: Span) -> Self {
        Self::of(&crate::registry().parse(scheme).expect("a known scheme"), rate, rtt)
    }

    pub(crate) fn of(scheme: &Scheme, rate: Rate, rtt: Span) -> Self {
        Self {
            flow: Flow::new(scheme.build(&CONTEXT), CONTEXT.packet),
            receiver: scheme.build_receiver(&CONTEXT),
            now: Time::ZERO,
            rate,
            rtt,
            queue_limit: u64::MAX,
            link_free_at: Time::ZERO,
            pacer_free_at: Time::ZERO,
            on_path: VecDeque::new(),
            dropped: Vec::new(),
            last_arrival: Time::ZERO,
            to_drop: 0,
            app_packets: u64::MAX,
            delivered: Bytes::ZERO,
            lost: 0,
            signals_arrive: true,
            lie: |feedback| feedback,
        }
    }

    /// The queue holds `packets` at most.
    pub(crate) fn with_queue(mut self, packets: u64) -> Self {
        self.queue_limit = packets;
        self
    }

    /// The next `count` packets are lost.
    pub(crate) fn drop_next(&mut self, count: u64) {
        self.to_drop = count;
    }

    /// The sender's signals do not reach the receiver from now on.
    pub(crate) fn lose_signals(&mut self) {
        self.signals_arrive = false;
    }

    /// The receiver sends the feedback as changed by `lie`.
    pub(crate) fn receiver_lies(&mut self, lie: fn(Feedback) -> Feedback) {
        self.lie = lie;
    }

    /// Packets acknowledged so far.
    pub(crate) fn delivered(&self) -> f64 {
        self.delivered.in_packets(CONTEXT.packet)
    }

    /// Packets that the queue had no room for, or that were lost on purpose.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Applies to new packets; queued packets keep their departure times.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    pub(crate) fn set_rtt(&mut self, rtt: Span) {
        self.rtt = rtt;
    }

    /// The application has `count` packets left.
    pub(crate) fn set_app_packets(&mut self, count: u64) {
        self.app_packets = count;
    }

    pub(crate) fn window(&self) -> f64 {
        self.flow.limits().window.in_packets(CONTEXT.packet)
    }

    pub(crate) fn inflight(&self) -> f64 {
        self.flow.inflight().in_packets(CONTEXT.packet)
    }

    /// Packets that wait in the queue or are being sent.
    pub(crate) fn queued(&self) -> f64 {
        self.rate.bytes_in(self.link_free_at.since(self.now)).in_packets(CONTEXT.packet)
    }

    /// The controller's value of `name`.
    pub(crate) fn shows(&self, name: &str) -> Option<f64> {
        struct Values(BTreeMap<&'static str, f64>);
        impl Observer for Values {
            fn value(&mut self, name: &'static str, _unit: &'static str, value: f64) {
                self.0.insert(name, value);
            }
        }
        let mut values = Values(BTreeMap::new());
        self.flow.controller().observe(&mut values);
        if let Some(receiver) = &self.receiver {
            receiver.observe(&mut values);
        }
        values.0.get(name).copied()
    }

    pub(crate) fn run_for(&mut self, span: Span) {
        let until = self.now + span;
        self.run(until, |_| false);
    }

    /// Runs until `reached`, which has a minute of virtual time for it.
    pub(crate) fn run_until(&mut self, reached: impl Fn(&Self) -> bool) {
        let until = self.now + Span::from_secs(60);
        self.run(until, &reached);
        assert!(reached(self), "not reached within a minute");
    }

    fn run(&mut self, until: Time, reached: impl Fn(&Self) -> bool) {
        loop {
            self.send();
            if reached(self) {
                return;
            }
            let next = self.next_event();
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            self.receive();
            if self.flow.next_timer().is_some_and(|timer| timer <= self.now) {
                self.flow.on_timer(self.now);
            }
        }
    }

    fn next_event(&self) -> Time {
        let ack = match self.on_path.front() {
            Some(on_path) => on_path.back_at,
            // Nothing will arrive to show a loss: a probe time-out does.
            None if !self.dropped.is_empty() => self.last_arrival.max(self.now) + self.rtt * 3,
            None => Time::NEVER,
        };
        let pacer = if self.may_send() { self.pacer_free_at } else { Time::NEVER };
        ack.min(pacer).min(self.flow.next_timer().unwrap_or(Time::NEVER))
    }

    fn has_room(&self) -> bool {
        let limits = self.flow.limits();
        let within_budget = limits.budget.is_none_or(|budget| CONTEXT.packet <= budget);
        within_budget && self.flow.inflight() + CONTEXT.packet <= limits.window
    }

    fn may_send(&self) -> bool {
        self.app_packets > 0 && self.has_room()
    }

    fn send(&mut self) {
        while self.may_send() && self.pacer_free_at <= self.now {
            if self.flow.inflight().is_zero() && self.now.since(self.last_arrival) > self.rtt * 3 {
                self.flow.on_event(self.now, Event::IdleRestart);
            }
            let signal = self.flow.limits().signal;
            let packet = self.flow.on_sent(self.now, CONTEXT.packet);
            self.app_packets -= 1;
            if let Some(rate) = self.flow.limits().pacing_rate {
                self.pacer_free_at = self.now + rate.time_for(CONTEXT.packet);
            }
            self.enqueue(packet, signal);
        }
        match (self.app_packets, self.has_room()) {
            (0, true) => self.flow.mark_app_limited(self.now),
            (1.., false) => self.flow.mark_window_limited(),
            _ => {}
        }
    }

    fn enqueue(&mut self, packet: Packet, signal: Option<Signal>) {
        let full = self.queued() > self.queue_limit as f64;
        if full || self.to_drop > 0 {
            self.to_drop = self.to_drop.saturating_sub(1);
            self.dropped.push(packet);
            self.lost += 1;
            return;
        }
        self.link_free_at = self.link_free_at.max(self.now) + self.rate.time_for(packet.bytes);
        let in_order = self.on_path.back().map_or(Time::ZERO, |last| last.back_at);
        let back_at = (self.link_free_at + self.rtt).max(in_order);
        self.on_path.push_back(OnPath { packet, signal, back_at });
    }

    /// The receiver-side component takes a packet, and its feedback goes with the ACK.
    fn receiver_takes(&mut self, packet: &Packet, signal: Option<Signal>) {
        let Some(receiver) = &mut self.receiver else { return };
        if let Some(signal) = signal.filter(|_| self.signals_arrive) {
            receiver.on_signal(&signal);
        }
        let Packet { number, bytes, .. } = *packet;
        receiver.on_packet(&Arrival::new(self.now, number, bytes, Ecn::NotEct));
        if let Some(report) = receiver.report(self.now) {
            self.flow.on_arrivals(self.now, &report);
        }
        if let Some(feedback) = receiver.feedback(self.now) {
            self.flow.on_feedback(self.now, &(self.lie)(feedback), self.flow.sent());
        }
    }

    fn receive(&mut self) {
        let mut arrived_up_to = u64::MAX;
        if self.on_path.front().is_some_and(|first| first.back_at > self.now) {
            return;
        }
        if let Some(OnPath { packet, signal, .. }) = self.on_path.pop_front() {
            self.last_arrival = self.now;
            self.delivered += packet.bytes;
            self.receiver_takes(&packet, signal);
            self.flow.on_ack(self.now, &[packet], Some(self.now.since(packet.sent_at)), None);
            arrived_up_to = packet.number;
        }
        let is_lost = |packet: &Packet| packet.number.saturating_add(REORDERING) <= arrived_up_to;
        let lost: Vec<_> = self.dropped.iter().copied().filter(is_lost).collect();
        self.dropped.retain(|packet| !is_lost(packet));
        self.flow.on_loss(self.now, &lost);
    }
}

/// A flow, and the packets of its window, one RTT after they left.
pub(crate) struct Round {
    pub(crate) flow: Flow,
    pub(crate) now: Time,
    rtt: Span,
    unmarked: Ecn,
}

impl Round {
    /// Packets arrive as `unmarked`, or marked.
    pub(crate) fn new(scheme: &str, rtt: Span, unmarked: Ecn) -> Self {
        let scheme = crate::registry().parse(scheme).expect("a scheme");
        Self { flow: Flow::new(scheme.build(&CONTEXT), CONTEXT.packet), now: Time::ZERO, rtt, unmarked }
    }

    pub(crate) fn window(&self) -> f64 {
        self.flow.limits().window.in_packets(CONTEXT.packet)
    }

    pub(crate) fn send_window(&mut self) -> Vec<Packet> {
        let mut packets = Vec::new();
        while self.flow.inflight() + CONTEXT.packet <= self.flow.limits().window {
            packets.push(self.flow.on_sent(self.now, CONTEXT.packet));
        }
        self.flow.mark_window_limited();
        packets
    }

    /// Sends a window, and acknowledges each packet by itself, with a mark where `marks` of its place in the window is true.
    pub(crate) fn run(&mut self, mut marks: impl FnMut(usize) -> bool) {
        let packets = self.send_window();
        self.now += self.rtt;
        for (index, packet) in packets.into_iter().enumerate() {
            let mut echo = EcnEcho::default();
            echo.add(if marks(index) { Ecn::Ce } else { self.unmarked }, packet.bytes);
            self.flow.on_ack(self.now, &[packet], Some(self.rtt), Some(echo));
            // Its allowance leaves at once, as it would.
            self.now += Span::from_nanos(1);
        }
    }
}
