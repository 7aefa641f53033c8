//! One TCP flow as its packets show it: `experiment`'s meter, fed from sequence numbers and acknowledgements.

use super::packet::Sacks;
use super::taps::{AckTap, DataTap, Seen};
use crate::realtime::{List, Watched};
use crate::tap::Tap;
use cellcc_experiment::{Application, FlowMeter, FlowSetup, Frames, Scenario, Source};
use cellcc_units::Time;
use std::collections::BTreeMap;

/// Measures one flow. Events come in the order in which they happened.
#[derive(Debug)]
pub(crate) struct Conversation {
    meter: FlowMeter,
    application: Application,
    /// Data that leave the link later are no part of the flow's throughput.
    counts_until: Time,
    numbers: Numbers,
    /// The end of the data sent so far.
    sent_until: u64,
    /// Segments that are neither acknowledged nor SACKed, by the number of their first byte.
    outstanding: BTreeMap<u64, Outstanding>,
    completed_at: Option<Time>,
    frames: Option<(Frames, InOrder)>,
}

#[derive(Debug, Clone, Copy)]
struct Outstanding {
    end: u64,
    sent_at: Time,
    retransmitted: bool,
}

impl Conversation {
    /// The flow `setup`, before its first packet.
    pub(crate) fn new(scenario: &Scenario, setup: &FlowSetup) -> Self {
        let end = Time::ZERO + scenario.duration;
        Self {
            meter: FlowMeter::new(scenario.endpoint.series_bin),
            application: Application::new(setup, &scenario.endpoint, end),
            counts_until: setup.stop.unwrap_or(end).min(end),
            numbers: Numbers::default(),
            sent_until: 0,
            outstanding: BTreeMap::new(),
            completed_at: None,
            frames: match setup.source {
                Source::Frames { deadline, .. } => {
                    Some((Frames::new(deadline, Time::ZERO), InOrder::default()))
                }
                _ => None,
            },
        }
    }

    pub(crate) fn meter(&self) -> &FlowMeter {
        &self.meter
    }

    pub(crate) fn meter_mut(&mut self) -> &mut FlowMeter {
        &mut self.meter
    }

    /// The time at which the last byte of a sized source was acknowledged.
    pub(crate) fn completed_at(&self) -> Option<Time> {
        self.completed_at
    }

    /// The start and end of the flow's activity.
    pub(crate) fn active(&self) -> (Time, Time) {
        let stop = self.completed_at.unwrap_or(Time::NEVER).min(self.counts_until);
        (self.application.start().min(stop), stop)
    }

    /// The number of frames, and the share that missed the deadline.
    pub(crate) fn frames(&self) -> Option<(u64, f64)> {
        self.frames.as_ref().and_then(|(frames, _)| frames.outcome(&self.application, self.active().1))
    }

    fn on_sent(&mut self, now: Time, sequence: u32, payload: u32) {
        let start = self.numbers.whole(sequence);
        let end = start + u64::from(payload);
        let retransmission = start < self.sent_until;
        self.meter.on_sent(retransmission);
        if retransmission {
            self.mark_retransmitted(start, end);
        }
        if end > self.sent_until {
            let start = start.max(self.sent_until);
            self.outstanding.insert(start, Outstanding { end, sent_at: now, retransmitted: retransmission });
            self.sent_until = end;
        }
    }

    fn mark_retransmitted(&mut self, start: u64, end: u64) {
        // The segment before may reach into the range.
        let first = self.outstanding.range(..=start).next_back().map_or(start, |(&first, _)| first);
        for (_, segment) in self.outstanding.range_mut(first..end) {
            segment.retransmitted |= segment.end > start;
        }
    }

    /// The sample comes from the newest segment that the acknowledgement covers for the first time, as in the
    /// simulator; a segment that was sent twice gives none (Karn). The sample counts once for each of these segments:
    /// the kernel acknowledges a burst that it received in one piece (GRO) only once, and a burst must not count less
    /// than single packets.
    fn on_acknowledged(&mut self, now: Time, next: u32, sacks: &Sacks) {
        let next = self.numbers.whole(next);
        let mut newest: Option<Outstanding> = None;
        let mut samples = 0;
        let mut named = |segment: Outstanding| {
            samples += u32::from(!segment.retransmitted);
            newest = Some(newest.filter(|newest| newest.end > segment.end).unwrap_or(segment));
        };
        while let Some(first) = self.outstanding.first_entry().filter(|first| first.get().end <= next) {
            named(first.remove());
        }
        for &(left, right) in sacks.blocks() {
            let (left, right) = (self.numbers.whole(left), self.numbers.whole(right));
            while left < right
                && let Some((&start, &segment)) = self.outstanding.range(left..right).next()
                && segment.end <= right
            {
                self.outstanding.remove(&start);
                named(segment);
            }
        }
        if let Some(segment) = newest.filter(|segment| !segment.retransmitted) {
            (0..samples).for_each(|_| self.meter.on_rtt(now, now.since(segment.sent_at)));
        }
        if let Source::Sized(bytes) = self.application.source()
            && next >= FIRST + bytes.get()
        {
            self.completed_at.get_or_insert(now);
        }
    }

    fn on_arrival(&mut self, now: Time, sequence: u32, payload: u32) {
        let Some((frames, in_order)) = &mut self.frames else { return };
        let start = self.numbers.whole(sequence);
        for segment in in_order.arrived(start, start + u64::from(payload), &self.application) {
            frames.on_segment(now, segment, &self.application);
        }
    }
}

impl Watched for Conversation {
    type Seen = Seen;

    fn taps(up: List<Seen>, down: List<Seen>) -> (Box<dyn Tap>, Box<dyn Tap>) {
        (Box::new(AckTap(up)), Box::new(DataTap(down)))
    }

    fn on(&mut self, now: Time, seen: &Seen) {
        match *seen {
            Seen::Opened { data_from } => self.numbers.begin(data_from),
            Seen::Sent { sequence, payload } if now <= self.counts_until => {
                self.on_sent(now, sequence, payload)
            }
            Seen::Lost if now <= self.counts_until => self.meter.on_lost(),
            Seen::AckSent if now <= self.counts_until => self.meter.on_ack_sent(),
            Seen::Acknowledged { next, sacks } if now <= self.counts_until => {
                self.on_acknowledged(now, next, &sacks);
            }
            Seen::Delivered { sequence, payload, delivery } if delivery.departed_at <= self.counts_until => {
                self.meter.on_delivery(&delivery);
                self.on_arrival(now, sequence, payload);
            }
            Seen::Sent { .. }
            | Seen::Lost
            | Seen::AckSent
            | Seen::Acknowledged { .. }
            | Seen::Delivered { .. } => {}
        }
    }
}

/// The unwrapped number of a flow's first byte: high enough that a number before it does not go below zero.
const FIRST: u64 = 1 << 32;

/// Unwraps TCP's 32-bit sequence numbers.
#[derive(Debug, Default)]
struct Numbers {
    /// The last number seen: on the wire, and unwrapped.
    last: Option<(u32, u64)>,
}

impl Numbers {
    fn begin(&mut self, first: u32) {
        self.last = Some((first, FIRST));
    }

    /// The unwrapped number that is nearest to the last one.
    fn whole(&mut self, number: u32) -> u64 {
        let (last, whole) = self.last.unwrap_or((number, FIRST));
        let whole = whole.wrapping_add_signed(i64::from(number.wrapping_sub(last).cast_signed()));
        self.last = Some((number, whole));
        whole
    }
}

/// The data that a receiver has without a gap, which is all that TCP hands to an application.
#[derive(Debug, Default)]
struct InOrder {
    /// The end of the data without a gap.
    until: u64,
    /// The ranges beyond the gap: start and end.
    beyond: BTreeMap<u64, u64>,
    /// The application's next segment, and where it begins.
    segment: u64,
    begins_at: u64,
}

impl InOrder {
    /// The application's segments that became complete.
    fn arrived(&mut self, start: u64, end: u64, application: &Application) -> std::ops::Range<u64> {
        let (start, end) = (start.saturating_sub(FIRST), end.saturating_sub(FIRST));
        let longest = self.beyond.get(&start).map_or(end, |&other| other.max(end));
        self.beyond.insert(start, longest);
        while let Some(first) = self.beyond.first_entry().filter(|first| *first.key() <= self.until) {
            self.until = self.until.max(first.remove());
        }
        let before = self.segment;
        loop {
            let payload = application.payload(self.segment).get();
            if payload == 0 || self.begins_at + payload > self.until {
                return before..self.segment;
            }
            self.begins_at += payload;
            self.segment += 1;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
