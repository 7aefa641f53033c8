//! C2TCP: CUBIC that grows faster while the RTT is below a setpoint, and begins anew from one packet when it stays above.
//!
//! 1. The setpoint is `alpha` times the minimum RTT; so is the interval.
//! 2. An RTT up to the setpoint adds `setpoint/rtt` packets per RTT to the growth of CUBIC.
//! 3. RTTs above it for a whole interval set ssthresh as CUBIC does for a loss, and the window to one packet.
//! 4. While they stay above, that happens again, the n-th time `interval/sqrt(n)` later, as CoDel drops.
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
//! - Times are in microseconds, and `alpha` in units of 2^-16. The kernels count whole milliseconds, 5 to 10 % of a short RTT,
//!   and the tuner `alpha` in hundredths. A wait between cuts is off by 1.3e-4 of its length at most, that of the root.
//! - In loss recovery the window does not grow, and a cut leaves ssthresh in place of one packet. The same comes about
//!   in Linux, where proportional rate reduction has the window until recovery ends.
//! - The tuner's period ends with the first acknowledgement after it. Without one nothing changes, as there.
//! - A target in multiples of the minimum RTT follows it. The tuner there computes it once, half a second after the start.
//!
//! **The profile `V1`** has a fixed setpoint (the target), an interval of 100 ms and no tuner.

use crate::draw::{Digest, Draw};
use crate::number::product;
use crate::path::AckEvent;
use crate::step::{Layout, Step, exports, mirror};
use crate::{Ack, Instant, Micros, Packets, Q16};

/// C2TCP-IFIP, the sysctl for it: the interval of v1, which is CoDel's.
const V1_INTERVAL: Micros = Micros(100_000);
/// c2tcp `run-sample.sh`: the tuner's period.
const TUNING_PERIOD: Micros = Micros(500_000);
/// c2tcp `server-standalone.cc`, `TARGET_RATIO_MIN` and `TARGET_RATIO_MAX`.
const MIN_ALPHA: Q16 = Q16(1 << 16);
const MAX_ALPHA: Q16 = Q16(10 << 16);
/// Above as many cuts in a row the wait for the next one stays as it is: the largest number whose root there is.
const MAX_ROOT: u32 = 32_767;

/// Which version of the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// The setpoint follows the minimum RTT.
    #[default]
    V2,
    /// The target is the setpoint.
    V1,
}

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Which version.
    pub profile: Profile,
    /// The mean RTT that the tuner aims at, in v1 the setpoint; zero for the multiple.
    pub target: Micros,
    /// The target in minimum RTTs.
    pub multiple: Q16,
    /// v2: minimum RTTs in the setpoint, at first.
    pub alpha: Q16,
    /// v2: alpha moves.
    pub tuner: bool,
}

/// What an acknowledgement asks of CUBIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Decision {
    /// So many packets more than CUBIC has the window grow.
    pub growth: Packets,
    /// CUBIC answers as to a mark, and outside recovery the window is one packet then.
    pub cuts: bool,
}

/// The state of one flow: 48 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct C2tcp {
    next_cut: Instant,
    /// Of the tuner, its samples since and their sum in microseconds.
    period_ends: Instant,
    rtt_sum: u64,
    rtt_samples: u32,
    /// [`Micros::MAX`] before the first sample.
    min_rtt: Micros,
    alpha: Q16,
    /// CoDel's: 1 from the first RTT above the setpoint to the first cut; zero below it.
    count: u32,
    /// Packets of extra growth, times the window: a whole packet is due once this is a window (Linux `snd_cwnd_cnt`).
    growth_due: u32,
    /// Zero.
    reserved: u32,
}

impl C2tcp {
    /// A flow at its beginning.
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

    /// An acknowledgement, when CUBIC's window is `cwnd`.
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

    /// `setpoint/rtt` packets more per window of acknowledgements, in whole packets.
    #[inline(always)]
    fn grow(&mut self, setpoint: Micros, rtt: Micros, cwnd: Packets) -> Packets {
        let per_window = setpoint.0.checked_div(rtt.0).unwrap_or(0);
        let due = self.growth_due.saturating_add(per_window);
        let window = cwnd.0.max(1);
        let whole = due.checked_div(window).unwrap_or(0);
        self.growth_due = due.saturating_sub(whole.saturating_mul(window));
        Packets(whole)
    }

    /// An RTT above the setpoint: whether the interval is over.
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

    /// Takes an RTT sample; at the end of a period alpha moves so that the mean RTT comes to the target (c2tcp
    /// `server-standalone.cc`, `CntThread`): down by twice the share of the mean that lies above the target, up by half of the share
    /// that it lies below.
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

    /// The RTT that is still good.
    #[inline(always)]
    pub fn setpoint(&self, config: &Config) -> Micros {
        match config.profile {
            Profile::V1 => self.target(config),
            Profile::V2 => times(self.min_rtt, self.alpha),
        }
    }

    /// The smallest RTT so far.
    pub const fn min_rtt(&self) -> Option<Micros> {
        if self.min_rtt.0 == u32::MAX { None } else { Some(self.min_rtt) }
    }

    /// Minimum RTTs in the setpoint of v2; none before the first RTT.
    pub const fn alpha(&self) -> Option<Q16> {
        if self.min_rtt.0 == u32::MAX { None } else { Some(self.alpha) }
    }

    /// Cuts since the RTT rose above the setpoint.
    pub const fn cuts(&self) -> u32 {
        self.count.saturating_sub(1)
    }
}

/// The multiple of a time, towards zero; 71 minutes at most, and nothing of a negative one.
#[inline(always)]
fn times(time: Micros, factor: Q16) -> Micros {
    let factor = if factor < Q16::ZERO { 0 } else { factor.0 as u32 };
    let micros = product(time.0 as u64, factor) >> 16;
    Micros(if micros > u32::MAX as u64 { u32::MAX } else { micros as u32 })
}

mirror! {
    /// What can be set, as a map holds it.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct C2tcpSettings as c2tcp_settings {
        /// The mean RTT that the tuner aims at, in v1 the setpoint, in microseconds; zero for the multiple.
        pub target_us: u32,
        /// The target in minimum RTTs, in units of 2^-16.
        pub multiple: i32,
        /// Minimum RTTs in the setpoint at first, in units of 2^-16.
        pub alpha: i32,
        /// 0 `v2`, otherwise `v1`.
        pub profile: u32,
        /// Not zero: alpha moves.
        pub tuner: u32,
        /// Zero.
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
    /// As the core has them.
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
        /// What is set.
        pub settings: C2tcpSettings,
        /// CUBIC's window, in packets.
        pub cwnd: u32,
        /// Not zero: the flow is in recovery.
        pub in_recovery: u32,
        /// Decided: packets more than CUBIC has the window grow.
        pub growth: u32,
        /// Not zero, in a decision: CUBIC answers as to a mark, and outside recovery the window is one packet then.
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
