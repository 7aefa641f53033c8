//! Vegas: as many packets in the queue as it takes to notice it, and no more.
//!
//! Its mechanism, its source, and the differences from the paper and from Linux: [`cellcc_fixed::vegas`], which also runs in the
//! kernel. This file supplies the input of the kernel's TCP: Reno's law, and when a recovery is left.

use crate::in_kernel::{InKernel, KernelCore, LINKS, MapSettings, RENO};
use crate::kernel_view::{KernelView, millis, real, with_window};
use cellcc_control::{
    Ack, Arguments, Assignment, Context, Controller, Event, Limits, Loss, Observer, Parameter, SchemeInfo,
    Sent, ShownValue, Tag,
    growth::{Growth, NewReno},
    kind,
};
use cellcc_fixed::vegas::{Config, Vegas as Core, VegasStep};
use cellcc_fixed::{Law, Packets};
use cellcc_units::{Bytes, Time};

/// The window grows below.
const ALPHA: Parameter<kind::Packets> = Parameter::new(
    "alpha",
    kind::Packets(1, 100_000),
    2,
    "below so many packets in the queue the window grows",
    "Linux tcp_vegas.c",
);

/// The window shrinks above.
const BETA: Parameter<kind::Packets> = Parameter::new(
    "beta",
    kind::Packets(1, 100_000),
    4,
    "above so many packets in the queue the window shrinks; not below alpha",
    "Linux tcp_vegas.c",
);

/// Slow start ends above.
const GAMMA: Parameter<kind::Packets> = Parameter::new(
    "gamma",
    kind::Packets(1, 100_000),
    1,
    "slow start ends above so many packets in the queue",
    "Linux tcp_vegas.c",
);

/// The values that it exposes.
const SHOWS: [ShownValue; 2] = [
    ShownValue::number("base_rtt_ms", "the smallest RTT"),
    ShownValue::number("diff_pkt", "packets in the queue, judged by the RTT"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "vegas",
        "keeps two to four packets in the queue, judged by the RTT",
        "Brakmo and Peterson, IEEE JSAC 13(8), 1995; Linux tcp_vegas.c",
        |arguments, context| Box::new(Vegas::new(context, config(arguments))),
    )
    .parameters(vec![ALPHA.into(), BETA.into(), GAMMA.into()])
    .shows(&SHOWS)
    .shows(&cellcc_control::growth::SHOWS[..1])
}

/// In the kernel, over its Reno.
pub(crate) const IN_KERNEL: InKernel = InKernel {
    name: "cellcc_vegas",
    registry: "vegas",
    always: &[],
    since: LINKS,
    calls: RENO,
    core: &const { KernelCore::of::<VegasStep, Config>(3, "vegas") },
};

/// The core's configuration.
fn config(arguments: &Arguments) -> Config {
    let [alpha, beta, gamma] =
        [ALPHA, BETA, GAMMA].map(|threshold| Packets(arguments.get(&threshold) as u32));
    Config { alpha, beta: beta.max(alpha), gamma }
}

impl MapSettings for Config {
    fn set(arguments: &Arguments) -> Option<Self> {
        Some(config(arguments))
    }

    fn arguments(&self) -> Vec<Assignment> {
        [(ALPHA, self.alpha), (BETA, self.beta), (GAMMA, self.gamma)]
            .map(|(threshold, packets)| threshold.with(&packets.0.into()))
            .into()
    }
}

struct Vegas {
    packet_size: Bytes,
    config: Config,
    reno: NewReno,
    view: KernelView,
    core: Core,
}

impl Vegas {
    fn new(context: &Context, config: Config) -> Self {
        Self {
            packet_size: context.packet,
            config,
            reno: NewReno::new(context),
            view: KernelView::default(),
            core: Core::START,
        }
    }
}

impl Controller for Vegas {
    fn departures_change_limits(&self) -> bool {
        false
    }

    fn on_sent(&mut self, _sent: &Sent) -> Tag {
        self.view.tag()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        let seen = self.view.ack(ack);
        self.core.on_sample(&seen);
        if ack.in_recovery {
            return;
        }
        let (core, config) = (&mut self.core, &self.config);
        let law = with_window(&mut self.reno, self.packet_size, |window| core.on_ack(config, &seen, window));
        if law == Law::Grows {
            self.reno.on_ack(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.reno.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.reno.on_event(now, event);
        match event {
            Event::RecoveryLeft | Event::SpuriousLoss => self.core.begin_round(self.view.delivered()),
            Event::IdleRestart => self.core.on_idle_restart(self.view.delivered()),
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.reno.window())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.reno.observe(observer);
        if let Some(base) = self.core.base_rtt() {
            observer.value("base_rtt", "ms", millis(base));
        }
        if let Some(diff) = self.core.diff() {
            observer.value("diff", "pkt", real(diff));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Path;
    use cellcc_units::{Rate, Span};

    /// 100 packets per RTT.
    fn path() -> Path {
        Path::new("vegas", Rate::from_mbit_per_sec(12.0), Span::from_millis(99))
    }

    #[test]
    fn two_to_four_packets_wait_in_the_queue() {
        let mut path = path();
        // Slow start overshoots, since it doubles per RTT and sees the queue an RTT late; then one packet per RTT.
        path.run_for(Span::from_secs(90));
        for _ in 0..20 {
            path.run_for(Span::from_millis(73));
            let waiting = path.inflight() - 100.0;
            assert!((2.0..=4.0).contains(&waiting), "{waiting} packets more than the path holds");
        }
    }

    #[test]
    fn a_queue_ends_slow_start_without_a_loss() {
        let mut path = path();
        path.run_until(|path| path.shows("ssthresh").is_some());
        let left_at = path.window();
        assert!((100.0..400.0).contains(&left_at), "{left_at}");
        path.run_for(Span::from_secs(10));
        assert!(path.window() < left_at - 20.0, "one packet less per RTT from then on");
    }

    #[test]
    fn a_loss_is_answered_as_reno_does() {
        let mut path = path();
        path.run_for(Span::from_secs(90));
        let window = path.window();
        path.drop_next(1);
        path.run_until(|path| path.window() < window - 10.0);
        assert!((path.window() - window / 2.0).abs() <= 1.0);
        path.run_for(Span::from_secs(30));
        assert!((102.0..=104.0).contains(&path.inflight()));
    }
}
