//! C2TCP: CUBIC that grows faster while the RTT is below a setpoint, and restarts from one packet when it stays above.
//!
//! 1. The setpoint is `alpha` times the minimum RTT; so is the interval.
//! 2. An RTT up to the setpoint adds `setpoint/rtt` packets per RTT to the growth of CUBIC.
//! 3. RTTs above it for a whole interval set ssthresh as CUBIC does for a loss, and the window to one packet.
//! 4. While they stay above, the cut repeats, the n-th time `interval/sqrt(n)` later, as CoDel drops.
//! 5. A tuner compares the mean RTT of half a second with the target, and moves `alpha` by their distance.
//!
//! ```text
//!          rtt > setpoint                    for an interval
//!  good -------------------> above setpoint ----------------> cut: window = 1 packet
//!   ^ ^                           |          <---------------      (next after interval/sqrt(n))
//!   | |      rtt <= setpoint      |                             |
//!   | +---------------------------+                             |
//!   +-----------------------------------------------------------+
//!                             rtt <= setpoint
//! ```
//!
//! Source: Abbasloo, Li, Xu and Chao, C2TCP, IFIP Networking 2018 (v1); Abbasloo, Xu and Chao, JSAC 37(4), 2019 (v2); the
//! authors' kernels and tuner (Soheil-ab/C2TCP-IFIP and Soheil-ab/c2tcp on GitHub).
//!
//! **Differences from the authors' programs.**
//! - Times are in microseconds, and `alpha` in units of 2^-16. The kernels count whole milliseconds, 5 to 10 % of a
//!   short RTT, and the tuner `alpha` in hundredths. A wait between cuts has the root's relative error, 1.3e-4 at most.
//! - In loss recovery the window does not grow, and a cut sets it to ssthresh instead of one packet. Linux has that
//!   effect because proportional rate reduction controls the window until recovery ends.
//! - The tuner's period ends with the first acknowledgement after it. Without one nothing changes, as in theirs.
//! - A target in multiples of the minimum RTT follows it. Their tuner computes it once, half a second after the start.
//!
//! **The profile `V1`** has a fixed setpoint (the target), an interval of 100 ms and no tuner.

use crate::draw::{Digest, Draw};
use crate::number::product;
use crate::path::AckEvent;
use crate::step::{Layout, Step, exports, mirror};
use crate::{Ack, Instant, Micros, Packets, Q16};

/// The interval of v1, which is CoDel's (the sysctl of C2TCP-IFIP).
const V1_INTERVAL: Micros = Micros(100_000);
/// The tuner's period (c2tcp `run-sample.sh`).
const TUNING_PERIOD: Micros = Micros(500_000);
/// The range of alpha (c2tcp `server-standalone.cc`, `TARGET_RATIO_MIN` and `TARGET_RATIO_MAX`).
const MIN_ALPHA: Q16 = Q16(1 << 16);
const MAX_ALPHA: Q16 = Q16(10 << 16);
/// The number of cuts in a row above which the wait for the next one stays as it is: the largest with a [`Q16`] root.
const MAX_ROOT: u32 = 32_767;

/// The version of the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// The setpoint follows the minimum RTT.
    #[default]
    V2,
    /// The target is the setpoint.
    V1,
}

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The version of the algorithm.
    pub profile: Profile,
    /// The mean RTT that the tuner aims at (in v1, the setpoint); zero to use `multiple`.
    pub target: Micros,
    /// The target in multiples of the minimum RTT.
    pub multiple: Q16,
    /// v2: the initial setpoint in multiples of the minimum RTT.
    pub alpha: Q16,
    /// v2: the tuner moves alpha.
    pub tuner: bool,
}

/// Changes to CUBIC's window for an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Decision {
    /// Growth of the window in packets, in addition to CUBIC's.
    pub growth: Packets,
    /// CUBIC answers as to a mark; outside recovery the window is then one packet.
    pub cuts: bool,
}

/// The state of one flow: 48 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct C2tcp {
    next_cut: Instant,
    /// The end of the tuner's period; then the sum in microseconds and the number of the period's RTT samples.
    period_ends: Instant,
    rtt_sum: u64,
    rtt_samples: u32,
    /// [`Micros::MAX`] before the first sample.
    min_rtt: Micros,
    alpha: Q16,
    /// CoDel's count: 1 from the first RTT above the setpoint to the first cut; zero below the setpoint.
    count: u32,
    /// Extra growth in packets times the window: a packet is due when this reaches the window (Linux `snd_cwnd_cnt`).
    growth_due: u32,
    reserved: u32,
}

impl C2tcp {
    /// The state of a new flow.
    pub const START: Self = Self {
        next_cut: Instant(0),
        period_ends: Instant(0),
        rtt_sum: 0,
        rtt_samples: 0,
        min_rtt: Micros::MAX,
        alpha: Q16::ZERO,
        count: 0,
        growth_due: 0,
        reserved: 0,
    };

    /// Takes an acknowledgement while CUBIC's window is `cwnd`.
    #[inline(always)]
    pub fn on_ack(&mut self, config: &Config, ack: &Ack, cwnd: Packets, in_recovery: bool) -> Decision {
        if ack.rtt == Micros::ZERO {
            return Decision::default();
        }
        if self.min_rtt == Micros::MAX {
            self.alpha = config.alpha;
            self.period_ends = ack.now.after(TUNING_PERIOD);
        }
        self.min_rtt = self.min_rtt.min(ack.rtt);
        if config.profile == Profile::V2 && config.tuner {
            self.tune(config, ack);
        }
        let setpoint = self.setpoint(config);
        if ack.rtt <= setpoint {
            self.count = 0;
            let grows = ack.cwnd_limited && !in_recovery;
            let growth = if grows { self.grow(setpoint, ack.rtt, cwnd) } else { Packets(0) };
            return Decision { growth, cuts: false };
        }
        Decision { growth: Packets(0), cuts: self.is_cut_due(config, ack.now, setpoint) }
    }

    /// Extra growth of `setpoint/rtt` packets per window of acknowledgements, in whole packets.
    #[inline(always)]
    fn grow(&mut self, setpoint: Micros, rtt: Micros, cwnd: Packets) -> Packets {
        let per_window = setpoint.0.checked_div(rtt.0).unwrap_or(0);
        let due = self.growth_due.saturating_add(per_window);
        let window = cwnd.0.max(1);
        let whole = due.checked_div(window).unwrap_or(0);
        self.growth_due = due.saturating_sub(whole.saturating_mul(window));
        Packets(whole)
    }

    /// Handles an RTT above the setpoint; returns true where a cut is due.
    #[inline(always)]
    fn is_cut_due(&mut self, config: &Config, now: Instant, setpoint: Micros) -> bool {
        let interval = if config.profile == Profile::V1 { V1_INTERVAL } else { setpoint };
        if self.count == 0 {
            self.count = 1;
            self.next_cut = now.after(interval);
            return false;
        }
        if now <= self.next_cut {
            return false;
        }
        let root = Q16((self.count.min(MAX_ROOT) << 16) as i32).sqrt();
        let wait = ((interval.0 as u64) << 16).checked_div(root.0 as u64).unwrap_or(0);
        self.next_cut = Instant(now.0.saturating_add(wait));
        self.count = self.count.saturating_add(1);
        self.growth_due = 0;
        true
    }

    /// Takes an RTT sample. At the end of a period moves alpha so that the mean RTT approaches the target (c2tcp
    /// `server-standalone.cc`, `CntThread`): down by twice the share of the mean above the target, up by half of the
    /// share below it.
    #[inline(always)]
    fn tune(&mut self, config: &Config, ack: &Ack) {
        if ack.now >= self.period_ends {
            if let Some(mean) = self.rtt_sum.checked_div(self.rtt_samples as u64) {
                let target = self.target(config).0 as i64;
                let distance = Q16::ratio(target - mean as i64, mean as u32);
                let change =
                    if distance < Q16::ZERO { distance.plus(distance) } else { Q16(distance.0 >> 1) };
                self.alpha = self.alpha.times(Q16::ONE.plus(change)).clamp(MIN_ALPHA, MAX_ALPHA);
            }
            self.period_ends = ack.now.after(TUNING_PERIOD);
            self.rtt_sum = 0;
            self.rtt_samples = 0;
        }
        self.rtt_sum = self.rtt_sum.saturating_add(ack.rtt.0 as u64);
        self.rtt_samples = self.rtt_samples.saturating_add(1);
    }

    #[inline(always)]
    fn target(&self, config: &Config) -> Micros {
        if config.target == Micros::ZERO { times(self.min_rtt, config.multiple) } else { config.target }
    }

    /// The largest RTT that is still good.
    #[inline(always)]
    pub fn setpoint(&self, config: &Config) -> Micros {
        match config.profile {
            Profile::V1 => self.target(config),
            Profile::V2 => times(self.min_rtt, self.alpha),
        }
    }

    /// The smallest RTT so far; `None` before the first.
    pub const fn min_rtt(&self) -> Option<Micros> {
        if self.min_rtt.0 == u32::MAX { None } else { Some(self.min_rtt) }
    }

    /// The setpoint of v2 in multiples of the minimum RTT; `None` before the first RTT.
    pub const fn alpha(&self) -> Option<Q16> {
        if self.min_rtt.0 == u32::MAX { None } else { Some(self.alpha) }
    }

    /// Cuts since the RTT rose above the setpoint.
    pub const fn cuts(&self) -> u32 {
        self.count.saturating_sub(1)
    }
}

/// `factor` times a time, rounded towards zero; at most 71 minutes, and zero for a negative factor.
#[inline(always)]
fn times(time: Micros, factor: Q16) -> Micros {
    let factor = if factor < Q16::ZERO { 0 } else { factor.0 as u32 };
    let micros = product(time.0 as u64, factor) >> 16;
    Micros(if micros > u32::MAX as u64 { u32::MAX } else { micros as u32 })
}

mirror! {
    /// The settings, as stored in a map.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct C2tcpSettings as c2tcp_settings {
        /// The mean RTT that the tuner aims at (in v1, the setpoint), in microseconds; zero to use `multiple`.
        pub target_us: u32,
        /// The target in multiples of the minimum RTT, in units of 2^-16.
        pub multiple: i32,
        /// The initial setpoint in multiples of the minimum RTT, in units of 2^-16.
        pub alpha: i32,
        /// 0 `v2`, otherwise `v1`.
        pub profile: u32,
        /// Not zero: the tuner moves alpha.
        pub tuner: u32,
        /// Padding, zero.
        pub reserved: u32,
    }
}

impl From<Config> for C2tcpSettings {
    fn from(config: Config) -> Self {
        Self {
            target_us: config.target.0,
            multiple: config.multiple.0,
            alpha: config.alpha.0,
            profile: config.profile as u32,
            tuner: config.tuner as u32,
            reserved: 0,
        }
    }
}

impl C2tcpSettings {
    /// Converts to the core's settings.
    #[inline(always)]
    pub fn config(&self) -> Config {
        Config {
            profile: if self.profile == Profile::V2 as u32 { Profile::V2 } else { Profile::V1 },
            target: Micros(self.target_us),
            multiple: Q16(self.multiple),
            alpha: Q16(self.alpha),
            tuner: self.tuner != 0,
        }
    }
}

mirror! {
    /// An acknowledgement and the decision after it.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct C2tcpStep as c2tcp_step {
        /// The flow's state.
        pub state: C2tcp,
        /// The acknowledgement.
        pub event: AckEvent,
        /// The flow's settings.
        pub settings: C2tcpSettings,
        /// CUBIC's window, in packets.
        pub cwnd: u32,
        /// Not zero: the flow is in recovery.
        pub in_recovery: u32,
        /// Decision: growth of the window in packets, in addition to CUBIC's.
        pub growth: u32,
        /// Decision: not zero where CUBIC answers as to a mark; outside recovery the window is then one packet.
        pub cuts: u32,
    }
}

exports!(C2tcpStep, C2tcp: c2tcp_start, c2tcp_run, c2tcp_begin, c2tcp_try);

impl Step for C2tcpStep {
    const FIRST: Self = Self {
        state: C2tcp::START,
        event: AckEvent::NONE,
        settings: C2tcpSettings {
            target_us: 0,
            multiple: 2 << 16,
            alpha: 3 << 15,
            profile: 0,
            tuner: 1,
            reserved: 0,
        },
        cwnd: 10,
        in_recovery: 0,
        growth: 0,
        cuts: 0,
    };
    const LAYOUTS: &'static [Layout] = &[Self::LAYOUT, C2tcpSettings::LAYOUT];

    #[inline(always)]
    fn run(&mut self) {
        let C2tcpStep { state, event, settings, cwnd, in_recovery, growth, cuts } = self;
        let decision = state.on_ack(&settings.config(), &event.ack(), Packets(*cwnd), *in_recovery != 0);
        *growth = decision.growth.0;
        *cuts = decision.cuts as u32;
    }

    #[inline(always)]
    fn draw(&mut self, draw: &mut Draw) {
        if draw.rarely(10) {
            self.state = C2tcp::START;
            let target_us = if draw.rarely(1) { 0 } else { 16_000 + draw.bits(16) };
            self.settings = C2tcpSettings {
                target_us,
                multiple: draw.bits(19) as i32,
                alpha: draw.bits(19) as i32,
                profile: draw.bits(1),
                tuner: draw.bits(1),
                reserved: 0,
            };
        }
        self.event = draw.acknowledge(&self.event);
        self.cwnd = draw.bits(6);
        self.in_recovery = draw.rarely(4) as u32;
    }

    #[inline(always)]
    fn digest(&self, digest: &mut Digest) {
        digest.add(self.growth as u64);
        digest.add(self.cuts as u64);
        digest.add(self.state.cuts() as u64);
        digest.add(self.state.alpha().map_or(0, |alpha| alpha.0) as u64);
    }
}
