//! Vegas. C: `cellcc_vegas.bpf.c`.

use super::draw::{Digest, Draw};
use super::path::{AckEvent, SocketWindow};
use cellcc_fixed::vegas::{Config, Vegas};
use cellcc_fixed::{Law, Micros, Packets};

/// What can be set, as a map holds it: packets in the queue. C: `struct vegas_settings`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct VegasSettings {
    /// The window grows below.
    pub alpha: u32,
    /// The window shrinks above.
    pub beta: u32,
    /// Slow start ends above.
    pub gamma: u32,
}

impl Default for VegasSettings {
    /// The core's defaults.
    fn default() -> Self {
        let Config { alpha, beta, gamma } = Config::default();
        Self { alpha: alpha.0, beta: beta.0, gamma: gamma.0 }
    }
}

/// The step is an RTT sample, in recovery too.
pub const SAMPLE: u32 = 0;
/// The step is an acknowledgement for which the window may grow.
pub const ACKNOWLEDGEMENT: u32 = 1;
/// The step is the end of recovery.
pub const RECOVERED: u32 = 2;
/// The step is a restart after idling.
pub const RESTART: u32 = 3;

/// An event and the decision after it. C: `struct vegas_step`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::CheckedBitPattern))]
pub struct VegasStep {
    /// The flow's state.
    pub state: Vegas,
    /// What happened; of a recovery's end and of a restart, only what was delivered.
    pub event: AckEvent,
    /// The window; then as it is decided.
    pub window: SocketWindow,
    /// What is set.
    pub settings: VegasSettings,
    /// One of the four above.
    pub kind: u32,
    /// Not zero, in a decision: Reno's law is to grow the window.
    pub law_grows: u32,
    /// Zero.
    pub reserved: u32,
}

const _: () =
    assert!(size_of::<Vegas>() == 24 && size_of::<VegasStep>() == 88, "cellcc_vegas.bpf.c says so, too");

/// A flow begins.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn vegas_start(state: &mut Vegas) {
    *state = Vegas::START;
}

/// A flow goes on.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn vegas_run(step: &mut VegasStep) {
    let VegasStep { state, event, window, settings, kind, law_grows, .. } = step;
    let ack = event.ack();
    let mut law = Law::Rests;
    match *kind {
        ACKNOWLEDGEMENT => {
            let VegasSettings { alpha, beta, gamma } = *settings;
            let config = Config { alpha: Packets(alpha), beta: Packets(beta), gamma: Packets(gamma) };
            window.change(|window| law = state.on_ack(&config, &ack, window));
        }
        RECOVERED => state.begin_round(ack.delivered),
        RESTART => state.on_idle_restart(ack.delivered),
        _ => state.on_sample(&ack),
    }
    *law_grows = (law == Law::Grows) as u32;
}

/// Random steps. C: `struct vegas_trial`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::CheckedBitPattern))]
pub struct VegasTrial {
    /// The step under way.
    pub step: VegasStep,
    /// Where the next step comes from.
    pub draw: Draw,
    /// What was decided.
    pub digest: Digest,
}

impl VegasTrial {
    /// Before the first step.
    pub const fn new(seed: u64) -> Self {
        let step = VegasStep {
            state: Vegas::START,
            event: AckEvent::NONE,
            window: SocketWindow { cwnd: 10, ssthresh: 0x7fff_ffff },
            settings: VegasSettings { alpha: 2, beta: 4, gamma: 1 },
            kind: SAMPLE,
            law_grows: 0,
            reserved: 0,
        };
        Self { step, draw: Draw(seed), digest: Digest(0) }
    }
}

const _: () = assert!(size_of::<VegasTrial>() == 13 * 8, "equality.bpf.c says so, too");

/// The random steps of a seed begin.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn vegas_begin(trial: &mut VegasTrial, seed: u64) {
    *trial = VegasTrial::new(seed);
}

/// One random step.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn vegas_try(trial: &mut VegasTrial) {
    let VegasTrial { step, draw, digest } = trial;
    if draw.rarely(12) {
        vegas_start(&mut step.state);
        step.settings = VegasSettings { alpha: draw.bits(4), beta: draw.bits(4), gamma: draw.bits(3) };
    }
    if step.kind != SAMPLE || draw.rarely(2) {
        step.event = draw.acknowledge(&step.event);
    }
    // A sample and its acknowledgement follow one another.
    step.kind = match step.kind {
        SAMPLE => ACKNOWLEDGEMENT,
        _ if draw.rarely(8) => RECOVERED + draw.bits(1),
        _ => SAMPLE,
    };
    draw.window(&mut step.window);
    vegas_run(step);
    digest.add(step.window.cwnd as u64);
    digest.add(step.window.ssthresh as u64);
    digest.add(step.law_grows as u64);
    digest.add(step.state.base_rtt().unwrap_or(Micros::ZERO).0 as u64);
    digest.add(step.state.diff().map_or(0, |diff| diff.0) as u64);
}
