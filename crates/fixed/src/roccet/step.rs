//! A step of the core, as the kernel calls it.

use super::{Roccet, Sender};
use crate::draw::{Digest, Draw};
use crate::path::AckEvent;
use crate::step::{Layout, Step, exports, mirror};
use crate::{Instant, Micros, Packets, Window};

/// The step is an acknowledgement.
pub const ACKNOWLEDGEMENT: u32 = 0;
/// The step is a loss that begins a recovery.
pub const LOSS: u32 = 1;
/// The step is a mark (ECN-CE).
pub const MARK: u32 = 2;
/// The step is a time-out.
pub const TIMED_OUT: u32 = 3;
/// The step is a restart after idling.
pub const RESTART: u32 = 4;

mirror! {
    /// The settings, as stored in a map: ROCCET has no settings.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct RoccetSettings as roccet_settings {
        /// Padding, zero, since a map's value cannot be empty.
        pub reserved: u32,
    }
}

mirror! {
    /// An event and the decision after it.
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
    pub struct RoccetStep as roccet_step {
        /// The flow's state.
        pub state: Roccet,
        /// The acknowledgement; other steps use only its time.
        pub event: AckEvent,
        /// CUBIC's window; after the run, the decision.
        pub window: Window,
        /// The kind of step: one of the five above.
        pub kind: u32,
        /// The smoothed RTT in microseconds.
        pub srtt_us: u32,
        /// Packets sent since the flow began; wraps.
        pub sent: u32,
        /// Not zero: the flow is in recovery.
        pub in_recovery: u32,
        /// Decision: packets that may be in flight, whatever the window.
        pub most: u32,
        /// Decision: a [`Law`](super::Law).
        pub law: u32,
    }
}

exports!(RoccetStep, Roccet: roccet_start, roccet_run, roccet_begin, roccet_try);

impl Step for RoccetStep {
    const FIRST: Self = Self {
        state: Roccet::START,
        event: AckEvent::NONE,
        window: Window::FIRST,
        kind: ACKNOWLEDGEMENT,
        srtt_us: 0,
        sent: 0,
        in_recovery: 0,
        most: 0,
        law: 0,
    };
    const LAYOUTS: &'static [Layout] = &[Self::LAYOUT, RoccetSettings::LAYOUT];

    #[inline(always)]
    fn run(&mut self) {
        let RoccetStep { state, event, window, kind, srtt_us, sent, in_recovery, most, law } = self;
        let sender = Sender { srtt: Micros(*srtt_us), sent: Packets(*sent), in_recovery: *in_recovery != 0 };
        let decided = match *kind {
            LOSS => state.on_loss(window),
            MARK => state.on_mark(Instant(event.now_us)),
            TIMED_OUT => state.on_timeout(window),
            RESTART => state.on_idle_restart(window),
            _ => state.on_ack(&event.ack(), &sender, window),
        };
        *law = decided as u32;
        *most = state.most().0;
    }

    #[inline(always)]
    fn draw(&mut self, draw: &mut Draw) {
        if draw.rarely(12) {
            self.state = Roccet::START;
        }
        self.event = draw.acknowledge(&self.event);
        self.kind = ACKNOWLEDGEMENT;
        if draw.rarely(7) {
            self.kind = LOSS + draw.bits(1);
        }
        if draw.rarely(12) {
            self.kind = TIMED_OUT + draw.bits(1);
        }
        self.srtt_us = self.event.rtt_us;
        self.sent = self.event.delivered.wrapping_add(draw.bits(8));
        self.in_recovery = draw.rarely(4) as u32;
        draw.window(&mut self.window);
    }

    #[inline(always)]
    fn digest(&self, digest: &mut Digest) {
        digest.add(self.window.cwnd.0 as u64);
        digest.add(self.window.ssthresh.0 as u64);
        digest.add(self.most as u64);
        digest.add(self.law as u64);
        digest.add(self.state.phase as u64);
        digest.add(self.state.sr_rtt().0 as u64);
    }
}
