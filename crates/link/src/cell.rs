//! A base station: users with a queue each, one of them served per slot.

use crate::capacity::Capacity;
use crate::delay::line::DelayLine;
use crate::packet::{Delivery, Dropped, Packet, Poll};
use crate::queue::{AqmQueue, QueueCounters, QueueMeter, QueuedPacket};
use crate::scheduler::{Scheduler, State};
use crate::stages::{Entry, LinkConfig, Timing};
use cellcc_units::{Bytes, Span, Time};
use std::sync::Arc;

/// Several users share one base station in slots of a millisecond (LTE's transmission time interval, 3GPP TS 36.211
/// section 4.1). Each slot goes to one of the users that have a packet waiting at its beginning and whose channel
/// carries at least a byte in it. That user is served with its own capacity in the slot; the unused part is lost.
/// The bytes of a slot arrive together, as a transport block does: a packet departs at the end of the slot that
/// carries its last byte.
///
/// Pure, like [`crate::Link`]: time comes in as an argument and must not decrease from call to call.
#[derive(Debug, Clone)]
pub struct Cell<P> {
    users: Vec<User<P>>,
    scheduler: State,
    /// The first slot that is not over yet, counted from time zero.
    slot: u64,
    /// The end of the next slot that can carry something.
    next_service: Time,
    next_wake: Time,
    /// Each user's capacity in a slot: a buffer, allocated once.
    offers: Vec<Bytes>,
}

#[derive(Debug, Clone)]
struct User<P> {
    capacity: Arc<Capacity>,
    entry: Entry,
    queue: AqmQueue<P>,
    timing: Timing,
    /// Begun in an earlier slot.
    in_service: Option<InService<P>>,
    meter: QueueMeter,
    delay_line: DelayLine<P>,
}

/// The packet in service, and how much of it the slots have carried.
#[derive(Debug, Clone)]
struct InService<P> {
    queued: QueuedPacket<P>,
    carried: Bytes,
}

/// Length of a slot.
const SLOT: Span = Span::from_millis(1);

fn slot_start(slot: u64) -> Time {
    Time::ZERO + SLOT * slot
}

/// The first slot that begins at `time` or later.
fn slot_from(time: Time) -> u64 {
    time.as_nanos().div_ceil(SLOT.as_nanos())
}

impl<P: Packet> Cell<P> {
    /// A cell at time zero, its users numbered in the order given. `seed` decides which packets are lost.
    pub fn new(users: Vec<LinkConfig>, scheduler: Scheduler, seed: u64) -> Self {
        let user = |(index, config)| User::new(config, seed ^ ((index as u64) << 32));
        Self {
            scheduler: State::new(scheduler, users.len(), SLOT),
            offers: vec![Bytes::ZERO; users.len()],
            users: users.into_iter().enumerate().map(user).collect(),
            slot: 0,
            next_service: Time::NEVER,
            next_wake: Time::NEVER,
        }
    }

    /// Hands a packet for `user` to the cell at `now`.
    ///
    /// # Errors
    /// The packet, where it is lost at random, does not fit the user's queue, or is dropped early. A limit in time is judged as
    /// if the user had the cell alone, as the others' future traffic is unknown.
    ///
    /// # Panics
    /// Where there is no such user.
    pub fn enqueue(&mut self, now: Time, user: usize, packet: P) -> Result<(), Dropped<P>> {
        if let Some(reason) = self.users[user].entry.refuses(now) {
            return Err(Dropped { packet, at: now, reason });
        }
        self.advance(now);
        let was_empty = self.users[user].queue.is_empty();
        self.users[user].admit(now, packet)?;
        if was_empty {
            self.next_service = self.next_service.min(self.users[user].next_service(self.slot));
        }
        self.next_wake = self.next_wake.min(self.next_service).min(self.users[user].queue.next_drop_at());
        Ok(())
    }

    /// The next packet that has arrived by `now`, or that was dropped while it waited, with its user; or when to ask
    /// again.
    pub fn poll(&mut self, now: Time) -> Poll<(usize, Delivery<P>), (usize, Dropped<P>)> {
        self.advance(now);
        let drop = |user: &User<P>| user.queue.next_drop_at();
        let earliest = (0..self.users.len()).min_by_key(|&user| drop(&self.users[user]));
        if let Some(index) = earliest
            && let Some(dropped) = self.users[index].queue.next_drop()
        {
            self.refresh_wake();
            return Poll::Dropped((index, dropped));
        }
        let arrival = |user: &User<P>| user.delay_line.next_arrival();
        let earliest = (0..self.users.len()).min_by_key(|&user| arrival(&self.users[user]));
        if let Some(index) = earliest
            && let Some(delivery) = self.users[index].delay_line.poll(now)
        {
            self.refresh_wake();
            return Poll::Ready((index, delivery));
        }
        match self.next_wake {
            Time::NEVER => Poll::Idle,
            wake => Poll::Wake(wake),
        }
    }

    /// When something happens next: an arrival, a drop, or the end of a slot that carries something. [`Time::NEVER`]
    /// where nothing will.
    pub fn next_wake(&self) -> Time {
        self.next_wake
    }

    /// The latest time known by now that is at most `span` after [`Cell::next_wake`] and at which a packet arrives or a
    /// slot that carries something ends; as [`crate::Link::last_arrival_within`].
    pub fn last_arrival_within(&self, span: Span) -> Time {
        let limit = self.next_wake + span;
        let service = Some(self.next_service).filter(|&time| time <= limit && time < Time::NEVER);
        let arrivals = self.users.iter().filter_map(|user| user.delay_line.last_arrival_until(limit)).max();
        service.max(arrivals).unwrap_or(self.next_wake)
    }

    /// Packets and bytes in the queue of `user`, the one in service included, at the time of the last call that took one.
    ///
    /// # Panics
    /// Where there is no such user.
    pub fn backlog(&self, user: usize) -> (usize, Bytes) {
        (self.users[user].queue.len(), self.users[user].queue.bytes())
    }

    /// The counters of `user`'s queue at `now`. It is busy in the slots that begin while something waits for the user; in a slot
    /// that carries all of that, for the share of the slot that it took. Otherwise a packet that finds the queue empty would
    /// seem to have been served slowly: it waits for the next slot, and the rest of that slot is unused.
    ///
    /// # Panics
    /// Where there is no such user.
    pub fn counters(&mut self, now: Time, user: usize) -> QueueCounters {
        self.advance(now);
        let user = &mut self.users[user];
        user.queue.counters(slot_start(self.slot), &user.meter)
    }

    /// The capacity of `user` after `from` and not later than `to`, alone in the cell.
    ///
    /// # Panics
    /// Where there is no such user.
    pub fn offered(&self, user: usize, from: Time, to: Time) -> Bytes {
        self.users[user].capacity.bytes_between(from, to)
    }

    /// Runs all slots that end by `now`.
    fn advance(&mut self, now: Time) {
        let before = self.slot;
        while self.next_service <= now && self.next_service < Time::NEVER {
            // `next_service` is the end of a slot: those before it serve no user.
            let busy = self.next_service.as_nanos() / SLOT.as_nanos() - 1;
            self.scheduler.unused(busy - self.slot);
            self.serve(busy);
            self.slot = busy + 1;
            self.next_service = self.earliest_service();
        }
        let over = now.as_nanos() / SLOT.as_nanos();
        if over > self.slot {
            self.scheduler.unused(over - self.slot);
            self.slot = over;
        }
        if self.slot > before {
            self.refresh_wake();
        }
    }

    fn serve(&mut self, slot: u64) {
        let (start, end) = (slot_start(slot), slot_start(slot + 1));
        for (offer, user) in self.offers.iter_mut().zip(&self.users) {
            let wants = user.next_since().is_some_and(|since| since <= start);
            *offer = if wants { user.capacity.bytes_between(start, end) } else { Bytes::ZERO };
        }
        match self.scheduler.choose(&self.offers) {
            Some(user) => {
                let carried = self.users[user].carry(self.offers[user], start, end);
                self.scheduler.served(user, carried);
            }
            None => self.scheduler.unused(1),
        }
    }

    fn earliest_service(&self) -> Time {
        self.users.iter().map(|user| user.next_service(self.slot)).min().unwrap_or(Time::NEVER)
    }

    fn refresh_wake(&mut self) {
        let next = |user: &User<P>| user.delay_line.next_arrival().min(user.queue.next_drop_at());
        self.next_wake = self.users.iter().map(next).fold(self.next_service, Time::min);
    }
}

impl<P: Packet> User<P> {
    fn new(config: LinkConfig, seed: u64) -> Self {
        let config = config.in_slots(SLOT);
        Self {
            entry: Entry::new(&config, seed),
            queue: AqmQueue::new(config.queue, &config.capacity, seed),
            timing: Timing::new(&config, seed),
            capacity: config.capacity,
            in_service: None,
            meter: QueueMeter::default(),
            delay_line: DelayLine::new(),
        }
    }

    fn admit(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        let carried = self.in_service.as_ref().map_or(Bytes::ZERO, |first| first.carried);
        let is_first = self.queue.is_empty();
        let from = self.timing.ready(now);
        self.queue
            .enqueue(now, packet, |queue| self.capacity.time_to_carry(from, queue.bytes() - carried))?;
        let ready = self.timing.begin(now, is_first);
        self.meter.on_admitted(slot_start(slot_from(ready)));
        Ok(())
    }

    /// From when on the next packet may be served.
    fn next_since(&self) -> Option<Time> {
        let first = self.in_service.as_ref().map(|first| first.queued.queued_at);
        first.or_else(|| self.queue.oldest()).map(|since| self.timing.ready(since))
    }

    /// The end of the next slot, from `slot` on, that could carry something for this user.
    fn next_service(&self, slot: u64) -> Time {
        let Some(since) = self.next_since() else { return Time::NEVER };
        let from = slot_start(slot.max(slot_from(since)));
        match self.capacity.next_byte_after(from) {
            Time::NEVER => Time::NEVER,
            carried => slot_start(slot_from(carried)),
        }
    }

    /// Carries up to `budget` bytes of the packets that were queued at `start`, in a slot that ends at `end`. Returns
    /// how many it carried.
    fn carry(&mut self, budget: Bytes, start: Time, end: Time) -> Bytes {
        let mut left = budget;
        while !left.is_zero() {
            let next =
                || self.queue.begin_service(start).map(|queued| InService { queued, carried: Bytes::ZERO });
            let Some(mut first) = self.in_service.take().or_else(next) else { break };
            let size = first.queued.packet.size();
            let missing = size - first.carried;
            if missing > left {
                first.carried += left;
                self.in_service = Some(first);
                return budget;
            }
            left -= missing;
            self.queue.end_service();
            self.meter.on_departed(size);
            self.delay_line.depart(first.queued, end, self.timing.arrival(end));
        }
        if !left.is_zero() {
            let used = (budget - left).get() as f64 / budget.get() as f64;
            self.meter.on_empty(start + end.since(start).mul_f64(used));
            if !self.queue.is_empty() {
                // Those that came while the slot lasted.
                self.meter.on_admitted(end);
            }
        }
        budget - left
    }
}

#[cfg(test)]
mod tests;
