//! Vegas: just enough packets in the queue to detect it.
//!
//! 1. The smallest RTT ever seen (`base_rtt`) is that of an empty queue.
//! 2. Once per RTT, `diff = cwnd (rtt - base_rtt) / base_rtt`: the packets that wait in the queue.
//! 3. Fewer than `alpha`: one packet more in flight. More than `beta`: one less. Between them: nothing changes.
//! 4. Slow start doubles per RTT until `diff` exceeds `gamma`.
//! 5. Loss is left to Reno, and the RTTs of a recovery are not measured.
//!
//! ```text
//!              diff > gamma                        diff < alpha: +1
//!  slow start --------------> congestion avoidance diff > beta:  -1
//!        \                      |            ^
//!         \ loss           loss |            | recovery left: a round begins
//!          v                    v            |
//!         recovery (Reno: half the window) --+
//! ```
//!
//! Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
//! 1995; Linux tcp_vegas.c, which the papers compared with.
//!
//! Differences from the paper: as in Linux, `diff` is divided by `base_rtt` instead of `rtt` (so it is larger by `rtt /
//! base_rtt`), `rtt` is the round's minimum instead of its mean, slow start doubles every RTT instead of every second
//! one and ends at one packet (`gamma`), a round with fewer than three samples is left to Reno, there is no
//! fine-grained retransmission timer (the driver detects losses), and idling forgets `base_rtt`.
//! Differences from Linux: `diff` keeps its fraction, so that "more than 4" begins at 4 instead of 5, an unused window
//! does not grow, and delivered packets instead of sequence numbers delimit a round.

use crate::draw::{Digest, Draw};
use crate::path::AckEvent;
use crate::step::{Layout, Step, exports, mirror};
use crate::{Ack, Law, Micros, Packets, Q16, Window};

/// Linux: the fewest RTT samples in a round; fewer may all come from delayed ACKs.
const MIN_SAMPLES: u32 = 3;
/// Linux: the smallest window that Vegas steps down to.
const MIN_WINDOW: Packets = Packets(2);

mirror! {
    /// The thresholds of `diff`, also as stored in a map.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct Config as vegas_settings {
        /// The window grows below this threshold.
        pub alpha: Packets,
        /// The window shrinks above this threshold, which is not below `alpha`.
        pub beta: Packets,
        /// Slow start ends above this threshold.
        pub gamma: Packets,
    }
}

impl Config {
    /// The thresholds of Linux.
    pub const LINUX: Self = Self { alpha: Packets(2), beta: Packets(4), gamma: Packets(1) };
}

/// The state of one flow: 24 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
pub struct Vegas {
    base_rtt: Micros,
    /// The smallest RTT of the round.
    round_rtt: Micros,
    round_samples: u32,
    /// Packets delivered when the round began; it ends with a packet sent after that.
    round_began: Packets,
    diff: Q16,
    /// True after the first step.
    stepped: bool,
}

impl Vegas {
    /// The state of a new flow.
    pub const START: Self = Self {
        base_rtt: Micros::MAX,
        round_rtt: Micros::MAX,
        round_samples: 0,
        round_began: Packets(0),
        diff: Q16::ZERO,
        stepped: false,
    };

    /// Takes the RTT sample of an acknowledgement, also in recovery.
    #[inline(always)]
    pub fn on_sample(&mut self, ack: &Ack) {
        if ack.rtt != Micros::ZERO {
            self.base_rtt = self.base_rtt.min(ack.rtt);
            self.round_rtt = self.round_rtt.min(ack.rtt);
            self.round_samples = self.round_samples.saturating_add(1);
        }
    }

    /// Takes an acknowledgement outside recovery, after its sample and before Reno's law. Returns whether that law
    /// grows the window, as it does in slow start and in rounds with too few samples.
    #[inline(always)]
    pub fn on_ack(&mut self, config: &Config, ack: &Ack, window: &mut Window) -> Law {
        let since_round_began = ack.delivered_at_send.0.wrapping_sub(self.round_began.0) as i32;
        if since_round_began < 0 {
            return if window.in_slow_start() { Law::Grows } else { Law::Rests };
        }
        let (rtt, samples) = (self.round_rtt, self.round_samples);
        self.begin_round(ack.delivered);
        if samples < MIN_SAMPLES { Law::Grows } else { self.step(config, ack, rtt, window) }
    }

    /// Begins a round without earlier measurements, also after recovery. `delivered` as in [`Ack::delivered`].
    #[inline(always)]
    pub fn begin_round(&mut self, delivered: Packets) {
        self.round_rtt = Micros::MAX;
        self.round_samples = 0;
        self.round_began = delivered;
    }

    /// Handles a restart after idling: the path may have changed.
    #[inline(always)]
    pub fn on_idle_restart(&mut self, delivered: Packets) {
        self.base_rtt = Micros::MAX;
        self.begin_round(delivered);
    }

    /// Decides after a round whose smallest RTT was `rtt`.
    #[inline(always)]
    fn step(&mut self, config: &Config, ack: &Ack, rtt: Micros, window: &mut Window) -> Law {
        let (cwnd, base) = (window.cwnd.0 as u64, self.base_rtt.0 as u64);
        // `diff` times `base_rtt`, so that comparisons need no quotient.
        let waiting = cwnd * rtt.0.saturating_sub(self.base_rtt.0) as u64;
        let exceeds = |threshold: Packets| waiting > threshold.0 as u64 * base;
        self.diff = Q16::ratio(waiting.min(i64::MAX as u64) as i64, self.base_rtt.0);
        self.stepped = true;
        if window.in_slow_start() {
            if !exceeds(config.gamma) {
                return Law::Grows;
            }
            let fitting = (cwnd * base).checked_div(rtt.0 as u64).unwrap_or(0).saturating_add(1);
            shrink(window, fitting.min(cwnd) as u32);
        } else if exceeds(config.beta) {
            shrink(window, window.cwnd.0.saturating_sub(1));
        } else if waiting < config.alpha.0 as u64 * base && ack.cwnd_limited {
            window.cwnd = Packets(window.cwnd.0.saturating_add(1));
        }
        // Linux tcp_current_ssthresh: a restart after idling may slow-start up to three quarters.
        let three_quarters = Packets(window.cwnd.0.saturating_sub(window.cwnd.0 >> 2));
        window.ssthresh = window.ssthresh.max(three_quarters);
        Law::Rests
    }

    /// The smallest RTT so far; `None` before the first.
    pub const fn base_rtt(&self) -> Option<Micros> {
        if self.base_rtt.0 == u32::MAX { None } else { Some(self.base_rtt) }
    }

    /// The packets in the queue at the last step; `None` before the first.
    pub const fn diff(&self) -> Option<Q16> {
        if self.stepped { Some(self.diff) } else { None }
    }
}

/// Lowers the window and ssthresh: otherwise slow start would raise the window again.
#[inline(always)]
fn shrink(window: &mut Window, cwnd: u32) {
    window.cwnd = Packets(cwnd).max(MIN_WINDOW).min(window.cwnd.max(MIN_WINDOW));
    window.ssthresh = window.ssthresh.min(window.cwnd);
}

/// The step is an RTT sample, also in recovery.
pub const SAMPLE: u32 = 0;
/// The step is an acknowledgement for which the window may grow.
pub const ACKNOWLEDGEMENT: u32 = 1;
/// The step is the end of recovery.
pub const RECOVERED: u32 = 2;
/// The step is a restart after idling.
pub const RESTART: u32 = 3;

mirror! {
    /// An event and the decision after it.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
    pub struct VegasStep as vegas_step {
        /// The flow's state.
        pub state: Vegas,
        /// The acknowledgement; the end of recovery and a restart use only its delivered count.
        pub event: AckEvent,
        /// The window; after the run, the decision.
        pub window: Window,
        /// The thresholds.
        pub settings: Config,
        /// The kind of step: one of the four above.
        pub kind: u32,
        /// Decision: not zero where Reno's law grows the window.
        pub law_grows: u32,
        /// Padding, zero.
        pub reserved: u32,
    }
}

exports!(VegasStep, Vegas: vegas_start, vegas_run, vegas_begin, vegas_try);

impl Step for VegasStep {
    const FIRST: Self = Self {
        state: Vegas::START,
        event: AckEvent::NONE,
        window: Window::FIRST,
        settings: Config::LINUX,
        kind: SAMPLE,
        law_grows: 0,
        reserved: 0,
    };
    const LAYOUTS: &'static [Layout] = &[Self::LAYOUT, Config::LAYOUT];

    #[inline(always)]
    fn run(&mut self) {
        let VegasStep { state, event, window, settings, kind, law_grows, .. } = self;
        let ack = event.ack();
        let mut law = Law::Rests;
        match *kind {
            ACKNOWLEDGEMENT => law = state.on_ack(settings, &ack, window),
            RECOVERED => state.begin_round(ack.delivered),
            RESTART => state.on_idle_restart(ack.delivered),
            _ => state.on_sample(&ack),
        }
        *law_grows = (law == Law::Grows) as u32;
    }

    #[inline(always)]
    fn draw(&mut self, draw: &mut Draw) {
        if draw.rarely(12) {
            self.state = Vegas::START;
            let [alpha, beta, gamma] = [draw.bits(4), draw.bits(4), draw.bits(3)].map(Packets);
            self.settings = Config { alpha, beta, gamma };
        }
        if self.kind != SAMPLE || draw.rarely(2) {
            self.event = draw.acknowledge(&self.event);
        }
        // An acknowledgement follows its sample.
        self.kind = match self.kind {
            SAMPLE => ACKNOWLEDGEMENT,
            _ if draw.rarely(8) => RECOVERED + draw.bits(1),
            _ => SAMPLE,
        };
        draw.window(&mut self.window);
    }

    #[inline(always)]
    fn digest(&self, digest: &mut Digest) {
        digest.add(self.window.cwnd.0 as u64);
        digest.add(self.window.ssthresh.0 as u64);
        digest.add(self.law_grows as u64);
        digest.add(self.state.base_rtt().unwrap_or(Micros::ZERO).0 as u64);
        digest.add(self.state.diff().map_or(0, |diff| diff.0) as u64);
    }
}
