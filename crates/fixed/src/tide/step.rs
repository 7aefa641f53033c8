//! A step of the core, as the kernel calls it. C: `tide.h`.

use super::{Config, Event, MOST_TICKS, Tide};
use crate::draw::{Digest, Draw};
use crate::path::AckEvent;
use crate::step::{Layout, Step, exports, mirror};
use crate::{Instant, Micros, Packets};

mirror! {
    /// The settings, as stored in a map.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct TideSettings as tide_settings {
        /// The target of the queueing delay on a steady link, in microseconds.
        pub delay_us: u32,
    }
}

impl From<Config> for TideSettings {
    fn from(config: Config) -> Self {
        Self { delay_us: config.delay.0 }
    }
}

impl TideSettings {
    /// Converts to the core's settings.
    #[inline(always)]
    pub fn config(&self) -> Config {
        Config::DEFAULT.with_delay(Micros(self.delay_us))
    }
}

mirror! {
    /// An acknowledgement as TCP reports it, and the limits after it.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct TideStep as tide_step {
        /// The flow's state.
        pub state: Tide,
        /// The acknowledgement; without new data its `acked` is zero.
        pub event: Event,
        /// The flow's settings.
        pub settings: TideSettings,
        /// Packets declared lost since the previous acknowledgement.
        pub lost: u32,
        /// Not zero: an episode of recovery has begun since then.
        pub new_episode: u32,
        /// The size of a full packet in bytes.
        pub packet_bytes: u32,
        /// Decision: the pacing rate in bytes per second; zero before the first decision.
        pub pacing: u64,
        /// Decision: the window in packets; zero before the first decision.
        pub cwnd: u32,
        /// Padding, zero.
        pub reserved: u32,
    }
}

/// Ends a tick that is over before the acknowledgement; returns zero where no tick is.
#[cfg_attr(target_arch = "bpf", unsafe(no_mangle))]
pub extern "C" fn tide_end_tick(step: &mut TideStep) -> u32 {
    let config = step.settings.config();
    step.state.end_tick(&config, step.event.now) as u32
}

#[cfg(target_arch = "bpf")]
unsafe extern "C" {
    /// Calls [`tide_end_tick`] until no tick is over, at most `most` times. In C (`tide.h`): the verifier follows a
    /// turn only once where the kernel makes the loop.
    safe fn tide_end_ticks(step: &mut TideStep, most: u32);
}

#[cfg(not(target_arch = "bpf"))]
fn tide_end_ticks(step: &mut TideStep, _most: u32) {
    step.state.end_ticks(&step.settings.config(), step.event.now);
}

exports!(TideStep, Tide: tide_start, tide_run, tide_begin, tide_try);

impl Step for TideStep {
    const FIRST: Self = Self {
        state: Tide::START,
        event: Event {
            now: Instant(0),
            rtt: Micros(0),
            delivered: Packets(0),
            delivered_at_send: Packets(0),
            acked: Packets(0),
            app_limited: 0,
            reserved: 0,
        },
        settings: TideSettings { delay_us: Config::DEFAULT.delay.0 },
        lost: 0,
        new_episode: 0,
        packet_bytes: 1448,
        pacing: 0,
        cwnd: 0,
        reserved: 0,
    };
    const LAYOUTS: &'static [Layout] = &[Self::LAYOUT, TideSettings::LAYOUT, Event::LAYOUT];

    #[inline(always)]
    fn run(&mut self) {
        if self.event.acked != Packets(0) {
            tide_end_ticks(self, MOST_TICKS);
        }
        let TideStep { state, event, settings, lost, new_episode, packet_bytes, pacing, cwnd, .. } = self;
        let config = settings.config();
        if event.acked != Packets(0) {
            state.on_ack(&config, event);
        }
        if (*lost | *new_episode) != 0 {
            state.on_loss(Packets(*lost), *new_episode != 0);
        }
        (*pacing, *cwnd) = (0, 0);
        if let Some(limits) = state.limits(&config, *packet_bytes) {
            *pacing = limits.pacing.0;
            *cwnd = limits.cwnd().0;
        }
    }

    #[inline(always)]
    fn draw(&mut self, draw: &mut Draw) {
        if draw.rarely(12) {
            self.state = Tide::START;
            self.settings.delay_us = 500 + draw.bits(15);
            self.packet_bytes = 1 + draw.bits(11);
        }
        let last = AckEvent { now_us: self.event.now.0, delivered: self.event.delivered.0, ..AckEvent::NONE };
        let next = draw.acknowledge(&last);
        self.event = Event {
            now: Instant(next.now_us),
            rtt: Micros(next.rtt_us),
            delivered: Packets(next.delivered),
            delivered_at_send: Packets(next.delivered_at_send),
            acked: Packets(next.delivered.wrapping_sub(last.delivered)),
            app_limited: draw.rarely(4) as u32,
            reserved: 0,
        };
        self.lost = if draw.rarely(5) { draw.bits(4) } else { 0 };
        self.new_episode = draw.rarely(8) as u32;
    }

    #[inline(always)]
    fn digest(&self, digest: &mut Digest) {
        digest.add(self.pacing);
        digest.add(self.cwnd as u64);
        digest.add(self.state.rate());
        digest.add(self.state.competes() as u64);
    }
}
