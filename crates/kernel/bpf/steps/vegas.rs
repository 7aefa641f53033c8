//! Vegas. C: `cellcc_vegas.bpf.c`.

use super::draw::{Digest, Draw};
use super::path::{AckEvent, SocketWindow};
use super::step::{Layout, Step, exports, mirror};
use cellcc_fixed::vegas::{Config, Vegas};
use cellcc_fixed::{Law, Micros, Packets};

mirror! {
    /// What can be set, as a map holds it: packets in the queue.
    #[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct VegasSettings as vegas_settings {
        /// The window grows below.
        pub alpha: u32,
        /// The window shrinks above.
        pub beta: u32,
        /// Slow start ends above.
        pub gamma: u32,
    }
}

impl From<Config> for VegasSettings {
    fn from(Config { alpha, beta, gamma }: Config) -> Self {
        Self { alpha: alpha.0, beta: beta.0, gamma: gamma.0 }
    }
}

impl VegasSettings {
    /// As the core has them.
    #[inline(always)]
    pub fn config(&self) -> Config {
        Config { alpha: Packets(self.alpha), beta: Packets(self.beta), gamma: Packets(self.gamma) }
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

mirror! {
    /// An event and the decision after it.
    #[cfg_attr(not(target_arch = "bpf"), derive(bytemuck::CheckedBitPattern))]
    pub struct VegasStep as vegas_step {
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
}

exports!(VegasStep, Vegas: vegas_start, vegas_run, vegas_begin, vegas_try);

impl Step for VegasStep {
    const FIRST: Self = Self {
        state: Vegas::START,
        event: AckEvent::NONE,
        window: SocketWindow::FIRST,
        settings: VegasSettings { alpha: 2, beta: 4, gamma: 1 },
        kind: SAMPLE,
        law_grows: 0,
        reserved: 0,
    };
    const LAYOUTS: &'static [Layout] = &[Self::LAYOUT, VegasSettings::LAYOUT];

    #[inline(always)]
    fn run(&mut self) {
        let VegasStep { state, event, window, settings, kind, law_grows, .. } = self;
        let ack = event.ack();
        let mut law = Law::Rests;
        match *kind {
            ACKNOWLEDGEMENT => window.change(|window| law = state.on_ack(&settings.config(), &ack, window)),
            RECOVERED => state.begin_round(ack.delivered),
            RESTART => state.on_idle_restart(ack.delivered),
            _ => state.on_sample(&ack),
        }
        *law_grows = (law == Law::Grows) as u32;
    }

    #[inline(always)]
    fn draw(&mut self, draw: &mut Draw) {
        if draw.rarely(12) {
            self.state = Vegas::START;
            self.settings = VegasSettings { alpha: draw.bits(4), beta: draw.bits(4), gamma: draw.bits(3) };
        }
        if self.kind != SAMPLE || draw.rarely(2) {
            self.event = draw.acknowledge(&self.event);
        }
        // A sample and its acknowledgement follow one another.
        self.kind = match self.kind {
            SAMPLE => ACKNOWLEDGEMENT,
            _ if draw.rarely(8) => RECOVERED + draw.bits(1),
            _ => SAMPLE,
        };
        draw.window(&mut self.window);
    }

    #[inline(always)]
    fn digest(&self, digest: &mut Digest) {
        digest.add(self.window.cwnd as u64);
        digest.add(self.window.ssthresh as u64);
        digest.add(self.law_grows as u64);
        digest.add(self.state.base_rtt().unwrap_or(Micros::ZERO).0 as u64);
        digest.add(self.state.diff().map_or(0, |diff| diff.0) as u64);
    }
}
