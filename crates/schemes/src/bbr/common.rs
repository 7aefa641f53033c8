//! What all versions of BBR do around their models: the window in recovery, the pacing rate, a silence, packets of another size.

use super::aggregation::Aggregation;
use super::full_pipe::FullPipe;
use super::min_rtt::Probe;
use super::pacing::{Pacing, paced};
use super::recovery::Recovery;
use super::silence::Silence;
use cellcc_control::{Ack, Context, Event, Loss, Packet, Sent, Tag};
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

    /// Packets were lost: cuts the window. [`end_loss`](Self::end_loss) comes after what the model makes of it.
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

    /// The window is again what it was before the losses or ProbeRTT.
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

    /// Moves the window towards `target`; in the first round of a recovery it only follows what arrives.
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
