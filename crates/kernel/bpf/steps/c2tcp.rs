//! C2TCP. C: `cellcc_c2tcp.bpf.c`.

use super::draw::{Digest, Draw};
use super::path::AckEvent;
use super::step::{Layout, Step, exports, mirror};
use cellcc_fixed::c2tcp::{C2tcp, Config, Profile};
use cellcc_fixed::{Micros, Packets, Q16};

mirror! {
    /// What can be set, as a map holds it.
    #[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
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
    #[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
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
