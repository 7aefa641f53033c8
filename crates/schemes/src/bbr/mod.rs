//! BBR v1: sends at the measured bandwidth of the bottleneck, with about one BDP in flight.
//!
//! 1. `btl_bw` is the largest delivery rate of ten rounds, `min_rtt` the smallest RTT of ten seconds.
//! 2. Packets are paced at `pacing_gain * btl_bw`; `cwnd_gain * btl_bw * min_rtt` bounds the data in flight.
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
//! | `common` | window and pacing in recovery and after idling, for both versions |
//! | `bandwidth` | where the bandwidth comes from, and BBR's filter |
//! | `min_rtt` | the filter of the minimum RTT, and ProbeRTT |
//! | `full_pipe` | the end of Startup |
//! | `cycle` | the gain cycle of ProbeBW |
//! | `pacing` | the pacing rate, and the burst limit |
//! | `recovery` | packet conservation, and the window to restore |
//! | `silence` | outages, which the age of the minimum RTT leaves out |
//! | `aggregation` | compensation for aggregated ACKs |
//!
//! Differences from the draft, all as in Linux: pacing 1 % below the estimate, aggregation compensation, the window in
//! ProbeBW's first phase two packets larger and rounded up to an even count. Differences from Linux: no long-term bandwidth
//! ("LT", policer detection), since no link here is a policer; the bandwidth filter is exact instead of the three-sample
//! approximation; the driver paces, so that nothing waits in a queue below (Linux's earliest departure times) to be subtracted;
//! packets sent from ProbeRTT until its flight is delivered count as application-limited by their tag instead of by the socket;
//! a round that packet conservation held back does not count as one without growth, since Linux ends Startup early after losses
//! in its first rounds (1 run in 20 at 5 % loss, 6 at 10 %); an outage does not make the minimum RTT older (`silence`).
//! Switches for mvfst as of June 2020 (the baseline of RBBR): `sampler=max` is its `BbrBandwidthSampler`, `pacing=off` its
//! tperf server, which paced only on demand, `aggregation=off` its sender without compensation. Without pacing only the window
//! can drain the queue, so Drain then sets a window of one BDP.

pub(super) mod common;
mod cycle;
pub(super) mod model;
#[cfg(test)]
mod tests;

use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, Parameter, Sampler, SchemeInfo, Sent,
    ShownValue, Tag, kind,
};
use cellcc_units::{Bytes, Span, Time};
use common::{Common, State, conserved_rate, is_self_limited, paced};
use cycle::{GainCycle, PhaseEnd};
use model::MinRtt;

pub(super) use common::{LOW_RATE, NOMINAL_RTT};
pub(crate) use model::{BandwidthSource, MaxFilter};

// The name and the parameters of BBR.

const AGGREGATION: Parameter<kind::Switch> = Parameter::new(
    "aggregation",
    kind::Switch,
    true,
    "a larger window where ACKs arrive in bursts",
    "Linux tcp_bbr.c; not in the draft",
);

pub(super) const SAMPLER: Parameter<kind::Choice<Sampler>> = Parameter::new(
    "sampler",
    kind::Choice(&[("min", Sampler::Min), ("max", Sampler::Max)]),
    Sampler::Min,
    "delivery rate by the longer (min) or the shorter (max) of sending and ACK interval",
    "min: draft-cheng-iccrg-delivery-rate-estimation-02, Linux; max: mvfst 2020",
);

const PACING: Parameter<kind::Switch> = Parameter::new(
    "pacing",
    kind::Switch,
    true,
    "paces; off leaves the window as the only limit",
    "on: draft section 4.2.1; off: the default of mvfst's tperf server, 2020",
);

/// The states as they are shown, by their numbers.
const STATES: [&str; 4] = ["startup", "drain", "probe_bw", "probe_rtt"];

/// The values that it exposes.
pub(super) const SHOWS: [ShownValue; 6] = [
    ShownValue::state("state", "the state of the machine", &STATES),
    ShownValue::number("btl_bw_mbit_s", "the bandwidth that the gains apply to"),
    ShownValue::number("min_rtt_ms", "the smallest RTT of ten seconds"),
    ShownValue::number("pacing_gain", "pacing rate / bandwidth"),
    ShownValue::number("cwnd_gain", "window / bandwidth-delay product"),
    ShownValue::switch("full_pipe", "startup has found the bandwidth"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "bbr",
        "BBR v1: paces at the measured bandwidth with about one BDP in flight",
        "draft-cardwell-iccrg-bbr-congestion-control-00; Linux tcp_bbr.c",
        |arguments, context| {
            let config = Config {
                aggregation: arguments.get(&AGGREGATION),
                pacing: arguments.get(&PACING),
                cwnd_gain: CWND_GAIN,
            };
            Box::new(Bbr::new(context, config, MaxFilter::new(arguments.get(&SAMPLER))))
        },
    )
    .parameters(vec![AGGREGATION.into(), SAMPLER.into(), PACING.into()])
    .shows(&SHOWS)
}

/// 2/ln 2, the smallest gain that doubles the rate per round (draft section 4.2.1, `BBRHighGain`).
const HIGH_GAIN: f64 = 2.885;
/// In ProbeBW two BDPs may be in flight: room for delayed and stretched ACKs (draft section 4.2.3.2).
pub(super) const CWND_GAIN: f64 = 2.0;

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Config {
    /// Compensates for aggregated ACKs with a larger window.
    pub(crate) aggregation: bool,
    /// Paces; otherwise the window alone limits.
    pub(crate) pacing: bool,
    /// Bandwidth-delay products that may be in flight in ProbeBW.
    pub(crate) cwnd_gain: f64,
}

/// State of a flow in BBR's diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The rate doubles per round.
    Startup,
    /// Startup's queue drains.
    Drain,
    /// Cruising and probing.
    ProbeBw,
    /// A minimal window shows the minimum RTT.
    ProbeRtt,
}

/// The BBR controller, on one source of its bandwidth.
#[derive(Debug, Clone)]
pub(crate) struct Bbr<S> {
    config: Config,
    common: Common,
    bandwidth: S,
    min_rtt: MinRtt,
    cycle: GainCycle,
    lost_since_ack: bool,
}

impl<S: BandwidthSource> Bbr<S> {
    /// BBR at the beginning of a flow.
    pub(crate) fn new(context: &Context, config: Config, bandwidth: S) -> Self {
        Self {
            config,
            common: Common::new(context, HIGH_GAIN),
            bandwidth,
            min_rtt: MinRtt::default(),
            cycle: GainCycle::new(context.seed),
            lost_since_ack: false,
        }
    }

    /// The flow's state in the diagram.
    pub(crate) fn phase(&self) -> Phase {
        match self.common.state {
            State::Startup => Phase::Startup,
            State::Drain => Phase::Drain,
            State::ProbeBw => Phase::ProbeBw,
            State::ProbeRtt(_) => Phase::ProbeRtt,
        }
    }

    /// The minimum RTT of the last ten seconds, if there was a sample.
    pub(crate) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.get()
    }

    /// The source of the bandwidth.
    pub(crate) fn bandwidth(&self) -> &S {
        &self.bandwidth
    }

    /// The source of the bandwidth, to tell it what happens besides acknowledgements.
    pub(crate) fn bandwidth_mut(&mut self) -> &mut S {
        &mut self.bandwidth
    }

    fn pacing_gain(&self) -> f64 {
        match self.common.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeBw => self.cycle.gain(),
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.common.state {
            State::Startup => HIGH_GAIN,
            State::Drain if self.config.pacing => HIGH_GAIN,
            State::Drain | State::ProbeRtt(_) => 1.0,
            State::ProbeBw => self.config.cwnd_gain,
        }
    }

    /// `gain` bandwidth-delay products; the initial window while the RTT is unknown.
    fn bdp(&self, gain: f64) -> Bytes {
        self.common.bdp(self.bandwidth.estimate(), self.min_rtt.get(), gain)
    }

    /// The target of data in flight for `amount` on the path: three quanta more, for the sender's and the receiver's
    /// offloading, in an even number of packets.
    fn with_quanta(&self, amount: Bytes) -> Bytes {
        let amount = amount + self.common.pacing.quantum() * 3;
        let pairs = amount.get().div_ceil(self.common.packet_size.get().saturating_mul(2));
        let extra =
            if matches!(self.common.state, State::ProbeBw) && self.cycle.is_probing() { 2 } else { 0 };
        self.common.packet_size * (pairs.saturating_mul(2).saturating_add(extra))
    }

    fn update_bandwidth(&mut self, ack: &Ack<'_>) {
        let Some(sample) = &ack.rate else { return };
        let app_limited = sample.app_limited || ack.packets.last().is_some_and(is_self_limited);
        self.bandwidth.on_sample(ack, sample, app_limited);
        let estimate = self.bandwidth.estimate();
        self.common.aggregation.update(ack.now, ack.round_start, ack.bytes, estimate, self.common.window);
        if ack.round_start && !app_limited {
            self.common.full_pipe.on_round(estimate, conserved_rate(ack));
        }
    }

    fn update_cycle(&mut self, ack: &Ack<'_>) {
        let (State::ProbeBw, Some(min_rtt)) = (&self.common.state, self.min_rtt.get()) else { return };
        let (now, inflight, lost) = (ack.now, ack.inflight_before, self.lost_since_ack);
        let end = PhaseEnd { now, min_rtt, inflight, lost };
        if self.cycle.is_over(&end, |gain| self.with_quanta(self.bdp(gain))) {
            self.cycle.advance(now);
        }
    }

    fn update_drain(&mut self, ack: &Ack<'_>) {
        if matches!(self.common.state, State::Startup) && self.common.full_pipe.is_reached() {
            self.common.state = State::Drain;
        }
        if matches!(self.common.state, State::Drain) && ack.inflight <= self.with_quanta(self.bdp(1.0)) {
            self.enter_probe_bw(ack.now);
        }
    }

    fn enter_probe_bw(&mut self, now: Time) {
        self.common.state = State::ProbeBw;
        self.cycle.start(now);
    }

    fn update_min_rtt(&mut self, ack: &Ack<'_>) {
        self.common.silence.on_ack(ack, self.common.idle_restart);
        let expired = self.min_rtt.update(self.common.silence.leave_out(ack.now), ack.rtt_sample);
        if expired && !self.common.idle_restart && !self.common.is_in_probe_rtt() {
            self.common.enter_probe_rtt();
        }
        if self.common.is_probe_rtt_over(ack, self.common.min_window()) {
            self.leave_probe_rtt(ack.now);
        }
        self.common.idle_restart = false;
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        self.min_rtt.confirm(self.common.silence.leave_out(now));
        self.common.restore_window();
        if self.common.full_pipe.is_reached() {
            self.enter_probe_bw(now);
        } else {
            self.common.state = State::Startup;
        }
    }

    fn set_window(&mut self, ack: &Ack<'_>) {
        let (bdp, full) = (self.bdp(self.cwnd_gain()), self.common.full_pipe.is_reached());
        let compensates = self.config.aggregation && full;
        let extra =
            if compensates { self.common.aggregation.extra(self.bandwidth.estimate()) } else { Bytes::ZERO };
        let target = self.with_quanta(bdp + extra + self.bandwidth.headroom());
        self.common.grow_window(ack, target, full);
        if !self.common.recovery.is_conserving() {
            self.common.window = self.common.window.max(self.common.min_window());
        }
        if self.common.is_in_probe_rtt() {
            self.common.window = self.common.window.min(self.common.min_window());
        }
    }
}

impl<S: BandwidthSource> Controller for Bbr<S> {
    fn departures_change_limits(&self) -> bool {
        false
    }

    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.common.on_sent(sent)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.common.on_ack(ack);
        self.update_bandwidth(ack);
        self.update_cycle(ack);
        self.update_drain(ack);
        self.update_min_rtt(ack);
        let (bandwidth, gain) = (self.bandwidth.estimate(), self.pacing_gain());
        self.common.pace(ack.rtt.smoothed(), HIGH_GAIN, bandwidth, gain, self.common.full_pipe.is_reached());
        self.set_window(ack);
        self.lost_since_ack = false;
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.lost_since_ack = true;
        self.common.on_loss(loss);
        self.common.end_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.common.on_event(now, event);
        if event == Event::IdleRestart {
            match &self.common.state {
                // The known bandwidth is enough to begin with; a burst would only overflow a queue.
                State::ProbeBw => self.common.pacing.pace_at(paced(self.bandwidth.estimate(), 1.0)),
                State::ProbeRtt(probe) if probe.is_over_after_idling(now) => self.leave_probe_rtt(now),
                _ => {}
            }
        }
    }

    fn limits(&self) -> Limits {
        let pacing = &self.common.pacing;
        let mut limits = Limits::paced(self.common.window, pacing.rate(), pacing.quantum());
        limits.pacing_rate = limits.pacing_rate.filter(|_| self.config.pacing);
        limits
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.state("state", &STATES, self.phase() as usize);
        observer.value("btl_bw", "mbit_s", self.bandwidth.estimate().as_mbit_per_sec());
        if let Some(min_rtt) = self.min_rtt.get() {
            observer.value("min_rtt", "ms", min_rtt.as_millis_f64());
        }
        observer.value("pacing_gain", "", self.pacing_gain());
        observer.value("cwnd_gain", "", self.cwnd_gain());
        observer.switch("full_pipe", self.common.full_pipe.is_reached());
    }
}
