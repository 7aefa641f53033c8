//! BBR v2: BBR that learns from loss how much the path holds, and probes less often.
//!
//! 1. `max_bw` is the largest delivery rate of two probing cycles, `min_rtt` the smallest RTT of ten seconds.
//! 2. `inflight_hi` is what was in flight when more than 2 % of a round were lost while it probed: the long-term bound.
//! 3. A round with a loss at other times lowers `bw_lo` and `inflight_lo`, the short-term bounds, to 0.7 at least.
//! 4. ProbeBW drains (Down), cruises with headroom, and every two to three seconds refills the pipe and probes (Up).
//! 5. ProbeRTT: every five seconds without a smaller RTT, half a BDP in flight for 200 ms shows the minimum.
//!
//! ```text
//!  Startup ------> Drain ------> Down -------> Cruise
//!           full         <= BDP   ^ |   <= BDP   |
//!          pipe, or               | +------------+  2 to 3 s, or 63 rounds
//!          lossy                  |              v
//!                                 +---- Up <-- Refill   one round
//!                 1.25 BDP, or lossy
//!  from any state: ProbeRTT, 5 s without a smaller RTT; back to Cruise, or to Startup
//! ```
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-02 (March 2022). Profile `alpha`: google/bbr, branch v2alpha,
//! `tcp_bbr2.c`.
//!
//! | file | concept |
//! |---|---|
//! | `settings` | the parameters, and the constants of both profiles |
//! | `min_rtt` | the minimum RTT, and when to look for it |
//! | `bounds` | what losses have taught: `bw_lo`, `inflight_lo`, `inflight_hi` |
//! | `cycle` | the phases of ProbeBW |
//! | `probing` | from phase to phase, and what a probe teaches |
//! | `window` | the window and the pacing rate that follow from the model |
//!
//! From [`bbr`](super::bbr): the end of Startup, ProbeRTT's stay, pacing, packet conservation, aggregated ACKs, outages.
//!
//! **Differences from the draft.**
//! - There is no `bw_hi`. Nothing in the draft lowers it from infinity, and read to the letter `inflight_hi` then never rises.
//! - Loss recovery lasts as in Linux' TCP (`bbr`, file `recovery`), packet conservation for a round. A round
//!   that this held back does not count as one without growth, and an outage does not make the minimum RTT older, as in `bbr`.
//! - Startup's "discontiguous ranges" of losses are counted as reports of losses.
//! - A loss that was none restores the bounds of before (v2alpha; the draft says nothing of it).
//! - Marks (ECN) are ignored. The draft leaves them out; in v2alpha they are off by default.
//!
//! **The profile `alpha`** has a gain of 2.885 in Startup and its inverse in Drain, 0.75 in Down, eight reports of losses to end
//! Startup, and ends Up where `inflight_hi` is reached if the last probe met losses.

mod bounds;
mod cycle;
mod min_rtt;
mod probing;
mod settings;
#[cfg(test)]
mod tests;
mod window;

pub(super) use settings::scheme;

use super::bbr::common::{Common, State, is_self_limited};
use super::bbr::pacing::paced;
use super::bbr::recovery::conserved_rate;
use bounds::{Bounds, Lost};
use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, Sampler, Sent, Tag, filters::WindowedMax,
};
use cellcc_units::{Bytes, Rate, Time};
use cycle::{Cycle, Phase};
use min_rtt::MinRtt;
use settings::Gains;

/// Draft section 2.6: BDPs that may be in flight in ProbeBW.
const CWND_GAIN: f64 = 2.0;
/// Draft section 2.14.2: BDPs that may be in flight in ProbeRTT (`BBRProbeRTTCwndGain`).
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// Draft section 2.11: cycles that the bandwidth filter remembers (`MaxBwFilterLen`).
const FILTER_CYCLES: u64 = 2;

/// The states as they are shown, ProbeBW by its phases.
const STATES: [&str; 7] =
    ["startup", "drain", "probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up", "probe_rtt"];

struct Bbr2 {
    gains: Gains,
    common: Common,
    cycle: Cycle,
    bounds: Bounds,
    /// What a spurious loss gives back.
    saved_bounds: Bounds,
    max_bw: WindowedMax<Rate>,
    /// Probing cycles so far: positions of the filter.
    cycles: u64,
    min_rtt: MinRtt,
    /// Startup ended for its losses.
    is_lossy: bool,
    /// The flow was in recovery when the last round of losses ended.
    was_recovering: bool,
    /// The round of the phases ends when a packet arrives that left with this much delivered.
    round_ends_at: Bytes,
}

/// What the steps that follow need to know of an acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Step {
    now: Time,
    acked: Bytes,
    inflight: Bytes,
    round_start: bool,
    cwnd_limited: bool,
    app_limited: bool,
    /// The delivery rate, if packet conservation limited it.
    conserved: Option<Rate>,
    /// What was in flight when the newest packet left, it included, and what was lost since.
    lost: Lost,
}

impl Bbr2 {
    fn new(gains: Gains, context: &Context) -> Self {
        Self {
            gains,
            common: Common::new(context, gains.startup_pacing),
            cycle: Cycle::new(context.seed),
            bounds: Bounds::default(),
            saved_bounds: Bounds::default(),
            max_bw: WindowedMax::new(FILTER_CYCLES),
            cycles: 0,
            min_rtt: MinRtt::default(),
            is_lossy: false,
            was_recovering: false,
            round_ends_at: Bytes::ZERO,
        }
    }

    fn is_pipe_full(&self) -> bool {
        self.is_lossy || self.common.full_pipe.is_reached()
    }

    fn max_bw(&self) -> Rate {
        self.max_bw.max().unwrap_or(Rate::ZERO)
    }

    /// The bandwidth to send at.
    fn bw(&self) -> Rate {
        self.bounds.bw_lo.map_or(self.max_bw(), |bound| self.max_bw().min(bound))
    }

    fn pacing_gain(&self) -> f64 {
        match self.common.state {
            State::Startup => self.gains.startup_pacing,
            State::Drain => 1.0 / self.gains.startup_cwnd,
            State::ProbeBw => self.cycle.pacing_gain(&self.gains),
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.common.state {
            State::Startup | State::Drain => self.gains.startup_cwnd,
            State::ProbeBw => CWND_GAIN,
            State::ProbeRtt(_) => PROBE_RTT_CWND_GAIN,
        }
    }

    /// The round begins anew (`BBRStartRound`).
    fn start_round(&mut self) {
        self.round_ends_at = self.common.delivered;
    }

    /// Takes the delivery rate and what the acknowledgement says of losses.
    fn update_model(&mut self, ack: &Ack<'_>) -> Option<Step> {
        let newest = ack.packets.last()?;
        let round_start = newest.delivered >= self.round_ends_at;
        if round_start {
            self.start_round();
            self.cycle.on_round();
        }
        let app_limited = is_self_limited(newest) || ack.rate.is_some_and(|sample| sample.app_limited);
        if let Some(sample) = &ack.rate {
            let rate = sample.rate(Sampler::Min);
            if !app_limited || rate >= self.max_bw() {
                self.max_bw.add(self.cycles, rate);
            }
            self.bounds.on_delivery(newest.delivered, ack.delivered, rate, sample.delivered);
            let probing = self.is_probing();
            self.bounds.end_round(probing, self.max_bw(), self.common.window);
        }
        let lost = ack.rate.map_or(Bytes::ZERO, |sample| sample.lost);
        Some(Step {
            now: ack.now,
            acked: ack.bytes,
            inflight: ack.inflight,
            round_start,
            cwnd_limited: ack.cwnd_limited,
            app_limited,
            conserved: conserved_rate(ack),
            lost: Lost { inflight: newest.inflight + newest.bytes, lost },
        })
    }

    /// In a state that raises what is in flight, where a loss lowers no short-term bound.
    fn is_probing(&self) -> bool {
        match self.common.state {
            State::Startup => true,
            State::ProbeBw => matches!(self.cycle.phase(), Phase::Refill | Phase::Up),
            State::Drain | State::ProbeRtt(_) => false,
        }
    }

    /// Draft sections 4.3.1.2 and 4.3.1.3.
    fn update_startup(&mut self, step: &Step) {
        if step.round_start && !step.app_limited {
            self.common.full_pipe.on_round(self.max_bw(), step.conserved);
        }
        let lossy = self.bounds.took_losses_for_a_round(self.gains.startup_losses) && step.lost.is_too_much();
        let recovering_for_a_round = self.was_recovering && self.common.recovery.is_active();
        if matches!(self.common.state, State::Startup)
            && !self.is_pipe_full()
            && recovering_for_a_round
            && lossy
        {
            self.is_lossy = true;
            self.bounds.inflight_hi = Some(self.inflight(1.0));
        }
        if self.bounds.has_round_ended() {
            self.was_recovering = self.common.recovery.is_active();
        }
        if matches!(self.common.state, State::Startup) && self.is_pipe_full() {
            self.common.state = State::Drain;
        }
        if matches!(self.common.state, State::Drain) && step.inflight <= self.inflight(1.0) {
            self.common.state = State::ProbeBw;
            self.start_down(step.now);
        }
    }

    /// Draft section 4.3.4.4.
    fn update_probe_rtt(&mut self, ack: &Ack<'_>) {
        self.common.silence.on_ack(ack, self.common.idle_restart);
        let expired = self.min_rtt.update(self.common.silence.leave_out(ack.now), ack.rtt_sample);
        if expired && !self.common.idle_restart && !self.common.is_in_probe_rtt() {
            self.common.enter_probe_rtt();
            self.cycle.stop_feedback();
            self.start_round();
        }
        let window = self.probe_rtt_window();
        if self.common.is_probe_rtt_over(ack, window) {
            self.leave_probe_rtt(ack.now);
        }
        self.common.idle_restart = false;
    }

    fn probe_rtt_window(&self) -> Bytes {
        self.bdp(self.bw(), PROBE_RTT_CWND_GAIN).max(self.common.min_window())
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        self.min_rtt.confirm(self.common.silence.leave_out(now));
        self.common.restore_window();
        self.bounds.forget_lower();
        if self.is_pipe_full() {
            self.common.state = State::ProbeBw;
            self.start_down(now);
            self.cycle.cruise();
        } else {
            self.common.state = State::Startup;
        }
    }
}

impl Controller for Bbr2 {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.common.on_sent(sent)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.common.on_ack(ack);
        let Some(step) = self.update_model(ack) else { return };
        let bandwidth = self.bw();
        self.common.aggregation.update(ack.now, ack.round_start, ack.bytes, bandwidth, self.common.window);
        self.update_startup(&step);
        self.update_cycle(&step);
        self.update_probe_rtt(ack);
        let (bandwidth, gain, full) = (self.bw(), self.pacing_gain(), self.is_pipe_full());
        self.common.pace(ack.rtt.smoothed(), self.gains.startup_pacing, bandwidth, gain, full);
        self.set_window(ack);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        if loss.new_episode {
            self.saved_bounds = self.bounds;
        }
        self.common.on_loss(loss);
        self.bounds.on_loss();
        if self.cycle.takes_samples() {
            let high = bounds::inflight_when_too_much_was_lost(loss);
            if let Some((inflight, app_limited)) = high {
                self.inflight_was_too_high(loss.now, inflight, app_limited);
            }
        }
        self.common.end_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.common.on_event(now, event);
        match (event, &self.common.state) {
            (Event::SpuriousLoss, _) => self.bounds.restore(&self.saved_bounds),
            (Event::IdleRestart, State::ProbeBw) => {
                let rate = paced(self.bw(), 1.0);
                self.common.pacing.pace_at(rate);
            }
            (Event::IdleRestart, State::ProbeRtt(probe)) if probe.is_over_after_idling(now) => {
                self.leave_probe_rtt(now);
            }
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        Limits::paced(self.common.window, self.common.pacing.rate(), self.common.pacing.quantum())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        let state = match (&self.common.state, self.cycle.phase()) {
            (State::Startup, _) => 0,
            (State::Drain, _) => 1,
            (State::ProbeBw, phase) => 2 + phase as usize,
            (State::ProbeRtt(_), _) => 6,
        };
        observer.state("state", &STATES, state);
        observer.value("max_bw", "mbit_s", self.max_bw().as_mbit_per_sec());
        observer.value("pacing_gain", "", self.pacing_gain());
        observer.switch("full_pipe", self.is_pipe_full());
        if let Some(min_rtt) = self.min_rtt.get() {
            observer.value("min_rtt", "ms", min_rtt.as_millis_f64());
        }
        if let Some(bound) = self.bounds.inflight_hi {
            observer.value("inflight_hi", "pkt", bound.in_packets(self.common.packet_size));
        }
    }
}
