//! What can be set. `delay` is the one knob.

use crate::{Micros, Q16};

/// The delay that the share of the swing refers to.
const DEFAULT_DELAY: Micros = Micros(5_000);

/// The knob and the constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The queueing delay aimed for on a steady link: 500 us to 1 s.
    pub delay: Micros,
    /// The share of the RTT's swing that the target has, in proportion to the delay.
    pub share_of_swing: Q16,
    /// Which quantile of the swing counts.
    pub swing_quantile: Q16,
    /// The largest target, unless the delay is larger.
    pub max_target: Micros,
    /// Swings that the target is at least, up to a limit. Measured with 1, 1.25, 1.5, 2, 3 and 4: the smallest that leaves `interactive`
    /// 0.8 of a link with 10 ms of jitter (docs/evidence/tide/law.md).
    pub floor_swings: Q16,
    /// That limit, for 10 ms of jitter: longer jitter takes a longer delay.
    pub floor_limit: Micros,
    /// Targets of queueing delay above which the mean of both rates counts, and not the larger.
    pub mean_above: Q16,
    /// Packets that the window has besides those of the rate.
    pub extra_packets: Q16,
    /// Packets that the window holds at least where the application lately had nothing to send.
    pub restart_window: Q16,
    /// Base RTTs of an empty queue after which the window holds a base RTT more.
    pub ramp_rtts: Q16,
    /// How much faster packets leave than the window asks for.
    pub pacing: Q16,
    /// Time without a nearly empty queue until one is made.
    pub drain_every: Micros,
    /// More lost in a round shows a full queue.
    pub loss_threshold: Q16,
    /// Share of lost packets up to which the rate makes up for them.
    pub loss_corrected: Q16,
    /// Answers in kind where others fill the queue.
    pub competes: bool,
    /// Rounds with a queue too long after which others are there.
    pub rival_rounds: u32,
    /// A queue is too long by this share of the target.
    pub rival_margin: Q16,
    /// Flows of this kind whose extra packets make no queue too long.
    pub flows: Q16,
    /// Rounds for which a queue that was too long is shorter than the target, after which it is no flows of this kind.
    pub sawtooth_rounds: u32,
}

/// The nearest number.
const fn number(value: f64) -> Q16 {
    Q16((value * 65536.0 + 0.5) as i32)
}

impl Config {
    /// Every default of the registry.
    pub const DEFAULT: Self = Self {
        delay: DEFAULT_DELAY,
        share_of_swing: number(0.5),
        swing_quantile: number(0.8),
        max_target: Micros(60_000),
        floor_swings: number(1.25),
        floor_limit: Micros(10_000),
        mean_above: number(1.5),
        extra_packets: number(2.0),
        restart_window: number(10.0),
        ramp_rtts: number(4.0),
        pacing: number(1.5),
        drain_every: Micros(10_000_000),
        loss_threshold: number(0.03),
        loss_corrected: number(0.06),
        competes: true,
        rival_rounds: 24,
        rival_margin: number(1.0),
        flows: number(8.0),
        sawtooth_rounds: 4,
    };

    /// The same with another delay, which moves the share of the swing as well.
    #[inline(always)]
    pub fn with_delay(self, delay: Micros) -> Self {
        let swing = self.share_of_swing.0 as u64 * delay.0 as u64;
        let share = swing.checked_div(self.delay.0 as u64).unwrap_or(0);
        let share = Q16(if share > i32::MAX as u64 { i32::MAX } else { share as i32 });
        Self { delay, share_of_swing: share, ..self }
    }
}
