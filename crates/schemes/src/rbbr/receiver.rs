//! RBBR's receiver-side component: samples the rate at which data arrives, filters it, and sends the estimate back.
//! It suspends the estimation while the sender says that it limits itself (paper, Algorithms 1 and 3).

#[cfg(test)]
mod tests;

use super::filter::RateFilter;
use super::settings::{FeedbackWhen, ReceiverSettings};
use super::wire::{Estimation, RateFeedback, RateSignal};
use cellcc_control::{Arrival, Feedback, Observer, ReceiverComponent, Signal, Verdict};
use cellcc_units::{Bytes, Rate, Span, Time};

#[derive(Debug, Clone, Copy)]
struct LastSample {
    rate: Rate,
    span: Span,
}

/// Estimates the rate of the path from arrivals.
pub(super) struct RbbrReceiver {
    sampling: Sampling,
    filter: Box<dyn RateFilter>,
    bias: Option<Bias>,
    burst: Option<Burst>,
    /// The filter's, in bytes per second; none before the first sample.
    estimate: Option<f64>,
    last_sample: Option<LastSample>,
    /// The sender's newest signal. Before the first, arrivals say nothing about the path: a flow begins in Startup.
    signal: Option<RateSignal>,
    received: Bytes,
    next_number: u64,
    when: FeedbackWhen,
    acks_since_feedback: u32,
    feedback_at: Option<Time>,
    sequence: u64,
}

impl RbbrReceiver {
    pub(super) fn new(settings: &ReceiverSettings) -> Self {
        Self {
            sampling: Sampling::new(settings.interval),
            filter: settings.filter.build(settings.alpha),
            bias: settings.compensates_bias.then(Bias::default),
            burst: settings.measures_bursts.then(Burst::default),
            estimate: None,
            last_sample: None,
            signal: None,
            received: Bytes::ZERO,
            next_number: 0,
            when: settings.feedback,
            acks_since_feedback: 0,
            feedback_at: None,
            sequence: 0,
        }
    }

    fn estimation(&self) -> Estimation {
        self.signal.map_or(Estimation::Suspend, |signal| signal.estimation)
    }

    /// Takes a signal unless it is older than the last. At a suspension and at its end the open interval is no measure
    /// of the path: a part of it was the sender's doing.
    fn take_signal(&mut self, signal: RateSignal) -> Verdict {
        let is_older = self.signal.is_some_and(|last| signal.epoch.wrapping_sub(last.epoch) > u32::MAX / 2);
        if is_older {
            return Verdict::Stale;
        }
        let before = self.estimation();
        self.signal = Some(signal);
        if (before == Estimation::Suspend) != (signal.estimation == Estimation::Suspend) {
            self.sampling.discard();
        }
        Verdict::Taken
    }

    fn take_sample(&mut self, now: Time, sample: &Sample) {
        let rate = sample.rate.as_bytes_per_sec() as f64;
        let expected = self.estimate.unwrap_or(rate);
        if let Some(burst) = &mut self.burst {
            burst.on_sample(now, rate, sample.span, expected);
        }
        if let Some(bias) = &mut self.bias {
            bias.on_sample(sample, rate, expected);
        }
        let may_only_raise = self.estimation() == Estimation::RaiseOnly;
        if may_only_raise && self.estimate.is_some_and(|estimate| rate <= estimate) {
            return;
        }
        let estimate = if may_only_raise { self.filter.raise(rate) } else { self.filter.update(rate) };
        self.estimate = Some(estimate);
        self.last_sample = Some(LastSample { rate: sample.rate, span: sample.span });
    }

    /// The rate to feed back: the filter's estimate, plus the correction for a buffer that overflows.
    fn published(&self) -> Option<Rate> {
        let correction = self.bias.as_ref().map_or(0.0, Bias::correction);
        self.estimate.map(|estimate| Rate::from_bytes_per_sec((estimate + correction) as u64))
    }

    fn is_due(&mut self, now: Time) -> bool {
        match self.when {
            FeedbackWhen::EveryAcks(count) => {
                self.acks_since_feedback += 1;
                let is_due = self.acks_since_feedback >= count;
                if is_due {
                    self.acks_since_feedback = 0;
                }
                is_due
            }
            FeedbackWhen::Every(_) => self.feedback_at.is_some_and(|at| at <= now),
        }
    }
}

impl ReceiverComponent for RbbrReceiver {
    fn on_packet(&mut self, arrival: &Arrival) {
        self.received += arrival.bytes;
        let lost = arrival.number.saturating_sub(self.next_number);
        self.next_number = self.next_number.max(arrival.number.saturating_add(1));
        if let FeedbackWhen::Every(period) = self.when {
            self.feedback_at.get_or_insert(arrival.now + period);
        }
        if self.estimation() == Estimation::Suspend {
            return;
        }
        if let Some(sample) = self.sampling.on_packet(arrival.now, arrival.bytes, lost) {
            self.take_sample(arrival.now, &sample);
        }
    }

    fn on_signal(&mut self, signal: &Signal) -> Verdict {
        RateSignal::decode(signal).map_or(Verdict::Malformed, |signal| self.take_signal(signal))
    }

    fn next_timer(&self) -> Option<Time> {
        self.feedback_at
    }

    fn has_urgent_feedback(&self, now: Time) -> bool {
        self.feedback_at.is_some_and(|at| at <= now)
    }

    fn feedback(&mut self, now: Time) -> Option<Feedback> {
        if !self.is_due(now) {
            return None;
        }
        // The next period begins with the next arrival: a silent flow has nothing to tell.
        self.feedback_at = None;
        self.sequence += 1;
        let feedback = RateFeedback {
            sequence: self.sequence,
            rate: self.published(),
            interval: self.last_sample.map_or(Span::ZERO, |sample| sample.span),
            received: self.received,
            frozen: self.estimation() == Estimation::Suspend,
            burst: self.burst.as_ref().map_or(Bytes::ZERO, Burst::bytes),
        };
        Some(feedback.encode())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        if let (Some(rate), Some(sample)) = (self.published(), self.last_sample) {
            observer.value("x_hat", "mbit_s", rate.as_mbit_per_sec());
            observer.value("sample", "mbit_s", sample.rate.as_mbit_per_sec());
            observer.value("gain", "", self.filter.gain());
        }
        observer.switch("frozen", self.estimation() == Estimation::Suspend);
    }
}

// Rate samples: bytes that arrived, over the time that actually passed (paper, equations 10 and 11).

/// Packets that an interval holds at least: fewer make a sample of the packet's size rather than of the rate ...
const LEAST_PACKETS: u32 = 4;
/// ... unless they take longer than this, where a slow link needs an answer all the same.
const LONGEST: Span = Span::from_millis(100);

/// Cuts the arrivals into intervals. An interval begins and ends with an arrival, so that a silent link makes one long
/// interval instead of many empty ones; the packet that begins it does not count, since it was sent before.
#[derive(Debug, Clone)]
pub(super) struct Sampling {
    interval: Span,
    open: Option<Interval>,
}

#[derive(Debug, Clone)]
struct Interval {
    began: Time,
    bytes: Bytes,
    packets: u32,
    lost: u64,
}

/// The measurement of one interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) rate: Rate,
    pub(super) span: Span,
    pub(super) packets: u32,
    /// Packets that are missing from the numbers.
    pub(super) lost: u64,
}

impl Sampling {
    /// Samples over `interval` at least.
    pub(super) fn new(interval: Span) -> Self {
        Self { interval, open: None }
    }

    /// A packet arrived, after `lost` others that did not; gives the sample of the interval that it ends.
    fn on_packet(&mut self, now: Time, bytes: Bytes, lost: u64) -> Option<Sample> {
        let Some(open) = &mut self.open else {
            self.begin(now);
            return None;
        };
        open.bytes += bytes;
        open.packets += 1;
        open.lost += lost;
        let span = now.since(open.began);
        let is_over = if open.packets >= LEAST_PACKETS {
            span >= self.interval
        } else {
            span >= LONGEST.max(self.interval)
        };
        if !is_over {
            return None;
        }
        let (packets, lost) = (open.packets, open.lost);
        let sample = Sample { rate: Rate::from_transfer(open.bytes, span), span, packets, lost };
        self.begin(now);
        Some(sample)
    }

    /// Drops the open interval, whose arrivals say nothing about the path; the next packet begins a new one.
    fn discard(&mut self) {
        self.open = None;
    }

    fn begin(&mut self, now: Time) {
        self.open = Some(Interval { began: now, bytes: Bytes::ZERO, packets: 0, lost: 0 });
    }
}

// Compensation for small buffers. A buffer that overflows holds too little to show a rate that rises again: samples
// are cut off from above, and the estimate is too low (paper, section V.A.2). The missing part shows in the samples'
// spread, so a share of the spread is added where packets are lost, "to compensate for the underestimation".

/// The share of the old loss rate and spread that stays with a sample: ten samples, three round trips of 30 ms, are
/// remembered.
const MEMORY: f64 = 0.9;
/// The loss rate at which a whole standard deviation is added: about that of a buffer of one bandwidth-delay product on
/// an LTE link. Losing more than this is no reason to send more.
const FULL_LOSS: f64 = 0.02;

#[derive(Debug, Clone, Default)]
pub(super) struct Bias {
    loss: f64,
    /// The mean squared distance of samples from the estimate.
    spread: f64,
}

impl Bias {
    /// A sample of `rate`, where `estimate` was expected (bytes per second).
    pub(super) fn on_sample(&mut self, sample: &Sample, rate: f64, estimate: f64) {
        let lost = sample.lost as f64 / (sample.lost + u64::from(sample.packets)).max(1) as f64;
        let mix = |old: f64, new: f64| MEMORY * old + (1.0 - MEMORY) * new;
        self.loss = mix(self.loss, lost);
        self.spread = mix(self.spread, (rate - estimate) * (rate - estimate));
    }

    /// The amount to add to the estimate, in bytes per second.
    pub(super) fn correction(&self) -> f64 {
        libm::sqrt(self.spread) * (self.loss / FULL_LOSS).min(1.0)
    }
}

// Aggregation as the receiver sees it: how much more than the estimate arrives at once. The path's ACKs have no part
// in it, unlike in BBR's compensation at the sender (paper, section V.A.1: "a different aggregation compensation
// mechanism must be applied").

/// A burst is remembered for one to two of these: about ten round trips of a cellular path, as BBR remembers ACKs.
const SLOT: Span = Span::from_millis(300);

#[derive(Debug, Clone, Default)]
pub(super) struct Burst {
    /// The largest of the slot before and of this one.
    slots: [f64; 2],
    slot_began: Time,
}

impl Burst {
    /// A sample of `rate` over `span`, where `estimate` was expected (bytes per second).
    pub(super) fn on_sample(&mut self, now: Time, rate: f64, span: Span, estimate: f64) {
        if now.since(self.slot_began) > SLOT {
            self.slots = [self.slots[1], 0.0];
            self.slot_began = now;
        }
        let extra = (rate - estimate) * span.as_secs_f64();
        self.slots[1] = self.slots[1].max(extra);
    }

    /// The largest recent burst.
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::new(self.slots[0].max(self.slots[1]) as u64)
    }
}
