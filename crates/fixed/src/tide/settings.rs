//! The settings: `delay` is the parameter, the others are constants.

use crate::{Micros, Q16};

/// The delay that the share of the swing refers to.
const DEFAULT_DELAY: Micros = Micros(5_000);

/// The parameter and the constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The target of the queueing delay on a steady link: 500 us to 1 s.
    pub delay: Micros,
    /// The share of the RTT's swing in the target, in proportion to the delay.
    pub share_of_swing: Q16,
    /// The quantile of the swing that counts.
    pub swing_quantile: Q16,
    /// The largest target, unless the delay is larger.
    pub max_target: Micros,
    /// The smallest target in swings, up to a limit. Measured with 1, 1.25, 1.5, 2, 3 and 4: the smallest with which
    /// `interactive` reaches 0.8 utilisation with 10 ms of jitter (docs/evidence/tide/law.md).
    pub floor_swings: Q16,
    /// The limit of that, for 10 ms of jitter: longer jitter needs a longer delay.
    pub floor_limit: Micros,
    /// Queueing delay in targets above which the mean of both rates counts instead of the larger one.
    pub mean_above: Q16,
    /// Packets of the window in addition to those of the rate.
    pub extra_packets: Q16,
    /// The smallest window in packets where the application recently had nothing to send.
    pub restart_window: Q16,
    /// Base RTTs of an empty queue after which the window holds a base RTT more.
    pub ramp_rtts: Q16,
    /// The pacing rate as a multiple of the window's rate.
    pub pacing: Q16,
    /// Time without a nearly empty queue until a drain makes one.
    pub drain_every: Micros,
    /// The share of lost packets in a round above which the queue counts as full.
    pub loss_threshold: Q16,
    /// The share of lost packets up to which the rate makes up for them.
    pub loss_corrected: Q16,
    /// Competes where others fill the queue.
    pub competes: bool,
    /// Rounds with too long a queue after which the flow competes.
    pub rival_rounds: u32,
    /// The excess over the target, as a share of it, that makes a queue too long.
    pub rival_margin: Q16,
    /// Flows of this scheme whose extra packets do not make the queue too long.
    pub flows: Q16,
    /// Rounds below the target, after a queue that was too long, that show flows of other schemes.
    pub sawtooth_rounds: u32,
}

/// The nearest number.
const fn number(value: f64) -> Q16 {
    Q16((value * 65536.0 + 0.5) as i32)
}

impl Config {
    /// The defaults of the registry.
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

    /// Replaces the delay, and scales the share of the swing with it.
    #[inline(always)]
    pub fn with_delay(self, delay: Micros) -> Self {
        let swing = self.share_of_swing.0 as u64 * delay.0 as u64;
        let share = swing.checked_div(self.delay.0 as u64).unwrap_or(0);
        let share = Q16(if share > i32::MAX as u64 { i32::MAX } else { share as i32 });
        Self { delay, share_of_swing: share, ..self }
    }
}
