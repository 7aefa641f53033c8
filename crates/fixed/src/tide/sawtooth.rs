//! Detection of a queue that rises and falls, as flows make it that back off only where packets are lost.
//!
//! Flows of this scheme keep their queue steady: it is shorter than the target for a drain, a round or two, and then as
//! long as before. After a loss CUBIC's queue is short for many rounds, and grows until the next one. So a queue that
//! was too long, and then shorter than the target for some rounds in a row, is not theirs. This also holds for a flow
//! that met CUBIC's queue from the start and takes it for a part of the path.

use crate::{Instant, Micros};

/// Prototype: time after which a pause in the competition, or the last fall of the queue, is forgotten.
pub(super) const FORGOTTEN_AFTER: Micros = Micros(15_000_000);

/// The queue's course in the rounds before.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct Sawtooth {
    /// The time of the last fall; zero if never.
    fell_at: Instant,
    short_rounds: u32,
    /// Not zero: the queue was too long.
    was_long: u32,
}

impl Sawtooth {
    pub(super) const START: Self = Self { fell_at: Instant(0), short_rounds: 0, was_long: 0 };

    /// Ends a round in which the queue was never shorter than `queueing`. A queue above `long` is too long; afterwards,
    /// `rounds` rounds below `target` make it a sawtooth.
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

    /// True where the queue has fallen recently.
    #[inline(always)]
    pub(super) fn is_there(&self, now: Instant) -> bool {
        self.fell_at != Instant(0) && now.since(self.fell_at) < FORGOTTEN_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Micros = Micros(50_000);
    const TARGET: Micros = Micros(10_000);
    const LONG: Micros = Micros(20_000);

    /// True where these queues in ms, one per round, are a sawtooth.
    fn is_sawtooth(queues_ms: impl IntoIterator<Item = u32>) -> bool {
        let (mut sawtooth, mut now) = (Sawtooth::START, Instant(0));
        for queue in queues_ms {
            now = now.after(ROUND);
            sawtooth.end_round(now, Micros(queue * 1_000), [TARGET, LONG], 4);
        }
        sawtooth.is_there(now)
    }

    #[test]
    fn a_queue_that_was_too_long_and_then_short_for_some_rounds_is_a_sawtooth() {
        assert!(is_sawtooth([15, 25, 30, 5, 6, 7, 8, 12]));
        // A queue that drains.
        assert!(!is_sawtooth([25, 30, 5, 6, 25, 30, 5, 6, 25]));
        // A queue that was never too long.
        assert!(!is_sawtooth([15, 18, 5, 6, 7, 8, 12]));
    }

    #[test]
    fn a_queue_that_has_not_fallen_for_a_while_is_none_any_more() {
        let fell = [25, 5, 5, 5, 5];
        let later = |rounds| fell.into_iter().chain(core::iter::repeat_n(15, rounds));
        assert!(is_sawtooth(later(299)));
        assert!(!is_sawtooth(later(300)));
    }
}
