//! A step of the core, as the kernel calls it. C: `reminis.h`.

use super::{Config, Exploration, Profile, Reminis};
use crate::draw::{Digest, Draw};
use crate::path::AckEvent;
use crate::step::{Layout, Step, exports, mirror};
use crate::{Micros, Q16, Window};

mirror! {
    /// The settings, as stored in a map.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct ReminisSettings as reminis_settings {
        /// The target RTT (DTT) in microseconds; zero to use `multiple`.
        pub target_us: u32,
        /// The target in multiples of the minimum RTT, in units of 2^-16.
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
}

impl From<Config> for ReminisSettings {
    fn from(config: Config) -> Self {
        Self {
            target_us: config.target.0,
            multiple: config.multiple.0,
            profile: config.profile as u32,
            exploration: config.exploration as u32,
            proactive_slowdown: config.proactive_slowdown as u32,
            catastrophe_mitigation: config.catastrophe_mitigation as u32,
        }
    }
}

impl ReminisSettings {
    /// Converts to the core's settings. A number without a meaning stands for the default.
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
/// The step precedes the law's cut of the window for a loss.
pub const BEFORE_LAW: u32 = 1;
/// The step follows the law's change of the window.
pub const AFTER_LAW: u32 = 2;

mirror! {
    /// An event and the decision after it.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
    pub struct ReminisStep as reminis_step {
        /// The flow's state.
        pub state: Reminis,
        /// The acknowledgement; unused in the steps around the law.
        pub event: AckEvent,
        /// The window that the law left; after the run, the decision.
        pub window: Window,
        /// The flow's settings.
        pub settings: ReminisSettings,
        /// The kind of step: one of the three above.
        pub kind: u32,
        /// Decision: not zero during a probe of the path, when the steps around the law matter.
        pub is_probing: u32,
    }
}

exports!(ReminisStep, Reminis: reminis_start, reminis_run, reminis_begin, reminis_try);

impl Step for ReminisStep {
    const FIRST: Self = Self {
        state: Reminis::START,
        event: AckEvent::NONE,
        window: Window::FIRST,
        settings: ReminisSettings {
            target_us: 0,
            multiple: 0,
            profile: 0,
            exploration: 0,
            proactive_slowdown: 1,
            catastrophe_mitigation: 1,
        },
        kind: AFTER_LAW,
        is_probing: 0,
    };
    const LAYOUTS: &'static [Layout] = &[Self::LAYOUT, ReminisSettings::LAYOUT];

    #[inline(always)]
    fn run(&mut self) {
        let ReminisStep { state, event, window, settings, kind, is_probing } = self;
        match *kind {
            BEFORE_LAW => state.before_law(window),
            AFTER_LAW => state.after_law(window),
            _ => state.on_ack(&settings.config(), &event.ack(), window, event.random),
        }
        *is_probing = state.is_probing() as u32;
    }

    #[inline(always)]
    fn draw(&mut self, draw: &mut Draw) {
        if draw.rarely(12) {
            self.state = Reminis::START;
            self.settings = settings(draw);
        }
        // The law follows an acknowledgement, or a loss.
        self.kind = match self.kind {
            AFTER_LAW if draw.rarely(4) => BEFORE_LAW,
            AFTER_LAW => ACKNOWLEDGEMENT,
            _ => AFTER_LAW,
        };
        if self.kind == ACKNOWLEDGEMENT {
            self.event = draw.acknowledge(&self.event);
        }
        draw.window(&mut self.window);
    }

    #[inline(always)]
    fn digest(&self, digest: &mut Digest) {
        digest.add(self.window.cwnd.0 as u64);
        digest.add(self.window.ssthresh.0 as u64);
        digest.add(self.state.mu().0 as u64);
        digest.add(self.state.zone() as u64);
        digest.add(self.state.target().0 as u64);
        digest.add(self.state.min_rtt().0 as u64);
    }
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
