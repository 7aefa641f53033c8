//! A flow's sender as noq sees it: translates noq's reports into the terms of [`Flow`], and the scheme's limits into noq's
//! terms. It has no clock and no lock: those are in `controller`.
//!
//! noq does not report everything:
//! - ACK delays: an RTT sample includes the receiver's delay, as TCP's does.
//! - Lost MTU probes, and packets of an abandoned path or number space: when noq has less in flight than this file, the
//!   oldest packets are forgotten.
//! - Packets that arrive after they were declared lost: they do not count as delivered.
//! - The number of marked packets: only that there are some. For L4S schemes the peer counts them ([`Marks`]).
//! - An application without data: known with the next acknowledgement, in time for the packets after it.

use crate::atomic_limits::{NoqLimits, NoqPacing};
use crate::outstanding::{Entry, Outstanding};
use crate::pacing::{Pacing, Timers};
use crate::packet_size::PacketSize;
use cellcc_control::{
    Advice, Controller, EcnEcho, Event, Feedback, Flow, Limits, Observed as Shown, Packet, Signal, Verdict,
};
use cellcc_units::{Bytes, Rate, Span, Time};

/// Default acknowledgement delay of a peer (RFC 9000, section 18.2). noq does not report the peer's own value. The delay
/// requested from peers is `REQUESTED_MAX_ACK_DELAY` in `congestion`.
const DEFAULT_MAX_ACK_DELAY: Span = Span::from_millis(25);

/// Resolution of tokio's timers. The quantum for noq's pacer is at least this time's packets, since noq sends a quantum in as
/// few system calls as possible.
const TIMER_RESOLUTION: Span = Span::from_millis(1);

/// A scheme's internal values.
pub type Observed = Shown;

/// A flow at one moment. Amounts of data count whole packets on the link.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The scheme's limits.
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
    /// Bytes sent that have arrived or still may.
    #[cfg(feature = "sockets")]
    pub(crate) fn sent(&self) -> Bytes {
        self.delivered + self.inflight
    }

    /// The pacing rate, if the scheme has one.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.limits.pacing_rate
    }
}

/// Counts of ack-eliciting packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PacketCounts {
    /// Sent.
    pub sent: u64,
    /// Acknowledged.
    pub acknowledged: u64,
    /// Declared lost.
    pub lost: u64,
}

/// What happens to the scheme's signals for its receiver-side component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signals {
    /// There is no such component. A signal counts as sent with the next packet, so that the scheme does not wait for it.
    Dropped,
    /// The messages are sent. `waiting` is in noq and leaves with the next packet.
    Sent { waiting: Option<Signal> },
}

/// The known marks, and those passed to the scheme, in bytes since the beginning. noq says with each acknowledgement whether
/// there are some, which counts as a packet until the peer's count comes.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    known: Bytes,
    echoed: Bytes,
}

impl Marks {
    /// The echo of an acknowledgement of `bytes`.
    fn echo(&mut self, bytes: Bytes) -> EcnEcho {
        let ce = self.known.saturating_sub(self.echoed).min(bytes);
        self.echoed += ce;
        EcnEcho { ect1: bytes - ce, ce, ..EcnEcho::default() }
    }
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
    /// The marks of an L4S scheme.
    marks: Option<Marks>,
    /// The last signal that was sent.
    last_signal: Option<Signal>,
    counts: PacketCounts,
    delivered: Bytes,
    /// RTT samples since they were last taken, if they are kept.
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
            marks: None,
            last_signal: None,
            counts: PacketCounts::default(),
            delivered: Bytes::ZERO,
            samples: keeps_samples.then(Vec::new),
        }
    }

    /// Adds counts of marks for a scheme that needs them.
    pub(crate) fn with_marks(self) -> Self {
        Self { marks: Some(Marks::default()), ..self }
    }

    /// An ack-eliciting packet is sent.
    pub(crate) fn on_sent(&mut self, now: Time, payload: Bytes, number: u64) {
        let idle = self.outstanding.payload().is_zero();
        if idle
            && self
                .last_sent_at
                .is_some_and(|last| now.since(last) > self.flow.rtt().probe_timeout(DEFAULT_MAX_ACK_DELAY))
        {
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

    /// An acknowledgement is complete. `noq_inflight`: the payload that noq has in flight now.
    pub(crate) fn on_acknowledged(&mut self, now: Time, noq_inflight: Bytes, app_limited: bool) {
        self.settle_losses(now, false);
        self.last_heard_at = now;
        let packets = std::mem::take(&mut self.newly_acknowledged);
        self.counts.acknowledged += packets.len() as u64;
        self.delivered += packets.iter().map(|packet| packet.bytes).sum();
        let sample = packets.last().map(|newest| now.since(newest.sent_at));
        if let (Some(samples), Some(sample)) = (&mut self.samples, sample) {
            // Once for every packet, so that a burst with one acknowledgement counts as much as single packets.
            samples.extend(packets.iter().map(|_| (now, sample)));
        }
        let acknowledged = packets.iter().map(|packet| packet.bytes).sum();
        let echo = self.marks.as_mut().map(|marks| marks.echo(acknowledged));
        self.flow.on_ack(now, &packets, sample, echo);
        self.newly_acknowledged = packets;
        self.newly_acknowledged.clear();
        while self.outstanding.payload() > noq_inflight
            && let Some(forgotten) = self.outstanding.take_oldest()
        {
            self.flow.on_forgotten(now, forgotten.packet);
        }
        if app_limited {
            self.flow.mark_app_limited(now);
            self.pacing.on_limited();
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
        match persistent {
            true => self.flow.on_persistent_congestion(now, &self.newly_lost),
            false => self.flow.on_loss(now, &self.newly_lost),
        };
        self.newly_lost.clear();
    }

    /// The time at which a packet was last sent or acknowledged; events that noq reports without a time get this one.
    pub(crate) fn last_heard(&self) -> Time {
        self.last_heard_at
    }

    /// Passes another event on.
    pub(crate) fn on_event(&mut self, now: Time, event: Event) {
        self.flow.on_event(now, event);
    }

    /// The window that noq sees held a packet back: because of the scheme's window, a budget, or the pacing rate.
    pub(crate) fn on_window_limited(&mut self) {
        if !self.has_room(&self.flow.limits()) {
            self.flow.mark_window_limited();
            self.pacing.on_limited();
        }
    }

    /// The receiver-side component sent feedback. `sent`: all bytes sent, also in packets that noq does not report here, such
    /// as bare acknowledgements.
    pub(crate) fn on_feedback(&mut self, now: Time, feedback: &Feedback, sent: Bytes) -> Verdict {
        self.flow.on_feedback(now, feedback, sent)
    }

    pub(crate) fn on_advice(&mut self, now: Time, advice: &Advice) {
        self.flow.on_advice(now, advice);
    }

    /// Runs the scheme's timer and releases paced packets, if due.
    pub(crate) fn on_time(&mut self, now: Time) {
        if self.flow.next_timer().is_some_and(|due| due <= now) {
            self.flow.on_timer(now);
        }
        self.pacing.on_time(now);
    }

    /// The time of the next call of [`on_time`](Self::on_time).
    pub(crate) fn next_timer(&self) -> Option<Time> {
        let limits = self.flow.limits();
        let paced = self.pacing.closed_until(&limits).filter(|_| self.has_room(&limits));
        paced.into_iter().chain(self.flow.next_timer()).min()
    }

    /// Says who calls [`on_time`](Self::on_time) from now on.
    pub(crate) fn set_timers(&mut self, timers: Timers) {
        self.pacing.set_timers(timers);
    }

    /// The receiver-side component runs at the peer.
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

    /// The last signal that was sent.
    #[cfg(feature = "qlog")]
    pub(crate) fn last_signal(&self) -> Option<Signal> {
        self.last_signal
    }

    /// noq has the signal and puts it into the next packet.
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
        match &mut self.marks {
            Some(marks) => marks.known += self.size.on_link(),
            None => _ = self.flow.on_congestion_mark(now, sent_at),
        }
    }

    /// The UDP payload that has reached the peer with CE since the flow began.
    pub(crate) fn on_marked(&mut self, payload: Bytes) {
        let on_link = self.size.on_link_of(payload);
        if let Some(marks) = &mut self.marks {
            marks.known = marks.known.max(on_link);
        }
    }

    pub(crate) fn size(&self) -> PacketSize {
        self.size
    }

    /// The scheme's limits in noq's units. noq sends a packet if its payload in flight plus a full packet is at most
    /// `cwnd_with_pacing`. That is so if the flow's bytes in flight plus a full packet on the link are at most the window, a
    /// full packet is at most the budget, and pacing lets it leave.
    pub(crate) fn noq_limits(&self) -> NoqLimits {
        let limits = self.flow.limits();
        let is_closed = self.pacing.closed_until(&limits).is_some();
        let room = if is_closed { Bytes::ZERO } else { self.room(&limits) };
        let cwnd_with_pacing =
            self.outstanding.payload().get().saturating_add(self.size.payload_of(room).get());
        NoqLimits {
            cwnd_with_pacing,
            pacing: limits.pacing_rate.filter(|_| self.pacing.is_left_to_noq()).map(|rate| {
                let rate = self.size.payload_rate(rate);
                let send_quantum =
                    self.size.payload_of(limits.send_quantum).max(rate.bytes_in(TIMER_RESOLUTION));
                NoqPacing {
                    rate: rate.as_bytes_per_sec().max(1),
                    // noq asserts that the window is above zero.
                    window: self.size.payload_of(limits.window).get().max(1),
                    send_quantum: send_quantum.get(),
                }
            }),
        }
    }

    /// Bytes that window and budget still allow.
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

    /// The scheme's internal values.
    pub(crate) fn observe(&self, observed: &mut Observed) {
        self.flow.controller().observe(observed);
    }

    /// The RTT samples since the last call, with the times when they were taken.
    pub(crate) fn take_rtt_samples(&mut self) -> Vec<(Time, Span)> {
        self.samples.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
