//! Repetitions of the radio and the propagation delay: packets between the queue and the other end.

use crate::capacity::schedule::StepCursor;
use crate::delay::Delay;
use crate::delay::jitter::{Jitter, JitterOverTime};
use crate::harq::{Harq, HarqOverTime};
use crate::packet::Delivery;
use crate::queue::QueuedPacket;
use cellcc_units::{Span, Time};
use std::collections::VecDeque;

/// Packets in propagation, in order of arrival.
#[derive(Debug, Clone)]
pub(crate) struct DelayLine<P> {
    harq: Option<HarqOverTime>,
    delay: Delay,
    delay_now: StepCursor<Span>,
    jitter: JitterOverTime,
    deliveries: VecDeque<Delivery<P>>,
    /// Of the packet that departed last.
    last_arrival: Time,
}

impl<P> DelayLine<P> {
    pub(crate) fn new(harq: Option<Harq>, delay: Delay, jitter: Jitter, seed: u64) -> Self {
        Self {
            harq: harq.map(|harq| HarqOverTime::new(harq, seed)),
            delay_now: delay.0.start(),
            delay,
            jitter: JitterOverTime::new(jitter, seed),
            deliveries: VecDeque::new(),
            last_arrival: Time::ZERO,
        }
    }

    /// A packet leaves the queue at `departed_at`; must not decrease.
    pub(crate) fn depart(&mut self, queued: QueuedPacket<P>, departed_at: Time) {
        let delay = self.delay_now.value_at(&self.delay.0, departed_at);
        let released_at = self.harq.as_mut().map_or(departed_at, |harq| harq.release(departed_at));
        let arrived_at = self.jitter.arrival(released_at + delay, self.last_arrival);
        self.last_arrival = arrived_at;
        let QueuedPacket { packet, queued_at } = queued;
        insert(&mut self.deliveries, Delivery { packet, queued_at, departed_at, arrived_at });
    }

    /// When the next packet arrives; [`Time::NEVER`] where none will.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Time {
        self.deliveries.front().map_or(Time::NEVER, |first| first.arrived_at)
    }

    /// The next packet that has arrived by `now`. A packet due at [`Time::NEVER`] never arrives.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Option<Delivery<P>> {
        let next = self.next_arrival();
        if next > now || next == Time::NEVER { None } else { self.deliveries.pop_front() }
    }

    /// The latest arrival that is not after `limit`, if there is one.
    pub(crate) fn last_arrival_until(&self, limit: Time) -> Option<Time> {
        last_arrival_until(&self.deliveries, limit)
    }
}

/// Inserts a delivery in order of arrival, after those that arrive at the same time.
pub(crate) fn insert<P>(deliveries: &mut VecDeque<Delivery<P>>, delivery: Delivery<P>) {
    // Almost always the end.
    let after = deliveries.iter().rev().take_while(|other| other.arrived_at > delivery.arrived_at).count();
    deliveries.insert(deliveries.len() - after, delivery);
}

/// The latest of sorted arrivals that is not after `limit`, if there is one.
pub(crate) fn last_arrival_until<P>(deliveries: &VecDeque<Delivery<P>>, limit: Time) -> Option<Time> {
    let count = deliveries.partition_point(|delivery| delivery.arrived_at <= limit);
    count.checked_sub(1).map(|last| deliveries[last].arrived_at).filter(|&time| time < Time::NEVER)
}
