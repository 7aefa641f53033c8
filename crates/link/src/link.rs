//! One direction of a path: random loss, queue, service, propagation delay, in this order.

use crate::capacity::Capacity;
use crate::cursor::Cursor;
use crate::delay::Delay;
use crate::loss::{LossOverTime, LossRate};
use crate::schedule::Moment;
use cellcc_units::{Bytes, QueueLimit, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a link carries.
pub trait Packet {
    /// Size on the link, headers included.
    fn size(&self) -> Bytes;
}

/// One direction of a path.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// What it can carry over time.
    pub capacity: Arc<Capacity>,
    /// What may wait in front of it.
    pub queue: QueueLimit,
    /// Propagation delay after the service.
    pub delay: Delay,
    /// Share of the packets that are lost at random, independently, before the queue.
    pub loss: LossRate,
}

/// A packet that reached the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The packet.
    pub packet: P,
    /// When it was enqueued.
    pub queued_at: Time,
    /// When its last byte left the link: the queueing delay ends here.
    pub departed_at: Time,
    /// When it arrives: after the propagation delay.
    pub arrived_at: Time,
}

/// A packet that was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet.
    pub packet: P,
    /// Why.
    pub reason: DropReason,
}

/// Why a packet was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// Random loss.
    Loss,
    /// The queue is at its limit.
    QueueFull,
}

/// What a link has for its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poll<T> {
    /// A packet has arrived; ask again, there may be more.
    Ready(T),
    /// Nothing yet: ask again at this time.
    Wake(Time),
    /// Nothing will arrive from what is in the link now.
    Idle,
}

/// What a queue's server did since time zero: what a base station can report of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Service {
    /// Bytes that have left the queue.
    pub served: Bytes,
    /// How long something waited in the queue or was in service.
    pub busy: Span,
    /// What waits now, the packet in service included.
    pub backlog: Bytes,
}

/// A link. Pure: time comes in as an argument and must not decrease from call to call.
///
/// A first-in-first-out queue knows when a packet will leave as soon as it is admitted, so that each packet is
/// computed once, at `enqueue`, and a driver needs one event for it: its arrival.
#[derive(Debug, Clone)]
pub struct Link<P> {
    queue: QueueLimit,
    delay: Delay,
    loss: LossOverTime,
    cursor: Cursor,
    delay_now: Moment<Span>,
    /// In order of arrival at the other end; the first `departed` of them have left the queue.
    packets: VecDeque<Delivery<P>>,
    departed: usize,
    queued_bytes: Bytes,
    served: Bytes,
    /// Of finished busy periods.
    busy: Span,
    /// When the present busy period began.
    busy_since: Time,
    /// Of the packet admitted last.
    last_departure: Time,
    last_arrival: Time,
    next_arrival: Time,
    next_departure: Time,
}

impl<P: Packet> Link<P> {
    /// An empty link at time zero. `seed` decides which packets are lost.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        let LinkConfig { capacity, queue, delay, loss } = config;
        Self {
            queue,
            delay_now: delay.0.start(),
            delay,
            loss: LossOverTime::new(loss, seed),
            cursor: Cursor::new(capacity),
            packets: VecDeque::new(),
            departed: 0,
            queued_bytes: Bytes::ZERO,
            served: Bytes::ZERO,
            busy: Span::ZERO,
            busy_since: Time::ZERO,
            last_departure: Time::ZERO,
            last_arrival: Time::ZERO,
            next_arrival: Time::NEVER,
            next_departure: Time::NEVER,
        }
    }

    /// Hands a packet to the link at `now`.
    ///
    /// # Errors
    /// The packet, where it is lost at random or does not fit the queue.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        if self.loss.strikes(now) {
            return Err(Dropped { packet, reason: DropReason::Loss });
        }
        self.advance(now);
        let size = packet.size();
        if !self.admits(now, size) {
            return Err(Dropped { packet, reason: DropReason::QueueFull });
        }
        let departed_at = self.cursor.finish(now, size);
        let delay = self.delay_now.value_at(&self.delay.0, departed_at);
        let arrived_at = (departed_at + delay).max(self.last_arrival);
        if self.departed == self.packets.len() {
            self.next_departure = departed_at;
            self.busy_since = now;
        }
        if self.packets.is_empty() {
            self.next_arrival = arrived_at;
        }
        self.queued_bytes += size;
        self.last_departure = departed_at;
        self.last_arrival = arrived_at;
        self.packets.push_back(Delivery { packet, queued_at: now, departed_at, arrived_at });
        Ok(())
    }

    /// The next packet that has arrived by `now`, or when to ask again.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Poll<Delivery<P>> {
        self.advance(now);
        if self.next_arrival == Time::NEVER {
            return Poll::Idle;
        }
        if self.next_arrival > now {
            return Poll::Wake(self.next_arrival);
        }
        match self.packets.pop_front() {
            Some(delivery) => {
                // It arrived, so it had departed.
                self.departed -= 1;
                self.next_arrival = self.packets.front().map_or(Time::NEVER, |next| next.arrived_at);
                Poll::Ready(delivery)
            }
            None => Poll::Idle,
        }
    }

    /// When the next packet arrives; [`Time::NEVER`] where none will.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.next_arrival
    }

    /// Packets and bytes in the queue, the packet in service included, at the time of the last call that took one.
    #[inline]
    pub fn backlog(&self) -> (usize, Bytes) {
        (self.packets.len() - self.departed, self.queued_bytes)
    }

    /// What the link has done by `now`.
    pub fn service(&mut self, now: Time) -> Service {
        self.advance(now);
        let present =
            if self.departed < self.packets.len() { now.since(self.busy_since) } else { Span::ZERO };
        Service { served: self.served, busy: self.busy + present, backlog: self.queued_bytes }
    }

    /// What the link could carry after `from` and not later than `to`.
    pub fn offered(&self, from: Time, to: Time) -> Bytes {
        self.capacity().bytes_between(from, to)
    }

    /// What the link can carry over time.
    pub fn capacity(&self) -> &Arc<Capacity> {
        self.cursor.capacity()
    }

    #[inline]
    fn admits(&self, now: Time, size: Bytes) -> bool {
        match self.queue {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => ((self.packets.len() - self.departed) as u64) < limit,
            QueueLimit::Bytes(limit) => self.queued_bytes + size <= limit,
            QueueLimit::Time(limit) => self.last_departure.since(now) <= limit,
        }
    }

    /// Takes what has departed by `now` out of the queue.
    #[inline]
    fn advance(&mut self, now: Time) {
        // A packet that never departs stays queued, whatever `now` is.
        while self.next_departure <= now && self.next_departure < Time::NEVER {
            let size = self.packets[self.departed].packet.size();
            self.queued_bytes -= size;
            self.served += size;
            self.departed += 1;
            match self.packets.get(self.departed) {
                Some(next) => self.next_departure = next.departed_at,
                None => {
                    self.busy += self.next_departure.since(self.busy_since);
                    self.next_departure = Time::NEVER;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Ratio;
    use proptest::prelude::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Numbered(u64, u64);

    impl Packet for Numbered {
        fn size(&self) -> Bytes {
            Bytes::new(self.1)
        }
    }

    fn millis(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn link(capacity: Capacity, queue: &str, delay: &str, loss: f64) -> Link<Numbered> {
        let config = LinkConfig {
            capacity: Arc::new(capacity),
            queue: queue.parse().unwrap(),
            delay: delay.parse().unwrap(),
            loss: LossRate::constant(Ratio::new(loss)),
        };
        Link::new(config, 1)
    }

    /// 1500 bytes per millisecond.
    fn twelve_megabit() -> Capacity {
        Capacity::constant("12Mbit/s".parse().unwrap()).unwrap()
    }

    fn offer(link: &mut Link<Numbered>, now: Time, packets: u64) -> Vec<Result<(), DropReason>> {
        (0..packets).map(|i| link.enqueue(now, Numbered(i, 1500)).map_err(|dropped| dropped.reason)).collect()
    }

    fn drain(link: &mut Link<Numbered>) -> Vec<Delivery<Numbered>> {
        let mut deliveries = Vec::new();
        loop {
            match link.poll(link.next_wake()) {
                Poll::Ready(delivery) => deliveries.push(delivery),
                Poll::Wake(time) => panic!("woken before {time}"),
                Poll::Idle => return deliveries,
            }
        }
    }

    #[test]
    fn a_packet_arrives_after_service_and_propagation() {
        let mut link = link(twelve_megabit(), "unlimited", "10ms", 0.0);
        assert_eq!(link.poll(millis(3)), Poll::Idle);
        offer(&mut link, millis(5), 2);
        assert_eq!(link.poll(millis(5)), Poll::Wake(millis(16)));
        let packet = Numbered(0, 1500);
        let first = Delivery { packet, queued_at: millis(5), departed_at: millis(6), arrived_at: millis(16) };
        assert_eq!(link.poll(millis(16)), Poll::Ready(first));
        assert_eq!(link.poll(millis(16)), Poll::Wake(millis(17)));
    }

    #[test]
    fn the_packet_in_service_counts_toward_the_limit_until_it_has_left() {
        let mut link = link(twelve_megabit(), "2pkt", "10ms", 0.0);
        assert_eq!(offer(&mut link, millis(0), 3), [Ok(()), Ok(()), Err(DropReason::QueueFull)]);
        assert_eq!(link.backlog(), (2, Bytes::new(3000)));
        // The first leaves at 1 ms and is on its way then: it no longer waits.
        assert_eq!(offer(&mut link, millis(1), 2), [Ok(()), Err(DropReason::QueueFull)]);
    }

    #[test]
    fn a_limit_in_bytes_holds_small_packets_in_larger_numbers() {
        let mut link = link(twelve_megabit(), "3kB", "0ms", 0.0);
        let admitted = (0..100).filter(|&i| link.enqueue(Time::ZERO, Numbered(i, 100)).is_ok()).count();
        assert_eq!(admitted, 30);
    }

    #[test]
    fn a_limit_in_time_knows_the_outage_that_is_coming() {
        let steps = [("12Mbit/s", 2), ("0Mbit/s", 100), ("12Mbit/s", 1000)]
            .map(|(rate, length)| (Span::from_millis(length), rate.parse().unwrap()));
        let mut link = link(Capacity::from_steps(steps.to_vec()).unwrap(), "50ms", "0ms", 0.0);
        // Two leave before the outage; the third would leave after it but waits only 2 ms for the others.
        let results = offer(&mut link, Time::ZERO, 4);
        assert_eq!(results, [Ok(()), Ok(()), Ok(()), Err(DropReason::QueueFull)]);
    }

    #[test]
    fn a_delay_that_shrinks_does_not_reorder() {
        let mut link = link(twelve_megabit(), "unlimited", "30ms@2ms,1ms", 0.0);
        offer(&mut link, Time::ZERO, 4);
        let arrivals: Vec<Time> = drain(&mut link).iter().map(|delivery| delivery.arrived_at).collect();
        // Departures at 1, 2, 3 and 4 ms; the delay is 1 ms from 2 ms on.
        assert_eq!(arrivals, [31, 31, 31, 31].map(millis));
    }

    #[test]
    fn a_link_that_stays_down_keeps_what_it_was_given() {
        let down = Capacity::constant(cellcc_units::Rate::ZERO).unwrap();
        let mut link = link(down, "3pkt", "10ms", 0.0);
        assert_eq!(offer(&mut link, Time::ZERO, 4).iter().filter(|result| result.is_ok()).count(), 3);
        assert_eq!((link.poll(Time::NEVER), link.next_wake()), (Poll::Idle, Time::NEVER));
        assert_eq!(link.backlog(), (3, Bytes::new(4500)));
    }

    #[test]
    fn a_base_station_knows_what_it_served_and_how_long_something_waited() {
        let mut link = link(twelve_megabit(), "unlimited", "10ms", 0.0);
        offer(&mut link, millis(5), 2);
        let served = |bytes, busy, backlog| Service {
            served: Bytes::new(bytes),
            busy: Span::from_millis(busy),
            backlog: Bytes::new(backlog),
        };
        assert_eq!(link.service(millis(6)), served(1500, 1, 1500));
        assert_eq!(link.service(millis(9)), served(3000, 2, 0));
        offer(&mut link, millis(20), 1);
        assert_eq!(link.service(millis(30)), served(4500, 3, 0));
    }

    #[test]
    fn a_lost_packet_takes_no_room_and_no_capacity() {
        let mut link = link(twelve_megabit(), "unlimited", "0ms", 1.0);
        assert_eq!(offer(&mut link, Time::ZERO, 2), [Err(DropReason::Loss); 2]);
        assert_eq!((link.backlog().0, link.next_wake()), (0, Time::NEVER));
    }

    proptest! {
        #[test]
        fn what_is_admitted_arrives_once_and_in_order_and_the_queue_keeps_its_limit(
            packets in proptest::collection::vec((0u64..4_000, 40u64..3000), 1..200),
            queue in prop_oneof![Just("5pkt"), Just("10kB"), Just("7ms"), Just("unlimited")],
            opportunities in any::<bool>(),
        ) {
            let capacity = if opportunities {
                Capacity::from_opportunities([0, 1, 1, 3, 8, 8, 9]).unwrap()
            } else {
                let steps = [(12.0, 3), (0.0, 5), (100.0, 1)]
                    .map(|(mbit, length)| (Span::from_millis(length), cellcc_units::Rate::from_mbit_per_sec(mbit)));
                Capacity::from_steps(steps.to_vec()).unwrap()
            };
            let mut link = link(capacity, queue, "5ms@20ms,1ms", 0.1);
            let (mut now, mut admitted, mut arrived) = (Time::ZERO, Vec::new(), Vec::new());
            for (number, (gap_micros, size)) in (0..).zip(packets) {
                now += Span::from_micros(gap_micros);
                while let Poll::Ready(delivery) = link.poll(now) {
                    prop_assert!(delivery.arrived_at <= now);
                    arrived.push(delivery);
                }
                let packet = Numbered(number, size);
                if link.enqueue(now, packet).is_ok() {
                    admitted.push(packet);
                }
                let (count, bytes) = link.backlog();
                prop_assert!(queue != "5pkt" || count <= 5);
                prop_assert!(queue != "10kB" || bytes <= Bytes::new(10_000));
            }
            arrived.extend(drain(&mut link));
            prop_assert_eq!(link.backlog(), (0, Bytes::ZERO));
            prop_assert_eq!(arrived.iter().map(|delivery| delivery.packet).collect::<Vec<_>>(), admitted);
            prop_assert!(arrived.is_sorted_by_key(|delivery| delivery.arrived_at));
            let end = arrived.iter().map(|delivery| delivery.departed_at).max().unwrap_or(Time::ZERO);
            let sum: Bytes = arrived.iter().map(|delivery| delivery.packet.size()).sum();
            prop_assert!(sum <= link.offered(Time::ZERO, end));
        }
    }
}
