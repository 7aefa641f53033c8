//! The queue of wake-ups.

use super::Ends;
use super::flow::Flow;
use cellcc_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Wake-up times of flows: by time and number of the flow.
pub(super) struct Wakes {
    queue: BinaryHeap<Reverse<(Time, u32)>>,
    next: Time,
}

impl Wakes {
    pub(super) fn new() -> Self {
        Self { queue: BinaryHeap::new(), next: Time::NEVER }
    }

    /// The time of the first wake; [`Time::NEVER`] without one.
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

    /// Number of the first flow, whose wake-up is due. One that an earlier wake-up has replaced is only taken off.
    pub(super) fn first_due<E: Ends>(&mut self, flows: &[Flow<E>]) -> Option<usize> {
        let Reverse((time, flow)) = self.queue.peek()?;
        let index = *flow as usize;
        if flows[index].scheduled == *time {
            return Some(index);
        }
        self.queue.pop();
        self.note_next();
        None
    }

    /// Puts the next wake-up of the first flow in the place of the one that is over: one search for its place and not two.
    pub(super) fn reschedule_first<E: Ends>(&mut self, now: Time, flow: &mut Flow<E>) {
        flow.scheduled = flow.next_wake(now);
        match self.queue.peek_mut() {
            Some(mut first) if flow.scheduled < Time::NEVER => first.0.0 = flow.scheduled,
            Some(first) => _ = PeekMut::pop(first),
            None => {}
        }
        self.note_next();
    }

    fn note_next(&mut self) {
        self.next = self.queue.peek().map_or(Time::NEVER, |Reverse((time, _))| *time);
    }
}
