//! BBR v3: as v2 it learns from loss how much the path holds; its probes end where the bandwidth no longer rises.
//!
//! 1. `max_bw` is the largest delivery rate of two probing cycles, `min_rtt` the smallest RTT of ten seconds.
//! 2. `inflight_longterm` is the data in flight when more than 2 % of a probe's round were lost.
//! 3. A round with a loss at other times lowers `bw_shortterm` and `inflight_shortterm`, to 0.7 at least.
//! 4. ProbeBW drains (Down), cruises with headroom, and every two to three seconds refills the pipe and probes (Up).
//! 5. ProbeRTT: every five seconds without a smaller RTT, half a BDP in flight for 200 ms shows the minimum.
//!
//! ```text
//!  Startup ------> Drain ------> Down -------> Cruise
//!         3 rounds        <= BDP, ^ |   <= BDP   |
//!         without         or 3    | +------------+  2 to 3 s, or 63 rounds
//!         growth,         rounds  |              v
//!         or lossy                +---- Up <-- Refill   one round
//!                3 rounds without growth, lossy,
//!                or at the bound of a lossy probe: then Refill follows at once
//!  from any state: ProbeRTT, 5 s without a smaller RTT; back to Cruise, or to Startup
//! ```
//!
//! Source: draft-ietf-ccwg-bbr, editor's copy of August 2026. Profile `google`: google/bbr, branch v3, `tcp_bbr.c`.
//!
//! | file | concept |
//! |---|---|
//! | `settings` | the parameters, and the constants of both profiles |
//! | `startup` | the ends of Startup and of Drain |
//! | `probing` | from phase to phase of ProbeBW, and the result of a probe |
//! | `losses` | losses, marks, and losses that were none |
//!
//! From [`bbr2`](super::bbr2): model, bounds, phases, the minimum RTT, ProbeRTT. From [`bbr`](super::bbr): pacing, a full pipe,
//! aggregated ACKs, outages. There is no packet conservation.
//!
//! **Differences from the draft.**
//! - The first pacing rate is set again with the first RTT sample, as in Linux; the draft sets it once.
//! - A recovery lasts as in Linux's TCP (`bbr`, file `recovery`): until all lost packets have arrived. It matters to Startup's end
//!   by loss, and to the window that is restored.
//! - An outage does not make the minimum RTT older (`bbr`, file `silence`).
//! - A mark (ECN) counts as a loss in its round, and in a probe as one that went too high. The draft has no response, but
//!   wants one (section 3.7). The simulator's packets carry no ECT; QUIC's do.
//! - Reno rounds: the draft compares a volume with a count. Here both are packets.
//!
//! **The profile `google`** paces at a gain of 0.347 in Drain and of 0.91 in Down, does not limit Drain's rounds, takes a rise of
//! the bandwidth at any ACK, also lowers the bound by an ACK's losses, keeps aggregation as v1 does, three quanta of offload, and
//! restores no state after a spurious loss. Its response to marks needs an RTT below 5 ms and is left out.

mod phases;
#[cfg(test)]
mod tests;

use super::bbr::common::{State, is_self_limited};
use super::bbr::model::Aggregation;
use super::bbr2::bounds::Lost;
use super::bbr2::cycle::Phase;
use super::bbr2::model::{Model, PROBE_RTT_CWND_GAIN};
use crate::bbr2::model;
use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, Parameter, Sampler, SchemeInfo, Sent,
    ShownValue, Tag, kind,
};
use cellcc_units::{Bytes, Rate, Span, Time};
use phases::Startup;

// The settings of BBR v3, and the differences between the draft and Google's code.

const PROFILE: Parameter<kind::Choice<Constants>> = Parameter::new(
    "profile",
    kind::Choice(&[("draft", Constants::DRAFT), ("google", Constants::GOOGLE)]),
    Constants::DRAFT,
    "the draft, or Google's code for Linux",
    "draft-ietf-ccwg-bbr; google/bbr, branch v3",
);

/// The values that it exposes besides the model's.
const SHOWS: [ShownValue; 3] = [
    ShownValue::number(
        "inflight_longterm_pkt",
        "how much may be in flight, as far as lossy probes have said",
    ),
    ShownValue::number("inflight_shortterm_pkt", "how much may be in flight until the next probe"),
    ShownValue::number("extra_acked_pkt", "how much more than expected is acknowledged at once"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "bbr3",
        "BBR v3: BBR v2 whose probes end where the bandwidth no longer rises",
        "draft-ietf-ccwg-bbr, August 2026; google/bbr, branch v3",
        |arguments, context| Box::new(Bbr3::new(arguments.get(&PROFILE), context)),
    )
    .parameters(vec![PROFILE.into()])
    .shows(&model::SHOWS)
    .shows(&SHOWS)
}

/// The constants and habits of a profile.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Constants {
    /// Pacing gains of Drain and Down.
    drain: f64,
    down: f64,
    /// Drain ends after three rounds, whatever is in flight.
    drain_has_limit: bool,
    /// A rise of the bandwidth within a round counts.
    rises_at_any_ack: bool,
    /// The losses that an acknowledgement's sample tells of lower the long-term bound, as lost packets do.
    acks_lower_the_bound: bool,
    /// Aggregation as the maximum of exactly ten rounds, not of two slots and 100 ms.
    exact_aggregation: bool,
    /// Room for three send quanta, and not for one and an acknowledgement that is held back.
    three_quanta: bool,
    /// A spurious loss gives back the state that it ended.
    restores_states: bool,
}

impl Constants {
    /// Draft sections 2.5, 5.3.1, 5.3.2, 5.5.8, 5.5.9, 5.5.10, 5.5.11 and 5.6.1.
    const DRAFT: Self = Self {
        drain: 0.5,
        down: 0.9,
        drain_has_limit: true,
        rises_at_any_ack: false,
        acks_lower_the_bound: false,
        exact_aggregation: true,
        three_quanta: false,
        restores_states: true,
    };
    /// `bbr_drain_gain` (1 / 2.885), `bbr_pacing_gain`, `bbr_check_full_bw_reached`, `bbr_adapt_upper_bounds`,
    /// `bbr_update_ack_aggregation`, `bbr_quantization_budget`, `bbr_undo_cwnd`.
    const GOOGLE: Self = Self {
        drain: 1.0 / 2.885,
        down: 0.91,
        drain_has_limit: false,
        rises_at_any_ack: true,
        acks_lower_the_bound: true,
        exact_aggregation: false,
        three_quanta: true,
        restores_states: false,
    };
}

/// Draft section 2.5: 4 ln 2, the smallest gain that doubles the rate per round (`StartupPacingGain`).
const STARTUP_PACING_GAIN: f64 = 2.77;
/// Draft section 2.6: BDPs that may be in flight (`DefaultCwndGain`).
const CWND_GAIN: f64 = 2.0;
/// Draft section 5.6.1: those of Up, and its pacing gain.
const UP_CWND_GAIN: f64 = 2.25;
const UP_PACING_GAIN: f64 = 1.25;
/// RFC 9000, sections 13.2.1 and 18.2: how many packets a receiver may leave without an acknowledgement, and for how long.
const ACK_THRESHOLD_PACKETS: u64 = 2;
const MAX_ACK_DELAY: Span = Span::from_millis(25);
/// Draft section 5.6.3: packets of the smallest send quantum.
const MIN_QUANTUM_PACKETS: u64 = 2;

/// The state that losses have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undo {
    Startup,
    Up,
}

struct Bbr3 {
    constants: Constants,
    model: Model,
    startup: Startup,
    /// The state to restore if the losses turn out spurious.
    undo: Option<Undo>,
    /// The data in flight when the newest acknowledged packet left, it included.
    newest_inflight: Bytes,
}

/// The facts of an acknowledgement for the later steps.
#[derive(Debug, Clone, Copy)]
struct Step {
    round_start: bool,
    app_limited: bool,
    /// The delivery rate; none where it was measured in less than the minimum RTT.
    rate: Option<Rate>,
    /// The most that was delivered in a round trip of this round.
    inflight_latest: Bytes,
    /// The data in flight when the newest packet left, it included, and the losses since.
    lost: Lost,
}

impl Bbr3 {
    fn new(constants: Constants, context: &Context) -> Self {
        let mut model = Model::new(context, STARTUP_PACING_GAIN);
        if constants.exact_aggregation {
            model.common.aggregation = Aggregation::exact(context.packet);
        }
        Self { constants, model, startup: Startup::default(), undo: None, newest_inflight: Bytes::ZERO }
    }

    fn pacing_gain(&self) -> f64 {
        match self.model.common.state {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => self.constants.drain,
            State::ProbeBw => self.model.cycle.pacing_gain(self.constants.down, UP_PACING_GAIN),
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.model.common.state {
            State::ProbeRtt(_) => PROBE_RTT_CWND_GAIN,
            _ if self.model.is_in(Phase::Up) => UP_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    /// Draft sections 5.5.5, 5.5.9 and 5.5.10: takes the delivery rate, and lowers the short-term bounds for a round's losses.
    fn update_model(&mut self, ack: &Ack<'_>) -> Option<Step> {
        let newest = ack.packets.last()?;
        self.newest_inflight = newest.inflight + newest.bytes;
        let round_start = self.model.has_round_ended(ack);
        if round_start {
            self.startup.on_round();
        }
        let app_limited = is_self_limited(newest) || ack.rate.is_some_and(|sample| sample.app_limited);
        let long_enough = |interval: Span| self.model.min_rtt.get().is_none_or(|min_rtt| interval >= min_rtt);
        let sample = ack.rate.filter(|sample| long_enough(sample.send_interval.max(sample.ack_interval)));
        let rate = sample.map(|sample| sample.rate(Sampler::Min));
        if let (Some(sample), Some(rate)) = (sample, rate) {
            self.model.bounds.on_delivery(newest.delivered, ack.delivered, rate, sample.delivered);
            self.model.add_bandwidth(rate, app_limited);
            let (probing, max_bw, window) =
                (self.model.is_probing(), self.model.max_bw(), self.model.common.window);
            self.model.bounds.end_round(probing, max_bw, window);
        }
        if round_start && !self.model.common.full_pipe.is_reached() {
            self.model.common.aggregation.forget_rounds();
        }
        let (bandwidth, window) = (self.model.bw(), self.model.common.window);
        self.model.common.aggregation.update(ack.now, round_start, ack.bytes, bandwidth, window);
        let lost = ack.rate.map_or(Bytes::ZERO, |sample| sample.lost);
        Some(Step {
            round_start,
            app_limited,
            rate,
            inflight_latest: self.model.bounds.inflight_latest(),
            lost: Lost { inflight: self.newest_inflight, lost },
        })
    }

    /// Draft section 5.6.3.
    fn quantum(&self) -> Bytes {
        let common = &self.model.common;
        common.pacing.quantum().max(common.packet_size * MIN_QUANTUM_PACKETS)
    }

    /// Draft sections 5.5.8 and 5.6.4.2: room for packets held back by sender and receiver, and for a probe of two packets more.
    fn with_quanta(&self, inflight: Bytes) -> Bytes {
        let common = &self.model.common;
        let delayed = self.model.max_bw().bytes_in(MAX_ACK_DELAY);
        let offload = if self.constants.three_quanta {
            self.quantum() * 3
        } else {
            self.quantum() + delayed.min(common.packet_size * ACK_THRESHOLD_PACKETS)
        };
        let inflight = inflight.max(offload).max(common.min_window());
        if self.model.is_in(Phase::Up) { inflight + common.packet_size * 2 } else { inflight }
    }

    /// The amount that fills the pipe at the largest bandwidth (`BBRInflight`).
    fn full_pipe(&self) -> Bytes {
        self.with_quanta(self.model.bdp(self.model.max_bw(), 1.0))
    }

    /// Draft section 5.6.4.6.
    fn set_window(&mut self, ack: &Ack<'_>) {
        if self.model.common.recovery.update(ack) {
            self.model.common.restore_window();
        }
        let bandwidth = self.model.bw();
        let extra = self.model.common.aggregation.extra(bandwidth);
        let target = self.with_quanta(self.model.bdp(bandwidth, self.cwnd_gain()) + extra);
        let common = &mut self.model.common;
        if common.full_pipe.is_reached() {
            common.window = target.min(common.window + ack.bytes);
        } else if common.window < target || common.delivered < common.initial_window {
            common.window += ack.bytes;
        }
        let least = common.min_window();
        common.window = common.window.max(least);
        self.model.common.window = self.model.common.window.min(self.model.cap());
    }
}

impl Controller for Bbr3 {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        if sent.inflight == sent.bytes && sent.app_limited {
            self.model.common.on_event(sent.now, Event::IdleRestart);
            self.model.restart(sent.now);
        }
        self.model.common.on_sent(sent)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.model.common.on_ack(ack);
        let Some(step) = self.update_model(ack) else { return };
        self.update_startup(&step);
        self.update_drain(ack);
        self.update_cycle(ack, &step);
        self.model.update_probe_rtt(ack);
        self.model.bounds.advance();
        let (bandwidth, gain) = (self.model.bw(), self.pacing_gain());
        let full = self.model.common.full_pipe.is_reached();
        self.model.common.pace(ack.rtt.smoothed(), STARTUP_PACING_GAIN, bandwidth, gain, full);
        self.set_window(ack);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.take_losses(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::SpuriousLoss => self.undo_losses(now),
            Event::CongestionMarked => self.take_mark(now),
            // Idling is seen when a packet leaves.
            Event::IdleRestart => {}
            _ => self.model.common.on_event(now, event),
        }
    }

    fn limits(&self) -> Limits {
        Limits::paced(self.model.common.window, self.model.common.pacing.rate(), self.quantum())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        let packet = self.model.common.packet_size;
        self.model.observe(observer, self.pacing_gain());
        if let Some(bound) = self.model.bounds.inflight_hi {
            observer.value("inflight_longterm", "pkt", bound.in_packets(packet));
        }
        if let Some(bound) = self.model.bounds.inflight_lo {
            observer.value("inflight_shortterm", "pkt", bound.in_packets(packet));
        }
        let extra = self.model.common.aggregation.extra(self.model.bw());
        observer.value("extra_acked", "pkt", extra.in_packets(packet));
    }
}
