//! BBR v1: sends at the measured bandwidth of the bottleneck, with about one BDP in flight.
//!
//! 1. `btl_bw` is the largest delivery rate of ten rounds, `min_rtt` the smallest RTT of ten seconds.
//! 2. Packets are paced at `pacing_gain * btl_bw`; `cwnd_gain * btl_bw * min_rtt` bounds what is in flight.
//! 3. Startup doubles the rate per round until the bandwidth stops growing; Drain empties the queue that it built.
//! 4. ProbeBW cruises at gain 1; every eighth phase probes for more with 1.25, and the next gives it back with 0.75.
//! 5. ProbeRTT: where no RTT came down to the minimum for ten seconds, four packets in flight for 200 ms show it.
//!
//! ```text
//!   Startup --------> Drain ----------> ProbeBW <--+   gains 1.25, 0.75, 1, 1, 1, 1, 1, 1
//!    ^ |   pipe full    |   inflight      | |      |
//!    | |                |   <= BDP        | +------+
//!    | |                |                 |
//!    | +----------------+--> ProbeRTT <---+   min_rtt is ten seconds old
//!    |                          |  |
//!    +--------------------------+  +--> ProbeBW
//!      200 ms, pipe not yet full        200 ms, pipe full
//! ```
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 and Linux tcp_bbr.c (v1).
//!
//! | file | concept |
//! |---|---|
//! | `bandwidth` | where the bandwidth comes from, and BBR's filter |
//! | `min_rtt` | the filter of the minimum RTT, and ProbeRTT |
//! | `full_pipe` | the end of Startup |
//! | `cycle` | the gain cycle of ProbeBW |
//! | `pacing` | the pacing rate, and what may leave at once |
//! | `recovery` | packet conservation, and the window to restore |
//! | `silence` | outages, which the age of the minimum RTT leaves out |
//! | `aggregation` | compensation for aggregated ACKs |
//!
//! Differences from the draft, all as in Linux: pacing 1 % below the estimate, aggregation compensation, the window in
//! ProbeBW's first phase two packets larger and rounded up to an even count. Differences from Linux: no long-term
//! bandwidth ("LT", policer detection), since no link here is a policer; the bandwidth filter is exact instead of the
//! three-sample approximation; the driver paces, so that nothing waits in a queue below (Linux' earliest departure
//! times) to be subtracted; packets sent from ProbeRTT until its flight is delivered count as application-limited by
//! their tag instead of by the socket; a round that packet conservation held back does not count as one without
//! growth, since Linux ends Startup early after losses in its first rounds (1 run in 20 at 5 % loss, 6 at 10 %); an outage
//! does not make the minimum RTT older (`silence`). Switches for mvfst as of June 2020
//! (the baseline of RBBR): `sampler=max` is its `BbrBandwidthSampler`, `pacing=off` its tperf server, which paced
//! only on demand, `aggregation=off` its sender without compensation. Without pacing only the window can drain the
//! queue, so Drain then sets a window of one BDP.

pub(super) mod aggregation;
mod bandwidth;
mod cycle;
pub(super) mod full_pipe;
pub(super) mod min_rtt;
pub(super) mod pacing;
pub(super) mod recovery;
mod scheme;
pub(super) mod silence;

pub use bandwidth::{BandwidthSource, MaxFilter};
pub(super) use pacing::{LOW_RATE, NOMINAL_RTT};
pub(super) use scheme::scheme;

use aggregation::Aggregation;
use cellcc_control::{Ack, Context, Controller, Event, Limits, Loss, Observer, Sent, Tag};
use cellcc_units::{Bytes, Rate, Span, Time};
use cycle::{GainCycle, PhaseEnd};
use full_pipe::FullPipe;
use min_rtt::{MinRtt, Probe};
use pacing::{Pacing, paced};
use recovery::{Recovery, conserved_rate};
use silence::Silence;

/// 2/ln 2, the smallest gain that doubles the rate per round (draft section 4.2.1, `BBRHighGain`).
const HIGH_GAIN: f64 = 2.885;
/// In ProbeBW two BDPs may be in flight: room for delayed and stretched ACKs (draft section 4.2.3.2).
pub(super) const CWND_GAIN: f64 = 2.0;
/// The smallest window, in packets: two flights of two, for delayed ACKs (draft section 4.2.3.3, `BBRMinPipeCwnd`).
const MIN_WINDOW_PACKETS: u64 = 4;
/// The tag of packets that left while ProbeRTT, and not the path, limited the flow.
const SELF_LIMITED: Tag = 1;

/// What can be chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Compensates for aggregated ACKs with a larger window.
    pub aggregation: bool,
    /// Paces; otherwise the window alone limits.
    pub pacing: bool,
    /// Bandwidth-delay products that may be in flight in ProbeBW.
    pub cwnd_gain: f64,
}

/// Where a flow is in BBR's state diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The rate doubles per round.
    Startup,
    /// What Startup queued leaves.
    Drain,
    /// Cruising and probing.
    ProbeBw,
    /// A minimal window shows the minimum RTT.
    ProbeRtt,
}

#[derive(Debug, Clone)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt(Probe),
}

/// The BBR controller, on one source of its bandwidth.
#[derive(Debug, Clone)]
pub struct Bbr<S> {
    config: Config,
    packet_size: Bytes,
    initial_window: Bytes,
    state: State,
    bandwidth: S,
    min_rtt: MinRtt,
    silence: Silence,
    full_pipe: FullPipe,
    cycle: GainCycle,
    aggregation: Aggregation,
    recovery: Recovery,
    window: Bytes,
    pacing: Pacing,
    has_seen_rtt: bool,
    idle_restart: bool,
    lost_since_ack: bool,
    delivered: Bytes,
    /// Until this much is delivered, packets that leave are [`SELF_LIMITED`].
    self_limited_until: Option<Bytes>,
}

impl<S: BandwidthSource> Bbr<S> {
    /// BBR at the beginning of a flow.
    pub fn new(context: &Context, config: Config, bandwidth: S) -> Self {
        Self {
            config,
            packet_size: context.packet,
            initial_window: context.initial_window,
            state: State::Startup,
            bandwidth,
            min_rtt: MinRtt::default(),
            silence: Silence::default(),
            full_pipe: FullPipe::default(),
            cycle: GainCycle::new(context.seed),
            aggregation: Aggregation::new(context.packet),
            recovery: Recovery::default(),
            window: context.initial_window,
            pacing: Pacing::new(context, HIGH_GAIN),
            has_seen_rtt: false,
            idle_restart: false,
            lost_since_ack: false,
            delivered: Bytes::ZERO,
            self_limited_until: None,
        }
    }

    /// Where the flow is in the state diagram.
    pub fn phase(&self) -> Phase {
        match self.state {
            State::Startup => Phase::Startup,
            State::Drain => Phase::Drain,
            State::ProbeBw => Phase::ProbeBw,
            State::ProbeRtt(_) => Phase::ProbeRtt,
        }
    }

    /// The minimum RTT of the last ten seconds, if there was a sample.
    pub fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.get()
    }

    /// The source of the bandwidth.
    pub fn bandwidth(&self) -> &S {
        &self.bandwidth
    }

    /// The source of the bandwidth, to tell it what happens beside acknowledgements.
    pub fn bandwidth_mut(&mut self) -> &mut S {
        &mut self.bandwidth
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeBw => self.cycle.gain(),
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain if self.config.pacing => HIGH_GAIN,
            State::Drain | State::ProbeRtt(_) => 1.0,
            State::ProbeBw => self.config.cwnd_gain,
        }
    }

    fn min_window(&self) -> Bytes {
        self.packet_size * MIN_WINDOW_PACKETS
    }

    /// `gain` bandwidth-delay products; the initial window while the RTT is unknown.
    fn bdp(&self, gain: f64) -> Bytes {
        match self.min_rtt.get() {
            Some(min_rtt) => self.bandwidth.estimate().bytes_in(min_rtt).mul_f64(gain),
            None => self.initial_window,
        }
    }

    /// What is to be in flight for `amount` to be on the path: three quanta more, for the sender's and the receiver's
    /// offloading, in an even number of packets.
    fn with_quanta(&self, amount: Bytes) -> Bytes {
        let amount = amount + self.pacing.quantum() * 3;
        let pairs = amount.get().div_ceil(self.packet_size.get().saturating_mul(2));
        let extra = if matches!(self.state, State::ProbeBw) && self.cycle.is_probing() { 2 } else { 0 };
        self.packet_size * (pairs.saturating_mul(2).saturating_add(extra))
    }

    fn update_bandwidth(&mut self, ack: &Ack<'_>) {
        let Some(sample) = &ack.rate else { return };
        let self_limited = ack.packets.last().is_some_and(|newest| newest.tag & SELF_LIMITED != 0);
        let app_limited = sample.app_limited || self_limited;
        self.bandwidth.on_sample(ack, sample, app_limited);
        let estimate = self.bandwidth.estimate();
        self.aggregation.update(ack.now, ack.round_start, ack.bytes, estimate, self.window);
        if ack.round_start && !app_limited {
            self.full_pipe.on_round(estimate, conserved_rate(ack));
        }
    }

    fn update_cycle(&mut self, ack: &Ack<'_>) {
        let (State::ProbeBw, Some(min_rtt)) = (&self.state, self.min_rtt.get()) else { return };
        let (now, inflight, lost) = (ack.now, ack.inflight_before, self.lost_since_ack);
        let end = PhaseEnd { now, min_rtt, inflight, lost };
        if self.cycle.is_over(&end, |gain| self.with_quanta(self.bdp(gain))) {
            self.cycle.advance(now);
        }
    }

    fn update_drain(&mut self, ack: &Ack<'_>) {
        if matches!(self.state, State::Startup) && self.full_pipe.is_reached() {
            self.state = State::Drain;
        }
        if matches!(self.state, State::Drain) && ack.inflight <= self.with_quanta(self.bdp(1.0)) {
            self.enter_probe_bw(ack.now);
        }
    }

    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        self.cycle.start(now);
    }

    fn update_min_rtt(&mut self, ack: &Ack<'_>) {
        self.silence.on_ack(ack, self.idle_restart);
        let expired = self.min_rtt.update(self.silence.leave_out(ack.now), ack.rtt_sample);
        if expired && !self.idle_restart && !matches!(self.state, State::ProbeRtt(_)) {
            self.recovery.save(self.window, false);
            self.state = State::ProbeRtt(Probe::default());
        }
        let window = self.min_window();
        if let State::ProbeRtt(probe) = &mut self.state {
            self.self_limited_until = Some(ack.delivered + ack.inflight);
            if probe.update(ack, window) {
                self.leave_probe_rtt(ack.now);
            }
        }
        self.idle_restart = false;
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        self.min_rtt.confirm(self.silence.leave_out(now));
        self.window = self.window.max(self.recovery.prior_window());
        if self.full_pipe.is_reached() {
            self.enter_probe_bw(now);
        } else {
            self.state = State::Startup;
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

    fn set_pacing_rate(&mut self, srtt: Span) {
        if !self.has_seen_rtt {
            self.has_seen_rtt = true;
            self.pacing.pace_at(paced(Rate::from_transfer(self.window, srtt), HIGH_GAIN));
        }
        let rate = paced(self.bandwidth.estimate(), self.pacing_gain());
        if self.full_pipe.is_reached() || rate > self.pacing.rate() {
            self.pacing.pace_at(rate);
        }
    }

    fn set_window(&mut self, ack: &Ack<'_>) {
        if self.recovery.update(ack) {
            self.window = self.window.max(self.recovery.prior_window());
        }
        if self.recovery.is_conserving() {
            self.window = self.window.max(ack.inflight + ack.bytes);
        } else {
            let bdp = self.bdp(self.cwnd_gain());
            let compensates = self.config.aggregation && self.full_pipe.is_reached();
            let extra =
                if compensates { self.aggregation.extra(self.bandwidth.estimate()) } else { Bytes::ZERO };
            let target = self.with_quanta(bdp + extra + self.bandwidth.headroom());
            if self.full_pipe.is_reached() {
                self.window = target.min(self.window + ack.bytes);
            } else if self.window < target || self.delivered < self.initial_window {
                self.window += ack.bytes;
            }
            self.window = self.window.max(self.min_window());
        }
        if matches!(self.state, State::ProbeRtt(_)) {
            self.window = self.window.min(self.min_window());
        }
    }
}

impl<S: BandwidthSource> Controller for Bbr<S> {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.set_packet_size(sent.packet_size);
        let self_limited = if self.self_limited_until.is_some() { SELF_LIMITED } else { Tag::default() };
        self_limited | self.recovery.on_sent(sent.bytes)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.set_packet_size(ack.packet_size);
        self.delivered = ack.delivered;
        if self.self_limited_until.is_some_and(|until| self.delivered > until) {
            self.self_limited_until = None;
        }
        self.update_bandwidth(ack);
        self.update_cycle(ack);
        self.update_drain(ack);
        self.update_min_rtt(ack);
        self.set_pacing_rate(ack.rtt.smoothed());
        self.set_window(ack);
        self.lost_since_ack = false;
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.set_packet_size(loss.packet_size);
        self.lost_since_ack = true;
        if self.recovery.is_active() {
            self.window = self.window.saturating_sub(loss.bytes);
        } else {
            self.recovery.save(self.window, matches!(self.state, State::ProbeRtt(_)));
            self.window = loss.inflight + self.packet_size;
        }
        self.recovery.on_loss(loss, self.delivered);
        if loss.persistent {
            // Draft section 4.2.3.4: the path may be gone; one packet will tell.
            self.window = Bytes::ZERO;
            self.full_pipe.look_again();
        }
        self.window = self.window.max(self.packet_size);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::SpuriousLoss => {
                self.recovery.leave();
                self.window = self.window.max(self.recovery.prior_window());
                self.full_pipe.look_again();
            }
            Event::IdleRestart => {
                self.idle_restart = true;
                self.aggregation.restart(now);
                match &self.state {
                    // What is known is enough to begin with; a burst would only overflow a queue.
                    State::ProbeBw => self.pacing.pace_at(paced(self.bandwidth.estimate(), 1.0)),
                    State::ProbeRtt(probe) if probe.is_over_after_idling(now) => self.leave_probe_rtt(now),
                    _ => {}
                }
            }
            Event::Forgotten(packet) => self.recovery.settle(&[packet]),
            // BBR v1 ignores marks.
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            pacing_rate: self.config.pacing.then_some(self.pacing.rate()),
            ..Limits::paced(self.window, self.pacing.rate(), self.pacing.quantum())
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.state("state", &["startup", "drain", "probe_bw", "probe_rtt"], self.phase() as usize);
        observer.value("btl_bw", "mbit_s", self.bandwidth.estimate().as_mbit_per_sec());
        if let Some(min_rtt) = self.min_rtt.get() {
            observer.value("min_rtt", "ms", min_rtt.as_millis_f64());
        }
        observer.value("pacing_gain", "", self.pacing_gain());
        observer.value("cwnd_gain", "", self.cwnd_gain());
        observer.switch("full_pipe", self.full_pipe.is_reached());
    }
}

#[cfg(test)]
mod tests;
