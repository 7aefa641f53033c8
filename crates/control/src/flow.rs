//! The accounting that every driver and every scheme shares: data in flight, rounds, delivery-rate samples, RTTs, recovery
//! episodes. A driver reports what happened; the flow computes the event and hands it to its controller.

mod recovery;

pub use recovery::Episode;

use crate::advice::Advice;
use crate::contract::{Ack, Controller, Ecn, EcnEcho, Event, Packet, RateSample, Sent, Tag};
use crate::limits::Limits;
use crate::message::{ArrivalReport, Feedback, Signal, Verdict};
use crate::rtt::Rtt;
use cellcc_units::{Bytes, Span, Time};

/// One flow's sender: its controller and the state that all controllers need.
pub struct Flow {
    controller: Box<dyn Controller>,
    hears_departures: bool,
    /// Limits and timer are read after a departure.
    departures_change_limits: bool,
    limits: Limits,
    next_timer: Option<Time>,
    rtt: Rtt,
    packet_size: Bytes,
    next_number: u64,
    inflight: Bytes,
    sent: Bytes,
    lost: Bytes,
    marked: Bytes,
    delivered: Bytes,
    delivered_at: Time,
    first_sent_at: Time,
    /// While less than this is delivered, samples may be limited by the application.
    app_limited_until: Option<Bytes>,
    round: u64,
    /// The round ends when a packet that left with this much delivered, or more, is acknowledged.
    round_ends_at: Bytes,
    /// The last round in which the window held the sender back.
    window_limited_round: Option<u64>,
    recovery_started_at: Option<Time>,
    in_recovery: bool,
    decisions: u64,
}

impl Flow {
    /// A flow that has sent nothing yet. Full packets have `packet_size` on the link, headers included, until
    /// [`set_packet_size`](Self::set_packet_size).
    pub fn new(controller: Box<dyn Controller>, packet_size: Bytes) -> Self {
        let limits = controller.limits();
        let next_timer = controller.next_timer();
        Self {
            hears_departures: controller.hears_departures(),
            departures_change_limits: controller.departures_change_limits(),
            controller,
            limits,
            next_timer,
            rtt: Rtt::default(),
            packet_size,
            next_number: 0,
            inflight: Bytes::ZERO,
            sent: Bytes::ZERO,
            lost: Bytes::ZERO,
            marked: Bytes::ZERO,
            delivered: Bytes::ZERO,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            app_limited_until: None,
            round: 0,
            round_ends_at: Bytes::ZERO,
            window_limited_round: None,
            recovery_started_at: None,
            in_recovery: false,
            decisions: 0,
        }
    }

    /// A packet of `bytes` leaves, with the signal that [`limits`](Self::limits) asks for. The driver keeps the returned
    /// record until the packet is acknowledged or lost.
    #[inline]
    pub fn on_sent(&mut self, now: Time, bytes: Bytes) -> Packet {
        self.on_sent_with(now, bytes, self.limits.signal)
    }

    /// A packet of `bytes` leaves with this signal, where the driver sends signals at times of its own.
    #[inline]
    pub fn on_sent_with(&mut self, now: Time, bytes: Bytes, signal: Option<Signal>) -> Packet {
        if self.inflight.is_zero() {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let app_limited = self.app_limited_until.is_some();
        let inflight = self.inflight;
        self.inflight += bytes;
        self.sent += bytes;
        let number = self.next_number;
        self.next_number += 1;
        let tag = if self.hears_departures {
            let packet_size = self.packet_size;
            let sent = Sent { now, number, bytes, inflight: self.inflight, app_limited, signal, packet_size };
            self.controller.on_sent(&sent)
        } else {
            Tag::default()
        };
        if self.departures_change_limits {
            self.refresh();
        } else {
            self.decisions += 1;
        }
        Packet {
            number,
            sent_at: now,
            bytes,
            tag,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            inflight,
            lost: self.lost,
            marked: self.marked,
            app_limited,
        }
    }

    /// `packets` (oldest first) were newly acknowledged; `rtt_sample` is the driver's, less the receiver's own delay;
    /// `ecn` says how they arrived, where the driver knows. If some arrived with a mark, this also does the work of
    /// [`on_congestion_mark`](Self::on_congestion_mark).
    ///
    /// Without packets nothing happens: an acknowledgement that names none for the first time is no event.
    ///
    /// # Panics
    /// In debug builds, where the packets have more bytes than are in flight: they are another flow's, or were
    /// acknowledged, lost or forgotten before.
    #[inline]
    pub fn on_ack(&mut self, now: Time, packets: &[Packet], rtt_sample: Option<Span>, ecn: Option<EcnEcho>) {
        let Some(newest) = packets.last() else { return };
        // A clock too coarse for the path shows no time at all; schemes divide by RTTs.
        let rtt_sample = rtt_sample.filter(|sample| !sample.is_zero());
        if let Some(sample) = rtt_sample {
            self.rtt.add(sample);
        }
        let bytes = packets.iter().map(|packet| packet.bytes).sum();
        let inflight_before = self.inflight;
        self.inflight -= bytes;
        let marked = ecn.map_or(Bytes::ZERO, |echo| echo.ce);
        self.marked += marked;
        let rate = self.sample_rate(now, bytes, newest);
        let round_start = newest.delivered >= self.round_ends_at;
        if round_start {
            self.round += 1;
            self.round_ends_at = self.delivered;
        }
        let left_recovery = self.in_recovery && self.recovery_started_at < Some(newest.sent_at);
        self.in_recovery &= !left_recovery;
        self.controller.on_ack(&Ack {
            now,
            packets,
            bytes,
            rtt: &self.rtt,
            rtt_sample,
            rate,
            inflight_before,
            inflight: self.inflight,
            delivered: self.delivered,
            cwnd_limited: self.window_limited_round.is_some_and(|limited| limited + 1 >= self.round),
            round: self.round,
            round_start,
            in_recovery: self.in_recovery,
            ecn,
            packet_size: self.packet_size,
        });
        if left_recovery {
            self.controller.on_event(now, Event::RecoveryLeft);
        }
        if marked > Bytes::ZERO && self.controller.ecn() != Ecn::Ect1 {
            self.on_congestion_mark(now, newest.sent_at);
        }
        self.refresh();
    }

    /// Something else happened.
    pub fn on_event(&mut self, now: Time, event: Event) {
        if event == Event::SpuriousLoss {
            self.in_recovery = false;
        }
        self.controller.on_event(now, event);
        self.refresh();
    }

    /// The transport has forgotten a packet, see [`Event::Forgotten`].
    pub fn on_forgotten(&mut self, now: Time, packet: Packet) {
        self.inflight -= packet.bytes;
        self.controller.on_event(now, Event::Forgotten(packet));
        self.refresh();
    }

    /// Packets that had been declared lost, and were taken off then, have arrived after all: they count as delivered.
    pub fn on_late_arrival(&mut self, now: Time, bytes: Bytes) {
        self.delivered += bytes;
        self.delivered_at = now;
    }

    /// The receiver-side component sent something. `sent`: the most that can have arrived there, in bytes. That is
    /// [`sent`](Self::sent), or more where the receiver counts packets that the flow does not see, as QUIC's bare
    /// acknowledgements.
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback, sent: Bytes) -> Verdict {
        let verdict = self.controller.on_feedback(now, feedback, sent);
        self.refresh();
        verdict
    }

    /// The receiver-side component reports when packets arrived.
    pub fn on_arrivals(&mut self, now: Time, report: &ArrivalReport) {
        self.controller.on_arrivals(now, report);
        self.refresh();
    }

    /// Full packets have this size on the link from now on, headers included: the path's MTU was discovered, or it is
    /// another path. The controller learns it with the next packet that leaves, arrives or is lost.
    pub fn set_packet_size(&mut self, packet_size: Bytes) {
        self.packet_size = packet_size;
        // The next packet that leaves may be the one that tells the controller.
        self.departures_change_limits |= self.hears_departures;
    }

    /// The network reports on the flow's bottleneck.
    pub fn on_advice(&mut self, now: Time, advice: &Advice) {
        self.controller.on_advice(now, advice);
        self.refresh();
    }

    /// The time of [`next_timer`](Self::next_timer) has come.
    pub fn on_timer(&mut self, now: Time) {
        self.controller.on_timer(now);
        self.refresh();
    }

    /// The application has nothing more to send although the limits would allow it.
    pub fn mark_app_limited(&mut self, now: Time) {
        if self.app_limited_until.replace(self.delivered + self.inflight).is_none() {
            self.controller.on_event(now, Event::AppLimited);
            self.refresh();
        }
    }

    /// The window, not the application or the pacing rate, keeps the next packet back.
    pub fn mark_window_limited(&mut self) {
        self.window_limited_round = Some(self.round);
    }

    /// The limits of the sender.
    #[inline]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// When the controller wants [`on_timer`](Self::on_timer).
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        self.next_timer
    }

    /// Bytes in flight.
    #[inline]
    pub fn inflight(&self) -> Bytes {
        self.inflight
    }

    /// Bytes sent since the flow began.
    #[inline]
    pub fn sent(&self) -> Bytes {
        self.sent
    }

    /// Round-trip times so far.
    pub fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// How often the controller has decided so far: once after each event.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// The controller, to look at.
    pub fn controller(&self) -> &dyn Controller {
        self.controller.as_ref()
    }

    #[inline]
    fn sample_rate(&mut self, now: Time, bytes: Bytes, newest: &Packet) -> Option<RateSample> {
        self.delivered += bytes;
        self.delivered_at = now;
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        // A packet older than the one that ended the last sample tells nothing new.
        if newest.sent_at < self.first_sent_at {
            return None;
        }
        self.first_sent_at = newest.sent_at;
        let sample = RateSample {
            delivered: self.delivered - newest.delivered,
            send_interval: newest.sent_at.since(newest.first_sent_at),
            ack_interval: now.since(newest.delivered_at),
            lost: self.lost - newest.lost,
            marked: self.marked - newest.marked,
            app_limited: newest.app_limited,
        };
        (!sample.ack_interval.is_zero()).then_some(sample)
    }

    #[inline]
    fn refresh(&mut self) {
        self.decisions += 1;
        self.limits = self.controller.limits();
        self.next_timer = self.controller.next_timer();
    }
}

#[cfg(test)]
mod tests;
