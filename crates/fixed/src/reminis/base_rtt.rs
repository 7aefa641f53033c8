//! The minimum RTT of the flow, which a new route may raise.

use crate::{Ack, Instant, Micros, Packets};

/// Time without a sample at or below the target after which the path is probed. Our choice: many RTTs of any path for
/// which the target makes sense.
const LONGEST_ABOVE_TARGET: Micros = Micros(1_000_000);
/// The window during a probe: the Guardian's floor. A packet sent with less in flight meets no queue of its own flow.
pub(super) const PROBE_WINDOW: Packets = Packets(2);
/// The number of such packets whose smallest RTT becomes the new path's. Our choice: two round trips.
const PROBE_SAMPLES: u8 = 4;

/// The smallest RTT so far (paper, section 3.1). It is measured again where for a second no sample comes down to the
/// target, not even that of packets that meet no queue of their own flow.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
pub(super) struct BaseRtt {
    /// The start of the present time without a sample at or below the target; zero outside one.
    above_since: Instant,
    min: Micros,
    /// The smallest RTT of packets that were alone during the probe.
    alone_min: Micros,
    alone: u8,
    probing: bool,
}

impl BaseRtt {
    pub(super) const START: Self =
        Self { above_since: Instant(0), min: Micros::MAX, alone_min: Micros::MAX, alone: 0, probing: false };

    /// Takes an acknowledgement with an RTT sample.
    #[inline(always)]
    pub(super) fn update(&mut self, ack: &Ack, target: Micros) {
        self.min = self.min.min(ack.rtt);
        if target == Micros::ZERO || ack.rtt <= target {
            self.restart();
            return;
        }
        if self.above_since == Instant(0) {
            self.above_since = ack.now;
        }
        self.probing = ack.now.since(self.above_since) > LONGEST_ABOVE_TARGET;
        if self.probing && ack.inflight_at_send() <= PROBE_WINDOW {
            self.alone = self.alone.saturating_add(1);
            self.alone_min = self.alone_min.min(ack.rtt);
        }
        if self.alone >= PROBE_SAMPLES {
            self.min = self.alone_min;
            self.restart();
        }
    }

    #[inline(always)]
    fn restart(&mut self) {
        *self = Self { min: self.min, ..Self::START };
    }

    /// True while the window has to be [`PROBE_WINDOW`].
    #[inline(always)]
    pub(super) const fn is_probing(&self) -> bool {
        self.probing
    }

    #[inline(always)]
    pub(super) const fn get(&self) -> Micros {
        self.min
    }
}
