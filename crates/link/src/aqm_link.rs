//! A link with any queue discipline and any jitter.

use crate::capacity::Capacity;
use crate::capacity::service_clock::ServiceClock;
use crate::delay::line::DelayLine;
use crate::packet::{Delivery, Dropped, Packet, Poll};
use crate::queue::{AqmQueue, QueueCounters, QueueMeter};
use crate::stages::{LinkConfig, Timing};
use cellcc_units::{Bytes, Time};
use std::sync::Arc;

/// A link whose queue decides about a packet again when its service begins: when the link carries the packet's first
/// byte. Until then, as through an outage, the packet waits and may still be dropped.
#[derive(Debug, Clone)]
pub(crate) struct AqmLink<P> {
    queue: AqmQueue<P>,
    timing: Timing,
    clock: ServiceClock,
    delay_line: DelayLine<P>,
    meter: QueueMeter,
    /// When the packet in service will have left, with its size.
    departure: Option<(Time, Bytes)>,
    /// When the service of the next packet begins; [`Time::NEVER`] where none waits.
    next_service: Time,
}

impl<P: Packet> AqmLink<P> {
    pub(crate) fn new(config: LinkConfig, seed: u64) -> Self {
        Self {
            timing: Timing::new(&config, seed),
            queue: AqmQueue::new(config.queue, &config.capacity, seed),
            clock: ServiceClock::new(config.capacity),
            delay_line: DelayLine::new(),
            meter: QueueMeter::default(),
            departure: None,
            next_service: Time::NEVER,
        }
    }

    pub(crate) fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        self.advance(now);
        let (clock, departure, timing) = (&self.clock, self.departure, &self.timing);
        let is_first = self.queue.is_empty();
        self.queue.enqueue(now, packet, |queue| match queue.oldest() {
            Some(since) => clock.clone().finish(timing.ready(since), queue.waiting_bytes()),
            None => departure.map_or(now, |(time, _)| time),
        })?;
        self.meter.on_admitted(self.timing.begin(now, is_first));
        self.plan_service();
        // An idle link serves it at once.
        self.advance(now);
        Ok(())
    }

    pub(crate) fn poll(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        self.advance(now);
        if let Some(dropped) = self.queue.next_drop() {
            return Poll::Dropped(dropped);
        }
        if let Some(delivery) = self.delay_line.poll(now) {
            return Poll::Ready(delivery);
        }
        match self.next_wake() {
            Time::NEVER => Poll::Idle,
            wake => Poll::Wake(wake),
        }
    }

    /// When something happens next: an arrival, a drop, or the beginning of a service, which may drop packets.
    pub(crate) fn next_wake(&self) -> Time {
        self.delay_line.next_arrival().min(self.next_service).min(self.queue.next_drop_at())
    }

    /// The latest arrival or beginning of a service that is known and not after `limit`, if there is one.
    pub(crate) fn last_wake_until(&self, limit: Time) -> Option<Time> {
        let service = Some(self.next_service).filter(|&time| time <= limit && time < Time::NEVER);
        let arrival = self.delay_line.last_arrival_until(limit);
        service.max(arrival)
    }

    pub(crate) fn backlog(&mut self, now: Time) -> (usize, Bytes) {
        self.advance(now);
        (self.queue.len(), self.queue.bytes())
    }

    pub(crate) fn counters(&mut self, now: Time) -> QueueCounters {
        self.advance(now);
        self.queue.counters(now, &self.meter)
    }

    pub(crate) fn capacity(&self) -> &Arc<Capacity> {
        self.clock.capacity()
    }

    /// Begins and ends all services up to `now`, in order of time.
    fn advance(&mut self, now: Time) {
        loop {
            match self.departure {
                Some((departed_at, _)) if departed_at > now || departed_at == Time::NEVER => return,
                Some((departed_at, size)) => self.end_service(departed_at, size),
                None if self.next_service <= now && self.next_service < Time::NEVER => {
                    self.begin_service(self.next_service);
                }
                None => return,
            }
        }
    }

    fn begin_service(&mut self, now: Time) {
        if let Some(next) = self.queue.begin_service(now) {
            let size = next.packet.size();
            let departed_at = self.clock.finish(self.timing.ready(next.queued_at), size);
            self.delay_line.depart(next, departed_at, self.timing.arrival(departed_at));
            self.departure = Some((departed_at, size));
        }
        self.plan_service();
    }

    fn end_service(&mut self, departed_at: Time, size: Bytes) {
        self.departure = None;
        self.queue.end_service();
        self.meter.on_departed(size);
        if self.queue.is_empty() {
            self.meter.on_empty(departed_at);
        }
    }

    fn plan_service(&mut self) {
        let begin = |since| self.clock.begin(self.timing.ready(since));
        self.next_service = self.queue.oldest().map_or(Time::NEVER, begin);
    }
}

#[cfg(test)]
mod tests;
