//! The evidence of an interval of some RTTs on a promise.
//!
//! A correct report describes the period before it was sent, and is up to one RTT old. The flow cannot see how old it is, but it
//! is no older than [`age`](Promise::age). So a report about the time from a to b was in hand some
//! time from a to b + age, and every report in hand from a + age to b is about that time. Much more than the former promise
//! together is too little promised; much less than the latter promise is too much.

use super::Promise;
use crate::contract::Ack;
use cellcc_units::{Bytes, Span, Time};

/// An interval is this many periods long, and four RTTs at least: the promise of a period arrives up to one RTT later.
const PERIODS: u64 = 10;
const RTTS: u64 = 4;
/// It goes on until this many packets were promised or delivered, since fewer refute nothing, ...
const MIN_PACKETS: u64 = 10;
/// ... up to so many times its length.
const LONGEST: u64 = 8;
/// An RTT above this many minimum RTTs shows a standing queue: NATCP's own window fills two (paper, alpha = 2).
const QUEUED_ABOVE: f64 = 2.0;
/// Losing more than this share shows a full buffer, however short (RFC 9438's response function gives up here).
const FULL_LOSS_SHARE: f64 = 0.02;
/// A full path that delivers less than this share of the promise refutes it.
const REFUTED_BELOW: f64 = 0.5;
/// Delivering this many times the promise refutes it.
pub(super) const REFUTED_ABOVE: f64 = 1.5;
/// No queue stands where the RTT stays below this many minimum RTTs ...
pub(super) const UNQUEUED_BELOW: f64 = 1.5;
/// ... in this share of the samples.
const UNQUEUED_SHARE: f64 = 0.9;
/// Below this share of the promise, packets show only that the flow did not send more.
const KEPT_ABOVE: f64 = 0.5;

/// What happened since the interval began.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    began: Time,
    /// Since when every promise in hand is about this interval.
    covered_from: Time,
    /// When the last report that may be of this interval has come; none before the interval's end.
    settled_at: Option<Time>,
    /// To this flow, up to the interval's end; and the part that is surely about this interval.
    promised: Bytes,
    surely_promised: Bytes,
    /// To all of the user's flows, all that may be about this interval.
    promised_whole: Bytes,
    delivered: Bytes,
    lost: Bytes,
    waited: Span,
    smallest_rtt: Option<Span>,
    samples: u32,
    /// Samples that show no queue.
    unqueued: u32,
    held_back: bool,
    probed: bool,
}

/// The evidence of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Seen {
    /// The path was full, and much less than promised arrived.
    pub(super) too_much: bool,
    /// While packets waited, much more than promised arrived; they hardly waited.
    pub(super) idle: bool,
    /// RTTs show no queue.
    pub(super) unqueued: bool,
}

impl Interval {
    /// `age`: of the oldest report that is right.
    pub(super) fn new(began: Time, age: Span) -> Self {
        Self {
            began,
            covered_from: began + age,
            settled_at: None,
            promised: Bytes::ZERO,
            surely_promised: Bytes::ZERO,
            promised_whole: Bytes::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            waited: Span::ZERO,
            smallest_rtt: None,
            samples: 0,
            unqueued: 0,
            held_back: false,
            probed: false,
        }
    }

    /// The promise held from `since` to `now`.
    pub(super) fn on_promise(&mut self, promise: &Promise, since: Time, now: Time) {
        let until = self.settled_at.map_or(now, |settled| settled.min(now));
        self.promised_whole += promise.whole.bytes_in(until.since(since.max(self.began)));
        if self.settled_at.is_none() {
            self.promised += promise.share.bytes_in(now.since(since.max(self.began)));
            self.surely_promised += promise.share.bytes_in(now.since(since.max(self.covered_from)));
        }
    }

    /// Packets arrived that had waited for so long.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>, waited: Span) {
        self.delivered += ack.bytes;
        self.waited += waited;
        if let Some(sample) = ack.rtt_sample {
            self.smallest_rtt = Some(self.smallest_rtt.map_or(sample, |smallest| smallest.min(sample)));
            self.samples += 1;
            self.unqueued += u32::from(sample <= ack.rtt.min().mul_f64(UNQUEUED_BELOW));
        }
    }

    pub(super) fn on_loss(&mut self, bytes: Bytes) {
        self.lost += bytes;
    }

    /// Something else than the promise was the limit.
    pub(super) fn hold_back(&mut self) {
        self.held_back = true;
    }

    /// The flow did not keep to the promise: the probe judges it instead.
    pub(super) fn probe(&mut self) {
        self.probed = true;
    }

    pub(super) fn is_probed(&self) -> bool {
        self.probed
    }

    /// True where it has lasted long enough to compare.
    pub(super) fn is_over(&self, ack: &Ack<'_>, period: Span) -> bool {
        let length = (period * PERIODS).max(ack.rtt.smoothed() * RTTS);
        let lasted = ack.now.since(self.began);
        lasted >= length && (self.has(MIN_PACKETS, ack) || self.held_back || lasted >= length * LONGEST)
    }

    /// The interval ends; reports up to so old may still tell of it. Compares arrivals with the promise so far.
    pub(super) fn end(&mut self, ack: &Ack<'_>, age: Span) -> Seen {
        self.settled_at = Some(ack.now + age);
        if self.held_back || !self.has(MIN_PACKETS, ack) {
            return Seen::default();
        }
        Seen {
            too_much: self.is_full(ack) && self.delivered < self.surely_promised.mul_f64(REFUTED_BELOW),
            idle: self.is_idle(ack.now.since(self.began)),
            unqueued: f64::from(self.unqueued) >= UNQUEUED_SHARE * f64::from(self.samples),
        }
    }

    /// True once all reports of the ended interval are here.
    pub(super) fn is_settled(&self, now: Time) -> bool {
        self.settled_at.is_some_and(|settled| settled <= now)
    }

    /// Much more arrived than was promised by any of its reports.
    pub(super) fn is_more_than_promised(&self, ack: &Ack<'_>) -> bool {
        self.has(MIN_PACKETS, ack) && self.delivered > self.promised_whole.mul_f64(REFUTED_ABOVE)
    }

    fn has(&self, packets: u64, ack: &Ack<'_>) -> bool {
        self.promised.max(self.delivered) >= ack.packet_size * packets
    }

    /// No packet found the path without a queue, or the buffer overflowed.
    fn is_full(&self, ack: &Ack<'_>) -> bool {
        let queued = ack.rtt.min().mul_f64(QUEUED_ABOVE);
        let sent = self.delivered + self.lost;
        self.smallest_rtt.is_some_and(|smallest| smallest > queued)
            || self.lost > sent.mul_f64(FULL_LOSS_SHARE)
    }

    /// The arrival rate, per time in which packets waited, is much more than the promised rate.
    fn is_idle(&self, lasted: Span) -> bool {
        let served = self.delivered.as_f64() * lasted.as_secs_f64();
        let promised = self.promised.as_f64() * self.waited.as_secs_f64();
        self.delivered >= self.promised.mul_f64(KEPT_ABOVE) && served > promised * REFUTED_ABOVE
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{PACKET, ack, at, rtt};
    use super::*;
    use cellcc_units::Rate;

    const PERIOD: Span = Span::from_millis(50);

    /// The evidence of an interval of 500 ms and a minimum RTT of 20 ms: `promised` to each of so many flows, `delivered` in
    /// packets with `rtt` each, which waited for `waited`. True if more than the promise arrived.
    fn seen(promised: u64, flows: u64, delivered: u64, rtt: u64, waited: u64) -> (Seen, bool) {
        let share = Rate::from_transfer(PACKET * promised, Span::from_millis(500));
        let promise = Promise { share, whole: share.mul_f64(flows as f64), ..Promise::default() };
        judged(&[(0, promise)], Span::ZERO, delivered, rtt, waited)
    }

    /// A judgement with promises that hold from a number of milliseconds on, and a report's greatest age.
    fn judged(
        promises: &[(u64, Promise)],
        age: Span,
        delivered: u64,
        rtt_millis: u64,
        waited: u64,
    ) -> (Seen, bool) {
        let sample = Span::from_millis(rtt_millis);
        let times = rtt(sample);
        let ack = |bytes| ack(at(500), &times, sample, &[], bytes);
        let mut interval = Interval::new(at(0), age);
        let until = |index: usize| promises.get(index + 1).map_or(at(500) + age * 2, |(from, _)| at(*from));
        let hold = |interval: &mut Interval, from: Time, to: Time| {
            for (index, (since, promise)) in promises.iter().enumerate() {
                let (since, until) = (at(*since).max(from), until(index).min(to));
                if since < until {
                    interval.on_promise(promise, since, until);
                }
            }
        };
        hold(&mut interval, at(0), at(500));
        interval.on_ack(&ack(PACKET * delivered), Span::from_millis(waited));
        assert!(interval.is_over(&ack(PACKET), PERIOD));
        let seen = interval.end(&ack(PACKET), age);
        assert!(!interval.is_settled(at(499) + age) && interval.is_settled(at(500) + age));
        hold(&mut interval, at(500), at(500) + age * 2);
        (seen, interval.is_more_than_promised(&ack(PACKET)))
    }

    #[test]
    fn what_arrives_refutes_a_promise_of_two_thirds_of_it() {
        assert!(seen(100, 1, 155, 30, 500).1);
        assert!(!seen(100, 1, 145, 30, 500).1);
        assert!(!seen(100, 2, 155, 30, 500).1, "it may be the share of the other flow");
        assert!(seen(0, 1, 10, 30, 500).1, "a dead link delivers nothing");
    }

    #[test]
    fn it_goes_on_until_it_holds_enough_packets_to_refute_a_promise() {
        let times = rtt(Span::from_millis(20));
        let is_over = |packets, millis| {
            let ack = |bytes| ack(at(millis), &times, Span::from_millis(20), &[], bytes);
            let mut interval = Interval::new(at(0), Span::ZERO);
            interval.on_ack(&ack(PACKET * packets), Span::ZERO);
            interval.is_over(&ack(PACKET), PERIOD)
        };
        assert!(is_over(10, 500) && !is_over(10, 499));
        // At 80 ms a packet per RTT was six in an interval, which never refuted that a thousandth was promised.
        assert!(!is_over(9, 500) && is_over(9, 4000));
    }

    #[test]
    fn a_full_path_refutes_a_promise_of_twice_what_arrives() {
        assert!(seen(100, 1, 45, 50, 500).0.too_much);
        assert!(!seen(100, 1, 55, 50, 500).0.too_much);
        assert!(!seen(100, 1, 45, 35, 500).0.too_much, "a path that is not full shows what was sent");
    }

    #[test]
    fn a_right_report_that_comes_late_is_not_refuted() {
        let rate = |packets: u64| {
            let share = Rate::from_transfer(PACKET * packets, Span::from_millis(500));
            Promise { share, whole: share, ..Promise::default() }
        };
        let age = Span::from_millis(100);
        // The link carries 1000 packets in 500 ms up to 0 ms, and 100 from then on; the report comes after 100 ms.
        let slower = [(0, rate(1000)), (100, rate(100))];
        assert!(!judged(&slower, age, 90, 50, 500).0.too_much);
        assert!(
            judged(&slower, age, 30, 50, 500).0.too_much,
            "less than half of what was promised from then on"
        );
        // From 400 ms on it carries 1000 packets in 500 ms; the report comes at 500 ms.
        let faster = [(0, rate(100)), (500, rate(1000))];
        assert!(!judged(&faster, age, 280, 30, 500).1);
        assert!(judged(&faster, age, 460, 30, 500).1, "even both together promise less");
        assert!(judged(&faster, Span::ZERO, 280, 30, 500).1, "a report that cannot be late");
    }

    #[test]
    fn packets_that_hardly_waited_left_the_link_idle() {
        assert!(seen(100, 1, 100, 30, 300).0.idle);
        assert!(!seen(100, 1, 100, 30, 400).0.idle);
        assert!(!seen(100, 1, 60, 30, 300).0.idle, "at a lower rate they wait for less of the time");
        assert!(!seen(100, 1, 40, 30, 100).0.idle, "too few were sent to say");
    }
}
