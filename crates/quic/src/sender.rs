//! A flow's sender as noq sees it: what noq reports, put into the terms of [`Flow`], and the scheme's limits, put into
//! noq's terms. It knows neither clock nor lock: `controller` has those.
//!
//! What noq does not tell, and what becomes of it here:
//! - ACK delays: an RTT sample holds the receiver's delay, as TCP's does.
//! - Lost probes for a larger MTU, packets of a path that was left, of number spaces that were given up: whatever noq
//!   has in flight no longer is forgotten here, oldest first.
//! - Packets that arrive after they were declared lost: they do not count as delivered.
//! - How many packets arrived with a mark: only that there are some.
//! - That the application had nothing to send: known with the next acknowledgement, early enough for what is sent after.

use crate::outstanding::{Entry, Outstanding};
use crate::pacing::{Pacing, Timers};
use crate::packet_size::PacketSize;
use crate::published::{NoqLimits, NoqPacing};
use cellcc_control::{
    Advice, Controller, Event, Feedback, Flow, Limits, Observed as Shown, Packet, Rtt, Signal, Verdict,
};
use cellcc_units::{Bytes, Rate, Span, Time};

/// A peer that does not say otherwise may wait this long before it acknowledges (RFC 9000, section 18.2): noq does not
/// tell what the peer says. What peers are asked for is in `congestion`.
const DEFAULT_MAX_ACK_DELAY: Span = Span::from_millis(25);
/// RFC 9002, section 6.1.2.
const GRANULARITY: Span = Span::from_millis(1);

/// What noq's pacer lets leave at each of its timers, whatever the scheme's quantum: they resolve so much (tokio). noq sends
/// it in as few system calls as the quantum that it is told allows.
const GRAIN: Span = Span::from_millis(1);

/// What a scheme shows of its inside.
pub type Observed = Shown;

/// A flow at one moment. Amounts of data count whole packets on the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Snapshot {
    /// What the scheme allows.
    pub limits: Limits,
    /// Bytes in flight.
    pub inflight: Bytes,
    /// Bytes acknowledged so far.
    pub delivered: Bytes,
    /// Packets sent, acknowledged and declared lost so far.
    pub packets: PacketCounts,
    /// The smoothed RTT; `None` before the first sample.
    pub smoothed_rtt: Option<Span>,
    /// The smallest RTT so far.
    pub min_rtt: Option<Span>,
}

impl Snapshot {
    /// Bytes that have left and arrived, or may still.
    pub(crate) fn sent(&self) -> Bytes {
        self.delivered + self.inflight
    }

    /// The pacing rate, where the scheme has one.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.limits.pacing_rate
    }
}

/// Packets that asked for an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketCounts {
    /// Sent.
    pub sent: u64,
    /// Acknowledged.
    pub acknowledged: u64,
    /// Declared lost.
    pub lost: u64,
}

/// What becomes of the signals that a scheme has for its receiver-side component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signals {
    /// There is no such component: they count as sent with the next packet, so that a scheme does not wait.
    Dropped,
    /// They leave in messages; this one waits in noq for the next packet.
    Sent { waiting: Option<Signal> },
}

pub(crate) struct Sender {
    flow: Flow,
    size: PacketSize,
    outstanding: Outstanding,
    newly_acknowledged: Vec<Packet>,
    newly_lost: Vec<Packet>,
    last_sent_at: Option<Time>,
    last_heard_at: Time,
    pacing: Pacing,
    signals: Signals,
    /// The signal that left last.
    last_signal: Option<Signal>,
    counts: PacketCounts,
    delivered: Bytes,
    /// RTT samples since they were last taken, where somebody wants them.
    samples: Option<Vec<(Time, Span)>>,
}

impl Sender {
    /// A flow that has sent nothing. `keeps_samples`: for [`take_rtt_samples`](Self::take_rtt_samples).
    pub(crate) fn new(controller: Box<dyn Controller>, size: PacketSize, keeps_samples: bool) -> Self {
        Self {
            flow: Flow::new(controller, size.on_link()),
            size,
            outstanding: Outstanding::default(),
            newly_acknowledged: Vec::new(),
            newly_lost: Vec::new(),
            last_sent_at: None,
            last_heard_at: Time::ZERO,
            pacing: Pacing::default(),
            signals: Signals::Dropped,
            last_signal: None,
            counts: PacketCounts::default(),
            delivered: Bytes::ZERO,
            samples: keeps_samples.then(Vec::new),
        }
    }

    /// A packet that asks for an acknowledgement leaves.
    pub(crate) fn on_sent(&mut self, now: Time, payload: Bytes, number: u64) {
        let idle = self.outstanding.payload().is_zero();
        if idle && self.last_sent_at.is_some_and(|last| now.since(last) > probe_timeout(self.flow.rtt())) {
            self.flow.on_event(now, Event::IdleRestart);
        }
        self.last_sent_at = Some(now);
        self.last_heard_at = now;
        self.counts.sent += 1;
        let bytes = payload + self.size.headers;
        let limits = self.flow.limits();
        self.pacing.on_sent(now, bytes, &limits, self.size.on_link());
        let signal = match &mut self.signals {
            Signals::Dropped => limits.signal,
            Signals::Sent { waiting } => waiting.take(),
        };
        self.last_signal = signal.or(self.last_signal);
        let packet = self.flow.on_sent_with(now, bytes, signal);
        self.outstanding.push(Entry { number, payload, packet });
    }

    /// A packet was newly acknowledged; [`on_acknowledged`](Self::on_acknowledged) follows.
    pub(crate) fn on_packet_acknowledged(&mut self, sent_at: Time, number: u64) {
        if let Some(entry) = self.outstanding.take_acknowledged(number, sent_at) {
            self.newly_acknowledged.push(entry.packet);
        }
    }

    /// An acknowledgement is complete. noq has so much payload in flight now.
    pub(crate) fn on_acknowledged(&mut self, now: Time, noq_inflight: Bytes, app_limited: bool) {
        self.settle_losses(now, false);
        self.last_heard_at = now;
        let packets = std::mem::take(&mut self.newly_acknowledged);
        self.counts.acknowledged += packets.len() as u64;
        self.delivered += packets.iter().map(|packet| packet.bytes).sum();
        let sample = packets.last().map(|newest| now.since(newest.sent_at));
        if let (Some(samples), Some(sample)) = (&mut self.samples, sample) {
            // Once for every packet: a burst that the receiver took in one piece and acknowledged once is not to count
            // less than single packets.
            samples.extend(packets.iter().map(|_| (now, sample)));
        }
        self.flow.on_ack(now, &packets, sample, None);
        self.newly_acknowledged = packets;
        self.newly_acknowledged.clear();
        while self.outstanding.payload() > noq_inflight
            && let Some(forgotten) = self.outstanding.take_oldest()
        {
            self.flow.on_forgotten(now, forgotten.packet);
        }
        if app_limited {
            self.flow.mark_app_limited(now);
            self.pacing.on_kept_back();
        }
        self.on_time(now);
    }

    /// A packet was declared lost; [`settle_losses`](Self::settle_losses) follows.
    pub(crate) fn on_packet_lost(&mut self, payload: Bytes, number: u64) {
        if let Some(entry) = self.outstanding.take_lost(number, payload) {
            self.newly_lost.push(entry.packet);
        }
    }

    /// The packets that were declared lost together are complete.
    pub(crate) fn settle_losses(&mut self, now: Time, persistent: bool) {
        if self.newly_lost.is_empty() {
            return;
        }
        self.counts.lost += self.newly_lost.len() as u64;
        self.flow.on_loss(now, &self.newly_lost, persistent);
        self.newly_lost.clear();
    }

    /// When a packet was last sent or acknowledged: noq reports some events without a time, and they follow that.
    pub(crate) fn last_heard(&self) -> Time {
        self.last_heard_at
    }

    /// Something else happened.
    pub(crate) fn on_event(&mut self, now: Time, event: Event) {
        self.flow.on_event(now, event);
    }

    /// What noq takes for the window kept a packet back: the window, a budget, or the pacing rate.
    pub(crate) fn on_window_limited(&mut self) {
        if !self.has_room(&self.flow.limits()) {
            self.flow.mark_window_limited();
            self.pacing.on_kept_back();
        }
    }

    /// The receiver-side component sent something. `sent`: all that has left, with packets that noq does not report here,
    /// such as bare acknowledgements.
    pub(crate) fn on_feedback(&mut self, now: Time, feedback: &Feedback, sent: Bytes) -> Verdict {
        self.flow.on_feedback(now, feedback, sent)
    }

    pub(crate) fn on_advice(&mut self, now: Time, advice: &Advice) {
        self.flow.on_advice(now, advice);
    }

    /// Does what is due: the scheme's timer, packets that may leave from now on.
    pub(crate) fn on_time(&mut self, now: Time) {
        if self.flow.next_timer().is_some_and(|due| due <= now) {
            self.flow.on_timer(now);
        }
        self.pacing.on_time(now);
    }

    /// When [`on_time`](Self::on_time) has something to do.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        let limits = self.flow.limits();
        let paced = self.pacing.closed_until(&limits).filter(|_| self.has_room(&limits));
        paced.into_iter().chain(self.flow.next_timer()).min()
    }

    /// Somebody calls [`on_time`](Self::on_time) from now on, or nobody does.
    pub(crate) fn set_timers(&mut self, timers: Timers) {
        self.pacing.set_timers(timers);
    }

    /// The receiver-side component runs, and signals reach it.
    pub(crate) fn on_component_found(&mut self) {
        self.signals = Signals::Sent { waiting: None };
    }

    /// The signal that is due, unless it waits in noq already.
    pub(crate) fn signal(&self) -> Option<Signal> {
        match self.signals {
            Signals::Dropped => None,
            Signals::Sent { waiting } => self.flow.limits().signal.filter(|signal| waiting != Some(*signal)),
        }
    }

    /// The signal that left last.
    pub(crate) fn last_signal(&self) -> Option<Signal> {
        self.last_signal
    }

    /// noq has the signal, and puts it into the next packet.
    pub(crate) fn on_signal_queued(&mut self, signal: Signal) {
        self.signals = Signals::Sent { waiting: Some(signal) };
    }

    /// Full packets have this size from now on.
    pub(crate) fn set_size(&mut self, size: PacketSize) {
        self.size = size;
        self.flow.set_packet_size(size.on_link());
    }

    /// The peer reports more packets that a router has marked; the newest of them was sent at `sent_at`.
    pub(crate) fn on_congestion_mark(&mut self, now: Time, sent_at: Time) {
        self.flow.on_congestion_mark(now, sent_at);
    }

    pub(crate) fn size(&self) -> PacketSize {
        self.size
    }

    /// The scheme's limits in noq's units. noq lets a packet leave where its payload in flight and a full packet are no
    /// more than the gate; which is where the flow's bytes in flight and a full packet on the link are no more than the
    /// window, a full packet no more than the budget, and pacing lets it.
    pub(crate) fn noq_limits(&self) -> NoqLimits {
        let limits = self.flow.limits();
        let is_closed = self.pacing.closed_until(&limits).is_some();
        let room = if is_closed { Bytes::ZERO } else { self.room(&limits) };
        let gate = self.outstanding.payload().get().saturating_add(self.size.payload_of(room).get());
        NoqLimits {
            gate,
            pacing: limits.pacing_rate.filter(|_| self.pacing.is_noqs()).map(|rate| {
                let rate = self.size.payload_rate(rate);
                let send_quantum = self.size.payload_of(limits.send_quantum).max(rate.bytes_in(GRAIN));
                NoqPacing {
                    rate: rate.as_bytes_per_sec().max(1),
                    // noq takes a window of zero for a mistake.
                    window: self.size.payload_of(limits.window).get().max(1),
                    send_quantum: send_quantum.get(),
                }
            }),
        }
    }

    /// What window and budget leave.
    fn room(&self, limits: &Limits) -> Bytes {
        let inflight = self.flow.inflight();
        let mut room = limits.window.saturating_sub(inflight);
        if inflight.is_zero() {
            room = room.max(self.size.on_link());
        }
        room.min(limits.budget.unwrap_or(Bytes::MAX))
    }

    fn has_room(&self, limits: &Limits) -> bool {
        self.room(limits) >= self.size.on_link()
    }

    pub(crate) fn decisions(&self) -> u64 {
        self.flow.decisions()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let rtt = self.flow.rtt();
        let has_samples = rtt.latest().is_some();
        Snapshot {
            limits: self.flow.limits(),
            inflight: self.flow.inflight(),
            delivered: self.delivered,
            packets: self.counts,
            smoothed_rtt: has_samples.then(|| rtt.smoothed()),
            min_rtt: has_samples.then(|| rtt.min()),
        }
    }

    /// What the scheme shows of its inside.
    pub(crate) fn observe(&self, observed: &mut Observed) {
        self.flow.controller().observe(observed);
    }

    /// The RTT samples since the last call: when they were taken, and how long they were.
    pub(crate) fn take_rtt_samples(&mut self) -> Vec<(Time, Span)> {
        self.samples.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// RFC 9002, section 6.2.1.
fn probe_timeout(rtt: &Rtt) -> Span {
    rtt.smoothed() + (rtt.variation() * 4).max(GRANULARITY) + DEFAULT_MAX_ACK_DELAY
}
