//! C2TCP: CUBIC that grows faster while the RTT is below a setpoint, and restarts from one packet when it stays above.
//!
//! Its mechanism, its source, and the differences from the authors' programs: [`cellcc_fixed::c2tcp`], which also runs in the
//! kernel. This file supplies the input of the kernel's TCP: CUBIC, and whether the flow is in recovery.
//!
//! **Differences from the authors' programs.**
//! - A window that the application does not use does not grow (RFC 9002, section 7.8); the extra growth there does.
//! - The CUBIC below is that of `cubic(variant=linux)`. Linux's own slow start ends by HyStart; here HyStart++ is a switch.

use super::loss_based::HYSTART;
use crate::in_kernel::{CUBIC, InKernel, KernelCore, LINKS, MapSettings};
use crate::kernel_view::{KernelView, micros, millis, packets, q16, real, target};
use cellcc_control::{
    Ack, Arguments, Assignment, Context, Controller, Event, Limits, Loss, Observer, Parameter, Preset,
    SchemeInfo, Sent, ShownValue, Tag,
    growth::{Cubic, CubicVariant, Growth},
    kind::{self, TimeOrMultiple},
};
use cellcc_fixed::c2tcp::{C2tcp as Core, C2tcpSettings, C2tcpStep, Config, Profile};
use cellcc_fixed::{Micros, Q16};
use cellcc_units::{Bytes, Span, Time};

/// c2tcp `server-standalone.cc`, `TARGET_RATIO_MIN`.
const MIN_ALPHA: f64 = 1.0;
/// c2tcp `server-standalone.cc`, `TARGET_RATIO_MAX`.
const MAX_ALPHA: f64 = 10.0;

/// The version.
const PROFILE: Parameter<kind::Choice<Profile>> = Parameter::new(
    "profile",
    kind::Choice(&[("v2", Profile::V2), ("v1", Profile::V1)]),
    Profile::V2,
    "v2: a setpoint of alpha minimum RTTs; v1: the target is the setpoint",
    "v2: JSAC 2019; v1: IFIP Networking 2018",
);

/// The mean RTT that the tuner aims at.
const TARGET: Parameter<kind::TimeOrMultipleFrom> = Parameter::new(
    "target",
    kind::TimeOrMultipleFrom(Span::from_millis(1)),
    TimeOrMultiple::times(2.0),
    "the mean RTT that the tuner aims at; in v1 the setpoint",
    "c2tcp server-standalone.cc, where no target is given; Reminis' authors ran it with 60ms; v1: 100ms",
);

/// Minimum RTTs in the setpoint at first.
const ALPHA: Parameter<kind::Number> = Parameter::new(
    "alpha",
    kind::Number(MIN_ALPHA, MAX_ALPHA),
    1.5,
    "v2: minimum RTTs in the setpoint, and in the interval, at first",
    "c2tcp server-standalone.cc, target_ratio",
);

/// Adapts alpha.
const TUNER: Parameter<kind::Switch> = Parameter::new(
    "tuner",
    kind::Switch,
    true,
    "v2: moves alpha every 500 ms; off leaves it as it is",
    "c2tcp server-standalone.cc",
);

/// The values that it exposes.
const SHOWS: [ShownValue; 4] = [
    ShownValue::number("min_rtt_ms", "the minimum RTT"),
    ShownValue::number("setpoint_ms", "the RTT above which the window restarts"),
    ShownValue::number("alpha", "minimum RTTs in the setpoint, as the tuner has them"),
    ShownValue::number("cuts", "cuts since the RTT rose above the setpoint"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "c2tcp",
        "CUBIC that restarts from one packet when the RTT stays above a setpoint",
        "Abbasloo et al., IFIP Networking 2018 and JSAC 37(4), 2019",
        |arguments, context| Box::new(C2tcp::new(arguments, context)),
    )
    .parameters(vec![PROFILE.into(), TARGET.into(), ALPHA.into(), TUNER.into(), HYSTART.into()])
    .presets(vec![
        Preset {
            parameter: PROFILE.name,
            name: "v2".into(),
            summary: "the setpoint follows the minimum RTT and a tuner: every default".into(),
            source: "Abbasloo, Xu and Chao, JSAC 37(4), 2019".into(),
            sets: "".into(),
        },
        Preset {
            parameter: PROFILE.name,
            name: "v1".into(),
            summary: "a fixed setpoint".into(),
            source: "Abbasloo, Li, Xu and Chao, IFIP Networking 2018".into(),
            sets: "target=100ms".into(),
        },
    ])
    .shows(&SHOWS)
    .shows(&cellcc_control::growth::SHOWS)
    .in_linux(&[("hystart", "linux")])
}

/// In the kernel, over its CUBIC.
pub(crate) const IN_KERNEL: InKernel = InKernel {
    name: "cellcc_c2tcp",
    registry: "c2tcp",
    always: &[],
    since: LINKS,
    calls: CUBIC,
    core: &const { KernelCore::of::<C2tcpStep, C2tcpSettings>(5, "c2tcp") },
};

/// The core's configuration.
fn config(arguments: &Arguments) -> Config {
    let (target, multiple) = match arguments.get(&TARGET) {
        TimeOrMultiple::Time(time) => (micros(time), Q16::ZERO),
        TimeOrMultiple::Multiple(multiple) => (Micros::ZERO, q16(multiple.get())),
    };
    Config {
        profile: arguments.get(&PROFILE),
        target,
        multiple,
        alpha: q16(arguments.get(&ALPHA)),
        tuner: arguments.get(&TUNER),
    }
}

impl MapSettings for C2tcpSettings {
    fn set(arguments: &Arguments) -> Option<Self> {
        Some(config(arguments).into())
    }

    fn arguments(&self) -> Vec<Assignment> {
        let config = self.config();
        vec![
            PROFILE.with(&config.profile),
            TARGET.with(&target(config.target, config.multiple)),
            ALPHA.with(&real(config.alpha)),
            TUNER.with(&config.tuner),
        ]
    }
}

struct C2tcp {
    cubic: Cubic,
    packet_size: Bytes,
    config: Config,
    view: KernelView,
    core: Core,
}

impl C2tcp {
    fn new(arguments: &Arguments, context: &Context) -> Self {
        Self {
            cubic: Cubic::new(context, arguments.get(&HYSTART)).with_variant(CubicVariant::Linux),
            packet_size: context.packet,
            config: config(arguments),
            view: KernelView::default(),
            core: Core::START,
        }
    }

    /// CUBIC's answer to a mark, which nothing gives back, and one packet in place of its window.
    fn cut(&mut self, ack: &Ack<'_>) {
        self.cubic.on_event(ack.now, Event::CongestionMarked);
        if !ack.in_recovery {
            self.cubic.set_window(self.packet_size);
        }
    }
}

impl Controller for C2tcp {
    fn departures_change_limits(&self) -> bool {
        false
    }

    fn on_sent(&mut self, _sent: &Sent) -> Tag {
        self.view.tag()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        self.cubic.on_ack(ack);
        let seen = self.view.ack(ack);
        let window = self.cubic.window();
        let cwnd = packets(window, self.packet_size);
        let decision = self.core.on_ack(&self.config, &seen, cwnd, ack.in_recovery);
        if decision.growth.0 > 0 {
            self.cubic.set_window(window + self.packet_size * u64::from(decision.growth.0));
        }
        if decision.cuts {
            self.cut(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.packet_size = loss.packet_size;
        self.cubic.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.cubic.on_event(now, event);
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.cubic.window())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.cubic.observe(observer);
        if let Some(min_rtt) = self.core.min_rtt() {
            observer.value("min_rtt", "ms", millis(min_rtt));
            observer.value("setpoint", "ms", millis(self.core.setpoint(&self.config)));
        }
        if self.config.profile == Profile::V2 {
            observer.value("alpha", "", real(self.core.alpha().unwrap_or(self.config.alpha)));
        }
        observer.value("cuts", "", f64::from(self.core.cuts()));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{CONTEXT, Path};
    use cellcc_control::Flow;
    use cellcc_units::{Rate, Span, Time};

    const MS: Span = Span::from_millis(1);

    fn wide_path(scheme: &str, rtt: Span) -> Path {
        Path::new(scheme, Rate::from_mbit_per_sec(12_000.0), rtt)
    }

    #[test]
    fn below_the_setpoint_the_window_grows_by_a_packet_per_rtt_for_each_time_that_the_rtt_fits_into_it() {
        let rtt = MS * 5;
        for (target_ms, per_round) in [(6.0, 1.0), (11.0, 2.0), (26.0, 5.0)] {
            let mut path = wide_path(&format!("c2tcp(profile=v1,target={target_ms}ms)"), rtt);
            path.run_until(|path| path.window() >= 400.0);
            path.drop_next(1);
            path.run_until(|path| path.shows("ssthresh").is_some());
            path.run_for(rtt * 2);
            let window = path.window();
            path.run_for(rtt * 50);
            // CUBIC alone grows by half a packet at this RTT, towards a window that this one is ahead of.
            let grown = (path.window() - window) / 50.0;
            assert!((grown - per_round).abs() < 0.1, "{grown} packets a round at {target_ms} ms");
        }
    }

    /// Acknowledgements of a packet each, one per millisecond, with RTTs set by hand.
    struct Acks {
        flow: Flow,
        now: Time,
    }

    impl Acks {
        fn new(scheme: &str) -> Self {
            let controller = crate::registry().parse(scheme).expect("known").build(&CONTEXT);
            Self { flow: Flow::new(controller, CONTEXT.packet), now: Time::ZERO }
        }

        /// Milliseconds after which the window was one packet, `count` of them.
        fn cuts(&mut self, count: u64, rtt: Span) -> Vec<u64> {
            let mut cuts = Vec::new();
            for elapsed in 1..=count {
                self.now += MS;
                let packet = self.flow.on_sent(self.now, CONTEXT.packet);
                self.flow.mark_window_limited();
                self.flow.on_ack(self.now, &[packet], Some(rtt), None);
                if self.flow.limits().window == CONTEXT.packet {
                    cuts.push(elapsed);
                }
            }
            cuts
        }
    }

    #[test]
    fn an_rtt_above_the_setpoint_cuts_the_window_after_an_interval_and_then_as_codel_drops() {
        let mut acks = Acks::new("c2tcp(alpha=2,tuner=off)");
        assert_eq!(acks.cuts(1000, MS * 40), [0; 0]);
        assert_eq!(acks.cuts(1000, MS * 80), [0; 0], "the setpoint itself is good");
        // 80 ms after the first one above it, and then after 80, 80/sqrt(2) and 80/sqrt(3), each time one ACK later.
        assert_eq!(acks.cuts(290, MS * 81), [82, 163, 220, 267]);
        assert_eq!(acks.cuts(1, MS * 80), [0; 0]);
        assert_eq!(acks.cuts(100, MS * 81), [82], "it counts from one again");
    }

    #[test]
    fn a_cut_leaves_cubics_ssthresh_and_slow_start_leads_back_to_it() {
        let mut path = wide_path("c2tcp(tuner=off)", MS * 100);
        path.run_until(|path| path.window() >= 400.0);
        let before = path.window();
        path.set_rtt(MS * 200);
        path.run_until(|path| path.window() < before);
        let ssthresh = path.shows("ssthresh").expect("a cut sets it");
        let w_max = path.shows("w_max").expect("a cut sets it");
        assert!((ssthresh / w_max - 0.7).abs() < 0.01 && w_max >= before, "{ssthresh} of {w_max}");
        path.set_rtt(MS * 100);
        path.run_for(MS * 1500);
        assert!(path.window() > 0.7 * ssthresh, "{} of {ssthresh}", path.window());
    }

    #[test]
    fn in_v1_the_setpoint_is_the_target_whatever_the_minimum_rtt() {
        let mut acks = Acks::new("c2tcp(profile=v1)");
        assert_eq!(acks.cuts(1000, MS * 100), [0; 0]);
        assert_eq!(acks.cuts(150, MS * 101), [102]);
    }

    #[test]
    fn the_tuner_moves_alpha_by_the_distance_of_the_mean_rtt_from_the_target() {
        let mut acks = Acks::new("c2tcp(target=60ms)");
        acks.cuts(500, MS * 40);
        assert_eq!(
            acks.cuts(100, MS * 68),
            [0; 0],
            "1.5 by half of 20/40 more is 1.875: a setpoint of 75 ms"
        );
    }
}
