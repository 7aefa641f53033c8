//! The common parts of all versions of BBR around their models: the window in recovery, the pacing rate, a silence, packets of
//! another size.

use super::model::{Aggregation, FullPipe, Probe, Silence};
use cellcc_control::{Ack, Context, Event, Loss, Packet, Sampler, Sent, Tag};
use cellcc_units::{Bytes, Rate, Span, Time};

/// The smallest window, in packets: two flights of two, for delayed ACKs (v1's draft, section 4.2.3.3; v2's, section 2.8).
const MIN_WINDOW_PACKETS: u64 = 4;
/// The tag of packets that left while ProbeRTT, and not the path, limited the flow.
const SELF_LIMITED: Tag = 1;

#[derive(Debug, Clone)]
pub(crate) enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt(Probe),
}

#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub(crate) packet_size: Bytes,
    pub(crate) initial_window: Bytes,
    pub(crate) state: State,
    pub(crate) silence: Silence,
    pub(crate) full_pipe: FullPipe,
    pub(crate) aggregation: Aggregation,
    pub(crate) recovery: Recovery,
    pub(crate) window: Bytes,
    pub(crate) pacing: Pacing,
    pub(crate) idle_restart: bool,
    pub(crate) delivered: Bytes,
    /// Until this much is delivered, packets that leave are [`SELF_LIMITED`].
    pub(crate) self_limited_until: Option<Bytes>,
    has_seen_rtt: bool,
}

impl Common {
    /// The beginning of a flow, paced with Startup's `gain`.
    pub(crate) fn new(context: &Context, gain: f64) -> Self {
        Self {
            packet_size: context.packet,
            initial_window: context.initial_window,
            state: State::Startup,
            silence: Silence::default(),
            full_pipe: FullPipe::default(),
            aggregation: Aggregation::new(context.packet),
            recovery: Recovery::default(),
            window: context.initial_window,
            pacing: Pacing::new(context, gain),
            idle_restart: false,
            delivered: Bytes::ZERO,
            self_limited_until: None,
            has_seen_rtt: false,
        }
    }

    pub(crate) fn min_window(&self) -> Bytes {
        self.packet_size * MIN_WINDOW_PACKETS
    }

    pub(crate) fn is_in_probe_rtt(&self) -> bool {
        matches!(self.state, State::ProbeRtt(_))
    }

    /// `gain` bandwidth-delay products; the initial window while the RTT is unknown.
    pub(crate) fn bdp(&self, bandwidth: Rate, min_rtt: Option<Span>, gain: f64) -> Bytes {
        min_rtt.map_or(self.initial_window, |min_rtt| bandwidth.bytes_in(min_rtt).mul_f64(gain))
    }

    pub(crate) fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.set_packet_size(sent.packet_size);
        let self_limited = if self.self_limited_until.is_some() { SELF_LIMITED } else { Tag::default() };
        self_limited | self.recovery.on_sent(sent.bytes)
    }

    pub(crate) fn on_ack(&mut self, ack: &Ack<'_>) {
        self.set_packet_size(ack.packet_size);
        self.delivered = ack.delivered;
        if self.self_limited_until.is_some_and(|until| self.delivered > until) {
            self.self_limited_until = None;
        }
    }

    /// Packets were lost: cuts the window. [`end_loss`](Self::end_loss) comes after the model's update.
    pub(crate) fn on_loss(&mut self, loss: &Loss<'_>) {
        let (was_active, window) = (self.recovery.is_active(), self.window);
        self.begin_recovery(loss);
        self.window =
            if was_active { window.saturating_sub(loss.bytes) } else { loss.inflight + self.packet_size };
    }

    /// Packets were lost: the window of before is remembered, and stays as it is.
    pub(crate) fn begin_recovery(&mut self, loss: &Loss<'_>) {
        self.set_packet_size(loss.packet_size);
        if !self.recovery.is_active() {
            self.save_window();
        }
        self.recovery.on_loss(loss, self.delivered);
    }

    pub(crate) fn end_loss(&mut self, loss: &Loss<'_>) {
        if loss.persistent {
            // v1's draft, section 4.2.3.4: the path may be gone; one packet will tell.
            self.window = Bytes::ZERO;
            self.full_pipe.look_again();
        }
        self.window = self.window.max(self.packet_size);
    }

    /// Marks are ignored here.
    pub(crate) fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::SpuriousLoss => {
                self.recovery.leave();
                self.restore_window();
                self.full_pipe.look_again();
            }
            Event::IdleRestart => {
                self.idle_restart = true;
                self.aggregation.restart(now);
            }
            Event::Forgotten(packet) => self.recovery.settle(&[packet]),
            _ => {}
        }
    }

    /// Remembers the window, unless it is already cut.
    pub(crate) fn save_window(&mut self) {
        self.recovery.save(self.window, self.is_in_probe_rtt());
    }

    /// Restores the window from before the losses or ProbeRTT.
    pub(crate) fn restore_window(&mut self) {
        self.window = self.window.max(self.recovery.prior_window());
    }

    pub(crate) fn enter_probe_rtt(&mut self) {
        self.recovery.save(self.window, false);
        self.state = State::ProbeRtt(Probe::default());
    }

    /// True where ProbeRTT, whose window is `window`, ends with this acknowledgement.
    pub(crate) fn is_probe_rtt_over(&mut self, ack: &Ack<'_>, window: Bytes) -> bool {
        let State::ProbeRtt(probe) = &mut self.state else { return false };
        self.self_limited_until = Some(ack.delivered + ack.inflight);
        probe.update(ack, window)
    }

    /// Follows `bandwidth` with `gain`; before the pipe is full it only rises. The first RTT gives the first rate.
    pub(crate) fn pace(
        &mut self,
        srtt: Span,
        startup_gain: f64,
        bandwidth: Rate,
        gain: f64,
        pipe_full: bool,
    ) {
        if !self.has_seen_rtt {
            self.has_seen_rtt = true;
            self.pacing.pace_at(paced(Rate::from_transfer(self.window, srtt), startup_gain));
        }
        let rate = paced(bandwidth, gain);
        if pipe_full || rate > self.pacing.rate() {
            self.pacing.pace_at(rate);
        }
    }

    /// Moves the window towards `target`; in the first round of a recovery it only follows arrivals.
    pub(crate) fn grow_window(&mut self, ack: &Ack<'_>, target: Bytes, pipe_full: bool) {
        if self.recovery.update(ack) {
            self.restore_window();
        }
        if self.recovery.is_conserving() {
            self.window = self.window.max(ack.inflight + ack.bytes);
        } else if pipe_full {
            self.window = target.min(self.window + ack.bytes);
        } else if self.window < target || self.delivered < self.initial_window {
            self.window += ack.bytes;
        }
    }

    /// Full packets have this size from now on.
    fn set_packet_size(&mut self, packet_size: Bytes) {
        if packet_size != self.packet_size {
            self.packet_size = packet_size;
            self.pacing.set_packet_size(packet_size);
            self.aggregation.set_packet_size(packet_size);
        }
    }
}

/// The packet left while ProbeRTT limited the flow.
pub(crate) fn is_self_limited(packet: &Packet) -> bool {
    packet.tag & SELF_LIMITED != 0
}

// The pacing rate, and the burst limit at it.

/// Share of the estimate that is paced, to keep the queue short (Linux `bbr_pacing_margin_percent`).
const PACING_SHARE: f64 = 0.99;
/// The RTT that the first pacing rate assumes (Linux `bbr_init_pacing_rate_from_rtt`).
pub(crate) const NOMINAL_RTT: Span = Span::from_millis(1);
/// Below 1.2 Mbit/s packets leave one by one (draft section 4.2.2; Linux `bbr_tso_segs_goal`).
pub(crate) const LOW_RATE: Rate = Rate::from_bytes_per_sec(150_000);
/// The time at the pacing rate that gives a send quantum (draft section 4.2.2) ...
const QUANTUM_SPAN: Span = Span::from_millis(1);
/// ... and no more than this (draft section 4.2.2).
const MAX_QUANTUM: Bytes = Bytes::new(64 * 1024);
/// A pacing rate with its send quantum.
#[derive(Debug, Clone)]
pub(crate) struct Pacing {
    packet_size: Bytes,
    rate: Rate,
    quantum: Bytes,
}

impl Pacing {
    /// Before the RTT is known: the initial window in a nominal one, times `gain`.
    pub(crate) fn new(context: &Context, gain: f64) -> Self {
        let rate = paced(Rate::from_transfer(context.initial_window, NOMINAL_RTT), gain);
        Self { packet_size: context.packet, rate, quantum: send_quantum(rate, context.packet) }
    }

    /// The rate at which packets leave.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// The burst limit.
    pub(crate) fn quantum(&self) -> Bytes {
        self.quantum
    }

    /// Full packets have another size.
    pub(crate) fn set_packet_size(&mut self, packet_size: Bytes) {
        self.packet_size = packet_size;
        self.quantum = send_quantum(self.rate, packet_size);
    }

    /// Changes the rate; the quantum follows.
    pub(crate) fn pace_at(&mut self, rate: Rate) {
        if rate != self.rate {
            self.rate = rate;
            self.quantum = send_quantum(rate, self.packet_size);
        }
    }
}

/// `bandwidth` times a gain, less the margin; at least a byte per second, since a rate of zero would never end.
pub(crate) fn paced(bandwidth: Rate, gain: f64) -> Rate {
    bandwidth.mul_f64(gain * PACING_SHARE).max(Rate::from_bytes_per_sec(1))
}

/// The burst limit at a pacing rate (draft section 4.2.2).
fn send_quantum(pacing_rate: Rate, packet: Bytes) -> Bytes {
    if pacing_rate < LOW_RATE {
        return packet;
    }
    let bytes = pacing_rate.bytes_in(QUANTUM_SPAN).min(MAX_QUANTUM);
    (packet * (bytes.get() / packet.get())).max(packet * 2)
}

// The window during loss recovery: one round of packet conservation, then growth by acknowledged data, and the old window back
// at the end (Linux, `bbr_set_cwnd_to_recover_or_restore`).
//
// Recovery lasts as long as BBR sees it in Linux: until all that was lost has been repeated and has arrived, and with it all
// that was in flight when recovery began. Where packets are lost in every round, TCP goes from one episode to the next within
// an acknowledgement, and BBR sees a single recovery, which conserves packets in its first round only. If each round's losses
// began a recovery of their own, every second round would conserve: each time the lost share comes off the rate, and the
// bandwidth estimate follows it down.
//
// A scheme does not know what a packet carries. Senders retransmit before they send new data, so the next packets to leave
// after a loss are its retransmissions, as many bytes as were lost.

/// The bit of a packet's tag that marks a retransmission.
const REPETITION: Tag = 1 << 1;
/// The bit that says: it left while packets were conserved.
const CONSERVED: Tag = 1 << 2;

/// The recovery of a flow, and the window it will get back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recovery {
    episode: Option<Episode>,
    prior_window: Bytes,
    /// Lost, and not sent again.
    to_repeat: Bytes,
    /// Sent again, and in flight.
    repeated: Bytes,
}

#[derive(Debug, Clone)]
struct Episode {
    /// All that was in flight then has to arrive.
    began_at: Time,
    /// While packets are conserved: the round ends when a packet sent with this much delivered is acknowledged.
    conserving_until: Option<Bytes>,
}

impl Recovery {
    /// Remembers `window`, the last one known to be good, unless it is already `cut` for another reason.
    pub(crate) fn save(&mut self, window: Bytes, cut: bool) {
        let is_cut = cut || self.is_active();
        self.prior_window = if is_cut { self.prior_window.max(window) } else { window };
    }

    /// A packet leaves; gives its share of the tag.
    pub(crate) fn on_sent(&mut self, bytes: Bytes) -> Tag {
        let mut tag = Tag::default();
        if self.is_conserving() {
            tag |= CONSERVED;
        }
        if !self.to_repeat.is_zero() {
            self.to_repeat = self.to_repeat.saturating_sub(bytes);
            self.repeated += bytes;
            tag |= REPETITION;
        }
        tag
    }

    /// Packets were lost, with `delivered` delivered so far: an episode begins with them, unless there is one.
    pub(crate) fn on_loss(&mut self, loss: &Loss<'_>, delivered: Bytes) {
        self.settle(loss.packets);
        self.to_repeat += loss.bytes;
        self.episode.get_or_insert(Episode { began_at: loss.now, conserving_until: Some(delivered) });
    }

    /// An acknowledgement; true where it ends the recovery.
    pub(crate) fn update(&mut self, ack: &Ack<'_>) -> bool {
        self.settle(ack.packets);
        let (Some(episode), Some(newest)) = (&mut self.episode, ack.packets.last()) else { return false };
        if episode.conserving_until.is_some_and(|until| newest.delivered >= until) {
            episode.conserving_until = None;
        }
        if newest.sent_at <= episode.began_at {
            return false;
        }
        let all_arrived = self.to_repeat.is_zero() && self.repeated.is_zero();
        if all_arrived {
            self.leave();
        } else {
            episode.began_at = ack.now;
        }
        all_arrived
    }

    /// These packets are in flight no longer.
    pub(crate) fn settle(&mut self, packets: &[Packet]) {
        if !self.repeated.is_zero() {
            let repetitions = packets.iter().filter(|packet| packet.tag & REPETITION != 0);
            self.repeated = self.repeated.saturating_sub(repetitions.map(|packet| packet.bytes).sum());
        }
    }

    /// The episode is over, and nothing is left to repeat.
    pub(crate) fn leave(&mut self) {
        self.episode = None;
        self.to_repeat = Bytes::ZERO;
    }

    /// In an episode.
    pub(crate) fn is_active(&self) -> bool {
        self.episode.is_some()
    }

    /// Packets leave only as others arrive.
    pub(crate) fn is_conserving(&self) -> bool {
        self.episode.as_ref().is_some_and(|episode| episode.conserving_until.is_some())
    }

    /// The window to restore.
    pub(crate) fn prior_window(&self) -> Bytes {
        self.prior_window
    }
}

/// The delivery rate of packets that left while packets were conserved; none for others.
pub(crate) fn conserved_rate(ack: &Ack<'_>) -> Option<Rate> {
    let newest = ack.packets.last()?;
    let rate = ack.rate?.rate(Sampler::Min);
    (newest.tag & CONSERVED != 0).then_some(rate)
}
