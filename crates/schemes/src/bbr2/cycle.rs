//! ProbeBW's phases: drain, cruise, refill the pipe, probe for more, again.

use cellcc_units::{Bytes, Span, Time};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

/// Draft section 4.3.3.5.3: the shortest time between probes ...
const MIN_WAIT: Span = Span::from_secs(2);
/// ... and the random addition to it, so that flows do not probe together.
const RANDOM_WAIT: Span = Span::from_secs(1);
/// Draft section 4.3.3.5.3: rounds between probes at most, for the sake of Reno flows.
const MAX_ROUNDS: u64 = 63;
/// Draft section 4.5.6.2: the growth of `inflight_hi` doubles so many times at most.
const MAX_DOUBLINGS: u32 = 30;

/// A phase of ProbeBW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Down,
    Cruise,
    Refill,
    Up,
}

/// The part of a probe to which the acknowledgements belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feedback {
    /// None.
    Nothing,
    /// A probe, or packets sent before it.
    Probe,
    /// The last round of a probe.
    Stopping,
}

#[derive(Debug, Clone)]
pub(crate) struct Cycle {
    phase: Phase,
    began: Time,
    wait: Span,
    rounds: u64,
    feedback: Feedback,
    /// Losses tell of a probe, and have not ended it yet.
    takes_samples: bool,
    was_too_high: bool,
    /// The last probe stopped at the bound that a lossy one had set.
    was_cautious: bool,
    /// Rounds of probing so far, packets acknowledged since `inflight_hi` grew, and how many it takes.
    doublings: u32,
    acked: f64,
    acked_per_packet: f64,
    random: Pcg32,
}

impl Cycle {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            phase: Phase::Down,
            began: Time::ZERO,
            wait: MIN_WAIT,
            rounds: 0,
            feedback: Feedback::Nothing,
            takes_samples: false,
            was_too_high: false,
            was_cautious: false,
            doublings: 0,
            acked: 0.0,
            acked_per_packet: f64::INFINITY,
            random: Pcg32::seed_from_u64(seed),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// With those of Down and Up.
    pub(crate) fn pacing_gain(&self, down: f64, up: f64) -> f64 {
        match self.phase {
            Phase::Down => down,
            Phase::Cruise | Phase::Refill => 1.0,
            Phase::Up => up,
        }
    }

    /// Drains, and draws how long it will be until the next probe.
    pub(crate) fn down(&mut self, now: Time) {
        self.phase = Phase::Down;
        self.began = now;
        self.rounds = self.random.random_range(0..2);
        self.wait = MIN_WAIT + RANDOM_WAIT.mul_f64(self.random.random());
        self.feedback = Feedback::Stopping;
    }

    pub(crate) fn cruise(&mut self) {
        self.phase = Phase::Cruise;
    }

    pub(crate) fn refill(&mut self) {
        self.phase = Phase::Refill;
        self.feedback = Feedback::Nothing;
        self.was_cautious = false;
        (self.doublings, self.acked) = (0, 0.0);
    }

    pub(crate) fn up(&mut self, now: Time, window: Bytes, packet: Bytes) {
        self.phase = Phase::Up;
        self.began = now;
        self.feedback = Feedback::Probe;
        self.takes_samples = true;
        self.raise_slope(window, packet);
    }

    /// A round has passed.
    pub(crate) fn on_round(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
    }

    /// Long enough since the last probe, with `target` packets in flight (draft section 4.3.3.5.3).
    pub(crate) fn is_time_to_probe(&self, now: Time, target: u64) -> bool {
        self.has_lasted(now, self.wait) || self.rounds >= target.min(MAX_ROUNDS)
    }

    /// The phase has lasted so long.
    pub(crate) fn has_lasted(&self, now: Time, span: Span) -> bool {
        now.since(self.began) > span
    }

    /// A lost packet may tell of a probe.
    pub(crate) fn takes_samples(&self) -> bool {
        self.takes_samples
    }

    /// The probe before this one met losses.
    pub(crate) fn was_too_high(&self) -> bool {
        self.was_too_high
    }

    /// The probe has met losses; it is answered once.
    pub(crate) fn probe_was_too_high(&mut self) {
        (self.takes_samples, self.was_too_high) = (false, true);
    }

    /// The probe has ended, and not for its losses: `cautiously` where it stopped at the bound that a lossy one had set.
    pub(crate) fn end_probe(&mut self, cautiously: bool) {
        (self.was_too_high, self.was_cautious) = (false, cautiously);
    }

    /// The next probe follows at once, since the last was cautious and lost nothing.
    pub(crate) fn is_to_repeat(&self) -> bool {
        self.was_cautious && !self.was_too_high
    }

    /// The next feedback is the end of a probe's.
    pub(crate) fn stop_feedback(&mut self) {
        self.feedback = Feedback::Stopping;
    }

    /// A round has passed; true where it was the last of a probe's feedback.
    pub(crate) fn end_feedback(&mut self) -> bool {
        let ended = self.feedback == Feedback::Stopping;
        if ended {
            self.feedback = Feedback::Nothing;
            self.takes_samples = false;
        }
        ended
    }

    /// By how much `inflight_hi` grows for these acknowledgements: by a packet for each window of them, and twice as fast
    /// each round (draft section 4.5.6.2).
    pub(crate) fn grow(&mut self, acked: Bytes, round_start: bool, window: Bytes, packet: Bytes) -> Bytes {
        self.acked += acked.in_packets(packet);
        let whole = (self.acked / self.acked_per_packet).floor();
        if whole >= 1.0 {
            self.acked -= whole * self.acked_per_packet;
        }
        if round_start {
            self.raise_slope(window, packet);
        }
        packet * whole as u64
    }

    fn raise_slope(&mut self, window: Bytes, packet: Bytes) {
        let growth = f64::from(1_u32 << self.doublings);
        self.doublings = (self.doublings + 1).min(MAX_DOUBLINGS);
        self.acked_per_packet = (window.in_packets(packet) / growth).floor().max(1.0);
    }
}
