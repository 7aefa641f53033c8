//! Tide. C: `tide.h`.

use super::draw::{Digest, Draw};
use super::path::AckEvent;
use cellcc_fixed::tide::{Config, Event, MOST_TICKS, Tide};
use cellcc_fixed::{Instant, Micros, Packets};

/// What can be set, as a map holds it. C: `struct tide_settings`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct TideSettings {
    /// The queueing delay aimed for on a steady link, in microseconds.
    pub delay_us: u32,
}

impl TideSettings {
    /// Those of the registry.
    pub const DEFAULT: Self = Self { delay_us: Config::DEFAULT.delay.0 };

    /// As the core has them.
    #[inline(always)]
    pub fn config(&self) -> Config {
        Config::DEFAULT.with_delay(Micros(self.delay_us))
    }
}

/// What TCP tells of an acknowledgement, and the limits after it. C: `struct tide_step`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct TideStep {
    /// The flow's state.
    pub state: Tide,
    /// The acknowledgement; nothing is acknowledged where its count is zero.
    pub event: Event,
    /// What is set.
    pub settings: TideSettings,
    /// Packets that were declared lost since the acknowledgement before.
    pub lost: u32,
    /// Not zero: an episode of recovery has begun since then.
    pub new_episode: u32,
    /// The size of a full packet in bytes.
    pub packet_bytes: u32,
    /// Decided: bytes per second; zero where nothing is decided yet.
    pub pacing: u64,
    /// Decided: packets; zero where nothing is decided yet.
    pub cwnd: u32,
    /// Zero.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Tide>() == 616 && size_of::<TideStep>() == 680, "tide.h says so, too");

/// A flow begins.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn tide_start(state: &mut Tide) {
    *state = Tide::START;
}

/// Ends a tick that is over before the acknowledgement; zero where none is.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn tide_end_tick(step: &mut TideStep) -> u32 {
    let config = step.settings.config();
    step.state.end_tick(&config, step.event.now) as u32
}

#[cfg(target_arch = "bpf")]
unsafe extern "C" {
    /// Calls [`tide_end_tick`] until no tick is over, so often at most. In C (`tide.h`): the verifier follows a turn once only where the kernel
    /// makes the loop.
    safe fn tide_end_ticks(step: &mut TideStep, most: u32);
}

#[cfg(not(target_arch = "bpf"))]
fn tide_end_ticks(step: &mut TideStep, _most: u32) {
    step.state.end_ticks(&step.settings.config(), step.event.now);
}

/// A flow goes on.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn tide_run(step: &mut TideStep) {
    if step.event.acked != Packets(0) {
        tide_end_ticks(step, MOST_TICKS);
    }
    let TideStep { state, event, settings, lost, new_episode, packet_bytes, pacing, cwnd, .. } = step;
    let config = settings.config();
    if event.acked != Packets(0) {
        state.on_ack(&config, event);
    }
    if (*lost | *new_episode) != 0 {
        state.on_loss(event.now, Packets(*lost), *new_episode != 0);
    }
    (*pacing, *cwnd) = (0, 0);
    if let Some(limits) = state.limits(&config, *packet_bytes) {
        *pacing = limits.pacing.0;
        *cwnd = limits.cwnd().0;
    }
}

/// Random steps. C: `struct tide_trial`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct TideTrial {
    /// The step under way.
    pub step: TideStep,
    /// Where the next step comes from.
    pub draw: Draw,
    /// What was decided.
    pub digest: Digest,
}

impl TideTrial {
    /// Before the first step.
    pub const fn new(seed: u64) -> Self {
        let event = Event {
            now: Instant(0),
            rtt: Micros(0),
            smoothed_rtt: Micros(0),
            delivered: Packets(0),
            delivered_at_send: Packets(0),
            acked: Packets(0),
            app_limited: 0,
        };
        let step = TideStep {
            state: Tide::START,
            event,
            settings: TideSettings::DEFAULT,
            lost: 0,
            new_episode: 0,
            packet_bytes: 1448,
            pacing: 0,
            cwnd: 0,
            reserved: 0,
        };
        Self { step, draw: Draw(seed), digest: Digest(0) }
    }
}

const _: () = assert!(size_of::<TideTrial>() == 87 * 8, "equality.bpf.c says so, too");

/// The random steps of a seed begin.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn tide_begin(trial: &mut TideTrial, seed: u64) {
    *trial = TideTrial::new(seed);
}

/// One random step.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn tide_try(trial: &mut TideTrial) {
    let TideTrial { step, draw, digest } = trial;
    if draw.rarely(12) {
        tide_start(&mut step.state);
        step.settings.delay_us = 500 + draw.bits(15);
        step.packet_bytes = 1 + draw.bits(11);
    }
    let last = AckEvent { now_us: step.event.now.0, delivered: step.event.delivered.0, ..AckEvent::NONE };
    let next = draw.acknowledge(&last);
    step.event = Event {
        now: Instant(next.now_us),
        rtt: Micros(next.rtt_us),
        smoothed_rtt: Micros(16_000 + draw.bits(16)),
        delivered: Packets(next.delivered),
        delivered_at_send: Packets(next.delivered_at_send),
        acked: Packets(next.delivered.wrapping_sub(last.delivered)),
        app_limited: draw.rarely(4) as u32,
    };
    step.lost = if draw.rarely(5) { draw.bits(4) } else { 0 };
    step.new_episode = draw.rarely(8) as u32;
    tide_run(step);
    digest.add(step.pacing);
    digest.add(step.cwnd as u64);
    digest.add(step.state.rate());
    digest.add(step.state.competes() as u64);
}
