//! The advice in hand, and whether to follow it: one place for the time-out, the guard and the share.

use super::fairness::{FAIRNESS, Fairness, FlowReport};
use super::parameters::{GUARD, TIMEOUT};
use super::timeout::Timeout;
use crate::kernel_view::q16;
use cellcc_assist::Advice;
use cellcc_control::{Ack, Arguments, Feedback, Guard, Loss, Observer, Promise, Sent, ShownValue, Verdict};
use cellcc_units::{Rate, Span, Time};

/// The classes of a user as they are shown, by their numbers.
const CLASSES: [&str; 3] = ["backlogged", "partial", "idle"];

/// What every scheme with advice shows.
pub(super) const SHOWS: [ShownValue; 6] = [
    ShownValue::switch("following", "the advice of the network decides"),
    ShownValue::number("advised_bandwidth_mbit_s", "what the network says that the user gets"),
    ShownValue::number("advised_min_rtt_ms", "what the network says that the RTT is with empty queues"),
    ShownValue::state("advised_class", "how the network calls the user", &CLASSES),
    ShownValue::number("advised_backlog_kB", "what the network says waits for the user"),
    ShownValue::number("beta", "flows among which the user's bandwidth is divided"),
];

/// What the flow goes by at this moment: advice that is neither too old nor refuted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TrustedAdvice {
    /// Of the user's bottleneck, all its flows together.
    pub(super) bandwidth: Rate,
    /// As the network tells it; `None` where it does not.
    pub(super) min_rtt: Option<Span>,
    /// The user's flows; at least one.
    pub(super) flows: u32,
    /// By how much to exceed the above: above one in a probe of the guard.
    pub(super) gain: f64,
}

/// Keeps one flow's advice, and judges whether to trust it.
#[derive(Debug, Clone)]
pub(super) struct AdviceTracker {
    fairness: Fairness,
    timeout: Timeout,
    guard: Guard,
    guarded: bool,
    advice: Option<Advice>,
    /// The user's own count of its flows.
    reported: FlowReport,
}

impl AdviceTracker {
    pub(super) fn new(arguments: &Arguments) -> Self {
        Self {
            fairness: arguments.get(&FAIRNESS),
            timeout: Timeout::new(q16(arguments.get(&TIMEOUT))),
            guard: Guard::default(),
            guarded: arguments.get(&GUARD),
            advice: None,
            reported: FlowReport::FIRST,
        }
    }

    /// What to go by; none without advice, or without trust in it.
    pub(super) fn trusted(&mut self, now: Time) -> Option<TrustedAdvice> {
        let advice = self.fresh();
        if advice.is_none() {
            self.guard.pause();
        }
        let advice = advice.filter(|_| self.guard.trusts() || !self.guarded)?;
        Some(TrustedAdvice {
            bandwidth: advice.bandwidth,
            min_rtt: advice.min_rtt.map(|parts| parts.total()),
            flows: self.flows(&advice),
            gain: if self.guarded { self.guard.gain(now) } else { 1.0 },
        })
    }

    /// The advice, where it is not too old.
    fn fresh(&self) -> Option<Advice> {
        self.advice.filter(|_| self.timeout.is_following())
    }

    fn flows(&self, advice: &Advice) -> u32 {
        self.fairness.flows(advice, self.reported.flows.into())
    }

    /// True where [`trusted`](Self::trusted) may have changed.
    pub(super) fn on_advice(&mut self, now: Time, advice: &Advice) -> bool {
        let taken = self.timeout.on_advice(now, advice);
        if taken {
            self.advice = Some(*advice);
            let Advice { bandwidth: whole, period, min_rtt, .. } = *advice;
            let share = whole.mul_f64(1.0 / f64::from(self.flows(advice)));
            let promise = Promise { share, whole, period, network_rtt: min_rtt.map(|parts| parts.network) };
            self.guard.on_advice(now, promise);
        }
        taken
    }

    /// The user's report of its flows came; where it is taken, [`trusted`](Self::trusted) may have changed.
    pub(super) fn on_feedback(&mut self, feedback: &Feedback) -> Verdict {
        self.reported.update(feedback)
    }

    /// `held_back` where something else than the advice is the limit.
    pub(super) fn on_sent(&mut self, sent: &Sent, held_back: bool) {
        self.guard.on_sent(sent, held_back);
    }

    pub(super) fn on_ack(&mut self, ack: &Ack<'_>) {
        self.timeout.on_rtt(ack.rtt);
        if self.guarded && self.fresh().is_some() {
            self.guard.on_ack(ack);
        }
    }

    pub(super) fn on_loss(&mut self, loss: &Loss<'_>) {
        self.guard.on_loss(loss);
    }

    pub(super) fn next_timer(&self) -> Option<Time> {
        self.timeout.next_timer()
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        self.timeout.on_timer(now);
    }

    pub(super) fn observe(&self, observer: &mut dyn Observer) {
        if let Some(advice) = &self.advice {
            observer.value("advised_bandwidth", "mbit_s", advice.bandwidth.as_mbit_per_sec());
            if let Some(parts) = advice.min_rtt {
                observer.value("advised_min_rtt", "ms", parts.total().as_millis_f64());
            }
            observer.state("advised_class", &CLASSES, advice.class as usize);
            observer.value("advised_backlog", "kB", advice.backlog.as_f64() / 1e3);
            observer.value("beta", "", f64::from(self.flows(advice)));
        }
    }
}
