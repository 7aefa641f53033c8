//! A round at a higher rate than promised, and its arrivals.

use super::Promise;
use super::interval::{REFUTED_ABOVE, UNQUEUED_BELOW};
use crate::contract::{Ack, Packet, Sent};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::ops::RangeInclusive;

/// How much faster the first probe goes, and how much one after a finding: the more the slower the link, so that ...
const GAIN: RangeInclusive<f64> = 2.0..=4.0;
const NEXT_GAIN: RangeInclusive<f64> = 4.0..=8.0;
/// ... a probe of a round, or where RTTs vary of two periods, since a promise is right on average only, ...
const PERIODS: u64 = 2;
/// ... has this many packets, to tell one rate from another: if need be, it lasts longer, ...
const PACKETS: u64 = 8;
/// ... but not much: it is not made where that takes longer than this.
const LONGEST: Span = Span::from_secs(1);
/// This many RTTs in a row that show a queue end it.
const QUEUED_IN_A_ROW: u32 = 4;
/// Delivering this many times the promise is more. A right promise equals the link's rate.
const MORE_ABOVE: f64 = 1.2;
/// Fewer packets than this tell nothing: at the promised rate four of eight would have left.
const MIN_PACKETS: u64 = 6;

/// The evidence of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Much more than promised arrives.
    TooLittle,
    /// More arrives than was promised, but not that much, or the promise has risen as it did.
    More,
    /// It does not.
    NoMore,
    /// Too little was sent, or lost, to tell.
    Nothing,
}

/// A probe.
#[derive(Debug, Clone)]
pub(super) struct Probe {
    gain: f64,
    /// The RTT at its beginning.
    pub(super) rtt: Span,
    shortest: Span,
    armed_at: Time,
    /// The rate promised then, ...
    first_promised: Rate,
    /// ... and the highest one since.
    promised: Rate,
    /// Its first packet, and its last one so far.
    sent: Option<Ends>,
    packets: u64,
    is_sending: bool,
    /// The bytes of all but the first, and when the first and the last came back.
    delivered: Bytes,
    delivered_packets: u64,
    back: Option<(Time, Time)>,
    /// RTTs up to now that show a queue.
    queued: u32,
    held_back: bool,
    /// The rate that arrived, and when the last report that may be of it has come; none before its last packet is back.
    result: Option<(Rate, Time)>,
}

#[derive(Debug, Clone, Copy)]
struct Ends {
    first: u64,
    first_at: Time,
    last: u64,
    last_at: Time,
}

impl Probe {
    /// A probe; none where the RTT shows a queue, or where it would take too long. `again`: after a finding. `is_steady`:
    /// RTTs vary little.
    pub(super) fn begin(ack: &Ack<'_>, promise: &Promise, again: bool, is_steady: bool) -> Option<Self> {
        // Use the latest RTT: after an outage the smoothed RTT is far above it, and a probe that long would fill the queue.
        let round = ack.rtt_sample.filter(|sample| !is_queued(*sample, ack))?;
        let shortest = if is_steady { round } else { round.max(promise.period * PERIODS) };
        let gains = if again { NEXT_GAIN } else { GAIN };
        let promised_time = promise.whole.time_for(ack.packet_size * PACKETS);
        let gain = (promised_time.as_secs_f64() / shortest.as_secs_f64()).clamp(*gains.start(), *gains.end());
        if promised_time.mul_f64(1.0 / gain) > LONGEST {
            return None;
        }
        Some(Self {
            gain,
            rtt: round,
            shortest,
            armed_at: ack.now,
            first_promised: promise.whole,
            promised: promise.whole,
            sent: None,
            packets: 0,
            is_sending: true,
            delivered: Bytes::ZERO,
            delivered_packets: 0,
            back: None,
            queued: 0,
            held_back: false,
            result: None,
        })
    }

    /// By how much to exceed the promise; none once all has been sent.
    pub(super) fn gain(&self) -> Option<f64> {
        self.is_sending.then_some(self.gain)
    }

    /// True until its last packet is back.
    pub(super) fn is_under_way(&self) -> bool {
        self.result.is_none()
    }

    /// How long it was sent.
    pub(super) fn length(&self) -> Span {
        self.sent.map_or(Span::ZERO, |sent| sent.last_at.since(sent.first_at))
    }

    /// This is promised now.
    pub(super) fn on_promise(&mut self, promise: &Promise) {
        self.promised = self.promised.max(promise.whole);
    }

    /// A packet leaves; `held_back` where something else than the promise is the limit.
    pub(super) fn on_sent(&mut self, sent: &Sent, held_back: bool) {
        if !self.is_sending {
            return;
        }
        self.held_back |= held_back;
        self.packets += 1;
        let (number, now) = (sent.number, sent.now);
        let ends = self.sent.get_or_insert(Ends { first: number, first_at: now, last: number, last_at: now });
        (ends.last, ends.last_at) = (number, now);
        let is_done = now.since(ends.first_at) >= self.shortest && self.packets >= PACKETS;
        self.is_sending = !is_done && now.since(self.armed_at) < LONGEST;
    }

    /// Its outcome; none before its end. `age`: of the oldest report that is right. The largest delay of a report on the
    /// probe's time.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>, age: Span) -> Option<Outcome> {
        if let Some((rate, settled_at)) = self.result {
            return self.outcome(rate, settled_at <= ack.now);
        }
        let Some(sent) = self.sent else {
            return (ack.now.since(self.armed_at) >= LONGEST).then_some(Outcome::Nothing);
        };
        for packet in ack.packets.iter().filter(|packet| sent.holds(packet)) {
            self.delivered_packets += 1;
            match &mut self.back {
                Some((_, last)) => {
                    *last = ack.now;
                    self.delivered += packet.bytes;
                }
                None => self.back = Some((ack.now, ack.now)),
            }
            let shows_queue = ack.rtt_sample.is_some_and(|sample| is_queued(sample, ack));
            self.queued = if shows_queue { self.queued + 1 } else { 0 };
        }
        self.is_sending &= self.queued < QUEUED_IN_A_ROW && ack.now.since(self.armed_at) < LONGEST;
        let is_last = |packet: &Packet| packet.number >= sent.last;
        if self.is_sending || !ack.packets.iter().any(is_last) {
            return None;
        }
        let Some(rate) = self.rate() else { return Some(Outcome::Nothing) };
        self.result = Some((rate, ack.now + age));
        self.outcome(rate, false)
    }

    /// The rate at which it arrived; none where too little did.
    fn rate(&self) -> Option<Rate> {
        let (first, last) = self.back.filter(|_| !self.held_back && self.delivered_packets >= MIN_PACKETS)?;
        Some(Rate::from_transfer(self.delivered, self.length().max(last.since(first))))
    }

    /// The outcome at this rate; `settled`: no report of it is to come.
    fn outcome(&self, rate: Rate, settled: bool) -> Option<Outcome> {
        let exceeds = |promised: Rate, factor| rate > promised.mul_f64(factor);
        if exceeds(self.promised, MORE_ABOVE) {
            let refutes = exceeds(self.promised, REFUTED_ABOVE);
            return settled.then_some(if refutes { Outcome::TooLittle } else { Outcome::More });
        }
        let has_risen = exceeds(self.first_promised, REFUTED_ABOVE);
        Some(if has_risen { Outcome::More } else { Outcome::NoMore })
    }
}

impl Ends {
    fn holds(&self, packet: &Packet) -> bool {
        (self.first..=self.last).contains(&packet.number)
    }
}

/// No queue stands where the RTT stays below a multiple of the minimum.
fn is_queued(sample: Span, ack: &Ack<'_>) -> bool {
    sample > ack.rtt.min().mul_f64(UNQUEUED_BELOW)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MIN_RTT, PACKET, ack, at, packet, rtt};
    use super::*;

    const PERIOD: Span = Span::from_millis(50);
    const AGE: Span = Span::from_millis(70);

    /// 10 packets in 20 ms.
    fn promise() -> Promise {
        let rate = Rate::from_transfer(PACKET * 10, MIN_RTT);
        Promise { share: rate, whole: rate, period: PERIOD, network_rtt: None }
    }

    fn begin(sample: Span) -> Option<Probe> {
        Probe::begin(&ack(at(100), &rtt(sample), sample, &[], PACKET), &promise(), false, true)
    }

    /// Sends 41 packets, one every 500 us: four times the promise. They come back one every `gap`; gives the outcome at once.
    fn sent_and_back(probe: &mut Probe, gap: Span, held_back: bool) -> Option<Outcome> {
        let leaves = |number| at(100) + Span::from_micros(500) * number;
        for number in 0..=40 {
            probe.on_sent(&Sent::new(leaves(number), number, PACKET), held_back);
        }
        assert_eq!(probe.gain(), None, "all has been sent");
        (0..=40).find_map(|number| {
            let (now, packets) = (at(120) + gap * number, [packet(number, leaves(number))]);
            probe.on_ack(&ack(now, &rtt(MIN_RTT), MIN_RTT, &packets, PACKET), AGE)
        })
    }

    fn after_its_reports(probe: &mut Probe) -> Option<Outcome> {
        probe.on_ack(&ack(at(1000), &rtt(MIN_RTT), MIN_RTT, &[], PACKET), AGE)
    }

    #[test]
    fn a_rate_that_arrives_refutes_a_promise_once_no_report_of_it_is_to_come() {
        let mut probe = begin(MIN_RTT).expect("no queue");
        assert_eq!(probe.gain(), Some(2.0));
        assert_eq!(sent_and_back(&mut probe, Span::from_micros(500), false), None);
        assert!(!probe.is_under_way());
        assert_eq!(after_its_reports(&mut probe), Some(Outcome::TooLittle));
    }

    #[test]
    fn a_report_that_rises_with_what_arrives_refutes_nothing_and_shows_that_there_is_more() {
        let mut probe = begin(MIN_RTT).expect("no queue");
        assert_eq!(sent_and_back(&mut probe, Span::from_micros(500), false), None);
        probe.on_promise(&Promise { whole: promise().whole.mul_f64(4.0), ..promise() });
        assert_eq!(after_its_reports(&mut probe), Some(Outcome::More));
    }

    #[test]
    fn what_arrives_a_third_faster_than_promised_is_more_and_refutes_nothing() {
        let mut probe = begin(MIN_RTT).expect("no queue");
        assert_eq!(sent_and_back(&mut probe, Span::from_micros(1500), false), None);
        assert_eq!(after_its_reports(&mut probe), Some(Outcome::More));
    }

    #[test]
    fn what_arrives_no_faster_than_promised_ends_it_at_once() {
        let mut probe = begin(MIN_RTT).expect("no queue");
        assert_eq!(sent_and_back(&mut probe, Span::from_millis(2), false), Some(Outcome::NoMore));
    }

    #[test]
    fn a_probe_that_something_else_limited_shows_nothing() {
        let mut probe = begin(MIN_RTT).expect("no queue");
        assert_eq!(sent_and_back(&mut probe, Span::from_micros(500), true), Some(Outcome::Nothing));
    }

    #[test]
    fn none_begins_where_a_queue_stands() {
        assert!(begin(MIN_RTT * 2).is_none());
    }
}
