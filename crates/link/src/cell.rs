//! A base station: users with a queue each, one of them served per slot.

use crate::capacity::Capacity;
use crate::delay::Delay;
use crate::link::LinkConfig;
use crate::loss::LossOverTime;
use crate::packet::{Delivery, DropReason, Dropped, Packet, Poll};
use crate::schedule::Moment;
use crate::scheduler::{Scheduler, State};
use crate::service::{Service, ServiceMeter};
use cellcc_units::{Bytes, QueueLimit, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// Several users share one base station in slots of a millisecond (LTE's transmission time interval, 3GPP TS 36.211
/// section 4.1). A slot goes to one user that has a packet waiting at its beginning and a channel that carries at
/// least a byte in it, if there is any; that user is served with its own capacity in that slot, and what it cannot
/// use is lost. The bytes of a slot arrive together, as those of a transport block do: a packet departs at the
/// end of the slot that carries its last byte.
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
    /// What each user could carry in a slot; kept to allocate once.
    offers: Vec<Bytes>,
}

#[derive(Debug, Clone)]
struct User<P> {
    capacity: Arc<Capacity>,
    queue: QueueLimit,
    delay: Delay,
    delay_now: Moment<Span>,
    loss: LossOverTime,
    waiting: VecDeque<Waiting<P>>,
    queued_bytes: Bytes,
    meter: ServiceMeter,
    /// Bytes of the first waiting packet that earlier slots have carried.
    head_carried: Bytes,
    /// Departed, in order of arrival at the other end.
    departed: VecDeque<Delivery<P>>,
    last_arrival: Time,
}

#[derive(Debug, Clone)]
struct Waiting<P> {
    packet: P,
    queued_at: Time,
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
    /// The packet, where it is lost at random or does not fit the user's queue. A limit in time is judged as if the
    /// user had the cell alone, as nobody can know what the others will send.
    ///
    /// # Panics
    /// Where there is no such user.
    pub fn enqueue(&mut self, now: Time, user: usize, packet: P) -> Result<(), Dropped<P>> {
        if self.users[user].loss.strikes(now) {
            return Err(Dropped { packet, reason: DropReason::Loss });
        }
        self.advance(now);
        let was_empty = self.users[user].waiting.is_empty();
        self.users[user].admit(now, packet)?;
        if was_empty {
            self.next_service = self.next_service.min(self.users[user].next_service(self.slot));
            self.next_wake = self.next_wake.min(self.next_service);
        }
        Ok(())
    }

    /// The next packet that has arrived by `now`, with its user; or when to ask again.
    pub fn poll(&mut self, now: Time) -> Poll<(usize, Delivery<P>)> {
        self.advance(now);
        let arrival = |user: &User<P>| user.departed.front().map_or(Time::NEVER, |first| first.arrived_at);
        let earliest = (0..self.users.len()).min_by_key(|&user| arrival(&self.users[user]));
        if let Some(index) = earliest.filter(|&index| arrival(&self.users[index]) <= now)
            && let Some(delivery) = self.users[index].departed.pop_front()
        {
            self.refresh_wake();
            return Poll::Ready((index, delivery));
        }
        match self.next_wake {
            Time::NEVER => Poll::Idle,
            wake => Poll::Wake(wake),
        }
    }

    /// When something happens next: an arrival, or the end of a slot that carries something. [`Time::NEVER`] where
    /// nothing will.
    pub fn next_wake(&self) -> Time {
        self.next_wake
    }

    /// Packets and bytes in the queue of `user`, the one in service included, at the time of the last call that took one.
    ///
    /// # Panics
    /// Where there is no such user.
    pub fn backlog(&self, user: usize) -> (usize, Bytes) {
        (self.users[user].waiting.len(), self.users[user].queued_bytes)
    }

    /// What was done for `user` by `now`.
    ///
    /// # Panics
    /// Where there is no such user.
    pub fn service(&mut self, now: Time, user: usize) -> Service {
        self.advance(now);
        let user = &self.users[user];
        user.meter.service(now, user.queued_bytes)
    }

    /// What `user` could have carried after `from` and not later than `to`, alone in the cell.
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
            // `next_service` is the end of a slot: those before it carry nothing for anybody.
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
            let wants = user.waiting.front().is_some_and(|first| first.queued_at <= start);
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
        let arrivals =
            self.users.iter().filter_map(|user| user.departed.front()).map(|first| first.arrived_at);
        self.next_wake = arrivals.fold(self.next_service, Time::min);
    }
}

impl<P: Packet> User<P> {
    fn new(config: LinkConfig, seed: u64) -> Self {
        let LinkConfig { capacity, queue, delay, loss } = config;
        Self {
            capacity,
            queue,
            delay_now: delay.0.start(),
            delay,
            loss: LossOverTime::new(loss, seed),
            waiting: VecDeque::new(),
            queued_bytes: Bytes::ZERO,
            meter: ServiceMeter::default(),
            head_carried: Bytes::ZERO,
            departed: VecDeque::new(),
            last_arrival: Time::ZERO,
        }
    }

    fn admit(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        let size = packet.size();
        let fits = match self.queue {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (self.waiting.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.queued_bytes + size <= limit,
            QueueLimit::Time(limit) => {
                let ahead = self.queued_bytes - self.head_carried;
                ahead.is_zero() || self.capacity.time_to_carry(now, ahead).since(now) <= limit
            }
        };
        if !fits {
            return Err(Dropped { packet, reason: DropReason::QueueFull });
        }
        self.meter.on_admitted(now);
        self.queued_bytes += size;
        self.waiting.push_back(Waiting { packet, queued_at: now });
        Ok(())
    }

    /// The end of the next slot, from `slot` on, that could carry something for this user.
    fn next_service(&self, slot: u64) -> Time {
        let Some(first) = self.waiting.front() else { return Time::NEVER };
        let from = slot_start(slot.max(slot_from(first.queued_at)));
        match self.capacity.next_byte_after(from) {
            Time::NEVER => Time::NEVER,
            carried => slot_start(slot_from(carried)),
        }
    }

    /// Carries up to `budget` of what was there at the `start` of a slot that ends at `end`; returns how much.
    fn carry(&mut self, budget: Bytes, start: Time, end: Time) -> Bytes {
        let mut left = budget;
        while let Some(first) = self.waiting.front().filter(|first| first.queued_at <= start) {
            let size = first.packet.size();
            let missing = size - self.head_carried;
            if missing > left {
                self.head_carried += left;
                return budget;
            }
            left -= missing;
            self.head_carried = Bytes::ZERO;
            self.queued_bytes -= size;
            self.meter.on_departed(size);
            let arrived_at = (end + self.delay_now.value_at(&self.delay.0, end)).max(self.last_arrival);
            self.last_arrival = arrived_at;
            if let Some(Waiting { packet, queued_at }) = self.waiting.pop_front() {
                self.departed.push_back(Delivery { packet, queued_at, departed_at: end, arrived_at });
            }
            if self.waiting.is_empty() {
                self.meter.on_empty(end);
            }
        }
        budget - left
    }
}

#[cfg(test)]
mod tests;
