//! The sender: the choice and times of departures, below the congestion control. Its limits come from [`Flow`]; loss detection from
//! [`Recovery`]; data from [`Application`].

mod timers;

use crate::arrivals::ReceivedPacket;
use crate::lost_data::LostData;
use crate::packets::{Acknowledgement, DataPacket};
use crate::receiver::Message;
use crate::recovery::{Outstanding, Recovery};
use cellcc_control::{Advice, Controller, Ecn, EcnEcho, Episode, Event, Flow, Limits, Pacer, Packet};
use cellcc_experiment::{Application, Endpoint};
use cellcc_units::{Bytes, Rate, Span, Time};

/// The most full packets in flight, whatever the scheme allows: without a bound, a scheme without one fills memory. TCP's
/// largest window, 1 GiB (RFC 7323, section 2.3), is 741,455 packets of 1448 bytes; this is the next power of two. With
/// packets of 1500 bytes it is 100 Gbit/s over an RTT of 126 ms.
const MOST_PACKETS_IN_FLIGHT: u64 = 1 << 20;

/// The most in flight to a receiver that conceals losses, which a scheme that only loss stops would otherwise reach with a million
/// packets, most of them dropped: Linux's largest receive window (`net.ipv4.tcp_rmem`, 6 MiB).
const MOST_CONCEALED: Bytes = Bytes::new(6 << 20);

/// A packet that leaves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    pub(crate) packet: DataPacket,
    /// It repeats data of a lost packet.
    pub(crate) retransmission: bool,
}

/// Packets of one event. See [`Ends::Scratch`](cellcc_experiment::virtual_time::Ends::Scratch).
#[derive(Debug, Default)]
pub struct Scratch {
    newly_acknowledged: Vec<Packet>,
    newly_lost: Vec<Outstanding>,
    lost_packets: Vec<Packet>,
}

/// In this order: fields for each departure and each acknowledgement, and the rest.
#[repr(C)]
pub(crate) struct Sender {
    /// When sending goes on by itself: a pacing gap ends, or the application has more.
    resume_at: Time,
    /// When a timer is due, as [`next_wake`](Self::next_wake) found it after the last event.
    timers_at: Time,
    pacer: Pacer,
    last_sent_at: Time,
    last_timeout_at: Time,
    packet: Bytes,
    header: Bytes,
    most_in_flight: Bytes,
    timeouts: u32,
    /// Packets that leave whatever the limits say: probes after a time-out.
    probes: u16,
    ecn: Ecn,
    /// It held packets back that the scheme allowed.
    was_held_back: bool,
    flow: Flow,
    recovery: Recovery,
    acknowledged_segments: u64,
    lost_data: LostData,
    application: Application,
    completed_at: Option<Time>,
}

impl Sender {
    pub(crate) fn new(
        controller: Box<dyn Controller>,
        application: Application,
        endpoint: &Endpoint,
    ) -> Self {
        Self {
            ecn: controller.ecn(),
            flow: Flow::new(controller, endpoint.packet()),
            resume_at: application.start(),
            timers_at: Time::NEVER,
            application,
            recovery: Recovery::new(endpoint.recovery, endpoint.ack_policy().max_delay()),
            header: endpoint.header,
            packet: endpoint.packet(),
            pacer: Pacer::default(),
            lost_data: LostData::default(),
            acknowledged_segments: 0,
            completed_at: None,
            last_sent_at: Time::ZERO,
            last_timeout_at: Time::ZERO,
            timeouts: 0,
            probes: 0,
            most_in_flight: if endpoint.conceals_loss {
                MOST_CONCEALED
            } else {
                endpoint.packet() * MOST_PACKETS_IN_FLIGHT
            },
            was_held_back: false,
        }
    }

    pub(crate) fn flow(&self) -> &Flow {
        &self.flow
    }

    pub(crate) fn application(&self) -> &Application {
        &self.application
    }

    /// When the last byte of a sized source was acknowledged.
    pub(crate) fn completed_at(&self) -> Option<Time> {
        self.completed_at
    }

    /// An acknowledgement arrives that names these packets for the first time. Gives the RTT sample, if there is one.
    pub(crate) fn on_acknowledgement(
        &mut self,
        now: Time,
        ack: Acknowledgement,
        received: impl Iterator<Item = ReceivedPacket>,
        scratch: &mut Scratch,
    ) -> Option<Span> {
        scratch.newly_acknowledged.clear();
        let mut echo = EcnEcho::default();
        let (mut undo, mut restore) = (false, false);
        let recovering = !self.lost_data.is_empty();
        for ReceivedPacket { number, ecn } in received {
            if let Some(outstanding) = self.recovery.settle(now, number) {
                // The data of a packet counts once, however often it was sent.
                let counts = !outstanding.retransmission || self.lost_data.on_arrival(outstanding.segment);
                self.acknowledged_segments += u64::from(counts);
                echo.add(ecn, outstanding.packet.bytes);
                // Copied once; `push` takes a copy of its own before it makes room.
                scratch.newly_acknowledged.extend_from_slice(std::slice::from_ref(&outstanding.packet));
            } else if let Some(late) = self.recovery.on_late_arrival(now, number) {
                self.acknowledged_segments += u64::from(self.lost_data.on_arrival(late.outstanding.segment));
                self.flow.on_late_arrival(now, late.outstanding.packet.bytes);
                undo |= late.undo;
                restore |= late.timeout_was_spurious;
            }
        }
        let sample = scratch
            .newly_acknowledged
            .last()
            .map(|newest| now.since(newest.sent_at).saturating_sub(ack.delay));
        if sample.is_some() {
            self.recovery.on_rtt_sample(now);
            self.timeouts = 0;
            self.probes = 0;
        }
        self.flow.on_ack(now, &scratch.newly_acknowledged, sample, Some(echo));
        if restore {
            self.undo_timeout(now);
        } else if undo {
            self.flow.on_event(now, Event::SpuriousLoss);
        }
        if recovering
            && self.lost_data.is_empty()
            && let Some(rack) = &mut self.recovery.rack
        {
            rack.on_recovered();
        }
        self.detect_losses(now, scratch);
        if self.application.total_segments() == Some(self.acknowledged_segments) {
            self.completed_at.get_or_insert(now);
        }
        sample
    }

    /// The receiver-side component sent something.
    pub(crate) fn on_message(&mut self, now: Time, message: &Message) {
        match message {
            Message::Feedback(feedback) => _ = self.flow.on_feedback(now, feedback, self.flow.sent()),
            Message::Arrivals(report) => self.flow.on_arrivals(now, report),
        }
    }

    /// The network sent something.
    pub(crate) fn on_advice(&mut self, now: Time, advice: &Advice) {
        self.flow.on_advice(now, advice);
    }

    /// When [`on_wake`](Self::on_wake) or [`next_departure`](Self::next_departure) has something to do next. Called after each
    /// event of the sender.
    #[inline]
    pub(crate) fn next_wake(&mut self) -> Time {
        let controller = self.flow.next_timer().unwrap_or(Time::NEVER);
        let recovery = match self.recovery.loss_time {
            Time::NEVER => self.timeout_at(),
            due => due,
        };
        self.timers_at = controller.min(recovery);
        self.timers_at.min(self.resume_at)
    }

    /// The note for the reader of the Record.
    pub(crate) fn note(&self) -> Option<String> {
        self.was_held_back.then(|| {
            let packets = self.most_in_flight.get() / self.packet.get();
            format!(
                "a flow had {packets} packets in flight, the most in the simulator; its scheme allowed more"
            )
        })
    }

    /// The next packet that may leave now; asked until there is none.
    pub(crate) fn next_departure(&mut self, now: Time) -> Option<Departure> {
        self.resume_at = Time::NEVER;
        if now >= self.application.stop() {
            return None;
        }
        let probing = self.probes > 0;
        if self.application.is_adaptive() {
            self.encode(now);
        }
        let limits = self.flow.limits();
        if !probing && !self.allows(&limits) {
            let after = self.flow.inflight() + self.packet;
            self.was_held_back |= after > self.most_in_flight && after <= limits.window;
            self.flow.mark_window_limited();
            return None;
        }
        let lost = self.lost_data.next();
        let data_at = if lost.is_some() { now } else { self.application.ready_at(now) };
        let pads = data_at > now && !limits.padding().is_zero();
        if data_at > now && !probing {
            self.flow.mark_app_limited(now);
            if !pads {
                self.resume_at = data_at;
                return None;
            }
        }
        if limits.pacing_rate.is_some() && self.pacer.ready_at() > now && !probing {
            self.resume_at = self.pacer.ready_at();
            return None;
        }
        let (segment, retransmission) = match lost {
            Some(segment) => {
                self.lost_data.on_repeated(segment);
                (segment, true)
            }
            None if data_at <= now => (self.application.take(now), false),
            None if probing => (self.probed_segment()?, true),
            // It is not repeated where it is lost.
            None => (Application::PADDING, true),
        };
        Some(self.depart(now, segment, retransmission, &limits))
    }

    /// Has an adaptive application make its due frames. Without another rate to follow it takes the rate of the limits; a tenth
    /// is left for retransmissions, and for larger frames.
    #[cold]
    fn encode(&mut self, now: Time) {
        const SHARE: f64 = 0.9;
        let limits = self.flow.limits();
        let by_window = Rate::from_transfer(limits.window, self.flow.rtt().smoothed());
        let estimate = by_window.min(limits.pacing_rate.unwrap_or(Rate::MAX)).mul_f64(SHARE);
        self.application.encode(now, limits.media_rate(), estimate);
    }

    #[inline(always)]
    fn depart(&mut self, now: Time, segment: u64, retransmission: bool, limits: &Limits) -> Departure {
        let alone = self.flow.inflight().is_zero();
        if alone && let Some(rack) = &mut self.recovery.rack {
            rack.on_flight_begins(now);
        }
        let idle = alone && self.last_sent_at > Time::ZERO;
        if idle && now.since(self.last_sent_at) > self.recovery.probe_timeout(self.flow.rtt()) {
            self.flow.on_event(now, Event::IdleRestart);
        }
        let bytes = self.application.payload(segment) + self.header;
        self.probes = self.probes.saturating_sub(1);
        self.last_sent_at = now;
        if let Some(rate) = limits.pacing_rate {
            // The bucket holds a send quantum.
            self.pacer.on_sent(now, bytes, rate, limits.send_quantum.saturating_sub(self.packet));
        }
        // An idle restart may have changed the signal of the controller.
        let signal = self.flow.limits().signal;
        let packet = self.flow.on_sent(now, bytes);
        self.recovery.on_sent(Outstanding::new(packet, segment, retransmission));
        let packet = DataPacket { bytes, number: packet.number, segment, ecn: self.ecn, signal };
        Departure { packet, retransmission: retransmission && segment != Application::PADDING }
    }

    /// The data of a probe without anything else to send; without them the probe is off.
    fn probed_segment(&mut self) -> Option<u64> {
        let probed = self.recovery.probed_segment();
        self.probes = if probed.is_some() { self.probes } else { 0 };
        probed
    }

    /// True where window and budget have room for a packet.
    #[inline]
    fn allows(&self, limits: &Limits) -> bool {
        let inflight = self.flow.inflight();
        let most = limits.window.min(self.most_in_flight);
        let window = inflight + self.packet <= most || inflight.is_zero();
        window && limits.budget.is_none_or(|budget| self.packet <= budget)
    }

    #[inline(always)]
    fn detect_losses(&mut self, now: Time, scratch: &mut Scratch) {
        scratch.newly_lost.clear();
        let recovering = !self.lost_data.is_empty();
        self.recovery.detect_losses(now, self.flow.rtt(), recovering, &mut scratch.newly_lost);
        if !scratch.newly_lost.is_empty() {
            self.on_newly_lost(now, scratch);
        }
    }

    #[inline(never)]
    fn on_newly_lost(&mut self, now: Time, scratch: &mut Scratch) {
        self.repeat_newly_lost(scratch);
        // TCP knows no persistent congestion but the time-out.
        let persistent =
            self.recovery.rack.is_none() && self.recovery.is_persistent(&scratch.newly_lost, self.flow.rtt());
        let episode = match persistent {
            true => self.flow.on_persistent_congestion(now, &scratch.lost_packets),
            false => self.flow.on_loss(now, &scratch.lost_packets),
        };
        self.recovery.remember(&scratch.newly_lost, episode == Episode::Begins);
    }

    /// Puts the data of `newly_lost` among those to be sent again, and the packets into `lost_packets`.
    fn repeat_newly_lost(&mut self, scratch: &mut Scratch) {
        scratch.newly_lost.iter().for_each(|outstanding| self.lost_data.on_lost(outstanding));
        scratch.lost_packets.clear();
        scratch.lost_packets.extend(scratch.newly_lost.iter().map(|outstanding| outstanding.packet));
    }
}
