//! A guard against wrong advice: what the network says, against what the sender itself sees.
//!
//! 1. Advice that promises too much: over an interval in which the path was full (every RTT over twice the minimum, or
//!    over 2 % lost), less than a third of what was promised arrived.
//! 2. Advice that promises too little cannot be seen from below. So after two seconds without a queue, and once in ten
//!    seconds at most, one round goes at twice the rate: if one and a half times the promise arrives and no queue grows,
//!    the promise was too low. If not, two rounds at half the rate give back what was sent too much.
//! 3. Five such findings in a row, of one kind, are no accident of a varying link: the advice is distrusted.
//! 4. Distrust lasts ten seconds, and twice as long each time it returns, up to five minutes.
//! 5. An interval in which the application or another window held the sender back proves nothing.
//!
//! ```text
//!             5 findings in a row
//!   trusting ---------------------> distrusting (the base scheme goes on alone)
//!      ^                                 |
//!      +---------------------------------+
//!         10 s, 20 s, 40 s ... 5 min, and advice is there
//! ```
//!
//! Source: the NATCP paper, section 5, names wrong feedback as what the idea falls apart on, and leaves the remedy open.
//! The numbers are ours; docs/fidelity/natcp.md has what they cost where the reports are right. Reports that are wrong by
//! less than a factor of three, too low for a user of several flows, or too low on a link whose RTT varies by half of the
//! minimum by itself, are not found.

use crate::contract::{Ack, Loss, Sent};
use cellcc_units::{Bytes, Rate, Span, Time};

/// A full path that delivers less than this share of the promise refutes it.
const REFUTED_BELOW: f64 = 1.0 / 3.0;
/// An RTT above this many minimum RTTs shows a standing queue: NATCP's own window fills two (paper, alpha = 2).
const QUEUED_ABOVE: f64 = 2.0;
/// Losing more than this share shows a full buffer, however short (RFC 9438's response function gives up here).
const FULL_LOSS_SHARE: f64 = 0.02;
/// An interval is this many periods long, and four RTTs at least: the promise of a period arrives up to one RTT later.
const INTERVAL_PERIODS: u64 = 10;
const INTERVAL_RTTS: u64 = 4;
/// Fewer promised packets than this tell nothing.
const MIN_PROMISED_PACKETS: u64 = 10;
/// Findings of one kind in a row that are enough.
const FINDINGS: u32 = 5;
/// Between probes for a promise that is too low: as rarely as BBR probes for the minimum RTT.
const PROBE_INTERVAL: Span = Span::from_secs(10);
/// After a probe that found something.
const PROBE_AGAIN: Span = Span::from_secs(1);
/// How much faster a probe goes.
const PROBE_GAIN: f64 = 2.0;
/// A probe finds something where this many times the promise arrives.
const EXCEEDED_ABOVE: f64 = 1.5;
/// No queue stands below, and none grew where the RTT stays below, this many minimum RTTs.
const UNQUEUED_BELOW: f64 = 1.5;
/// This share of an interval's RTTs below that is an interval without a queue ...
const UNQUEUED_SHARE: f64 = 0.9;
/// ... and so many of them (2 s at 50 ms) make a probe worth its while.
const UNQUEUED_INTERVALS: u32 = 4;
/// How fast, and for how many times its length, a probe that found nothing is given back.
const GIVE_BACK_GAIN: f64 = 0.5;
const GIVE_BACK_TIMES: u64 = 2;
/// A probe carries this many packets at the promised rate, to tell one rate from another ...
const PROBE_PACKETS: u64 = 8;
/// ... and is not made where that takes longer than this.
const MAX_PROBE: Span = Span::from_millis(500);
/// The first time of distrust, and the longest.
const DISTRUST: Span = Span::from_secs(10);
const MAX_DISTRUST: Span = Span::from_secs(300);

/// Watches one flow that follows advice.
#[derive(Debug, Clone)]
pub struct Guard {
    /// What the flow was last promised, and since when.
    promised: Rate,
    promised_since: Time,
    period: Span,
    interval: Option<Interval>,
    too_much: u32,
    too_little: u32,
    /// Intervals without a queue, up to now.
    unqueued: u32,
    give_back_until: Time,
    probe: Option<Probe>,
    next_probe: Time,
    distrusted_until: Option<Time>,
    distrust: Span,
}

/// What happened since the interval began.
#[derive(Debug, Clone)]
struct Interval {
    began: Time,
    promised: Bytes,
    delivered: Bytes,
    lost: Bytes,
    smallest_rtt: Option<Span>,
    samples: u32,
    /// Samples that show no queue.
    unqueued: u32,
    held_back: bool,
}

/// A round at a higher rate, and the wait for its acknowledgements.
#[derive(Debug, Clone)]
struct Probe {
    sends_until: Time,
    /// Acknowledgements between these two count.
    counts_from: Time,
    counts_until: Time,
    /// The highest rate promised meanwhile: a link that has just become faster proves nothing.
    promised: Rate,
    delivered: Bytes,
    largest_rtt: Span,
    held_back: bool,
}

impl Default for Guard {
    /// A guard that trusts.
    fn default() -> Self {
        Self {
            promised: Rate::ZERO,
            promised_since: Time::ZERO,
            period: Span::ZERO,
            interval: None,
            too_much: 0,
            too_little: 0,
            unqueued: 0,
            give_back_until: Time::ZERO,
            probe: None,
            next_probe: Time::ZERO + PROBE_INTERVAL,
            distrusted_until: None,
            distrust: DISTRUST,
        }
    }
}

impl Guard {
    /// False while the advice is not to be followed.
    pub fn trusts(&self) -> bool {
        self.distrusted_until.is_none()
    }

    /// By how much to exceed the advice at this moment: one, more in a probe, less after one that found nothing.
    pub fn gain(&self, now: Time) -> f64 {
        if self.probe.as_ref().is_some_and(|probe| now < probe.sends_until) {
            PROBE_GAIN
        } else if now < self.give_back_until {
            GIVE_BACK_GAIN
        } else {
            1.0
        }
    }

    /// Advice came that promises `rate` to this flow, about a period of this length.
    pub fn on_advice(&mut self, now: Time, rate: Rate, period: Span) {
        self.count_promise(now);
        self.promised = rate;
        self.period = period;
        if let Some(probe) = &mut self.probe {
            probe.promised = probe.promised.max(rate);
        }
        if self.distrusted_until.is_some_and(|until| until <= now) {
            self.distrusted_until = None;
        }
    }

    /// The flow does not follow advice now: nothing that happens refutes it.
    pub fn pause(&mut self) {
        self.interval = None;
        self.probe = None;
    }

    /// A packet leaves; `held_back` where something else than the advice is the limit.
    pub fn on_sent(&mut self, sent: &Sent, held_back: bool) {
        if sent.app_limited || held_back {
            self.interval.iter_mut().for_each(|interval| interval.held_back = true);
            self.probe.iter_mut().for_each(|probe| probe.held_back = true);
        }
    }

    /// Packets were acknowledged while the flow followed the advice. `whole` where it was promised to this flow alone.
    pub fn on_ack(&mut self, ack: &Ack<'_>, whole: bool) {
        self.count_promise(ack.now);
        self.judge(ack);
        let interval = self.interval.get_or_insert(Interval {
            began: ack.now,
            promised: Bytes::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            smallest_rtt: None,
            samples: 0,
            unqueued: 0,
            held_back: false,
        });
        interval.delivered += ack.bytes;
        if let Some(sample) = ack.rtt_sample {
            interval.smallest_rtt =
                Some(interval.smallest_rtt.map_or(sample, |smallest| smallest.min(sample)));
            interval.samples += 1;
            interval.unqueued += u32::from(sample <= ack.rtt.min().mul_f64(UNQUEUED_BELOW));
        }
        self.end_probe(ack);
        if whole {
            self.begin_probe(ack);
        }
    }

    /// Packets were lost while the flow followed the advice.
    pub fn on_loss(&mut self, loss: &Loss<'_>) {
        self.interval.iter_mut().for_each(|interval| interval.lost += loss.bytes);
        // Losses show a queue that is full, or a link that drops: neither is a time to probe, nor a probe that found room.
        self.probe = None;
        self.next_probe = self.next_probe.max(loss.now + PROBE_AGAIN);
    }

    fn count_promise(&mut self, now: Time) {
        if let Some(interval) = &mut self.interval {
            interval.promised += self.promised.bytes_in(now.since(self.promised_since.max(interval.began)));
        }
        self.promised_since = now;
    }

    /// Ends the interval where it is long enough, and compares.
    fn judge(&mut self, ack: &Ack<'_>) {
        let length = (self.period * INTERVAL_PERIODS).max(ack.rtt.smoothed() * INTERVAL_RTTS);
        let Some(interval) = self.interval.take_if(|interval| ack.now.since(interval.began) >= length) else {
            return;
        };
        if interval.held_back || interval.promised < ack.packet_size * MIN_PROMISED_PACKETS {
            return;
        }
        let queued = ack.rtt.min().mul_f64(QUEUED_ABOVE);
        let sent = interval.delivered + interval.lost;
        let full = interval.smallest_rtt.is_some_and(|smallest| smallest > queued)
            || interval.lost > sent.mul_f64(FULL_LOSS_SHARE);
        let refuted = full && interval.delivered < interval.promised.mul_f64(REFUTED_BELOW);
        self.too_much = if refuted { self.too_much + 1 } else { 0 };
        let unqueued = f64::from(interval.unqueued) >= UNQUEUED_SHARE * f64::from(interval.samples);
        self.unqueued = if unqueued { self.unqueued + 1 } else { 0 };
        self.distrust_after_findings(ack.now);
    }

    fn begin_probe(&mut self, ack: &Ack<'_>) {
        let unqueued = ack.rtt.min().mul_f64(UNQUEUED_BELOW);
        // Use the latest RTT: after an outage the smoothed RTT is far above it, and a probe that long would fill the queue.
        let Some(round) = ack.rtt_sample.filter(|sample| *sample <= unqueued) else { return };
        let length = round.max(self.promised.time_for(ack.packet_size * PROBE_PACKETS));
        let worth_while = self.unqueued >= UNQUEUED_INTERVALS && ack.now >= self.next_probe;
        if self.probe.is_some() || !worth_while || length > MAX_PROBE {
            return;
        }
        let back_at = ack.now + round;
        self.probe = Some(Probe {
            sends_until: ack.now + length,
            counts_from: back_at,
            counts_until: back_at + length,
            promised: self.promised,
            delivered: Bytes::ZERO,
            largest_rtt: Span::ZERO,
            held_back: false,
        });
    }

    fn end_probe(&mut self, ack: &Ack<'_>) {
        let Some(probe) = &mut self.probe else { return };
        if ack.now <= probe.counts_until {
            if ack.now > probe.counts_from {
                probe.delivered += ack.bytes;
                probe.largest_rtt = probe.largest_rtt.max(ack.rtt_sample.unwrap_or_default());
            }
            return;
        }
        let length = probe.counts_until.since(probe.counts_from);
        let exceeded = probe.delivered > probe.promised.bytes_in(length).mul_f64(EXCEEDED_ABOVE);
        let queued = probe.largest_rtt > ack.rtt.min().mul_f64(UNQUEUED_BELOW);
        let found = exceeded && !queued && !probe.held_back;
        self.probe = None;
        self.too_little = if found { self.too_little + 1 } else { 0 };
        if !found {
            self.give_back_until = ack.now + length * GIVE_BACK_TIMES;
        }
        self.next_probe = ack.now + if found { PROBE_AGAIN } else { PROBE_INTERVAL };
        self.distrust_after_findings(ack.now);
    }

    fn distrust_after_findings(&mut self, now: Time) {
        if self.too_much.max(self.too_little) < FINDINGS {
            return;
        }
        self.too_much = 0;
        self.too_little = 0;
        self.pause();
        self.distrusted_until = Some(now + self.distrust);
        self.distrust = (self.distrust * 2).min(MAX_DISTRUST);
    }
}
