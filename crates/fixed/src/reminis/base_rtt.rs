//! The minimum RTT of the flow, which a new route may raise.

use crate::{Ack, Instant, Micros, Packets};

/// Without a sample at or below the target for this long, the path is looked at. Our choice: many RTTs of any path that the
/// target makes sense for.
const LONGEST_ABOVE_TARGET: Micros = Micros(1_000_000);
/// The window meanwhile: the Guardian's floor. A packet that leaves with less in flight meets no queue of its own flow.
pub(super) const PROBE_WINDOW: Packets = Packets(2);
/// Samples of such packets that tell the new path's RTT: the smallest of them. Our choice: two round trips.
const PROBE_SAMPLES: u8 = 4;

/// The smallest RTT so far (paper, section 3.1), learnt anew where no sample comes down to the target for a second, and
/// packets that meet no queue of their own do not either.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
pub(super) struct BaseRtt {
    /// Since the last sample at or below the target; zero where there was one just now.
    above_since: Instant,
    min: Micros,
    /// Of the packets that were alone while probing.
    alone_min: Micros,
    alone: u8,
    probing: bool,
}

impl BaseRtt {
    pub(super) const START: Self =
        Self { above_since: Instant(0), min: Micros::MAX, alone_min: Micros::MAX, alone: 0, probing: false };

    /// An acknowledgement with a sample.
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

    /// The window is to be [`PROBE_WINDOW`].
    #[inline(always)]
    pub(super) const fn is_probing(&self) -> bool {
        self.probing
    }

    #[inline(always)]
    pub(super) const fn get(&self) -> Micros {
        self.min
    }
}
