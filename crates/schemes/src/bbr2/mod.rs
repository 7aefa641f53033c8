//! BBR v2: BBR that learns from loss how much the path holds, and probes less often.
//!
//! 1. `max_bw` is the largest delivery rate of two probing cycles, `min_rtt` the smallest RTT of ten seconds.
//! 2. `inflight_hi`, the long-term bound, is the data in flight when more than 2 % of a probing round were lost.
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
//! | `model` | the common parts of this version and `bbr3` |
//! | `min_rtt` | the minimum RTT, and when to look for it |
//! | `bounds` | evidence of losses: `bw_lo`, `inflight_lo`, `inflight_hi` |
//! | `cycle` | the phases of ProbeBW |
//! | `probing` | from phase to phase, and the result of a probe |
//! | `window` | the window that follows from the model |
//!
//! From [`bbr`](super::bbr): the end of Startup, ProbeRTT's stay, pacing, packet conservation, aggregated ACKs, outages.
//!
//! **Differences from the draft.**
//! - There is no `bw_hi`. Nothing in the draft lowers it from infinity, and read to the letter `inflight_hi` then never rises.
//! - Loss recovery lasts as in Linux's TCP (`bbr`, file `recovery`), packet conservation for a round. A round
//!   that this held back does not count as one without growth, and an outage does not make the minimum RTT older, as in `bbr`.
//! - Startup's "discontiguous ranges" of losses are counted as reports of losses.
//! - A loss that was none restores the bounds of before (v2alpha; the draft says nothing of it).
//! - Marks (ECN) are ignored. The draft leaves them out; in v2alpha they are off by default.
//!
//! **The profile `alpha`** has a gain of 2.885 in Startup and its inverse in Drain, 0.75 in Down, eight reports of losses to end
//! Startup, and ends Up where `inflight_hi` is reached if the last probe met losses; the next probe then follows at once.

pub(super) mod bounds;
pub(super) mod cycle;
pub(super) mod model;
#[cfg(test)]
mod tests;

use super::bbr::common::{State, conserved_rate, is_self_limited};
use bounds::Lost;
use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, Parameter, Sampler, SchemeInfo, Sent,
    ShownValue, Tag, kind,
};
use cellcc_units::{Bytes, Rate, Span, Time};
use cycle::Phase;
use model::{Model, PROBE_RTT_CWND_GAIN};

// The settings of BBR v2, and the constants in which the draft and Google's alpha code differ.

const PROFILE: Parameter<kind::Choice<Gains>> = Parameter::new(
    "profile",
    kind::Choice(&[("draft02", Gains::DRAFT02), ("alpha", Gains::ALPHA)]),
    Gains::DRAFT02,
    "the draft, or Google's code for Linux",
    "draft-cardwell-iccrg-bbr-congestion-control-02; google/bbr, branch v2alpha",
);

/// The values that it exposes besides the model's.
const SHOWS: [ShownValue; 1] =
    [ShownValue::number("inflight_hi_pkt", "how much may be in flight, as far as losses have said")];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "bbr2",
        "BBR v2: learns from loss how much the path holds, and probes every two to three seconds",
        "draft-cardwell-iccrg-bbr-congestion-control-02",
        |arguments, context| Box::new(Bbr2::new(arguments.get(&PROFILE), context)),
    )
    .parameters(vec![PROFILE.into()])
    .shows(&model::SHOWS)
    .shows(&SHOWS)
}

/// The constants of a profile.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Gains {
    startup_pacing: f64,
    /// Drain paces at its inverse.
    startup_cwnd: f64,
    down: f64,
    up: f64,
    /// Reports of losses in a round that end Startup.
    startup_losses: u32,
    /// Up ends at `inflight_hi` where the probe before met losses.
    stops_at_bound: bool,
}

impl Gains {
    /// Draft sections 2.5, 4.3.1.3, 4.3.2, 4.3.3.1 and 4.3.3.4.
    const DRAFT02: Self = Self {
        startup_pacing: 2.77,
        startup_cwnd: 2.0,
        down: 0.9,
        up: 1.25,
        startup_losses: 3,
        stops_at_bound: false,
    };
    /// v2alpha: `bbr_startup_pacing_gain`, `bbr_startup_cwnd_gain`, `bbr_pacing_gain`, `bbr_full_loss_cnt`,
    /// `bbr2_update_cycle_phase`.
    const ALPHA: Self = Self {
        startup_pacing: 2.885,
        startup_cwnd: 2.885,
        down: 0.75,
        up: 1.25,
        startup_losses: 8,
        stops_at_bound: true,
    };
}

/// Draft section 2.6: BDPs that may be in flight in ProbeBW.
const CWND_GAIN: f64 = 2.0;

struct Bbr2 {
    gains: Gains,
    model: Model,
    /// The flow was in recovery when the last round of losses ended.
    was_recovering: bool,
}

/// The facts of an acknowledgement for the later steps.
#[derive(Debug, Clone, Copy)]
struct Step {
    round_start: bool,
    app_limited: bool,
    /// The delivery rate, if packet conservation limited it.
    conserved: Option<Rate>,
    /// The data in flight when the newest packet left, it included, and the losses since.
    lost: Lost,
}

impl Bbr2 {
    fn new(gains: Gains, context: &Context) -> Self {
        Self { gains, model: Model::new(context, gains.startup_pacing), was_recovering: false }
    }

    fn pacing_gain(&self) -> f64 {
        match self.model.common.state {
            State::Startup => self.gains.startup_pacing,
            State::Drain => 1.0 / self.gains.startup_cwnd,
            State::ProbeBw => self.model.cycle.pacing_gain(self.gains.down, self.gains.up),
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.model.common.state {
            State::Startup | State::Drain => self.gains.startup_cwnd,
            State::ProbeBw => CWND_GAIN,
            State::ProbeRtt(_) => PROBE_RTT_CWND_GAIN,
        }
    }

    /// Takes the delivery rate and the losses of the acknowledgement.
    fn update_model(&mut self, ack: &Ack<'_>) -> Option<Step> {
        let newest = ack.packets.last()?;
        let round_start = self.model.has_round_ended(ack);
        let app_limited = is_self_limited(newest) || ack.rate.is_some_and(|sample| sample.app_limited);
        if let Some(sample) = &ack.rate {
            let rate = sample.rate(Sampler::Min);
            self.model.add_bandwidth(rate, app_limited);
            self.model.bounds.on_delivery(newest.delivered, ack.delivered, rate, sample.delivered);
            let (probing, max_bw, window) =
                (self.model.is_probing(), self.model.max_bw(), self.model.common.window);
            self.model.bounds.end_round(probing, max_bw, window);
            self.model.bounds.advance();
        }
        let lost = ack.rate.map_or(Bytes::ZERO, |sample| sample.lost);
        Some(Step {
            round_start,
            app_limited,
            conserved: conserved_rate(ack),
            lost: Lost { inflight: newest.inflight + newest.bytes, lost },
        })
    }

    /// Draft sections 4.3.1.2 and 4.3.1.3.
    fn update_startup(&mut self, ack: &Ack<'_>, step: &Step) {
        if step.round_start && !step.app_limited {
            let max_bw = self.model.max_bw();
            self.model.common.full_pipe.on_round(max_bw, step.conserved);
        }
        let lossy =
            self.model.bounds.took_losses_for_a_round(self.gains.startup_losses) && step.lost.is_too_much();
        let is_recovering = self.model.common.recovery.is_active();
        if matches!(self.model.common.state, State::Startup)
            && !self.model.common.full_pipe.is_reached()
            && self.was_recovering
            && is_recovering
            && lossy
        {
            self.model.common.full_pipe.reach();
            self.model.bounds.inflight_hi = Some(self.inflight(1.0));
        }
        if self.model.bounds.has_round_ended() {
            self.was_recovering = is_recovering;
        }
        if matches!(self.model.common.state, State::Startup) && self.model.common.full_pipe.is_reached() {
            self.model.common.state = State::Drain;
        }
        if matches!(self.model.common.state, State::Drain) && ack.inflight <= self.inflight(1.0) {
            self.model.start_down(ack.now);
        }
    }
}

impl Controller for Bbr2 {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.model.common.on_sent(sent)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.model.common.on_ack(ack);
        let Some(step) = self.update_model(ack) else { return };
        let (bandwidth, window) = (self.model.bw(), self.model.common.window);
        self.model.common.aggregation.update(ack.now, ack.round_start, ack.bytes, bandwidth, window);
        self.update_startup(ack, &step);
        self.update_cycle(ack, &step);
        self.model.update_probe_rtt(ack);
        let (bandwidth, gain) = (self.model.bw(), self.pacing_gain());
        let full = self.model.common.full_pipe.is_reached();
        self.model.common.pace(ack.rtt.smoothed(), self.gains.startup_pacing, bandwidth, gain, full);
        self.set_window(ack);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        if loss.new_episode {
            self.model.saved_bounds = self.model.bounds;
        }
        self.model.common.on_loss(loss);
        self.model.bounds.on_loss();
        if self.model.cycle.takes_samples() {
            let high = bounds::inflight_when_too_much_was_lost(loss);
            if let Some((inflight, app_limited)) = high {
                self.inflight_was_too_high(loss.now, inflight, app_limited);
            }
        }
        self.model.common.end_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.model.common.on_event(now, event);
        match event {
            Event::SpuriousLoss => self.model.bounds.restore(&self.model.saved_bounds),
            Event::IdleRestart => self.model.restart(now),
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        let common = &self.model.common;
        Limits::paced(common.window, common.pacing.rate(), common.pacing.quantum())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.model.observe(observer, self.pacing_gain());
        if let Some(bound) = self.model.bounds.inflight_hi {
            observer.value("inflight_hi", "pkt", bound.in_packets(self.model.common.packet_size));
        }
    }
}

// The window that follows from the model.

impl Bbr2 {
    /// Draft section 4.6.4.2, `BBRQuantizationBudget`.
    fn with_quanta(&self, inflight: Bytes) -> Bytes {
        let common = &self.model.common;
        let inflight = inflight.max(common.pacing.quantum() * 3).max(common.min_window());
        if self.model.is_in(Phase::Up) { inflight + common.packet_size * 2 } else { inflight }
    }

    /// Draft section 4.6.4.2, `BBRInflight`, of the largest bandwidth.
    fn inflight(&self, gain: f64) -> Bytes {
        self.with_quanta(self.model.bdp(self.model.max_bw(), gain))
    }

    /// Draft section 4.6.4.6, `BBRSetCwnd`.
    fn set_window(&mut self, ack: &Ack<'_>) {
        let bandwidth = self.model.bw();
        let bdp = self.model.bdp(bandwidth, self.cwnd_gain());
        let target = self.with_quanta(bdp + self.model.common.aggregation.extra(bandwidth));
        let full = self.model.common.full_pipe.is_reached();
        self.model.common.grow_window(ack, target, full);
        self.model.common.window =
            self.model.common.window.max(self.model.common.min_window()).min(self.model.cap());
    }
}

// ProbeBW: from phase to phase, and the result of a probe.

impl Bbr2 {
    /// Draft section 4.3.3.6, `BBRUpdateProbeBWCyclePhase`.
    fn update_cycle(&mut self, ack: &Ack<'_>, step: &Step) {
        if !self.model.common.full_pipe.is_reached() {
            return;
        }
        if self.model.end_feedback(step.round_start, step.app_limited) {
            return;
        }
        self.adapt_upper_bound(ack, step);
        if !matches!(self.model.common.state, State::ProbeBw) {
            return;
        }
        match self.model.cycle.phase() {
            Phase::Down if self.model.is_time_to_probe(ack.now) => self.model.start_refill(),
            Phase::Down if self.model.is_drained(ack.inflight, self.inflight(1.0)) => {
                self.model.cycle.cruise()
            }
            Phase::Cruise if self.model.is_time_to_probe(ack.now) => self.model.start_refill(),
            Phase::Refill if step.round_start => self.model.start_up(ack.now),
            Phase::Up => self.update_up(ack),
            _ => {}
        }
    }

    fn update_up(&mut self, ack: &Ack<'_>) {
        let cautiously = self.gains.stops_at_bound && self.model.is_at_lossy_bound(ack);
        let min_rtt = self.model.min_rtt.get().unwrap_or(Span::ZERO);
        let is_full =
            self.model.cycle.has_lasted(ack.now, min_rtt) && ack.inflight > self.inflight(self.gains.up);
        if cautiously || is_full {
            self.model.cycle.end_probe(cautiously);
            self.model.start_down(ack.now);
        }
    }

    /// Draft section 4.5.6.2, `BBRAdaptUpperBounds`.
    fn adapt_upper_bound(&mut self, ack: &Ack<'_>, step: &Step) {
        if !step.lost.is_too_much() {
            self.model.raise_long_term_bound(ack, step.lost.inflight, step.round_start);
        } else if self.model.cycle.takes_samples() {
            self.inflight_was_too_high(ack.now, step.lost.inflight, step.app_limited);
        }
    }

    /// Draft section 4.5.6.2, `BBRHandleInflightTooHigh`.
    fn inflight_was_too_high(&mut self, now: Time, inflight: Bytes, app_limited: bool) {
        self.model.lower_long_term_bound(inflight, app_limited);
        if self.model.is_in(Phase::Up) {
            self.model.start_down(now);
        }
    }
}
