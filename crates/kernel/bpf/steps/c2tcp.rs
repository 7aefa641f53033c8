//! C2TCP. C: `cellcc_c2tcp.bpf.c`.

use super::draw::{Digest, Draw};
use super::path::AckEvent;
use cellcc_fixed::c2tcp::{C2tcp, Config, Profile};
use cellcc_fixed::{Micros, Packets, Q16};

/// What can be set, as a map holds it. C: `struct c2tcp_settings`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct C2tcpSettings {
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

impl C2tcpSettings {
    /// Those of the registry.
    pub const DEFAULT: Self =
        Self { target_us: 0, multiple: 2 << 16, alpha: 3 << 15, profile: 0, tuner: 1, reserved: 0 };

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

/// An acknowledgement and the decision after it. C: `struct c2tcp_step`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct C2tcpStep {
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

const _: () =
    assert!(size_of::<C2tcp>() == 48 && size_of::<C2tcpStep>() == 120, "cellcc_c2tcp.bpf.c says so, too");

/// A flow begins.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn c2tcp_start(state: &mut C2tcp) {
    *state = C2tcp::START;
}

/// A flow goes on.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn c2tcp_run(step: &mut C2tcpStep) {
    let C2tcpStep { state, event, settings, cwnd, in_recovery, growth, cuts } = step;
    let decision = state.on_ack(&settings.config(), &event.ack(), Packets(*cwnd), *in_recovery != 0);
    *growth = decision.growth.0;
    *cuts = decision.cuts as u32;
}

/// Random steps. C: `struct c2tcp_trial`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct C2tcpTrial {
    /// The step under way.
    pub step: C2tcpStep,
    /// Where the next step comes from.
    pub draw: Draw,
    /// What was decided.
    pub digest: Digest,
}

impl C2tcpTrial {
    /// Before the first step.
    pub const fn new(seed: u64) -> Self {
        let step = C2tcpStep {
            state: C2tcp::START,
            event: AckEvent::NONE,
            settings: C2tcpSettings::DEFAULT,
            cwnd: 10,
            in_recovery: 0,
            growth: 0,
            cuts: 0,
        };
        Self { step, draw: Draw(seed), digest: Digest(0) }
    }
}

const _: () = assert!(size_of::<C2tcpTrial>() == 17 * 8, "equality.bpf.c says so, too");

/// The random steps of a seed begin.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn c2tcp_begin(trial: &mut C2tcpTrial, seed: u64) {
    *trial = C2tcpTrial::new(seed);
}

/// One random step.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn c2tcp_try(trial: &mut C2tcpTrial) {
    let C2tcpTrial { step, draw, digest } = trial;
    if draw.rarely(10) {
        c2tcp_start(&mut step.state);
        let target_us = if draw.rarely(1) { 0 } else { 16_000 + draw.bits(16) };
        step.settings = C2tcpSettings {
            target_us,
            multiple: draw.bits(19) as i32,
            alpha: draw.bits(19) as i32,
            profile: draw.bits(1),
            tuner: draw.bits(1),
            reserved: 0,
        };
    }
    step.event = draw.acknowledge(&step.event);
    step.cwnd = draw.bits(6);
    step.in_recovery = draw.rarely(4) as u32;
    c2tcp_run(step);
    digest.add(step.growth as u64);
    digest.add(step.cuts as u64);
    digest.add(step.state.cuts() as u64);
    digest.add(step.state.alpha().map_or(0, |alpha| alpha.0) as u64);
}
