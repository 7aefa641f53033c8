//! A link and the delay behind it by a clock of whole milliseconds, as Mahimahi's programs run them.
//!
//! `mm-link` and `mm-delay` read the time in whole milliseconds, rounded down (`timestamp`), at any rate of the link. Each is
//! a loop around poll(2), whose time-out is in whole milliseconds too (github.com/ravinet/mahimahi, src/frontend/link_queue.cc,
//! delay_queue.cc, src/util/event_loop.cc):
//!
//! - *Arrival.* A packet that comes within a millisecond has come at its beginning. The link's capacity within it leaves at its
//!   end, together (`rationalize`): an idle link adds up to a millisecond and more.
//! - *Delay.* A packet is due when the clock says what it said on arrival and the delay: up to a millisecond early.
//! - *Release.* A program checks for due packets when a packet comes, and after the time-out of its last look: the due time,
//!   minus the clock (`wait_time`). So a program in which nothing else moves keeps its place within the millisecond, and one
//!   that is busy releases at the beginning of each.
//!
//! Left out are the programs' time per packet (5 µs) and the kernel's lateness in waking them (0.1 ms).

use crate::capacity::Capacity;
use crate::capacity::schedule::StepCursor;
use crate::delay::Delay;
use crate::link::Server;
use crate::packet::{Delivery, Dropped, Packet, Poll};
use crate::queue::QueueCounters;
use crate::stages::LinkConfig;
use cellcc_units::{Bytes, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// A link, and its delay behind it, whose clocks advance in steps of `grain`.
///
/// The times of its deliveries are those of its clock, as in Mahimahi's logs; only the arrival is at its real time.
#[derive(Debug, Clone)]
pub(crate) struct GrainLink<P> {
    grain: Span,
    /// Without delay. It knows no time but that of the clock.
    link: Server<P>,
    delay: Delay,
    delay_now: StepCursor<Span>,
    /// In the delay, in order: they arrive when they are due by the clock, or somewhat later, and never before the one in front.
    delayed: VecDeque<Delivery<P>>,
    /// When each of the two programs looked last.
    link_looked: Time,
    delay_looked: Time,
    arrived: VecDeque<Delivery<P>>,
    dropped: VecDeque<Dropped<P>>,
}

impl<P: Packet> GrainLink<P> {
    pub(crate) fn new(config: LinkConfig, seed: u64, grain: Span) -> Self {
        let delay = config.delay;
        Self {
            grain,
            link: Server::new(LinkConfig { delay: Delay::constant(Span::ZERO), ..config }, seed),
            delay_now: delay.0.start(),
            delay,
            delayed: VecDeque::new(),
            link_looked: Time::ZERO,
            delay_looked: Time::ZERO,
            arrived: VecDeque::new(),
            dropped: VecDeque::new(),
        }
    }

    // A call, and a rare one, so that the usual link, which this one has inside, is inlined and laid out where it is used.
    #[cold]
    #[inline(never)]
    pub(crate) fn enqueue(&mut self, now: Time, packet: P) -> Result<(), Dropped<P>> {
        self.advance(now);
        self.look(now);
        self.link.enqueue(self.clock(now), packet).map_err(|dropped| Dropped { at: now, ..dropped })
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn poll(&mut self, now: Time) -> Poll<Delivery<P>, Dropped<P>> {
        self.advance(now);
        if let Some(dropped) = self.dropped.pop_front() {
            return Poll::Dropped(dropped);
        }
        if let Some(delivery) = self.arrived.pop_front() {
            return Poll::Ready(delivery);
        }
        match self.next_wake() {
            Time::NEVER => Poll::Idle,
            wake => Poll::Wake(wake),
        }
    }

    /// When a program looks next, or has found something that waits to be polled.
    #[cold]
    #[inline(never)]
    pub(crate) fn next_wake(&self) -> Time {
        let dropped = self.dropped.front().map_or(Time::NEVER, |dropped| dropped.at);
        let arrived = self.arrived.front().map_or(Time::NEVER, |arrived| arrived.arrived_at);
        self.next_look().min(self.next_release()).min(dropped).min(arrived)
    }

    pub(crate) fn counters(&mut self, now: Time) -> QueueCounters {
        self.advance(now);
        self.link.counters(self.clock(now))
    }

    pub(crate) fn backlog(&mut self, now: Time) -> (usize, Bytes) {
        self.advance(now);
        self.link.backlog(self.clock(now))
    }

    pub(crate) fn capacity(&self) -> &Arc<Capacity> {
        self.link.capacity()
    }

    /// The clock's value at `time`.
    fn clock(&self, time: Time) -> Time {
        Time::from_nanos(time.as_nanos() / self.grain.as_nanos() * self.grain.as_nanos())
    }

    /// When the clock will say `time` or more.
    fn clock_reaches(&self, time: Time) -> Time {
        Time::from_nanos(
            time.as_nanos().div_ceil(self.grain.as_nanos()).saturating_mul(self.grain.as_nanos()),
        )
    }

    /// The time of the next look of a program that looked last at `looked`, for a packet due at `due`.
    fn time_out(&self, looked: Time, due: Time) -> Time {
        if due == Time::NEVER { due } else { looked + self.clock_reaches(due).since(self.clock(looked)) }
    }

    fn next_look(&self) -> Time {
        self.time_out(self.link_looked, self.link.next_wake())
    }

    fn next_release(&self) -> Time {
        let due = self.delayed.front().map_or(Time::NEVER, |first| first.arrived_at);
        self.time_out(self.delay_looked, due)
    }

    /// Lets both programs look whenever they do until `now`.
    fn advance(&mut self, now: Time) {
        loop {
            let (look, release) = (self.next_look(), self.next_release());
            match look.min(release) {
                next if next > now || next == Time::NEVER => return,
                next if next == look => self.look(next),
                next => self.release(next),
            }
        }
    }

    /// The link's program looks: packets that the link has carried by the clock go into the delay.
    fn look(&mut self, now: Time) {
        self.link_looked = now;
        let clock = self.clock(now);
        let mut came = false;
        loop {
            match self.link.poll(clock) {
                Poll::Ready(carried) => {
                    let departed_at = self.clock_reaches(carried.departed_at);
                    let due = clock + self.delay_now.value_at(&self.delay.0, clock);
                    self.delayed.push_back(Delivery { departed_at, arrived_at: due, ..carried });
                    came = true;
                }
                Poll::Dropped(dropped) => self.dropped.push_back(Dropped { at: now, ..dropped }),
                Poll::Wake(_) | Poll::Idle => break,
            }
        }
        if came {
            self.release(now);
        }
    }

    /// The delay's program looks: packets due by the clock arrive.
    fn release(&mut self, now: Time) {
        self.delay_looked = now;
        let clock = self.clock(now);
        while self.delayed.front().is_some_and(|first| first.arrived_at <= clock) {
            let due = self.delayed.pop_front().map(|first| Delivery { arrived_at: now, ..first });
            self.arrived.extend(due);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::ShareOverTime;
    use crate::stages::Jitter;
    use cellcc_units::{QueueLimit, Ratio};

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Numbered(u64);

    impl Packet for Numbered {
        fn size(&self) -> Bytes {
            Bytes::new(1500)
        }
    }

    fn micros(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// Behind it 10 ms of delay, and a grain of a millisecond.
    fn link(rate: &str) -> GrainLink<Numbered> {
        let config = LinkConfig {
            capacity: Arc::new(Capacity::constant(rate.parse().unwrap()).unwrap()),
            queue: QueueLimit::Packets(100).into(),
            delay: Delay::constant(Span::from_millis(10)),
            jitter: Jitter::NONE,
            loss: ShareOverTime::constant(Ratio::ZERO),
            ..LinkConfig::transparent()
        };
        GrainLink::new(config, 1, Span::from_millis(1))
    }

    /// When each packet arrives, of those that `link` still holds.
    fn arrivals(mut link: GrainLink<Numbered>) -> Vec<Time> {
        let mut arrivals = Vec::new();
        loop {
            match link.poll(link.next_wake()) {
                Poll::Ready(delivery) => arrivals.push(delivery.arrived_at),
                Poll::Wake(_) => {}
                Poll::Dropped(dropped) => panic!("{dropped:?}"),
                Poll::Idle => return arrivals,
            }
        }
    }

    #[test]
    fn through_idle_programs_a_packet_keeps_its_place_within_the_millisecond() {
        let mut link = link("1Gbit/s");
        link.enqueue(micros(5_300), Numbered(0)).unwrap();
        assert_eq!(link.poll(micros(6_000)), Poll::Wake(micros(6_300)));
        assert_eq!(link.poll(micros(6_300)), Poll::Wake(micros(16_300)));
        let by_the_clock = (micros(5_000), micros(6_000));
        match link.poll(micros(16_300)) {
            Poll::Ready(Delivery { queued_at, departed_at, arrived_at, .. }) => {
                assert_eq!(((queued_at, departed_at), arrived_at), (by_the_clock, micros(16_300)));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_link_carries_within_a_millisecond_leaves_together_at_its_end() {
        // Ten packets a millisecond.
        let mut link = link("120Mbit/s");
        (0..25).for_each(|number| link.enqueue(Time::ZERO, Numbered(number)).unwrap());
        let expected = [[11_000; 10].as_slice(), &[12_000; 10], &[13_000; 5]].concat();
        assert_eq!(arrivals(link), expected.into_iter().map(micros).collect::<Vec<_>>());
    }

    #[test]
    fn a_packet_that_comes_wakes_the_program_for_those_that_wait() {
        let mut link = link("120Mbit/s");
        link.enqueue(micros(400), Numbered(0)).unwrap();
        link.enqueue(micros(1_100), Numbered(1)).unwrap();
        // Alone the first would leave at 1.4 ms.
        assert_eq!(arrivals(link), [11_100, 12_100].map(micros));
    }

    #[test]
    fn a_delay_ends_up_to_a_millisecond_early() {
        let mut link = link("1Gbit/s");
        link.enqueue(micros(900), Numbered(0)).unwrap();
        assert_eq!(link.poll(micros(1_900)), Poll::Wake(micros(11_900)));
        // It leaves the link at 11.05 ms and finds the first one due since 11 ms: 9.15 ms after it left the link.
        link.enqueue(micros(10_050), Numbered(1)).unwrap();
        assert_eq!(arrivals(link), [11_050, 21_050].map(micros));
    }
}
