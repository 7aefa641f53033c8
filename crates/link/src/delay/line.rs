//! Packets between the link and the other end.

use crate::packet::Delivery;
use crate::queue::QueuedPacket;
use cellcc_units::Time;
use std::collections::VecDeque;

/// Packets in propagation, in order of arrival.
#[derive(Debug, Clone)]
pub(crate) struct DelayLine<P> {
    deliveries: VecDeque<Delivery<P>>,
}

impl<P> DelayLine<P> {
    pub(crate) fn new() -> Self {
        Self { deliveries: VecDeque::new() }
    }

    /// A packet left the link at `departed_at`, and arrives at `arrived_at`: after those that arrive at the same time.
    pub(crate) fn depart(&mut self, queued: QueuedPacket<P>, departed_at: Time, arrived_at: Time) {
        let QueuedPacket { packet, queued_at } = queued;
        // Almost always the end.
        let after = self.deliveries.iter().rev().take_while(|other| other.arrived_at > arrived_at).count();
        let place = self.deliveries.len() - after;
        self.deliveries.insert(place, Delivery { packet, queued_at, departed_at, arrived_at });
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

/// The latest of sorted arrivals that is not after `limit`, if there is one.
pub(crate) fn last_arrival_until<P>(deliveries: &VecDeque<Delivery<P>>, limit: Time) -> Option<Time> {
    let count = deliveries.partition_point(|delivery| delivery.arrived_at <= limit);
    count.checked_sub(1).map(|last| deliveries[last].arrived_at).filter(|&time| time < Time::NEVER)
}
