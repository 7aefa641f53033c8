//! Westwood+. C: `cellcc_westwood.bpf.c`.

use super::draw::{Digest, Draw};
use super::path::{AckEvent, SocketWindow};
use super::step::{Layout, Step, exports, mirror};
use cellcc_fixed::Packets;
use cellcc_fixed::westwood::{Profile, Westwood};

mirror! {
    /// What can be set, as a map holds it.
    #[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct WestwoodSettings as westwood_settings {
        /// When the estimate sets the window. 0: at the loss; otherwise as in Linux, when recovery ends.
        pub profile: u32,
    }
}

impl From<Profile> for WestwoodSettings {
    fn from(profile: Profile) -> Self {
        Self { profile: profile as u32 }
    }
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

mirror! {
    /// An event and the decision after it.
    #[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct WestwoodStep as westwood_step {
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
}

exports!(WestwoodStep, Westwood: westwood_start, westwood_run, westwood_begin, westwood_try);

impl Step for WestwoodStep {
    const FIRST: Self = Self {
        state: Westwood::START,
        event: AckEvent::NONE,
        window: SocketWindow::FIRST,
        settings: WestwoodSettings { profile: 0 },
        kind: SAMPLE,
        before: 0,
        reserved: 0,
    };
    const LAYOUTS: &'static [Layout] = &[Self::LAYOUT, WestwoodSettings::LAYOUT];

    #[inline(always)]
    fn run(&mut self) {
        let WestwoodStep { state, event, window, settings, kind, before, .. } = self;
        let profile = settings.profile();
        match *kind {
            CUT => window.change(|window| state.on_cut(profile, Packets(*before), window)),
            RECOVERED => window.change(|window| state.on_recovered(profile, window)),
            TIMED_OUT => window.change(|window| state.on_timeout(window)),
            _ => state.on_ack(&event.ack()),
        }
    }

    #[inline(always)]
    fn draw(&mut self, draw: &mut Draw) {
        if draw.rarely(12) {
            self.state = Westwood::START;
            self.settings.profile = draw.bits(1);
        }
        self.event = draw.acknowledge(&self.event);
        self.kind = if draw.rarely(6) { CUT + draw.bits(1) } else { SAMPLE };
        if draw.rarely(10) {
            self.kind = TIMED_OUT;
        }
        self.before = draw.bits(10);
        draw.window(&mut self.window);
    }

    #[inline(always)]
    fn digest(&self, digest: &mut Digest) {
        digest.add(self.window.cwnd as u64);
        digest.add(self.window.ssthresh as u64);
        digest.add(self.state.bandwidth().unwrap_or(0));
    }
}
