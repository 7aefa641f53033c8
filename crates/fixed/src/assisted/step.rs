//! A step of the core, as the kernel calls it. C: `assisted.h`.

use super::{Advice, Assisted, Config, Limits, Path};
use crate::draw::{Digest, Draw};
use crate::step::{Layout, Step, exports, mirror};
use crate::{BytesPerSecond, Instant, Micros, Packets, Q16};

mirror! {
    /// The settings, as stored in a map.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct AssistedSettings as assisted_settings {
        /// The window in bandwidth-delay products, in units of 2^-16.
        pub alpha: i32,
        /// The pacing rate in bandwidths, in units of 2^-16.
        pub pacing_gain: i32,
        /// Periods without advice until the base scheme continues alone, in units of 2^-16.
        pub timeout_periods: i32,
        /// Not zero: paces at the flow's share of the bandwidth.
        pub paces_at_share: u32,
    }
}

impl From<Config> for AssistedSettings {
    fn from(config: Config) -> Self {
        Self {
            alpha: config.alpha.0,
            pacing_gain: config.pacing_gain.0,
            timeout_periods: config.timeout_periods.0,
            paces_at_share: config.paces_at_share as u32,
        }
    }
}

impl AssistedSettings {
    /// Converts to the core's settings.
    #[inline(always)]
    pub fn config(&self) -> Config {
        Config {
            alpha: Q16(self.alpha),
            pacing_gain: Q16(self.pacing_gain),
            timeout_periods: Q16(self.timeout_periods),
            paces_at_share: self.paces_at_share != 0,
        }
    }
}

mirror! {
    /// Pacing rate and window of a socket.
    #[derive(Default)]
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct SocketLimits as limits {
        /// The pacing rate in bytes per second.
        pub pacing: u64,
        /// The window in packets.
        pub cwnd: u32,
        /// Not zero in a decision: advice is followed.
        pub follows: u32,
    }
}

mirror! {
    /// An acknowledgement and the decision after it.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
    pub struct AssistedStep as assisted_step {
        /// The flow's state.
        pub state: Assisted,
        /// The newest advice.
        pub advice: Advice,
        /// The sender's view of its path.
        pub path: Path,
        /// The flow's settings.
        pub settings: AssistedSettings,
        /// The limits of the base scheme; after the run, the decision.
        pub limits: SocketLimits,
        /// Not zero: NATCP's limits cap those of the base scheme. Zero: they replace them.
        pub caps: u32,
        /// Padding, zero.
        pub reserved: u32,
    }
}

exports!(AssistedStep, Assisted: assisted_start, assisted_run, assisted_begin, assisted_try);

impl Step for AssistedStep {
    const FIRST: Self = Self {
        state: Assisted::START,
        advice: Advice {
            bandwidth: BytesPerSecond(0),
            measured_at: Instant(0),
            min_rtt: Micros::ZERO,
            period: Micros::ZERO,
            flows: 0,
            reserved: 0,
        },
        path: Path {
            now: Instant(0),
            min_rtt: Micros::ZERO,
            probe_timeout: Micros::ZERO,
            packet_bytes: 0,
            rtt: Micros::ZERO,
        },
        settings: AssistedSettings { alpha: 0, pacing_gain: 0, timeout_periods: 0, paces_at_share: 0 },
        limits: SocketLimits { pacing: 0, cwnd: 0, follows: 0 },
        caps: 0,
        reserved: 0,
    };
    const LAYOUTS: &'static [Layout] =
        &[Self::LAYOUT, Advice::LAYOUT, Path::LAYOUT, AssistedSettings::LAYOUT, SocketLimits::LAYOUT];

    #[inline(always)]
    fn run(&mut self) {
        let AssistedStep { state, advice, path, settings, limits, caps, .. } = self;
        let config = settings.config();
        let mut decided = Limits { pacing: BytesPerSecond(limits.pacing), cwnd: Packets(limits.cwnd) };
        let follows = if *caps != 0 {
            state.cap_on_ack(&config, advice, path, &mut decided)
        } else {
            state.on_ack(&config, advice, path, &mut decided)
        };
        *limits = SocketLimits { pacing: decided.pacing.0, cwnd: decided.cwnd.0, follows: follows as u32 };
    }

    #[inline(always)]
    fn draw(&mut self, draw: &mut Draw) {
        if draw.rarely(12) {
            self.state = Assisted::START;
            self.settings = settings(draw);
            self.caps = draw.bits(1);
        }
        self.path.now.0 = self.path.now.0.wrapping_add(draw.bits(16) as u64);
        if draw.rarely(3) {
            self.advice = advice(draw, self.path.now);
            self.path.min_rtt = Micros(draw.bits(17));
            self.path.rtt = Micros(if draw.rarely(3) { 0 } else { draw.bits(19) });
            self.path.probe_timeout = Micros(draw.bits(19));
            self.path.packet_bytes = draw.bits(11);
        }
        let shift = draw.bits(6);
        self.limits = SocketLimits { pacing: wide(draw) >> shift, cwnd: draw.bits(14), follows: 0 };
    }

    #[inline(always)]
    fn digest(&self, digest: &mut Digest) {
        digest.add(self.limits.pacing);
        digest.add(self.limits.cwnd as u64);
        digest.add(self.limits.follows as u64);
    }
}

#[inline(always)]
fn wide(draw: &mut Draw) -> u64 {
    (draw.word() as u64) << 32 | draw.word() as u64
}

#[inline(always)]
fn advice(draw: &mut Draw, now: Instant) -> Advice {
    let shift = draw.bits(6);
    let bandwidth = if draw.rarely(4) { wide(draw) >> shift } else { draw.bits(28) as u64 };
    Advice {
        bandwidth: BytesPerSecond(bandwidth),
        measured_at: Instant(now.0.saturating_sub(draw.bits(18) as u64)),
        min_rtt: Micros(if draw.rarely(3) { 0 } else { draw.bits(17) }),
        period: Micros(draw.bits(17)),
        flows: draw.bits(2),
        reserved: 0,
    }
}

#[inline(always)]
fn settings(draw: &mut Draw) -> AssistedSettings {
    AssistedSettings {
        alpha: draw.bits(18) as i32,
        pacing_gain: draw.bits(17) as i32,
        timeout_periods: draw.bits(20) as i32,
        paces_at_share: draw.bits(1),
    }
}
