//! ROCCET: CUBIC that also answers delay, for queues that no other sender fills (RLC in LTE and 5G).
//!
//! How it works, its source, and where that leaves a choice: [`cellcc_fixed::roccet`], which also runs in the kernel. This file
//! supplies the input of the kernel's TCP: Linux's CUBIC, whose constants the patch has, and the pacing.
//!
//! **Differences.** The window is in whole packets where the core sets it. Persistent congestion (RFC 9002) is the time-out.

use crate::in_kernel::{CUBIC, InKernel, KernelCore, LINKS, MapSettings};
use crate::kernel_view::{KernelView, instant, micros, real, with_window};
use cellcc_control::{
    Ack, Arguments, Assignment, Context, Controller, Event, Limits, Loss, Observer, SchemeInfo, Sent,
    ShownValue, Tag,
    growth::{Cubic, CubicVariant, Growth, SlowStart},
};
use cellcc_fixed::roccet::step::{RoccetSettings, RoccetStep};
use cellcc_fixed::roccet::{Law, Roccet as Core, Sender};
use cellcc_fixed::{Micros, Packets, Window};
use cellcc_units::{Rate, Span, Time};

const STATES: [&str; 4] = ["launch", "orbiter", "drain", "probe"];
const SHOWS: [ShownValue; 2] = [
    ShownValue::state("state", "its phase", &STATES),
    ShownValue::number("sr_rtt_percent", "srRTT: the smoothed RTT, in per cent above the least"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "roccet",
        "CUBIC plus a delay-based cutback, for per-user queues in cellular networks",
        "patches for Linux of April 2026, by a description",
        |_, context| Box::new(Roccet::new(context)),
    )
    .shows(&SHOWS)
    .shows(&cellcc_control::growth::SHOWS)
}

/// In the kernel, over its CUBIC.
pub(crate) const IN_KERNEL: InKernel = InKernel {
    name: "cellcc_roccet",
    registry: "roccet",
    always: &[],
    since: LINKS,
    calls: CUBIC,
    core: &const { KernelCore::of::<RoccetStep, RoccetSettings>(7, "roccet") },
};

impl MapSettings for RoccetSettings {
    fn set(_: &Arguments) -> Option<Self> {
        Some(Self { reserved: 0 })
    }

    fn arguments(&self) -> Vec<Assignment> {
        Vec::new()
    }
}

struct Roccet {
    context: Context,
    law: Cubic,
    view: KernelView,
    core: Core,
    /// Packets.
    sent: u32,
    /// Smoothed RTT.
    srtt: Span,
}

impl Roccet {
    fn new(context: &Context) -> Self {
        Self {
            context: *context,
            law: law(context),
            view: KernelView::default(),
            core: Core::START,
            sent: 0,
            srtt: Span::ZERO,
        }
    }

    /// Has the core decide of CUBIC's window.
    fn decide(&mut self, decide: impl FnOnce(&mut Core, &mut Window) -> Law) -> Law {
        let law = with_window(&mut self.law, self.context.packet, |window| decide(&mut self.core, window));
        if law == Law::Begins {
            let window = self.law.window();
            self.law = self::law(&self.context);
            self.law.set_window(window);
        }
        law
    }

    fn congested(&mut self, now: Time) {
        self.law.on_event(now, Event::CongestionMarked);
    }
}

fn law(context: &Context) -> Cubic {
    Cubic::new(context, SlowStart::UntilLoss).with_variant(CubicVariant::Linux)
}

impl Controller for Roccet {
    fn on_sent(&mut self, _sent: &Sent) -> Tag {
        self.sent = self.sent.wrapping_add(1);
        self.view.tag()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.context.packet = ack.packet_size;
        self.srtt = ack.rtt.smoothed();
        let seen = self.view.ack(ack);
        let sender =
            Sender { srtt: micros(self.srtt), sent: Packets(self.sent), in_recovery: ack.in_recovery };
        match self.decide(|core, window| core.on_ack(&seen, &sender, window)) {
            Law::Grows => self.law.on_ack(ack),
            Law::Waits => {
                let mut unused = *ack;
                unused.cwnd_limited = false;
                self.law.on_ack(&unused);
            }
            Law::Cuts => self.congested(ack.now),
            Law::Rests | Law::Begins => {}
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.context.packet = loss.packet_size;
        if loss.persistent {
            self.decide(Core::on_timeout);
        } else if !loss.new_episode || self.decide(Core::on_loss) == Law::Cuts {
            self.law.on_loss(loss);
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::IdleRestart => {
                self.decide(Core::on_idle_restart);
            }
            Event::CongestionMarked => {
                self.core.on_mark(instant(now));
                self.congested(now);
            }
            _ => self.law.on_event(now, event),
        }
    }

    fn limits(&self) -> Limits {
        // A window of smaller packets, from before the path's MTU grew, may hold none of the new ones.
        let most = u64::from(self.core.most().0).max(1);
        let window = self.law.window().min(self.context.packet * most);
        if self.core.last_rtt() == Micros::ZERO {
            return Limits::window_only(window);
        }
        // The smoothed RTT remembers an outage for as long as pacing by it lets no new sample come.
        let rtt = self.srtt.min(Span::from_micros(self.core.last_rtt().0.into()));
        let gain = if window < self.law.ssthresh().mul_f64(0.5) { 2.0 } else { 1.0 };
        let rate = Rate::from_transfer(window, rtt).mul_f64(gain).max(Rate::from_bytes_per_sec(1));
        Limits::paced(window, rate, self.context.packet * 2)
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.state("state", &STATES, self.core.phase() as usize);
        observer.value("sr_rtt", "percent", 100.0 * real(self.core.sr_rtt()));
        self.law.observe(observer);
    }
}

#[cfg(test)]
mod tests;
