//! A base station: users with a queue each, one of them served per slot.

use crate::capacity::Capacity;
use crate::delay::Delay;
use crate::link::{Delivery, DropReason, Dropped, LinkConfig, Packet, Poll, Service};
use crate::loss::LossOverTime;
use crate::schedule::Moment;
use crate::scheduler::{Scheduler, State};
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
    served: Bytes,
    /// Of finished busy periods.
    busy: Span,
    /// When the present busy period began.
    busy_since: Time,
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
        let present = if user.waiting.is_empty() { Span::ZERO } else { now.since(user.busy_since) };
        Service { served: user.served, busy: user.busy + present, backlog: user.queued_bytes }
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
            served: Bytes::ZERO,
            busy: Span::ZERO,
            busy_since: Time::ZERO,
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
        if self.waiting.is_empty() {
            self.busy_since = now;
        }
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
            self.served += size;
            let arrived_at = (end + self.delay_now.value_at(&self.delay.0, end)).max(self.last_arrival);
            self.last_arrival = arrived_at;
            if let Some(Waiting { packet, queued_at }) = self.waiting.pop_front() {
                self.departed.push_back(Delivery { packet, queued_at, departed_at: end, arrived_at });
            }
            if self.waiting.is_empty() {
                self.busy += end.since(self.busy_since);
            }
        }
        budget - left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Link, LossRate};
    use cellcc_units::{Rate, Ratio};

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Full;

    impl Packet for Full {
        fn size(&self) -> Bytes {
            Bytes::new(1500)
        }
    }

    fn config(capacity: Capacity) -> LinkConfig {
        LinkConfig {
            capacity: Arc::new(capacity),
            queue: QueueLimit::Packets(50),
            delay: Delay::constant(Span::from_millis(10)),
            loss: LossRate::constant(Ratio::ZERO),
        }
    }

    fn constant(mbit: f64) -> LinkConfig {
        config(Capacity::constant(Rate::from_mbit_per_sec(mbit)).unwrap())
    }

    const SCHEDULERS: [Scheduler; 2] = [Scheduler::RoundRobin, Scheduler::PROPORTIONAL_FAIR];

    /// Keeps all queues full for some seconds and counts the packets that departed in time.
    fn saturate(users: Vec<LinkConfig>, scheduler: Scheduler, secs: u64) -> Vec<u64> {
        let end = Time::ZERO + Span::from_secs(secs);
        let mut delivered = vec![0; users.len()];
        let mut cell = Cell::new(users, scheduler, 1);
        let mut now = Time::ZERO;
        while now < end + Span::from_millis(10) {
            for user in 0..delivered.len() {
                while cell.enqueue(now, user, Full).is_ok() {}
            }
            while let Poll::Ready((user, delivery)) = cell.poll(now) {
                delivered[user] += u64::from(delivery.departed_at <= end);
            }
            now = cell.next_wake();
        }
        delivered
    }

    #[test]
    fn equal_users_share_equally() {
        for scheduler in SCHEDULERS {
            let delivered = saturate(vec![constant(60.0), constant(60.0)], scheduler, 10);
            // 60 Mbit/s carry 5000 packets a second: 50,000 in all, less the first slot, which found nothing.
            assert!(delivered.iter().all(|&count| count.abs_diff(25_000) <= 5), "{scheduler}: {delivered:?}");
        }
    }

    #[test]
    fn proportional_fair_gives_half_the_slots_to_a_channel_ten_times_worse() {
        let delivered = saturate(vec![constant(120.0), constant(12.0)], Scheduler::PROPORTIONAL_FAIR, 30);
        // Alone they would get 300,000 and 30,000.
        let shares = [delivered[0] as f64 / 300_000.0, delivered[1] as f64 / 30_000.0];
        assert!(shares.iter().all(|share| (share - 0.5).abs() < 0.02), "{shares:?}");
    }

    #[test]
    fn proportional_fair_serves_a_user_while_its_channel_is_good() {
        let alternating = |first: u64, second: u64| {
            let rate = |packets| Rate::from_bytes_per_sec(1_500_000 * packets);
            let slow = Span::from_millis(50);
            config(Capacity::from_steps(vec![(slow, rate(first)), (slow, rate(second))]).unwrap())
        };
        let users = || vec![alternating(10, 2), alternating(2, 10)];
        let opportunistic: u64 = saturate(users(), Scheduler::PROPORTIONAL_FAIR, 10).iter().sum();
        let in_turn: u64 = saturate(users(), Scheduler::RoundRobin, 10).iter().sum();
        // In turn: 6 packets a slot on the average. Always the better channel: 10.
        assert!(in_turn.abs_diff(60_000) < 100, "{in_turn}");
        assert!(opportunistic > 98_000, "{opportunistic}");
    }

    #[test]
    fn no_slot_is_wasted_on_a_user_whose_channel_is_down() {
        for scheduler in SCHEDULERS {
            let delivered = saturate(vec![constant(0.0), constant(12.0)], scheduler, 5);
            assert_eq!(delivered[0], 0);
            assert!(delivered[1] >= 4_999, "{delivered:?}");
        }
    }

    #[test]
    fn nobody_gets_more_than_its_channel_carries() {
        let trace = || Capacity::from_opportunities([1, 4, 4, 5, 9, 20]).unwrap();
        for scheduler in SCHEDULERS {
            let delivered = saturate(vec![config(trace()), constant(3.0)], scheduler, 10);
            let carried = trace().bytes_between(Time::ZERO, Time::ZERO + Span::from_secs(10));
            assert!(delivered[0] * 1500 <= carried.get() && delivered[1] <= 2500, "{delivered:?}");
            assert!(delivered.iter().sum::<u64>() > 2500, "{delivered:?}");
        }
    }

    #[test]
    fn a_backlogged_user_alone_gets_what_a_link_would_give_up_to_the_end_of_the_slot() {
        let steps = [(30.0, 40), (0.0, 25), (7.0, 35)]
            .map(|(mbit, length)| (Span::from_millis(length), Rate::from_mbit_per_sec(mbit)));
        let capacity = Capacity::from_steps(steps.to_vec()).unwrap();
        for scheduler in SCHEDULERS {
            let config = LinkConfig { queue: QueueLimit::Unlimited, ..config(capacity.clone()) };
            let mut cell = Cell::new(vec![config.clone()], scheduler, 1);
            let mut link = Link::new(config, 1);
            for _ in 0..2000 {
                assert!(cell.enqueue(Time::ZERO, 0, Full).is_ok() && link.enqueue(Time::ZERO, Full).is_ok());
            }
            for _ in 0..2000 {
                let (late, early) =
                    (cell.poll(Time::ZERO + Span::from_secs(60)), link.poll(link.next_wake()));
                let (Poll::Ready((0, late)), Poll::Ready(early)) = (late, early) else {
                    panic!("not delivered")
                };
                assert_eq!(late.departed_at, slot_start(slot_from(early.departed_at)));
            }
        }
    }

    #[test]
    fn a_packet_that_comes_within_a_slot_waits_for_the_next() {
        let mut cell = Cell::new(vec![constant(120.0)], Scheduler::RoundRobin, 1);
        assert!(cell.enqueue(Time::ZERO + Span::from_micros(300), 0, Full).is_ok());
        assert_eq!(cell.next_wake(), Time::ZERO + Span::from_millis(2));
        let wake = Time::ZERO + Span::from_millis(12);
        assert_eq!(cell.poll(Time::ZERO + Span::from_millis(2)), Poll::Wake(wake));
        assert!(matches!(cell.poll(wake), Poll::Ready((0, delivery)) if delivery.arrived_at == wake));
        assert_eq!((cell.poll(wake), cell.backlog(0)), (Poll::Idle, (0, Bytes::ZERO)));
    }

    #[test]
    fn an_outage_is_slept_through() {
        let twelve = Rate::from_mbit_per_sec(12.0);
        let steps = vec![(Span::from_secs(3600), Rate::ZERO), (Span::from_millis(10), twelve)];
        let capacity = Capacity::from_steps(steps).unwrap();
        let mut cell = Cell::new(vec![config(capacity)], Scheduler::PROPORTIONAL_FAIR, 1);
        assert!(cell.enqueue(Time::ZERO, 0, Full).is_ok());
        assert_eq!(cell.next_wake(), Time::ZERO + Span::from_secs(3600) + Span::from_millis(1));
    }
}
