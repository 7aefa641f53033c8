//! Whether the queue rises and falls as flows make it that back off only where packets are lost.
//!
//! Flows of this kind keep their queue where it is: it is shorter than the target for a drain, a round or two, and then as long as
//! before. After a loss CUBIC's queue is short for many rounds, and grows until the next one. So a queue that was too long, and was
//! shorter than the target for some rounds on end, is not theirs. A flow that came when CUBIC's queue was there, and takes that for
//! a part of the path, sees this, too.

use cellcc_units::{Span, Time};

/// Prototype: so long after the flow stopped to compete, or the queue last fell, it is as if there had been none.
pub(super) const FORGOTTEN_AFTER: Span = Span::from_secs(15);

/// What the queue did in the rounds before.
#[derive(Debug, Clone, Default)]
pub(super) struct Sawtooth {
    was_long: bool,
    short_rounds: u32,
    fell_at: Option<Time>,
}

impl Sawtooth {
    /// A round ends in which the queue was never shorter than `queueing`. More than `long` is too long; `rounds` shorter than the
    /// `target` make it a sawtooth.
    pub(super) fn end_round(&mut self, now: Time, queueing: Span, target: Span, long: Span, rounds: u32) {
        self.was_long |= queueing > long;
        self.short_rounds = if queueing < target { self.short_rounds + 1 } else { 0 };
        if self.was_long && self.short_rounds >= rounds {
            self.was_long = false;
            self.fell_at = Some(now);
        }
    }

    /// The queue has fallen of late.
    pub(super) fn is_there(&self, now: Time) -> bool {
        self.fell_at.is_some_and(|at| now.since(at) < FORGOTTEN_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Span = Span::from_millis(50);
    const TARGET: Span = Span::from_millis(10);
    const LONG: Span = Span::from_millis(20);

    /// Whether queues of so many ms at the end of each round are a sawtooth.
    fn is_sawtooth(queues_ms: &[u64]) -> bool {
        let (mut sawtooth, mut now) = (Sawtooth::default(), Time::ZERO);
        for &queue in queues_ms {
            now += ROUND;
            sawtooth.end_round(now, Span::from_millis(queue), TARGET, LONG, 4);
        }
        sawtooth.is_there(now)
    }

    #[test]
    fn a_queue_that_was_too_long_and_then_short_for_some_rounds_is_a_sawtooth() {
        assert!(is_sawtooth(&[15, 25, 30, 5, 6, 7, 8, 12]));
        // One that drains.
        assert!(!is_sawtooth(&[25, 30, 5, 6, 25, 30, 5, 6, 25]));
        // One that was never too long.
        assert!(!is_sawtooth(&[15, 18, 5, 6, 7, 8, 12]));
    }

    #[test]
    fn a_queue_that_has_not_fallen_for_a_while_is_none_any_more() {
        let fell = [25, 5, 5, 5, 5];
        let later =
            |rounds: usize| fell.into_iter().chain(std::iter::repeat_n(15, rounds)).collect::<Vec<_>>();
        assert!(is_sawtooth(&later(299)));
        assert!(!is_sawtooth(&later(300)));
    }
}
