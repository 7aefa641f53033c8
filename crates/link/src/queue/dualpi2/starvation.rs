//! Seconds in which L leaves nothing to C.

use cellcc_units::{Bytes, Span, Time};

const SECOND: Span = Span::from_secs(1);
/// Bytes of both queues for a byte of C below which C starves: half of Linux's weight of 10 %.
const STARVED: u64 = 20;

/// Judges each whole second since time zero.
#[derive(Debug, Clone, Default)]
pub(super) struct Starvation {
    second_ends: Time,
    /// True if packets have waited in C ever since it began.
    has_waited: bool,
    low: Bytes,
    classic: Bytes,
    starved: Span,
}

impl Starvation {
    /// Before anything happens at `now`; `waits`: whether packets have waited in C since anything happened last.
    pub(super) fn advance(&mut self, now: Time, waits: bool) {
        self.has_waited &= waits;
        if now < self.second_ends {
            return;
        }
        let is_starved = self.has_waited && self.classic * STARVED < self.low + self.classic;
        let seconds = now.since(Time::ZERO).as_nanos() / SECOND.as_nanos();
        *self = Self {
            second_ends: Time::ZERO + SECOND * (seconds + 1),
            has_waited: waits,
            starved: if is_starved { self.starved + SECOND } else { self.starved },
            ..Self::default()
        };
    }

    /// A packet of this size leaves one of the queues.
    pub(super) fn on_left(&mut self, low: bool, size: Bytes) {
        *(if low { &mut self.low } else { &mut self.classic }) += size;
    }

    pub(super) fn starved(&self) -> Span {
        self.starved
    }
}
