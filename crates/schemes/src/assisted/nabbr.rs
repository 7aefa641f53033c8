//! The scheme `nabbr`: BBR whose bandwidth the network tells.
//!
//! Without advice it uses BBR's own largest delivery rate of ten rounds. It keeps its phases, gains and its own minimum RTT:
//! this scheme shows the cost of measuring the bandwidth late. Not in the paper.

use super::advice::{AdviceTracker, SHOWS};
use super::fairness::{FAIRNESS, receiver};
use super::parameters::{CORE, DELAY, GUARD, LOSS, PERIOD, ROUTE, SOURCE, TIMEOUT, request};
use crate::bbr::{BandwidthSource, Bbr, CWND_GAIN, Config, MaxFilter, NOMINAL_RTT};
use crate::in_kernel::{BBR, CONTROL_WITH_FLAGS, InKernel};
use cellcc_control::{
    Ack, Advice, Arguments, Context, Controller, Event, Feedback, Limits, Loss, Observer, RateSample,
    Sampler, SchemeInfo, Sent, Tag, Verdict,
};
use cellcc_units::{Bytes, Rate, Time};

pub(crate) fn nabbr() -> SchemeInfo {
    SchemeInfo::new(
        "nabbr",
        "BBR at the bandwidth that the base station reports",
        "ours: draft-cardwell-iccrg-bbr-congestion-control-00 with the advice of \
                 Abbasloo et al., HotEdge 2019",
        |arguments, context| Box::new(NaBbr::new(arguments, context)),
    )
    .parameters(vec![
        SOURCE.into(),
        PERIOD.into(),
        ROUTE.into(),
        DELAY.into(),
        LOSS.into(),
        FAIRNESS.into(),
        TIMEOUT.into(),
        GUARD.into(),
    ])
    .shows(&SHOWS)
    .shows(&crate::bbr::SHOWS)
    .in_linux(&[("guard", "off")])
    .with_receiver(receiver)
    .with_advice(request)
}

/// In the kernel, over its BBR.
pub(crate) const IN_KERNEL: InKernel = InKernel {
    name: "cellcc_nabbr",
    registry: "nabbr",
    always: &[("fairness", "network")],
    since: CONTROL_WITH_FLAGS,
    calls: BBR,
    core: &CORE,
};

/// The flow's share of the reported bandwidth, while that is followed; BBR's own filter otherwise.
#[derive(Debug, Clone)]
struct AdvisedBandwidth {
    own: MaxFilter,
    advised: Option<Rate>,
}

impl BandwidthSource for AdvisedBandwidth {
    fn on_sample(&mut self, ack: &Ack<'_>, sample: &RateSample, self_limited: bool) {
        self.own.on_sample(ack, sample, self_limited);
    }

    fn estimate(&self) -> Rate {
        self.advised.unwrap_or(self.own.estimate())
    }
}

#[derive(Debug, Clone)]
struct NaBbr {
    bbr: Bbr<AdvisedBandwidth>,
    tracker: AdviceTracker,
    packet_size: Bytes,
}

impl NaBbr {
    fn new(arguments: &Arguments, context: &Context) -> Self {
        // As the network's clock does not see aggregated ACKs, there is nothing to compensate for.
        let config = Config { aggregation: false, pacing: true, cwnd_gain: CWND_GAIN };
        let bandwidth = AdvisedBandwidth { own: MaxFilter::new(Sampler::Min), advised: None };
        Self {
            bbr: Bbr::new(context, config, bandwidth),
            tracker: AdviceTracker::new(arguments),
            packet_size: context.packet,
        }
    }

    fn follow(&mut self, now: Time) {
        let advice = self.tracker.trusted(now);
        let min_rtt = self.bbr.min_rtt().unwrap_or(NOMINAL_RTT);
        // A dead link is tried once per round trip.
        let trickle = Rate::from_transfer(self.packet_size, min_rtt);
        self.bbr.bandwidth_mut().advised =
            advice.map(|advice| advice.bandwidth.mul_f64(advice.gain / f64::from(advice.flows)).max(trickle));
    }

    fn follows(&self) -> bool {
        self.bbr.bandwidth().advised.is_some()
    }
}

impl Controller for NaBbr {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.packet_size = sent.packet_size;
        // Its gains take BBR off the reported rate in every phase but the cruise, on average by nothing.
        self.tracker.on_sent(sent, false);
        self.bbr.on_sent(sent)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        self.tracker.on_ack(ack);
        self.follow(ack.now);
        self.bbr.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.tracker.on_loss(loss);
        self.bbr.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.bbr.on_event(now, event);
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback, _sent: Bytes) -> Verdict {
        let verdict = self.tracker.on_feedback(feedback);
        if verdict == Verdict::Taken {
            self.follow(now);
        }
        verdict
    }

    fn on_advice(&mut self, now: Time, advice: &Advice) {
        if self.tracker.on_advice(now, advice) {
            self.follow(now);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.tracker.next_timer()
    }

    fn on_timer(&mut self, now: Time) {
        self.tracker.on_timer(now);
        self.follow(now);
    }

    fn limits(&self) -> Limits {
        self.bbr.limits()
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.switch("following", self.follows());
        self.tracker.observe(observer);
        self.bbr.observe(observer);
    }
}
