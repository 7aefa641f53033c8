//! Reminis' Guardian. C: `reminis.h`.

use super::draw::{Digest, Draw};
use super::path::{AckEvent, SocketWindow};
use cellcc_fixed::reminis::{Config, Exploration, Profile, Reminis};
use cellcc_fixed::{Micros, Q16};

/// What can be set, as a map holds it. C: `struct reminis_settings`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct ReminisSettings {
    /// The target RTT (DTT) in microseconds; zero for the multiple.
    pub target_us: u32,
    /// The target in minimum RTTs, in units of 2^-16.
    pub multiple: i32,
    /// 0 `paper`, 1 `literal`, 2 `following`.
    pub profile: u32,
    /// 0 `random`, 1 `deterministic`, 2 `off`.
    pub exploration: u32,
    /// Not zero: proactive slowdown.
    pub proactive_slowdown: u32,
    /// Not zero: catastrophe mitigation.
    pub catastrophe_mitigation: u32,
}

impl Default for ReminisSettings {
    /// The core's defaults.
    fn default() -> Self {
        let Config { target, multiple, profile, exploration, proactive_slowdown, catastrophe_mitigation } =
            Config::default();
        Self {
            target_us: target.0,
            multiple: multiple.0,
            profile: profile as u32,
            exploration: exploration as u32,
            proactive_slowdown: proactive_slowdown as u32,
            catastrophe_mitigation: catastrophe_mitigation as u32,
        }
    }
}

impl ReminisSettings {
    /// The settings as the core has them. A number that stands for nothing stands for the default.
    #[inline(always)]
    pub fn config(&self) -> Config {
        Config {
            target: Micros(self.target_us),
            multiple: Q16(self.multiple),
            profile: match self.profile {
                1 => Profile::Literal,
                2 => Profile::Following,
                _ => Profile::Paper,
            },
            exploration: match self.exploration {
                1 => Exploration::Deterministic,
                2 => Exploration::Off,
                _ => Exploration::Random,
            },
            proactive_slowdown: self.proactive_slowdown != 0,
            catastrophe_mitigation: self.catastrophe_mitigation != 0,
        }
    }
}

/// The step is an acknowledgement, before the law grows the window for it.
pub const ACKNOWLEDGEMENT: u32 = 0;
/// The law is to cut the window for a loss.
pub const BEFORE_LAW: u32 = 1;
/// The law has had its turn.
pub const AFTER_LAW: u32 = 2;

/// An event and the decision after it. C: `struct reminis_step`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::CheckedBitPattern))]
pub struct ReminisStep {
    /// The flow's state.
    pub state: Reminis,
    /// What happened; nothing around the law.
    pub event: AckEvent,
    /// The window as the law left it; then as it is decided.
    pub window: SocketWindow,
    /// What is set.
    pub settings: ReminisSettings,
    /// One of the three above.
    pub kind: u32,
    /// Not zero, in a decision: the path is probed, and the steps around the law matter.
    pub is_probing: u32,
}

const _: () =
    assert!(size_of::<Reminis>() == 96 && size_of::<ReminisStep>() == 168, "reminis.h says so, too");

/// A flow begins.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn reminis_start(state: &mut Reminis) {
    *state = Reminis::START;
}

/// A flow goes on.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn reminis_run(step: &mut ReminisStep) {
    let ReminisStep { state, event, window, settings, kind, is_probing } = step;
    window.change(|window| match *kind {
        BEFORE_LAW => state.before_law(window),
        AFTER_LAW => state.after_law(window),
        _ => state.on_ack(&settings.config(), &event.ack(), window, event.random),
    });
    *is_probing = state.is_probing() as u32;
}

/// Random steps. C: `struct reminis_trial`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::CheckedBitPattern))]
pub struct ReminisTrial {
    /// The step under way.
    pub step: ReminisStep,
    /// Where the next step comes from.
    pub draw: Draw,
    /// What was decided.
    pub digest: Digest,
}

impl ReminisTrial {
    /// Before the first step.
    pub const fn new(seed: u64) -> Self {
        let settings = ReminisSettings {
            target_us: 0,
            multiple: 0,
            profile: 0,
            exploration: 0,
            proactive_slowdown: 1,
            catastrophe_mitigation: 1,
        };
        let window = SocketWindow { cwnd: 10, ssthresh: 0x7fff_ffff };
        let event = AckEvent::NONE;
        let step =
            ReminisStep { state: Reminis::START, event, window, settings, kind: AFTER_LAW, is_probing: 0 };
        Self { step, draw: Draw(seed), digest: Digest(0) }
    }
}

const _: () = assert!(size_of::<ReminisTrial>() == 23 * 8, "equality.bpf.c says so, too");

/// The random steps of a seed begin.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn reminis_begin(trial: &mut ReminisTrial, seed: u64) {
    *trial = ReminisTrial::new(seed);
}

/// One random step.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn reminis_try(trial: &mut ReminisTrial) {
    let ReminisTrial { step, draw, digest } = trial;
    if draw.rarely(12) {
        reminis_start(&mut step.state);
        step.settings = settings(draw);
    }
    // The law follows an acknowledgement, or a loss.
    step.kind = match step.kind {
        AFTER_LAW if draw.rarely(4) => BEFORE_LAW,
        AFTER_LAW => ACKNOWLEDGEMENT,
        _ => AFTER_LAW,
    };
    if step.kind == ACKNOWLEDGEMENT {
        step.event = draw.acknowledge(&step.event);
    }
    draw.window(&mut step.window);
    reminis_run(step);
    digest.add(step.window.cwnd as u64);
    digest.add(step.window.ssthresh as u64);
    digest.add(step.state.mu().0 as u64);
    digest.add(step.state.zone() as u64);
    digest.add(step.state.target().0 as u64);
    digest.add(step.state.min_rtt().0 as u64);
}

#[inline(always)]
fn settings(draw: &mut Draw) -> ReminisSettings {
    ReminisSettings {
        target_us: if draw.rarely(1) { 0 } else { draw.bits(17) },
        multiple: draw.bits(18) as i32,
        profile: draw.bits(2),
        exploration: draw.bits(2),
        proactive_slowdown: draw.bits(1),
        catastrophe_mitigation: draw.bits(1),
    }
}
