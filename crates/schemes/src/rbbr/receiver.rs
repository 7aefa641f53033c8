//! RBBR's receiver-side component: samples the rate at which data arrives, filters it, and sends the estimate back.
//! It suspends the estimation while the sender says that it limits itself (paper, Algorithms 1 and 3).

use super::bias::Bias;
use super::burst::Burst;
use super::filter::RateFilter;
use super::sampling::{Sample, Sampling};
use super::settings::{FeedbackWhen, ReceiverSettings};
use super::wire::{Estimation, RateFeedback, RateSignal};
use cellcc_control::{Arrival, Feedback, Observer, ReceiverComponent, Signal, Verdict};
use cellcc_units::{Bytes, Rate, Span, Time};

#[derive(Debug, Clone, Copy)]
struct LastSample {
    rate: Rate,
    span: Span,
}

/// Estimates the rate of the path from what arrives.
pub(super) struct RbbrReceiver {
    sampling: Sampling,
    filter: Box<dyn RateFilter>,
    bias: Option<Bias>,
    burst: Option<Burst>,
    /// The filter's, in bytes per second; none before the first sample.
    estimate: Option<f64>,
    last_sample: Option<LastSample>,
    /// What the sender said last. Without a word from it, arrivals tell nothing: a flow begins in Startup.
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

    /// What is fed back: the filter's estimate, with what a buffer that overflows hides.
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

    fn on_timer(&mut self, now: Time) -> bool {
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

#[cfg(test)]
mod tests;
