//! Schemes that follow what the network says about the user's bottleneck: NATCP, NACubic and its like, TG.
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
//! | `request` | what is asked of the network |
//! | `fairness` | who counts the user's flows |
//! | `advice_tracker` | the advice in hand, and whether to trust it |
//! | `timeout` | whether there is advice |
//! | `background` | the base scheme behind limits that are not its own |
//! | `entries`, `nabbr` | the schemes by name |
//!
//! # Differences from the paper
//! - *The minimum RTT is the flow's own, where that is larger* or none is reported. A live base station's feed knew nothing of the
//!   uplink's delay and reported 2.5 ms for a path of 20 ms: a window of 5 kB, and 0.9 of 5.8 Mbit/s.
//! - *A packet per RTT leaves at least,* of two in flight: a bandwidth of zero, or in a wrong unit, stops nothing. The authors'
//!   code passes a pacing rate of 0, which their kernel takes for no pacing, and keeps the window of before.
//! - *64 bits.* Theirs overflow at 107 Mbit/s x 20 ms.
//! - *State per flow.* Their bandwidth is one global for all flows of a host.
//! - *Beta is there.* Theirs is always 1. By default the network counts the flows, since it sees them; `fairness=report`
//!   is the paper's direct way.
//! - *A time-out and a guard.* The paper names the first without a value and leaves the second open; the code has neither.

mod advice_tracker;
mod background;
mod entries;
mod fairness;
mod nabbr;
mod parameters;
mod request;
mod timeout;
mod window_law;

pub(super) use entries::{NACUBIC_IN_KERNEL, NATCP_IN_KERNEL, nacap, nacubic, natcp, tg};
pub(super) use nabbr::{IN_KERNEL as NABBR_IN_KERNEL, nabbr};

use advice_tracker::AdviceTracker;
use background::Background;
use cellcc_assist::Advice;
use cellcc_control::{
    Ack, Arguments, Controller, Event, Feedback, Limits, Loss, Observer, Sent, Tag, Verdict,
};
use cellcc_units::{Bytes, Time};
use window_law::{OwnRtt, WindowLaw};

/// What the limits of the advice do to those of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// They replace them.
    Replace,
    /// They bound them.
    Cap,
}

/// Which RTT the window is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delay {
    Advised,
    OwnMinimum,
    OwnSmoothed,
}

#[derive(Debug, Clone, Copy)]
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
    /// What the advice allows, while it is followed.
    advised: Option<Limits>,
    /// The guard's, in a probe: it exceeds the base as well as the advice.
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
            // The law takes the larger of this and the flow's own minimum.
            let min_rtt = match self.config.delay {
                Delay::Advised => advice.min_rtt,
                Delay::OwnMinimum => None,
                Delay::OwnSmoothed => self.own.smoothed,
            };
            self.config.law.limits(advice.bandwidth.mul_f64(advice.gain), min_rtt, advice.flows, &self.own)
        });
    }

    /// The base, and not the advice, is what limits the flow.
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
fn raised(base: Limits, gain: f64) -> Limits {
    Limits {
        window: base.window.mul_f64(gain),
        pacing_rate: base.pacing_rate.map(|rate| rate.mul_f64(gain)),
        ..base
    }
}

/// The base's limits, and no more than `cap`.
fn capped(base: Limits, cap: Limits) -> Limits {
    let window = base.window.min(cap.window);
    match (base.pacing_rate, cap.pacing_rate) {
        (Some(rate), Some(bound)) if rate < bound => Limits { window, ..base },
        _ => Limits { window, pacing_rate: cap.pacing_rate, send_quantum: cap.send_quantum, ..base },
    }
}

#[cfg(test)]
mod tests;
