//! The model of the path of BBR v2 and v3, and its consequences in both.

use super::bounds::{BETA, Bounds};
use super::cycle::{Cycle, Phase};
use crate::bbr::common::{Common, State, paced};
use cellcc_control::{Ack, Context, Observer, ShownValue, filters::WindowedMax};
use cellcc_units::{Bytes, Rate, Span, Time};

/// Draft section 2.11: cycles that the bandwidth filter remembers (`MaxBwFilterLen`).
const FILTER_CYCLES: u64 = 2;
/// Draft section 2.14.2: BDPs that may be in flight in ProbeRTT (`BBRProbeRTTCwndGain`).
pub(crate) const PROBE_RTT_CWND_GAIN: f64 = 0.5;

/// The states as they are shown, ProbeBW by its phases.
const STATES: [&str; 7] =
    ["startup", "drain", "probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up", "probe_rtt"];

/// The values that both expose.
pub(crate) const SHOWS: [ShownValue; 5] = [
    ShownValue::state("state", "the state of the machine, ProbeBW by its phases", &STATES),
    ShownValue::number("max_bw_mbit_s", "the largest delivery rate of the last probing cycles"),
    ShownValue::number("pacing_gain", "pacing rate / bandwidth"),
    ShownValue::switch("full_pipe", "startup has found the bandwidth"),
    ShownValue::number("min_rtt_ms", "the minimum RTT"),
];

pub(crate) struct Model {
    pub(crate) common: Common,
    pub(crate) cycle: Cycle,
    pub(crate) bounds: Bounds,
    /// The bounds that a spurious loss restores.
    pub(crate) saved_bounds: Bounds,
    max_bw: WindowedMax<Rate>,
    /// Probing cycles so far: positions of the filter.
    pub(crate) cycles: u64,
    pub(crate) min_rtt: MinRtt,
    /// The round of the phases ends when a packet arrives that left with this much delivered.
    round_ends_at: Bytes,
}

impl Model {
    /// The beginning of a flow, paced with Startup's `gain`.
    pub(crate) fn new(context: &Context, gain: f64) -> Self {
        Self {
            common: Common::new(context, gain),
            cycle: Cycle::new(context.seed),
            bounds: Bounds::default(),
            saved_bounds: Bounds::default(),
            max_bw: WindowedMax::new(FILTER_CYCLES),
            cycles: 0,
            min_rtt: MinRtt::default(),
            round_ends_at: Bytes::ZERO,
        }
    }

    pub(crate) fn max_bw(&self) -> Rate {
        self.max_bw.max().unwrap_or(Rate::ZERO)
    }

    /// The bandwidth to send at.
    pub(crate) fn bw(&self) -> Rate {
        self.bounds.bw_lo.map_or(self.max_bw(), |bound| self.max_bw().min(bound))
    }

    /// A delivery rate. One that the sender limited itself counts only where it raises the maximum.
    pub(crate) fn add_bandwidth(&mut self, rate: Rate, app_limited: bool) {
        if !app_limited || rate >= self.max_bw() {
            self.max_bw.add(self.cycles, rate);
        }
    }

    /// In ProbeBW's `phase`.
    pub(crate) fn is_in(&self, phase: Phase) -> bool {
        matches!(self.common.state, State::ProbeBw) && self.cycle.phase() == phase
    }

    /// In a state that raises the data in flight, where a loss lowers no short-term bound.
    pub(crate) fn is_probing(&self) -> bool {
        matches!(self.common.state, State::Startup) || self.is_in(Phase::Refill) || self.is_in(Phase::Up)
    }

    /// Shows the values of [`SHOWS`].
    pub(crate) fn observe(&self, observer: &mut dyn Observer, pacing_gain: f64) {
        let state = match self.common.state {
            State::Startup => 0,
            State::Drain => 1,
            State::ProbeBw => 2 + self.cycle.phase() as usize,
            State::ProbeRtt(_) => 6,
        };
        observer.state("state", &STATES, state);
        observer.value("max_bw", "mbit_s", self.max_bw().as_mbit_per_sec());
        observer.value("pacing_gain", "", pacing_gain);
        observer.switch("full_pipe", self.common.full_pipe.is_reached());
        if let Some(min_rtt) = self.min_rtt.get() {
            observer.value("min_rtt", "ms", min_rtt.as_millis_f64());
        }
    }

    /// Starts a new round (`BBRStartRound`).
    pub(crate) fn start_round(&mut self) {
        self.round_ends_at = self.common.delivered;
    }

    /// True where the acknowledgement ends a round; the next one begins with it.
    pub(crate) fn has_round_ended(&mut self, ack: &Ack<'_>) -> bool {
        let ended = ack.packets.last().is_some_and(|newest| newest.delivered >= self.round_ends_at);
        if ended {
            self.start_round();
            self.cycle.on_round();
        }
        ended
    }

    /// `gain` bandwidth-delay products.
    pub(crate) fn bdp(&self, bandwidth: Rate, gain: f64) -> Bytes {
        self.common.bdp(bandwidth, self.min_rtt.get(), gain)
    }

    /// A probe's limit of data in flight (`BBRTargetInflight`).
    pub(crate) fn target_inflight(&self) -> Bytes {
        self.bdp(self.bw(), 1.0).min(self.common.window)
    }

    fn probe_rtt_window(&self) -> Bytes {
        self.bdp(self.bw(), PROBE_RTT_CWND_GAIN).max(self.common.min_window())
    }

    /// Long enough since the last probe.
    pub(crate) fn is_time_to_probe(&self, now: Time) -> bool {
        let target = self.target_inflight().get() / self.common.packet_size.get();
        self.cycle.is_time_to_probe(now, target)
    }

    /// The last probe met losses, and the bound that it set has left no room for a packet. The window is at most the bound, so
    /// that after an acknowledgement there always is room; Linux adds the packets about to leave (`bbr_packets_in_net_at_edt`).
    pub(crate) fn is_at_lossy_bound(&self, ack: &Ack<'_>) -> bool {
        let holds = |bound| ack.inflight_before + self.common.packet_size <= bound;
        self.cycle.was_too_high() && self.bounds.inflight_hi.is_some_and(|bound| !holds(bound))
    }

    /// Down has drained the queue; `inflight`: the amount that fills the pipe (`BBRCheckTimeToCruise`).
    pub(crate) fn is_drained(&self, inflight: Bytes, full_pipe: Bytes) -> bool {
        inflight <= self.bounds.with_headroom(self.common.min_window()) && inflight <= full_pipe
    }

    pub(crate) fn start_down(&mut self, now: Time) {
        self.common.state = State::ProbeBw;
        self.bounds.forget_signals();
        self.cycle.down(now);
        self.start_round();
    }

    pub(crate) fn start_refill(&mut self) {
        self.bounds.forget_lower();
        self.cycle.refill();
        self.start_round();
    }

    /// A round after a probe its samples have all come. True where the next probe has begun, since this one stopped before it
    /// lost anything.
    pub(crate) fn end_feedback(&mut self, round_start: bool, app_limited: bool) -> bool {
        let ended = round_start && self.cycle.end_feedback();
        if !ended || !matches!(self.common.state, State::ProbeBw) {
            return false;
        }
        if !app_limited {
            self.cycles += 1;
        }
        let again = self.cycle.is_to_repeat();
        if again {
            self.start_refill();
        }
        again
    }

    pub(crate) fn start_up(&mut self, now: Time) {
        self.cycle.up(now, self.common.window, self.common.packet_size);
        self.start_round();
    }

    /// A probe has put too much in flight: sets the long-term bound (`BBRHandleInflightTooHigh`).
    pub(crate) fn lower_long_term_bound(&mut self, inflight: Bytes, app_limited: bool) {
        self.cycle.probe_was_too_high();
        if !app_limited {
            let least = self.target_inflight().mul_f64(BETA);
            self.bounds.inflight_hi = Some(inflight.max(least));
        }
    }

    /// A probe that loses little raises the long-term bound: to `inflight`, and in Up beyond.
    pub(crate) fn raise_long_term_bound(&mut self, ack: &Ack<'_>, inflight: Bytes, round_start: bool) {
        let Some(bound) = self.bounds.inflight_hi else { return };
        let mut bound = bound.max(inflight);
        let (window, packet) = (self.common.window, self.common.packet_size);
        if self.is_in(Phase::Up) && ack.cwnd_limited && window >= bound {
            bound += self.cycle.grow(ack.bytes, round_start, window, packet);
        }
        self.bounds.inflight_hi = Some(bound);
    }

    /// Takes the RTT, and looks for a smaller one in ProbeRTT.
    pub(crate) fn update_probe_rtt(&mut self, ack: &Ack<'_>) {
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

    /// The flow sends again after idling: at the bandwidth, and out of ProbeRTT where that has lasted long enough.
    pub(crate) fn restart(&mut self, now: Time) {
        match &self.common.state {
            State::ProbeBw => {
                let rate = paced(self.bw(), 1.0);
                self.common.pacing.pace_at(rate);
            }
            State::ProbeRtt(probe) if probe.is_over_after_idling(now) => self.leave_probe_rtt(now),
            _ => {}
        }
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        self.min_rtt.confirm(self.common.silence.leave_out(now));
        self.common.restore_window();
        self.bounds.forget_lower();
        if self.common.full_pipe.is_reached() {
            self.start_down(now);
            self.cycle.cruise();
        } else {
            self.common.state = State::Startup;
        }
    }

    /// The limit by state and bounds.
    pub(crate) fn cap(&self) -> Bytes {
        let least = self.common.min_window();
        let cap = match self.common.state {
            State::Startup | State::Drain => Bytes::MAX,
            State::ProbeBw if self.cycle.phase() == Phase::Cruise => self.bounds.with_headroom(least),
            State::ProbeBw => self.bounds.inflight_hi.unwrap_or(Bytes::MAX),
            State::ProbeRtt(_) => self.bounds.with_headroom(least).min(self.probe_rtt_window()),
        };
        let cap = self.bounds.inflight_lo.map_or(cap, |bound| cap.min(bound));
        cap.max(least)
    }
}

// The minimum RTT of ten seconds, and when to look for a smaller one: five seconds after the last.

/// Draft section 2.14.1: how long the minimum is believed (`MinRTTFilterLen`).
const FILTER: Span = Span::from_secs(10);
/// Draft section 2.14.2: how long the flow goes without a smaller RTT before it looks for one (`ProbeRTTInterval`).
const PROBE_INTERVAL: Span = Span::from_secs(5);

/// A minimum, and when it was taken.
#[derive(Debug, Clone, Copy)]
struct Minimum {
    rtt: Span,
    taken: Time,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct MinRtt {
    /// Since the last look.
    recent: Option<Minimum>,
    min: Option<Minimum>,
}

impl MinRtt {
    /// Takes a sample; true where it is time to look for a smaller one.
    pub(crate) fn update(&mut self, now: Time, sample: Option<Span>) -> bool {
        let is_old = |min: Minimum, age: Span| now > min.taken + age;
        let expired = self.recent.is_some_and(|recent| is_old(recent, PROBE_INTERVAL));
        if let Some(rtt) = sample
            && (expired || self.recent.is_none_or(|recent| rtt < recent.rtt))
        {
            self.recent = Some(Minimum { rtt, taken: now });
        }
        if let Some(recent) = self.recent
            && self.min.is_none_or(|min| recent.rtt < min.rtt || is_old(min, FILTER))
        {
            self.min = Some(recent);
        }
        expired
    }

    /// The minimum has just been looked for.
    pub(crate) fn confirm(&mut self, now: Time) {
        if let Some(recent) = &mut self.recent {
            recent.taken = now;
        }
    }

    pub(crate) fn get(&self) -> Option<Span> {
        self.min.map(|min| min.rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_time_to_look_after_five_seconds_and_the_minimum_is_forgotten_after_ten() {
        let (ms, at) = (Span::from_millis, |secs| Time::ZERO + Span::from_secs(secs));
        let mut min = MinRtt::default();
        assert!(!min.update(at(1), Some(ms(20))));
        assert!(!min.update(at(6), Some(ms(30))));
        assert!(min.update(at(7), Some(ms(30))));
        assert_eq!(min.get(), Some(ms(20)));
        min.confirm(at(8));
        assert!(!min.update(at(12), Some(ms(40))));
        assert_eq!(min.get(), Some(ms(30)), "the least since the look");
    }
}
