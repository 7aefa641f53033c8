//! A guard against wrong advice: it compares the network's reports with the sender's own measurements.
//!
//! 1. Too much: over an interval in which the path was full (every RTT over twice the minimum, or over 2 % lost), less than
//!    half of the sure promise for it arrived.
//! 2. Too little: over an interval one and a half times the promise arrived. Arrivals are a lower bound of the link's rate,
//!    whatever the RTTs do. Reports may come late: the flow waits for all that may be about the interval, and
//!    counts them all.
//! 3. A flow that keeps to a promise sends no more than that. So a round goes at a higher rate: after the second interval, then
//!    every ten seconds, or every second where its packets hardly waited for the link or the last probe found more. Arrivals
//!    of one and a half times the promise are also a finding, and the next round follows at once. If not, one finding less;
//!    and half the rate drains the excess, until the RTT is as before, for twice the probe's time at most.
//! 4. Three findings in a row, of one kind, are no accident of a varying link: the advice is distrusted.
//! 5. Distrust lasts ten seconds, and twice as long each time it returns, up to five minutes. The base scheme's measurements
//!    meanwhile are also compared: distrust does not end before ten seconds without a finding.
//! 6. An interval in which the application or another window held the sender back says nothing but 2.
//!
//! ```text
//!             3 findings in a row
//!   trusting ---------------------> distrusting (the base scheme goes on alone)
//!      ^                                 |
//!      +---------------------------------+
//!         10 s, 20 s, 40 s ... 5 min, the last ten seconds without a finding, and advice is there
//! ```
//!
//! Source: the NATCP paper, section 5, names wrong feedback as the weakness of the idea, and leaves the remedy open.
//! The numbers are ours; docs/decisions/0020 has the reasons and the measurements.
//! Reports that are wrong by less than a factor of two, or too low for each of several flows, are not found.
//!
//! | file | concept |
//! |---|---|
//! | `interval` | evidence of an interval of some RTTs |
//! | `waiting` | how long the flow's packets waited |
//! | `probe` | a round at a higher rate |

mod interval;
mod probe;
#[cfg(test)]
mod testing;
mod waiting;

use crate::contract::{Ack, Loss, Sent};
use cellcc_units::{Rate, Span, Time};
use interval::{Interval, Seen};
use probe::{Outcome, Probe};
use waiting::Waiting;

/// Findings of one kind in a row that are enough.
const FINDINGS: u32 = 3;
/// After so many intervals in a row whose RTTs show no queue (2 s at 50 ms) RTTs vary little: a probe may be as short as one.
const UNQUEUED_INTERVALS: u32 = 4;
/// Wait after a failed probe or a loss, if packets hardly waited, or if the probe found more.
const SHORT_WAIT: Span = Span::from_secs(1);
/// Wait if nothing suggests that there is more: as rarely as BBR probes for the minimum RTT.
const RARE_WAIT: Span = Span::from_secs(10);
/// Intervals before the first probe (1 s at 50 ms): in these a flow learns its own RTT.
const FIRST_INTERVALS: u32 = 2;
/// How fast, and for how many times its length, a probe that found nothing is given back.
const GIVE_BACK_GAIN: f64 = 0.5;
const GIVE_BACK_TIMES: u64 = 2;
/// The first time of distrust, and the longest.
const DISTRUST: Span = Span::from_secs(10);
const MAX_DISTRUST: Span = Span::from_secs(300);

/// A promise of advice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Promise {
    /// To this flow.
    pub share: Rate,
    /// To all of the user's flows together.
    pub whole: Rate,
    /// Between two reports.
    pub period: Span,
    /// The minimum RTT without the link, where the network says it.
    pub network_rtt: Option<Span>,
}

impl Promise {
    /// The age of the oldest report that may hold: it describes the period before it was sent, and is up to one RTT old.
    fn age(&self, ack: &Ack<'_>) -> Span {
        self.period + ack.rtt.smoothed()
    }
}

/// Watches one flow that follows advice.
#[derive(Debug, Clone)]
pub struct Guard {
    /// The flow's last promise, and its start.
    promise: Promise,
    promised_since: Time,
    waiting: Waiting,
    interval: Option<Interval>,
    /// The interval before, while a report of it may still come.
    ended: Option<Interval>,
    too_much: u32,
    too_little: u32,
    /// In the last interval packets hardly waited.
    idle: bool,
    /// Intervals without a queue, up to now.
    unqueued: u32,
    probe: Option<Probe>,
    /// When a probe last found nothing, or packets were lost; `None` before that, while this advice is followed.
    probed_at: Option<Time>,
    /// The last probe found more, and refuted nothing.
    found_more: bool,
    /// Intervals since the advice is followed.
    intervals: u32,
    /// After a probe half the rate holds until the RTT is this again, or until then.
    give_back: (Span, Time),
    distrusted_until: Option<Time>,
    distrust: Span,
}

impl Default for Guard {
    /// A guard that trusts.
    fn default() -> Self {
        Self {
            promise: Promise::default(),
            promised_since: Time::ZERO,
            waiting: Waiting::default(),
            interval: None,
            ended: None,
            too_much: 0,
            too_little: 0,
            idle: false,
            unqueued: 0,
            probe: None,
            probed_at: None,
            found_more: false,
            intervals: 0,
            give_back: (Span::ZERO, Time::ZERO),
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
        match self.probe.as_ref().and_then(Probe::gain) {
            Some(gain) => gain,
            None if now < self.give_back.1 => GIVE_BACK_GAIN,
            None => 1.0,
        }
    }

    /// Advice came with this promise.
    pub fn on_advice(&mut self, now: Time, promise: Promise) {
        self.count_promise(now);
        self.promise = promise;
        if self.distrusted_until.is_some_and(|until| until <= now) {
            self.distrusted_until = None;
            self.pause();
        }
    }

    /// There is no advice now: nothing that happens refutes it.
    pub fn pause(&mut self) {
        self.interval = None;
        self.ended = None;
        self.probe = None;
    }

    /// A packet leaves; [`Sent::app_limited`] where something else than the advice is the limit.
    pub fn on_sent(&mut self, sent: &Sent) {
        if let Some(probe) = &mut self.probe {
            probe.on_sent(sent, sent.app_limited);
        }
        if let Some(interval) = self.interval.as_mut().filter(|_| sent.app_limited) {
            interval.hold_back();
        }
    }

    /// Packets were acknowledged while there was advice, followed or distrusted.
    pub fn on_ack(&mut self, ack: &Ack<'_>) {
        self.count_promise(ack.now);
        let waited = self.waiting.add(ack, self.promise.network_rtt.unwrap_or_default());
        let age = self.promise.age(ack);
        let interval = self.interval.get_or_insert_with(|| Interval::new(ack.now, age));
        interval.on_ack(ack, waited);
        if self.probe.as_ref().is_some_and(Probe::is_under_way) || ack.now < self.give_back.1 {
            interval.probe();
        }
        if ack.rtt_sample.is_some_and(|sample| sample <= self.give_back.0) {
            self.give_back.1 = ack.now;
        }
        self.ended.take_if(|ended| ended.is_settled(ack.now)).inspect(|ended| self.settle(ended, ack));
        let period = self.promise.period;
        if let Some(interval) = self.interval.take_if(|interval| interval.is_over(ack, period)) {
            self.end_interval(interval, ack);
        }
        self.end_probe(ack);
        self.begin_probe(ack);
    }

    /// Packets were lost.
    pub fn on_loss(&mut self, loss: &Loss<'_>) {
        if let Some(interval) = &mut self.interval {
            interval.on_loss(loss.bytes);
        }
        // Losses show a queue that is full, or a link that drops: neither is a time to probe, nor a probe that found room.
        self.probe = None;
        self.probed_at = Some(loss.now);
    }

    fn count_promise(&mut self, now: Time) {
        let (promise, since) = (self.promise, self.promised_since);
        for interval in [&mut self.interval, &mut self.ended].into_iter().flatten() {
            interval.on_promise(&promise, since, now);
        }
        if let Some(probe) = &mut self.probe {
            probe.on_promise(&promise);
        }
        self.promised_since = now;
    }

    /// Draws the conclusions from an interval that need no further report.
    fn end_interval(&mut self, mut interval: Interval, ack: &Ack<'_>) {
        let Seen { too_much, idle, unqueued } = interval.end(ack, self.promise.age(ack));
        if let Some(until) = &mut self.distrusted_until {
            if too_much {
                *until = (*until).max(ack.now + DISTRUST);
            }
        } else if interval.is_probed() {
            return;
        } else {
            self.intervals += 1;
            self.idle = idle;
            self.unqueued = if unqueued { self.unqueued + 1 } else { 0 };
            self.too_much = if too_much { self.too_much + 1 } else { 0 };
            self.distrust_after_findings(ack.now);
        }
        // One before it that waits still, after an RTT far above those of now, is forgotten.
        self.ended = Some(interval);
    }

    /// All reports of an interval are here: draws the conclusions that had to wait for them.
    fn settle(&mut self, interval: &Interval, ack: &Ack<'_>) {
        let too_little = interval.is_more_than_promised(ack);
        if let Some(until) = &mut self.distrusted_until {
            if too_little {
                *until = (*until).max(ack.now + DISTRUST);
            }
        } else if too_little {
            self.too_little += 1;
            self.distrust_after_findings(ack.now);
        } else if !self.idle {
            self.too_little = 0;
        }
    }

    fn begin_probe(&mut self, ack: &Ack<'_>) {
        let is_steady = self.unqueued >= UNQUEUED_INTERVALS;
        let wait = if self.idle || self.found_more { SHORT_WAIT } else { RARE_WAIT };
        let is_due = self.too_little > 0
            || match self.probed_at {
                Some(at) => ack.now.since(at) >= wait,
                None => self.intervals >= FIRST_INTERVALS,
            };
        // Several flows share the promise: room that this one finds may be another's.
        let is_alone = self.promise.share == self.promise.whole;
        if is_due && is_alone && self.probe.is_none() && self.trusts() {
            self.probe = Probe::begin(ack, &self.promise, self.too_little > 0, is_steady);
        }
    }

    fn end_probe(&mut self, ack: &Ack<'_>) {
        let Some(probe) = &mut self.probe else { return };
        let Some(outcome) = probe.on_ack(ack, self.promise.age(ack)) else { return };
        let (length, rtt) = (probe.length(), probe.rtt);
        self.probe = None;
        self.found_more = outcome == Outcome::More;
        if outcome == Outcome::TooLittle {
            self.too_little += 1;
            return self.distrust_after_findings(ack.now);
        }
        if outcome == Outcome::NoMore {
            self.too_little = self.too_little.saturating_sub(1);
        }
        self.give_back = (rtt, ack.now + length * GIVE_BACK_TIMES);
        self.probed_at = Some(ack.now);
    }

    fn distrust_after_findings(&mut self, now: Time) {
        if self.too_much.max(self.too_little) < FINDINGS {
            return;
        }
        (self.too_much, self.too_little, self.idle, self.unqueued) = (0, 0, false, 0);
        (self.probed_at, self.found_more, self.intervals) = (None, false, 0);
        self.pause();
        self.distrusted_until = Some(now + self.distrust);
        self.distrust = (self.distrust * 2).min(MAX_DISTRUST);
    }
}
