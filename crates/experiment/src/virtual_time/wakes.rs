//! The queue of wake-ups.

use super::Ends;
use super::flow::Flow;
use cellcc_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Wake-up times of flows: by time and number of the flow.
pub(super) struct Wakes {
    queue: BinaryHeap<Reverse<(Time, u32)>>,
    next: Time,
}

impl Wakes {
    pub(super) fn new() -> Self {
        Self { queue: BinaryHeap::new(), next: Time::NEVER }
    }

    /// Time of the first; [`Time::NEVER`] where there is none.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Puts the flow's next wake-up in the queue, unless an earlier one stands there already.
    #[inline(always)]
    pub(super) fn schedule<E: Ends>(&mut self, now: Time, flow: &mut Flow<E>) {
        let wake = flow.next_wake(now);
        if wake < flow.scheduled {
            flow.scheduled = wake;
            self.push(wake, flow.side.index);
        }
    }

    /// Out of line: most events leave the next wake-up where it is.
    #[inline(never)]
    fn push(&mut self, wake: Time, flow: u32) {
        self.queue.push(Reverse((wake, flow)));
        self.next = self.next.min(wake);
    }

    /// Takes the first: its time, and the number of the flow.
    pub(super) fn pop(&mut self) -> Option<(Time, u32)> {
        let first = self.queue.pop();
        self.next = self.queue.peek().map_or(Time::NEVER, |Reverse((time, _))| *time);
        first.map(|Reverse(first)| first)
    }
}
