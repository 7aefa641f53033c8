//! Westwood+. C: `cellcc_westwood.bpf.c`.

use super::draw::{Digest, Draw};
use super::path::{AckEvent, SocketWindow};
use cellcc_fixed::Packets;
use cellcc_fixed::westwood::{Profile, Westwood};

/// What can be set, as a map holds it. C: `struct westwood_settings`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct WestwoodSettings {
    /// When the estimate sets the window. 0: at the loss; otherwise as in Linux, when recovery ends.
    pub profile: u32,
}

impl WestwoodSettings {
    /// The profile, as the core has it.
    #[inline(always)]
    pub fn profile(&self) -> Profile {
        if self.profile == Profile::Paper as u32 { Profile::Paper } else { Profile::Linux }
    }
}

/// The step is an acknowledgement, in recovery too.
pub const SAMPLE: u32 = 0;
/// The step is a loss or a mark, after which Reno has cut the window.
pub const CUT: u32 = 1;
/// The step is the end of recovery.
pub const RECOVERED: u32 = 2;
/// The step is a time-out.
pub const TIMED_OUT: u32 = 3;

/// An event and the decision after it. C: `struct westwood_step`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct WestwoodStep {
    /// The flow's state.
    pub state: Westwood,
    /// The acknowledgement; nothing for other steps.
    pub event: AckEvent,
    /// The window; then as it is decided.
    pub window: SocketWindow,
    /// What is set.
    pub settings: WestwoodSettings,
    /// One of the four above.
    pub kind: u32,
    /// The window before Reno cut it.
    pub before: u32,
    /// Zero.
    pub reserved: u32,
}

const _: () = assert!(
    size_of::<Westwood>() == 40 && size_of::<WestwoodStep>() == 96,
    "cellcc_westwood.bpf.c says so, too"
);

/// A flow begins.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn westwood_start(state: &mut Westwood) {
    *state = Westwood::START;
}

/// A flow goes on.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn westwood_run(step: &mut WestwoodStep) {
    let WestwoodStep { state, event, window, settings, kind, before, .. } = step;
    let profile = settings.profile();
    match *kind {
        CUT => window.change(|window| state.on_cut(profile, Packets(*before), window)),
        RECOVERED => window.change(|window| state.on_recovered(profile, window)),
        TIMED_OUT => window.change(|window| state.on_timeout(window)),
        _ => state.on_ack(&event.ack()),
    }
}

/// Random steps. C: `struct westwood_trial`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct WestwoodTrial {
    /// The step under way.
    pub step: WestwoodStep,
    /// Where the next step comes from.
    pub draw: Draw,
    /// What was decided.
    pub digest: Digest,
}

impl WestwoodTrial {
    /// Before the first step.
    pub const fn new(seed: u64) -> Self {
        let step = WestwoodStep {
            state: Westwood::START,
            event: AckEvent::NONE,
            window: SocketWindow { cwnd: 10, ssthresh: 0x7fff_ffff },
            settings: WestwoodSettings { profile: 0 },
            kind: SAMPLE,
            before: 0,
            reserved: 0,
        };
        Self { step, draw: Draw(seed), digest: Digest(0) }
    }
}

const _: () = assert!(size_of::<WestwoodTrial>() == 14 * 8, "equality.bpf.c says so, too");

/// The random steps of a seed begin.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn westwood_begin(trial: &mut WestwoodTrial, seed: u64) {
    *trial = WestwoodTrial::new(seed);
}

/// One random step.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn westwood_try(trial: &mut WestwoodTrial) {
    let WestwoodTrial { step, draw, digest } = trial;
    if draw.rarely(12) {
        westwood_start(&mut step.state);
        step.settings.profile = draw.bits(1);
    }
    step.event = draw.acknowledge(&step.event);
    step.kind = if draw.rarely(6) { CUT + draw.bits(1) } else { SAMPLE };
    if draw.rarely(10) {
        step.kind = TIMED_OUT;
    }
    step.before = draw.bits(10);
    draw.window(&mut step.window);
    westwood_run(step);
    digest.add(step.window.cwnd as u64);
    digest.add(step.window.ssthresh as u64);
    digest.add(step.state.bandwidth().unwrap_or(0));
}
