//! Whether the queue rises and falls as flows make it that back off only where packets are lost.
//!
//! Flows of this kind keep their queue where it is: it is shorter than the target for a drain, a round or two, and then as long as
//! before. After a loss CUBIC's queue is short for many rounds, and grows until the next one. So a queue that was too long, and was
//! shorter than the target for some rounds on end, is not theirs. A flow that came when CUBIC's queue was there, and takes that for
//! a part of the path, sees this, too.

use crate::{Instant, Micros};

/// Prototype: so long after the flow stopped to compete, or the queue last fell, it is as if there had been none.
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

    /// The queue has fallen lately.
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

    /// Whether queues of so many ms at the end of each round are a sawtooth.
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
        // One that drains.
        assert!(!is_sawtooth([25, 30, 5, 6, 25, 30, 5, 6, 25]));
        // One that was never too long.
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
