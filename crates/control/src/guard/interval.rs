//! What an interval of some RTTs shows of a promise.

use super::Promise;
use crate::contract::Ack;
use cellcc_units::{Bytes, Span, Time};

/// An interval is this many periods long, and four RTTs at least: the promise of a period arrives up to one RTT later.
const PERIODS: u64 = 10;
const RTTS: u64 = 4;
/// It goes on until this many packets were promised or delivered, ...
const MIN_PACKETS: u64 = 5;
/// ... up to so many times its length.
const LONGEST: u64 = 8;
/// To refute a promise by itself it needs so many.
const REFUTING_PACKETS: u64 = 10;
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
/// Of fewer packets than this share of the promise no more can be said than that the flow did not send them.
const KEPT_ABOVE: f64 = 0.5;

/// What happened since the interval began.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    began: Time,
    /// To this flow, and to all of the user's.
    promised: Bytes,
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

/// What an interval shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Seen {
    /// The path was full, and much less than promised arrived.
    pub(super) too_much: bool,
    /// Much more than promised arrived.
    pub(super) too_little: bool,
    /// While packets waited, much more than promised arrived; they hardly waited.
    pub(super) idle: bool,
    /// RTTs show no queue.
    pub(super) unqueued: bool,
}

impl Interval {
    pub(super) fn new(began: Time) -> Self {
        Self {
            began,
            promised: Bytes::ZERO,
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
        let held = now.since(since.max(self.began));
        self.promised += promise.share.bytes_in(held);
        self.promised_whole += promise.whole.bytes_in(held);
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

    /// The flow did not keep to the promise: what it shows is the probe's to tell.
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

    /// Compares what arrived with what was promised.
    pub(super) fn judge(&self, ack: &Ack<'_>) -> Seen {
        let refutes = self.has(REFUTING_PACKETS, ack);
        let too_little = refutes && self.delivered > self.promised_whole.mul_f64(REFUTED_ABOVE);
        if self.held_back || !self.has(MIN_PACKETS, ack) {
            return Seen { too_little, ..Seen::default() };
        }
        Seen {
            too_much: refutes && self.is_full(ack) && self.delivered < self.promised.mul_f64(REFUTED_BELOW),
            too_little,
            idle: self.is_idle(ack.now.since(self.began)),
            unqueued: f64::from(self.unqueued) >= UNQUEUED_SHARE * f64::from(self.samples),
        }
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

    /// What arrived, per time in which packets waited, is much more than what was promised per time.
    fn is_idle(&self, lasted: Span) -> bool {
        let served = self.delivered.as_f64() * lasted.as_secs_f64();
        let promised = self.promised.as_f64() * self.waited.as_secs_f64();
        self.delivered >= self.promised.mul_f64(KEPT_ABOVE) && served > promised * REFUTED_ABOVE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Packet;
    use crate::rtt::Rtt;
    use cellcc_units::Rate;

    const PERIOD: Span = Span::from_millis(50);
    const PACKET: Bytes = Bytes::new(1500);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// What an interval of 500 ms and a minimum RTT of 20 ms shows: `promised` to each of so many flows, `delivered` in
    /// packets with `rtt` each, which waited for `waited`.
    fn seen(promised: u64, flows: u64, delivered: u64, rtt: u64, waited: u64) -> Seen {
        let mut times = Rtt::default();
        times.add(Span::from_millis(20));
        times.add(Span::from_millis(rtt));
        let share = Rate::from_transfer(PACKET * promised, Span::from_millis(500));
        let promise = Promise { share, whole: share.mul_f64(flows as f64), ..Promise::default() };
        let mut interval = Interval::new(at(0));
        let ack = |bytes| Ack {
            now: at(500),
            packets: &[] as &[Packet],
            bytes,
            rtt: &times,
            rtt_sample: Some(Span::from_millis(rtt)),
            rate: None,
            inflight_before: Bytes::ZERO,
            inflight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            cwnd_limited: false,
            round: 0,
            round_start: false,
            in_recovery: false,
            ecn: None,
            packet_size: PACKET,
        };
        interval.on_promise(&promise, at(0), at(500));
        interval.on_ack(&ack(PACKET * delivered), Span::from_millis(waited));
        assert!(interval.is_over(&ack(PACKET), PERIOD));
        interval.judge(&ack(PACKET))
    }

    #[test]
    fn what_arrives_refutes_a_promise_of_two_thirds_of_it() {
        assert!(seen(100, 1, 155, 30, 500).too_little);
        assert!(!seen(100, 1, 145, 30, 500).too_little);
        assert!(!seen(100, 2, 155, 30, 500).too_little, "it may be the share of the other flow");
        assert!(seen(0, 1, 10, 30, 500).too_little, "a dead link delivers nothing");
        assert!(!seen(0, 1, 9, 30, 500).too_little, "a few packets are left from before");
    }

    #[test]
    fn a_full_path_refutes_a_promise_of_twice_what_arrives() {
        assert!(seen(100, 1, 45, 50, 500).too_much);
        assert!(!seen(100, 1, 55, 50, 500).too_much);
        assert!(!seen(100, 1, 45, 35, 500).too_much, "a path that is not full shows what was sent");
    }

    #[test]
    fn packets_that_hardly_waited_left_the_link_idle() {
        assert!(seen(100, 1, 100, 30, 300).idle);
        assert!(!seen(100, 1, 100, 30, 400).idle);
        assert!(!seen(100, 1, 60, 30, 300).idle, "at a lower rate they wait for less of the time");
        assert!(!seen(100, 1, 40, 30, 100).idle, "too few were sent to say");
    }
}
