//! Reminis's Guardian: random exploration, proactive and reactive slowdowns over the kernel's AIMD.
//!
//! 1. The kernel's law (Reno or CUBIC) grows the window on acknowledgements and shrinks it on loss.
//! 2. Once per sampling interval (SI, the minimum RTT) the Guardian looks at the mean RTT and its slope.
//! 3. It explores, slows down or cuts: it multiplies the window; `guardian` has the rules.
//! 4. The minimum RTT is measured again where no sample meets the target for a second (`base_rtt`).
//!
//! Source: P. Pazhooheshy, S. Abbasloo, Y. Ganjali, "A Simple Non-Deterministic Approach Can Adapt to Complex
//! Unpredictable 5G Cellular Networks", 2023. The differences from the paper, and their reasons, are in
//! `crates/schemes/src/reminis`, where the scheme is registered.
//!
//! Differences due to the kernel: without a timer, an interval ends with the first acknowledgement after it; on short
//! paths SI and target have floors ([`MIN_INTERVAL`], [`MIN_QUEUEING`]).
//!
//! Calls for an acknowledgement: [`Reminis::on_ack`], the law's growth, [`Reminis::after_law`]. Calls around the law's
//! cut for a loss: [`Reminis::before_law`], [`Reminis::after_law`].

mod base_rtt;
mod guardian;
pub mod step;

pub use guardian::Zone;

use crate::number::product;
use crate::{Ack, Instant, Micros, Packets, Q16, Window};
use base_rtt::BaseRtt;
use guardian::Guardian;

/// The shortest SI. In a data centre (RTT 30 us) the scheduler delays acknowledgements by more than a round trip, and
/// every interval of one would be a catastrophe: 0.5 to 0.7 Gbit/s were measured instead of 13 and more. 2 ms is below
/// every path of the paper (5 ms, Figure 15).
pub const MIN_INTERVAL: Micros = Micros(2_000);
/// The least queueing delay of a target that is a multiple of the minimum RTT, from the same measurement. The least on
/// the paper's paths is 2.5 ms.
pub const MIN_QUEUEING: Micros = Micros(2_000);
/// The default target in minimum RTTs; also replaces one that no queue could meet (paper, sections 3.1 and 6).
pub const DEFAULT_MULTIPLE: Q16 = Q16(3 << 15);
/// The window's floor. The paper names none; two keep delayed ACKs alive (RFC 5681's loss window is one).
const MIN_WINDOW: Packets = Packets(2);

/// The reading of the paper.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// The reading that reproduces the paper's results: a cut at most once per RTT, ssthresh left alone.
    #[default]
    Paper = 0,
    /// Algorithms 1 and 2 as printed: a cut in every interval, and ssthresh with it.
    Literal = 1,
    /// This project's variant: ssthresh follows the window that meets the target.
    Following = 2,
}

/// The source of exploration's x.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exploration {
    /// A draw from the Gaussian.
    #[default]
    Random = 0,
    /// The mean of the Gaussian.
    Deterministic = 1,
    /// No exploration.
    Off = 2,
}

/// The settings.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The target RTT (DTT); zero to use `multiple`.
    pub target: Micros,
    /// The target in multiples of the minimum RTT.
    pub multiple: Q16,
    /// The reading of the paper.
    pub profile: Profile,
    /// Non-deterministic exploration (NDE).
    pub exploration: Exploration,
    /// Proactive slowdown (PS).
    pub proactive_slowdown: bool,
    /// Catastrophe mitigation (CM).
    pub catastrophe_mitigation: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            target: Micros::ZERO,
            multiple: DEFAULT_MULTIPLE,
            profile: Profile::Paper,
            exploration: Exploration::Random,
            proactive_slowdown: true,
            catastrophe_mitigation: true,
        }
    }
}

impl Config {
    /// The target on a path of this minimum RTT, always above it, and whether it was raised.
    #[inline(always)]
    fn target(&self, min_rtt: Micros) -> (Micros, bool) {
        if self.target > min_rtt {
            return (self.target, false);
        }
        let raised = self.target != Micros::ZERO || self.multiple <= Q16::ONE;
        let multiple = if raised { DEFAULT_MULTIPLE } else { self.multiple };
        let target = multiple.of(min_rtt.0 as u64).min(u32::MAX as u64) as u32;
        (Micros(target).max(min_rtt.plus(MIN_QUEUEING)), raised)
    }
}

/// The RTT samples of the sampling interval under way.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
struct Interval {
    /// Zero before the first sample.
    ends_at: Instant,
    rtt_sum: u64,
    rtt_count: u32,
    /// Packets delivered when the interval began.
    delivered_before: Packets,
    cwnd_limited: bool,
    lost: bool,
}

impl Interval {
    #[inline(always)]
    fn add(&mut self, ack: &Ack) {
        self.lost |= ack.lost;
        if ack.rtt != Micros::ZERO {
            self.rtt_sum = self.rtt_sum.saturating_add(ack.rtt.0 as u64);
            self.rtt_count = self.rtt_count.saturating_add(1);
            self.cwnd_limited = ack.cwnd_limited;
        }
    }

    #[inline(always)]
    fn mean_rtt(&self) -> Option<Micros> {
        self.rtt_sum.checked_div(self.rtt_count as u64).map(|mean| Micros(mean.min(u32::MAX as u64) as u32))
    }

    /// Begins the interval that contains `now`, and skips those without an acknowledgement.
    #[inline(always)]
    fn restart(&mut self, now: Instant, length: Micros, delivered: Packets) {
        let late = now.0.saturating_sub(self.ends_at.0);
        let passed = late.checked_div(length.0 as u64).unwrap_or(0).min(u32::MAX as u64) + 1;
        *self = Self {
            ends_at: Instant(self.ends_at.0.saturating_add(product(passed, length.0))),
            rtt_sum: 0,
            rtt_count: 0,
            delivered_before: delivered,
            cwnd_limited: false,
            lost: false,
        };
    }
}

/// The state of one flow: 96 bytes, which fit into the kernel's 104 bytes per socket (`icsk_ca_priv`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
pub struct Reminis {
    interval: Interval,
    base_rtt: BaseRtt,
    guardian: Guardian,
    /// The target at the last decision; zero before the first.
    target: Micros,
    /// The window behind a probe of the path; zero outside a probe.
    window_behind_probe: Packets,
    target_raised: bool,
}

const _: () = assert!(size_of::<Reminis>() <= 104, "icsk_ca_priv");

impl Reminis {
    /// The state of a new flow.
    pub const START: Self = Self {
        interval: Interval {
            ends_at: Instant(0),
            rtt_sum: 0,
            rtt_count: 0,
            delivered_before: Packets(0),
            cwnd_limited: false,
            lost: false,
        },
        base_rtt: BaseRtt::START,
        guardian: Guardian::START,
        target: Micros::ZERO,
        window_behind_probe: Packets(0),
        target_raised: false,
    };

    /// Takes an acknowledgement before the law grows the window for it. `random` is a uniform word, not always used.
    #[inline(always)]
    pub fn on_ack(&mut self, config: &Config, ack: &Ack, window: &mut Window, random: u32) {
        self.before_law(window);
        if self.interval_ends_at().is_some_and(|end| end <= ack.now) {
            self.decide(config, ack.now, ack.delivered, window, random);
        }
        self.interval.add(ack);
        if ack.rtt != Micros::ZERO {
            self.base_rtt.update(ack, self.target);
            // The first sample after a silence may be seconds long; so is the interval, until a shorter sample comes.
            let longest = ack.now.after(self.interval_length());
            if self.interval.ends_at == Instant(0) || longest < self.interval.ends_at {
                self.interval.ends_at = longest;
            }
        }
    }

    /// Restores the window behind a probe, before the law cuts it for a loss.
    #[inline(always)]
    pub fn before_law(&mut self, window: &mut Window) {
        let behind = core::mem::take(&mut self.window_behind_probe);
        if behind != Packets(0) {
            window.cwnd = behind;
        }
    }

    /// Lowers the window during a probe of the path, after the law, so that packets are alone.
    #[inline(always)]
    pub fn after_law(&mut self, window: &mut Window) {
        if self.base_rtt.is_probing() && window.cwnd > base_rtt::PROBE_WINDOW {
            self.window_behind_probe = window.cwnd;
            window.cwnd = base_rtt::PROBE_WINDOW;
        }
    }

    /// True during a probe of the path: [`after_law`](Self::after_law) lowers the window, and
    /// [`before_law`](Self::before_law) raises it. Otherwise neither has an effect.
    #[inline(always)]
    pub const fn is_probing(&self) -> bool {
        self.base_rtt.is_probing()
    }

    /// The end of the sampling interval; `None` before the first sample.
    #[inline(always)]
    pub fn interval_ends_at(&self) -> Option<Instant> {
        if self.interval.ends_at == Instant(0) { None } else { Some(self.interval.ends_at) }
    }

    /// Ends the sampling interval on time, for callers that have a timer. `delivered` as in [`Ack::delivered`].
    pub fn on_interval_end(&mut self, config: &Config, delivered: Packets, window: &mut Window, random: u32) {
        self.before_law(window);
        self.decide(config, self.interval.ends_at, delivered, window, random);
    }

    #[inline(always)]
    fn decide(
        &mut self,
        config: &Config,
        now: Instant,
        delivered: Packets,
        window: &mut Window,
        random: u32,
    ) {
        if let Some(mean_rtt) = self.interval.mean_rtt() {
            (self.target, self.target_raised) = config.target(self.base_rtt.get());
            let seen = guardian::Seen {
                // The interval's end, not the acknowledgement's arrival: the observations are from then.
                now: self.interval.ends_at,
                mean_rtt,
                min_rtt: self.base_rtt.get(),
                length: self.interval_length(),
                target: self.target,
                delivered: delivered.0.wrapping_sub(self.interval.delivered_before.0),
                cwnd_limited: self.interval.cwnd_limited,
                lost: self.interval.lost,
            };
            self.guardian.act(config, &seen, window, random);
        }
        // An interval without samples decides nothing.
        self.interval.restart(now, self.interval_length(), delivered);
    }

    #[inline(always)]
    fn interval_length(&self) -> Micros {
        self.base_rtt.get().max(MIN_INTERVAL)
    }

    /// The target (DTT) at the last decision; zero before the first.
    pub const fn target(&self) -> Micros {
        self.target
    }

    /// True where no queue could meet the target in the settings, so that it was raised.
    pub const fn is_target_raised(&self) -> bool {
        self.target_raised
    }

    /// The minimum RTT; [`Micros::MAX`] before the first sample.
    pub const fn min_rtt(&self) -> Micros {
        self.base_rtt.get()
    }

    /// The mean of the Gaussian that exploration draws from.
    pub const fn mu(&self) -> Q16 {
        self.guardian.mu
    }

    /// The zone of the delay and its slope at the last decision.
    pub const fn zone(&self) -> Zone {
        self.guardian.zone
    }
}
