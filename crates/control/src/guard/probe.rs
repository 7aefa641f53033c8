//! A round at a higher rate than promised, and what of it arrives.

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
/// So many RTTs in a row that show a queue end it.
const QUEUED_IN_A_ROW: u32 = 4;
/// Fewer packets than this tell nothing: at the promised rate four of eight would have left.
const MIN_PACKETS: u64 = 6;

/// What a probe has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Much more than promised arrives.
    TooLittle,
    /// It does not.
    NoMore,
    /// Too little was sent, or lost, to tell.
    Nothing,
}

/// A probe.
#[derive(Debug, Clone)]
pub(super) struct Probe {
    gain: f64,
    shortest: Span,
    armed_at: Time,
    /// Promised since then, to the end of the wait: a causal promise comes late.
    promised: Bytes,
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
            shortest,
            armed_at: ack.now,
            promised: Bytes::ZERO,
            sent: None,
            packets: 0,
            is_sending: true,
            delivered: Bytes::ZERO,
            delivered_packets: 0,
            back: None,
            queued: 0,
            held_back: false,
        })
    }

    /// By how much to exceed the promise; none once all has been sent.
    pub(super) fn gain(&self) -> Option<f64> {
        self.is_sending.then_some(self.gain)
    }

    /// How long it was sent.
    pub(super) fn length(&self) -> Span {
        self.sent.map_or(Span::ZERO, |sent| sent.last_at.since(sent.first_at))
    }

    /// The promise held from `since` to `now`.
    pub(super) fn on_promise(&mut self, promise: &Promise, since: Time, now: Time) {
        self.promised += promise.whole.bytes_in(now.since(since.max(self.armed_at)));
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

    /// Its outcome; none before its end.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>) -> Option<Outcome> {
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
        (!self.is_sending && ack.packets.iter().any(is_last)).then(|| self.outcome(ack.now))
    }

    fn outcome(&self, now: Time) -> Outcome {
        let Some((first, last)) = self.back.filter(|_| !self.held_back) else { return Outcome::Nothing };
        if self.delivered_packets < MIN_PACKETS {
            return Outcome::Nothing;
        }
        let rate = Rate::from_transfer(self.delivered, self.length().max(last.since(first)));
        let promised = Rate::from_transfer(self.promised, now.since(self.armed_at));
        if rate > promised.mul_f64(REFUTED_ABOVE) { Outcome::TooLittle } else { Outcome::NoMore }
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
