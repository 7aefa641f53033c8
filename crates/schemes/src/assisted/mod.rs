//! Schemes that follow the network's reports on the user's bottleneck: NATCP, NACubic and its like, TG.
//!
//! 1. Once a period (50 ms) advice comes: the bottleneck's bandwidth BLBw, the minimum RTT, how many flows share it.
//! 2. NATCP: window = alpha x minRTT x BLBw / beta, paced at BLBw. Losses and RTTs change nothing.
//! 3. NACubic, and `nacap` over any scheme: its own window and rate, capped to those of NATCP.
//! 4. TG: as NATCP, but with the RTT that the sender itself measures.
//! 5. Without advice for six periods, or with advice that the guard has found wrong, the base scheme (CUBIC) goes on
//!    alone; it ran in the background all the time. Advice that is back, and trusted, is followed again.
//!
//! ```text
//!                    advice, trusted
//!   base alone ------------------------------> advice followed, base in the background
//!       ^                                                |
//!       +------------------------------------------------+
//!          none for six periods, or refuted by what the sender sees (cellcc_control::Guard)
//! ```
//!
//! Source: S. Abbasloo, Y. Xu, H. J. Chao, H. Shi, U. C. Kozat, Y. Ye, "Toward Optimal Performance with Network Assisted
//! TCP at Mobile Edge", HotEdge 2019, section 2.2.2; github.com/Soheil-ab/natcp, commit fe419ea.
//!
//! | file | concept |
//! |---|---|
//! | `window_law` | the window law and its floor |
//! | `request` | the request to the network |
//! | `fairness` | who counts the user's flows |
//! | `advice_tracker` | the advice in hand, and whether to trust it |
//! | `timeout` | whether there is advice |
//! | `background` | the base scheme behind limits that are not its own |
//! | `entries`, `nabbr` | the schemes by name |
//!
//! # Differences from the paper
//! - *The minimum RTT is the flow's own, where that is more than alpha times the reported one* or none is reported. A live base
//!   station's feed knew nothing of the uplink's delay and reported 2.5 ms for a path of 20 ms: a window of 5 kB, and 0.9 of 5.8
//!   Mbit/s. Every ten seconds such a flow drains its queue, since its own minimum may be a queue: behind one of 1 s, a flow on a path
//!   of 40 ms kept 1 s for as long as it ran.
//! - *A packet per RTT leaves at least,* of two in flight: a bandwidth of zero, or in a wrong unit, stops nothing. The authors'
//!   code passes a pacing rate of 0, which their kernel takes for no pacing, and keeps the window of before.
//! - *64 bits.* Theirs overflow at 107 Mbit/s x 20 ms.
//! - *State per flow.* Their bandwidth is one global for all flows of a host.
//! - *NACubic's cap bounds the data in flight*, and CUBIC's own window stays above it; their kernel lowers the window itself at
//!   each report, which costs 2 to 3 % of the throughput here (NAT-02, 07 and 23 stay misses).
//! - *Beta is there.* Theirs is always 1. By default the network counts the flows, since it sees them; `fairness=report`
//!   is the paper's direct way.
//! - *A time-out and a guard.* The paper names the first without a value and leaves the second open; the code has neither.

mod advice;
mod fairness;
mod nabbr;
mod parameters;
#[cfg(test)]
mod tests;

use crate::in_kernel::{CONTROL_WITH_FLAGS, CUBIC, InKernel, LINKS};
use crate::loss_based::{HYSTART, LossBased};
use advice::{AdviceTracker, OwnRtt, SHOWS, WindowLaw};
use cellcc_control::{
    Ack, Advice, Arguments, Context, Controller, Event, Feedback, Limits, Loss, Observer, Parameter,
    ParameterInfo, SchemeInfo, Sent, Tag, Verdict, growth::Cubic, kind,
};
use cellcc_units::{Bytes, Time};
use fairness::{Background, Fairness, receiver};
use parameters::{CORE, base, common, fallback, request};

pub(super) use nabbr::{IN_KERNEL as NABBR_IN_KERNEL, nabbr};

// The entries of the schemes that limit a base by the advice: `natcp`, `nacubic`, `nacap`, and the paper's baseline `tg`
// (throughput guidance: bandwidth from the network, RTT from the sender).

/// The parts of a scheme.
type Parts = (Mode, Delay, Box<dyn Controller>);

const PAPER: &str = "Abbasloo et al., HotEdge 2019";

const RTT: Parameter<kind::Choice<Delay>> = Parameter::new(
    "rtt",
    kind::Choice(&[("min", Delay::OwnMinimum), ("smoothed", Delay::OwnSmoothed)]),
    Delay::OwnSmoothed,
    "which of the sender's own RTTs makes the window",
    "paper, section 2.3: \"counts on RTT measurements at the server\"; its results come out with smoothed only",
);

pub(super) fn natcp() -> SchemeInfo {
    let summary =
        "network assistance: two BDPs of the bandwidth and the minimum RTT that the base station reports";
    let parameters = [common(Fairness::Network), vec![fallback().into()]].concat();
    let entry = entry("natcp", summary, PAPER, parameters, |arguments, context| {
        (Mode::Replace, Delay::Advised, arguments.get(&fallback()).build(context))
    });
    entry.in_linux(&[("guard", "off"), ("fallback", "cubic(hystart=linux,variant=linux)")])
}

pub(super) fn nacubic() -> SchemeInfo {
    let summary = "CUBIC under the window and the rate that the base station's advice allows";
    let parameters = [vec![HYSTART.into()], common(Fairness::Network)].concat();
    let entry = entry("nacubic", summary, PAPER, parameters, |arguments, context| {
        let cubic = LossBased::new(Cubic::new(context, arguments.get(&HYSTART)));
        (Mode::Cap, Delay::Advised, Box::new(cubic))
    });
    entry.in_linux(&[("hystart", "linux"), ("guard", "off")])
}

pub(super) fn nacap() -> SchemeInfo {
    let summary = "any scheme under the window and the rate that the base station's advice allows";
    let parameters = [vec![base().into()], common(Fairness::Network)].concat();
    entry("nacap", summary, PAPER, parameters, |arguments, context| {
        (Mode::Cap, Delay::Advised, arguments.get(&base()).build(context))
    })
}

pub(super) fn tg() -> SchemeInfo {
    let summary = "throughput guidance: bandwidth from the base station, RTT as the sender measures it";
    let source = "draft-flinck-mobile-throughput-guidance-04; Abbasloo et al., HotEdge 2019, section 2.3";
    // No mechanism for fairness (paper, section 3): the flows are not counted.
    let parameters = [vec![RTT.into()], common(Fairness::None), vec![fallback().into()]].concat();
    entry("tg", summary, source, parameters, |arguments, context| {
        (Mode::Replace, arguments.get(&RTT), arguments.get(&fallback()).build(context))
    })
}

/// NATCP in the kernel, over its CUBIC.
pub(super) const NATCP_IN_KERNEL: InKernel = InKernel {
    name: "cellcc_natcp",
    registry: "natcp",
    always: &[("fairness", "network"), ("fallback", "cubic")],
    since: CONTROL_WITH_FLAGS,
    calls: CUBIC,
    core: &CORE,
};

/// NACubic in the kernel.
pub(super) const NACUBIC_IN_KERNEL: InKernel = InKernel {
    name: "cellcc_nacubic",
    registry: "nacubic",
    always: &[("fairness", "network")],
    since: LINKS,
    calls: CUBIC,
    core: &CORE,
};

/// A scheme that differs from the others in the advice's effect on the base, in the RTT of the window, and in the base.
fn entry(
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    parameters: Vec<ParameterInfo>,
    parts: fn(&Arguments, &Context) -> Parts,
) -> SchemeInfo {
    SchemeInfo::new(name, summary, source, move |arguments, context| {
        let (mode, delay, base) = parts(arguments, context);
        let config = Config { law: WindowLaw::read(arguments, context), mode, delay };
        Box::new(Assisted::new(config, base, arguments))
    })
    .parameters(parameters)
    // The base is CUBIC, where it is not chosen.
    .shows(&SHOWS)
    .shows(&cellcc_control::growth::SHOWS)
    .with_receiver(receiver)
    .with_advice(request)
}

/// The effect of the advice's limits on those of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// They replace them.
    Replace,
    /// They bound them.
    Cap,
}

/// Source of the window's RTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delay {
    Advised,
    OwnMinimum,
    OwnSmoothed,
}

#[derive(Debug, Clone)]
struct Config {
    law: WindowLaw,
    mode: Mode,
    delay: Delay,
}

/// A flow with network assistance.
struct Assisted {
    config: Config,
    base: Background,
    tracker: AdviceTracker,
    own: OwnRtt,
    /// The limits of the advice, while it is followed.
    advised: Option<Limits>,
    /// The guard's gain during a probe, which exceeds both the base and the advice.
    gain: f64,
}

impl Assisted {
    fn new(config: Config, base: Box<dyn Controller>, arguments: &Arguments) -> Self {
        Self {
            config,
            base: Background::new(base),
            tracker: AdviceTracker::new(arguments),
            own: OwnRtt::default(),
            advised: None,
            gain: 1.0,
        }
    }

    /// Makes limits of the advice, where there is any to follow.
    fn follow(&mut self, now: Time) {
        let trusted = self.tracker.trusted(now);
        self.gain = trusted.map_or(1.0, |advice| advice.gain.max(1.0));
        self.base.exceeds = self.gain > 1.0;
        self.advised = trusted.map(|advice| {
            let min_rtt = match self.config.delay {
                Delay::Advised => advice.min_rtt,
                Delay::OwnMinimum => None,
                Delay::OwnSmoothed => self.own.smoothed,
            };
            let bandwidth = advice.bandwidth.mul_f64(advice.gain);
            self.config.law.limits(now, bandwidth, min_rtt, advice.flows, &self.own)
        });
    }

    /// The base, and not the advice, limits the flow.
    fn is_limited_by_base(&self) -> bool {
        self.config.mode == Mode::Cap
            && self
                .advised
                .is_some_and(|advised| self.base.limits().window.mul_f64(self.gain) < advised.window)
    }
}

impl Controller for Assisted {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.config.law.packet_size = sent.packet_size;
        self.tracker.on_sent(sent, self.is_limited_by_base());
        self.base.on_sent(sent)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.config.law.packet_size = ack.packet_size;
        self.own = OwnRtt { min: Some(ack.rtt.min()), smoothed: Some(ack.rtt.smoothed()) };
        let follows = self.advised.is_some();
        self.base.on_ack(ack, !follows);
        self.tracker.on_ack(ack);
        if follows {
            self.follow(ack.now);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.tracker.on_loss(loss);
        self.base.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.base.on_event(now, event);
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
        match (self.tracker.next_timer(), self.base.next_timer()) {
            (Some(own), Some(base)) => Some(own.min(base)),
            (own, base) => own.or(base),
        }
    }

    fn on_timer(&mut self, now: Time) {
        self.base.on_timer(now);
        self.tracker.on_timer(now);
        self.follow(now);
    }

    fn limits(&self) -> Limits {
        let base = self.base.limits();
        match (self.advised, self.config.mode) {
            (None, _) => base,
            (Some(advised), Mode::Replace) => advised,
            (Some(advised), Mode::Cap) => capped(raised(base, self.gain), advised),
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.switch("following", self.advised.is_some());
        self.tracker.observe(observer);
        self.base.observe(observer);
    }
}

/// The base's limits, this many times.
fn raised(mut base: Limits, gain: f64) -> Limits {
    base.window = base.window.mul_f64(gain);
    base.pacing_rate = base.pacing_rate.map(|rate| rate.mul_f64(gain));
    base
}

/// The base's limits, and no more than `cap`.
fn capped(mut base: Limits, cap: Limits) -> Limits {
    base.window = base.window.min(cap.window);
    let is_slower = base.pacing_rate.zip(cap.pacing_rate).is_some_and(|(rate, bound)| rate < bound);
    if !is_slower {
        (base.pacing_rate, base.send_quantum) = (cap.pacing_rate, cap.send_quantum);
    }
    base
}
