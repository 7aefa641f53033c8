//! Whether the queue rises and falls as flows make it that back off only where packets are lost.

use crate::{Instant, Micros};

/// So long after the flow stopped to compete, or the queue last fell, it is as if there had been none.
pub(super) const FORGOTTEN_AFTER: Micros = Micros(15_000_000);

/// What the queue did in the rounds before.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct Sawtooth {
    /// When it last fell; zero if never.
    fell_at: Instant,
    short_rounds: u32,
    /// Not zero: it was too long.
    was_long: u32,
}

impl Sawtooth {
    pub(super) const START: Self = Self { fell_at: Instant(0), short_rounds: 0, was_long: 0 };

    /// A round ends in which the queue was never shorter than `queueing`. More than `long` is too long; `rounds` shorter than the
    /// `target` make it a sawtooth.
    #[inline(always)]
    pub(super) fn end_round(
        &mut self,
        now: Instant,
        queueing: Micros,
        [target, long]: [Micros; 2],
        rounds: u32,
    ) {
        self.was_long |= (queueing > long) as u32;
        self.short_rounds = if queueing < target { self.short_rounds.saturating_add(1) } else { 0 };
        if self.was_long != 0 && self.short_rounds >= rounds {
            self.was_long = 0;
            self.fell_at = now;
        }
    }

    /// The queue has fallen of late.
    #[inline(always)]
    pub(super) fn is_there(&self, now: Instant) -> bool {
        self.fell_at != Instant(0) && now.since(self.fell_at) < FORGOTTEN_AFTER
    }
}
