//! The contract between a congestion control algorithm and whatever drives it.

use crate::Rtt;
use crate::advice::Advice;
use crate::limits::Limits;
use crate::message::{ArrivalReport, Feedback, Signal, Verdict};
use crate::observer::Observer;
use cellcc_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};

pub use cellcc_units::Ecn;

/// One congestion control algorithm: events in, [`Limits`] out. It has no clock, no I/O and no randomness but the
/// seed it was built with, so the same events give the same decisions on every machine and in every driver.
///
/// A driver does not call this directly: it reports to a [`Flow`](crate::Flow), which does the accounting that schemes share
/// and passes it on.
pub trait Controller: Send {
    /// The ECN codepoint that its packets carry; asked once, when the flow begins. A driver may be bound to another: noq
    /// always sends ECT(0).
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// False if [`on_sent`](Self::on_sent) keeps its empty default: then it is not called, and limits and timer are not read
    /// after it. Asked once, when the flow begins.
    fn hears_departures(&self) -> bool {
        true
    }

    /// False if [`on_sent`](Self::on_sent) only gives a tag, unless full packets have another size than before: then limits and
    /// timer are not read after it. Asked once, when the flow begins.
    fn departures_change_limits(&self) -> bool {
        self.hears_departures()
    }

    /// A packet leaves. The tag comes back with the packet when it is acknowledged or lost.
    fn on_sent(&mut self, _sent: &Sent) -> Tag {
        Tag::default()
    }

    /// Packets were newly acknowledged.
    fn on_ack(&mut self, ack: &Ack<'_>);

    /// Packets were declared lost.
    fn on_loss(&mut self, loss: &Loss<'_>);

    /// Something happened to the flow that is neither an acknowledgement nor a loss.
    fn on_event(&mut self, _now: Time, _event: Event) {}

    /// The receiver-side component has sent something. No more than `sent` bytes can have arrived there, headers included.
    fn on_feedback(&mut self, _now: Time, _feedback: &Feedback, _sent: Bytes) -> Verdict {
        Verdict::Malformed
    }

    /// The receiver-side component reports when packets arrived. It may name packets that never left.
    fn on_arrivals(&mut self, _now: Time, _report: &ArrivalReport) {}

    /// The network reports on the flow's bottleneck.
    fn on_advice(&mut self, _now: Time, _advice: &Advice) {}

    /// When [`on_timer`](Self::on_timer) wants to be called next; asked again after every event.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The time of [`next_timer`](Self::next_timer) has come.
    fn on_timer(&mut self, _now: Time) {}

    /// The sender's limits from now on; read again after every event.
    fn limits(&self) -> Limits;

    /// Names the values inside (mu, the zone, a bandwidth estimate) for plots and for the Record.
    fn observe(&self, _observer: &mut dyn Observer) {}
}

/// The inputs for building a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Context {
    /// The size of a full packet on the link, headers included.
    pub packet: Bytes,
    /// The window to begin with (RFC 6928: ten packets).
    pub initial_window: Bytes,
    /// Seeds the generator of a scheme that draws random numbers.
    pub seed: u64,
    /// The highest rate that the application produces, headers included; `None` where it always has more to send.
    pub most_media: Option<Rate>,
}

impl Context {
    /// The inputs for a flow with full packets of this size, this first window and this seed.
    pub const fn new(packet: Bytes, initial_window: Bytes, seed: u64) -> Self {
        Self { packet, initial_window, seed, most_media: None }
    }

    /// The inputs for the flow of an application that produces at most this rate.
    #[must_use]
    pub const fn with_most_media(self, most_media: Option<Rate>) -> Self {
        Self { most_media, ..self }
    }
}

/// A word a scheme leaves on a packet when it is sent: Verus' window, the number of a monitor interval.
pub type Tag = u64;

/// A packet that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sent {
    /// When it leaves.
    pub now: Time,
    /// Its number, counted from zero without gaps.
    pub number: u64,
    /// Its size.
    pub bytes: Bytes,
    /// The data in flight, this packet included.
    pub inflight: Bytes,
    /// The application, not a limit, decided how much is in flight.
    pub app_limited: bool,
    /// The signal on the packet to the receiver-side component.
    pub signal: Option<Signal>,
    /// The present size of a full packet on the link, headers included. It was [`Context::packet`] at first, and changes
    /// with the path's MTU.
    pub packet_size: Bytes,
}

impl Sent {
    /// A full packet of a flow that has nothing else in flight, without a signal.
    pub const fn new(now: Time, number: u64, bytes: Bytes) -> Self {
        Self { now, number, bytes, inflight: bytes, app_limited: false, signal: None, packet_size: bytes }
    }
}

/// A packet that has left, with the state of the flow at that moment
/// (draft-cheng-iccrg-delivery-rate-estimation-02, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Packet {
    /// Its number, counted from zero without gaps.
    pub number: u64,
    /// When it left.
    pub sent_at: Time,
    /// Its size.
    pub bytes: Bytes,
    /// The scheme's tag on it.
    pub tag: Tag,
    /// Bytes that had been delivered when it left.
    pub delivered: Bytes,
    /// When those had been delivered.
    pub delivered_at: Time,
    /// When the first packet of the sending interval that it ends had left.
    pub first_sent_at: Time,
    /// Bytes in flight before it left.
    pub inflight: Bytes,
    /// Bytes that had been declared lost when it left.
    pub lost: Bytes,
    /// Bytes known to have arrived with a CE mark when it left, as far as the driver can tell (see [`Ack::ecn`]).
    pub marked: Bytes,
    /// It left while the application, not a limit, decided how much was in flight.
    pub app_limited: bool,
}

impl Packet {
    /// A packet of a flow that nothing has happened to before.
    pub fn new(number: u64, sent_at: Time, bytes: Bytes) -> Self {
        Self { number, sent_at, bytes, ..Self::default() }
    }
}

/// Packets were newly acknowledged.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ack<'a> {
    /// When the acknowledgement came.
    pub now: Time,
    /// The newly acknowledged packets, oldest first; never empty.
    #[serde(skip)]
    pub packets: &'a [Packet],
    /// Their bytes.
    pub bytes: Bytes,
    /// The round-trip times, this acknowledgement's sample included.
    #[serde(skip, default = "Rtt::none")]
    pub rtt: &'a Rtt,
    /// The RTT sample, above zero; none where the newest acknowledged packet had been acknowledged before.
    pub rtt_sample: Option<Span>,
    /// How fast data arrived at the receiver.
    pub rate: Option<RateSample>,
    /// Bytes in flight before these packets were taken off.
    pub inflight_before: Bytes,
    /// Bytes in flight after.
    pub inflight: Bytes,
    /// Bytes delivered since the flow began, these included.
    pub delivered: Bytes,
    /// The window held the sender back in this round or the one before.
    pub cwnd_limited: bool,
    /// Rounds (of one RTT, counted by packets) since the flow began.
    pub round: u64,
    /// This acknowledgement begins a new round.
    pub round_start: bool,
    /// The flow is in loss recovery (RFC 9002, section 7.3.2).
    pub in_recovery: bool,
    /// With which ECN codepoints these packets arrived; `None` where the driver cannot tell, as in QUIC: noq reports only
    /// that there are marks ([`Event::CongestionMarked`]).
    pub ecn: Option<EcnEcho>,
    /// The present size of a full packet on the link, headers included.
    pub packet_size: Bytes,
}

impl<'a> Ack<'a> {
    /// An acknowledgement of all that a flow has sent so far, in its first round.
    pub fn new(now: Time, packets: &'a [Packet], rtt: &'a Rtt) -> Self {
        let bytes = packets.iter().map(|packet| packet.bytes).sum();
        Self {
            now,
            packets,
            bytes,
            rtt,
            rtt_sample: rtt.latest(),
            rate: None,
            inflight_before: bytes,
            inflight: Bytes::ZERO,
            delivered: bytes,
            cwnd_limited: false,
            round: 0,
            round_start: false,
            in_recovery: false,
            ecn: None,
            packet_size: packets.last().map_or(Bytes::ZERO, |newest| newest.bytes),
        }
    }
}

/// How many newly acknowledged bytes arrived with each ECN codepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EcnEcho {
    /// With ECT(0).
    pub ect0: Bytes,
    /// With ECT(1).
    pub ect1: Bytes,
    /// With CE.
    pub ce: Bytes,
}

impl EcnEcho {
    /// A packet of `bytes` arrived with `codepoint`.
    pub fn add(&mut self, codepoint: Ecn, bytes: Bytes) {
        match codepoint {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 += bytes,
            Ecn::Ect1 => self.ect1 += bytes,
            Ecn::Ce => self.ce += bytes,
        }
    }
}

/// Packets were declared lost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Loss<'a> {
    /// When they were given up.
    pub now: Time,
    /// The lost packets, oldest first; never empty.
    #[serde(skip)]
    pub packets: &'a [Packet],
    /// Their bytes.
    pub bytes: Bytes,
    /// Bytes lost since the flow began, these included.
    pub lost: Bytes,
    /// Bytes in flight after these packets were taken off.
    pub inflight: Bytes,
    /// The first loss of a recovery episode: the one that a window is cut for.
    pub new_episode: bool,
    /// The losses span persistent congestion (RFC 9002, section 7.6).
    pub persistent: bool,
    /// The present size of a full packet on the link, headers included.
    pub packet_size: Bytes,
}

/// What happens to a flow besides acknowledgements and losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Event {
    /// A packet sent after the recovery episode began was acknowledged.
    RecoveryLeft,
    /// A router marked a packet instead of dropping it (ECN-CE), and a recovery episode begins with that: a scheme that
    /// cuts its window for a loss cuts it as much for this (RFC 9002, section 7.1).
    CongestionMarked,
    /// Every packet whose loss began the current or last episode arrived after all: restore the saved state.
    SpuriousLoss,
    /// The flow sends again after it had nothing in flight for longer than a PTO.
    IdleRestart,
    /// The application has nothing more to send although the limits would allow it; sent once, until the data in flight now are
    /// delivered.
    AppLimited,
    /// This packet is no longer in flight, and its fate is unknown: the transport has forgotten it (a probe for a larger MTU
    /// that was lost, packets of a path that was left).
    Forgotten(Packet),
}

/// Which interval a delivery rate is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampler {
    /// The longer of sending and acknowledging interval, hence the lower rate: the delivery-rate draft, Linux, Chromium.
    Min,
    /// The shorter interval, hence the higher rate: mvfst's `BbrBandwidthSampler` (2020, and still in 2026).
    Max,
}

/// How fast data arrived, measured between two acknowledgements
/// (draft-cheng-iccrg-delivery-rate-estimation-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes delivered in the interval.
    pub delivered: Bytes,
    /// How long they took to send.
    pub send_interval: Span,
    /// How long they took to be acknowledged.
    pub ack_interval: Span,
    /// Bytes declared lost since the newest packet left, up to this acknowledgement; not those that it shows to be lost.
    pub lost: Bytes,
    /// Bytes known to have arrived with a CE mark since the newest packet left, as far as the driver can tell (see
    /// [`Ack::ecn`]).
    pub marked: Bytes,
    /// The application limited the sender at some point of the interval: a lower bound only.
    pub app_limited: bool,
}

impl RateSample {
    /// The delivery rate by `sampler`.
    pub fn rate(&self, sampler: Sampler) -> Rate {
        let interval = match sampler {
            Sampler::Min => self.send_interval.max(self.ack_interval),
            Sampler::Max => match self.send_interval.min(self.ack_interval) {
                // The first packets of a flow leave at one instant; only their ACKs tell a rate.
                Span::ZERO => self.ack_interval,
                interval => interval,
            },
        };
        Rate::from_transfer(self.delivered, interval)
    }
}
