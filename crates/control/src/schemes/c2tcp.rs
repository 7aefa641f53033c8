//! C2TCP: CUBIC that grows faster while the RTT is below a setpoint, and begins anew from one packet when it stays above.
//!
//! 1. The setpoint is `alpha` times the minimum RTT; so is the interval.
//! 2. An RTT up to the setpoint adds `setpoint/rtt` packets per RTT to the growth of CUBIC.
//! 3. RTTs above it for a whole interval set ssthresh as CUBIC does for a loss, and the window to one packet.
//! 4. While they stay above, that happens again, the n-th time `interval/sqrt(n)` later, as CoDel drops.
//! 5. A tuner compares the mean RTT of half a second with the target, and moves `alpha` by their distance.
//!
//! ```text
//!          rtt > setpoint                    for an interval
//!  good -------------------> above setpoint ----------------> cut: window = 1 packet
//!   ^ ^                           |          <---------------      (next after interval/sqrt(n))
//!   | |      rtt <= setpoint      |                             |
//!   | +---------------------------+                             |
//!   +-----------------------------------------------------------+
//!                             rtt <= setpoint
//! ```
//!
//! Source: Abbasloo, Li, Xu and Chao, C2TCP, IFIP Networking 2018 (v1); Abbasloo, Xu and Chao, JSAC 37(4), 2019 (v2); the
//! authors' kernels and tuner (Soheil-ab/C2TCP-IFIP and Soheil-ab/c2tcp on GitHub).
//!
//! **Differences from the authors' programs.**
//! - Times are exact. The kernels count whole milliseconds, 5 to 10 % of a short RTT, and the tuner `alpha` in hundredths.
//! - A window that the application does not use does not grow (RFC 9002, section 7.8); the extra growth there does.
//! - In loss recovery the window does not grow, and a cut leaves ssthresh in place of one packet. The same comes about
//!   in Linux, where proportional rate reduction has the window until recovery ends.
//! - The tuner's period ends with the first acknowledgement after it. Without one nothing changes, as there.
//! - A target in multiples of the minimum RTT follows it. The tuner there computes it once, half a second after the start.
//! - The CUBIC below is that of `cubic(variant=linux)`. Linux' own slow start ends by HyStart; here HyStart++ is a switch.
//!
//! **The profile `v1`** has a fixed setpoint (`target`, 100 ms), an interval of 100 ms and no tuner.

use super::loss_based::{HYSTART, hystart_mode};
use crate::contract::{Ack, Context, Controller, Event, Limits, Loss, Observer};
use crate::growth::{Cubic, CubicVariant, Growth};
use crate::info::{Needs, Preset, SchemeInfo};
use crate::kind::{self, TimeOrMultiple};
use crate::parameter::{Arguments, Parameter};
use cellcc_units::{Bytes, Span, Time};
use std::sync::Arc;

/// C2TCP-IFIP, the sysctl for it: the interval of v1, which is CoDel's.
const V1_INTERVAL: Span = Span::from_millis(100);
/// c2tcp `run-sample.sh`: the tuner's period.
const TUNING_PERIOD: Span = Span::from_millis(500);
/// c2tcp `server-standalone.cc`, `TARGET_RATIO_MIN`.
const MIN_ALPHA: f64 = 1.0;
/// c2tcp `server-standalone.cc`, `TARGET_RATIO_MAX`.
const MAX_ALPHA: f64 = 10.0;

const PROFILE: Parameter<kind::Choice<Profile>> = Parameter::new(
    "profile",
    kind::Choice(&[("v2", Profile::V2), ("v1", Profile::V1)]),
    Profile::V2,
    "v2: a setpoint of alpha minimum RTTs; v1: the target is the setpoint",
    "v2: JSAC 2019; v1: IFIP Networking 2018",
);

const TARGET: Parameter<kind::TimeOrMultipleFrom> = Parameter::new(
    "target",
    kind::TimeOrMultipleFrom(Span::from_millis(1)),
    TimeOrMultiple::times(2.0),
    "the mean RTT that the tuner aims at; in v1 the setpoint",
    "c2tcp server-standalone.cc, where no target is given; Reminis' authors ran it with 60ms; v1: 100ms",
);

const ALPHA: Parameter<kind::Number> = Parameter::new(
    "alpha",
    kind::Number(MIN_ALPHA, MAX_ALPHA),
    1.5,
    "v2: minimum RTTs in the setpoint, and in the interval, at first",
    "c2tcp server-standalone.cc, target_ratio",
);

const TUNER: Parameter<kind::Switch> = Parameter::new(
    "tuner",
    kind::Switch,
    true,
    "v2: moves alpha every 500 ms; off leaves it as it is",
    "c2tcp server-standalone.cc",
);

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "c2tcp".into(),
        summary: "CUBIC that begins anew from one packet when the RTT stays above a setpoint".into(),
        source: "Abbasloo et al., IFIP Networking 2018 and JSAC 37(4), 2019".into(),
        parameters: vec![PROFILE.into(), TARGET.into(), ALPHA.into(), TUNER.into(), HYSTART.into()],
        presets: vec![
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
        ],
        needs: Needs::NOTHING,
        build: Arc::new(|arguments, context| Box::new(C2tcp::new(arguments, context))),
    }
}

/// Which version of the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Profile {
    V1,
    V2,
}

struct C2tcp {
    cubic: Cubic,
    packet_size: Bytes,
    setpoint: Setpoint,
    min_rtt: Option<Span>,
    condition: Condition,
    /// Packets of extra growth, times the window: a whole packet is due once this is a window (Linux `snd_cwnd_cnt`).
    growth_due: f64,
}

/// What the last RTT sample was.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Condition {
    /// Up to the setpoint.
    Good,
    /// Above it, as all since the first that was. `count` is CoDel's: 1 until the first cut.
    Above { next_cut: Time, count: u32 },
}

impl C2tcp {
    fn new(arguments: &Arguments, context: &Context) -> Self {
        Self {
            cubic: Cubic::new(context, hystart_mode(arguments)).with_variant(CubicVariant::Linux),
            packet_size: context.packet,
            setpoint: Setpoint::read(arguments),
            min_rtt: None,
            condition: Condition::Good,
            growth_due: 0.0,
        }
    }

    fn on_rtt(&mut self, ack: &Ack<'_>, sample: Span) {
        let min_rtt = self.min_rtt.map_or(sample, |min| min.min(sample));
        self.min_rtt = Some(min_rtt);
        self.setpoint.on_rtt(ack.now, sample, min_rtt);
        let setpoint = self.setpoint.get(min_rtt);
        if sample <= setpoint {
            self.condition = Condition::Good;
            if ack.cwnd_limited && !ack.in_recovery {
                self.grow((setpoint.as_secs_f64() / sample.as_secs_f64()).floor());
            }
            return;
        }
        let interval = self.setpoint.interval(min_rtt);
        match self.condition {
            Condition::Good => {
                self.condition = Condition::Above { next_cut: ack.now + interval, count: 1 };
            }
            Condition::Above { next_cut, count } if ack.now > next_cut => {
                let next_cut = ack.now + interval.mul_f64(1.0 / f64::from(count).sqrt());
                self.condition = Condition::Above { next_cut, count: count.saturating_add(1) };
                self.cut(ack);
            }
            Condition::Above { .. } => {}
        }
    }

    /// `packets` more per window of acknowledgements, in whole packets.
    fn grow(&mut self, packets: f64) {
        let window = self.cubic.window();
        let window_packets = window.in_packets(self.packet_size).max(1.0);
        self.growth_due += packets;
        if self.growth_due >= window_packets {
            let whole = (self.growth_due / window_packets).floor();
            self.growth_due -= whole * window_packets;
            self.cubic.set_window(window + self.packet_size * whole as u64);
        }
    }

    /// CUBIC's answer to a mark, which nothing gives back, and one packet in place of its window.
    fn cut(&mut self, ack: &Ack<'_>) {
        self.cubic.on_event(ack.now, Event::CongestionMarked);
        if !ack.in_recovery {
            self.cubic.set_window(self.packet_size);
        }
        self.growth_due = 0.0;
    }
}

impl Controller for C2tcp {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        self.cubic.on_ack(ack);
        if let Some(sample) = ack.rtt_sample {
            self.on_rtt(ack, sample);
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
        if let Some(min_rtt) = self.min_rtt {
            observer.value("min_rtt", "ms", min_rtt.as_millis_f64());
            observer.value("setpoint", "ms", self.setpoint.get(min_rtt).as_millis_f64());
        }
        if let Setpoint::Tuned { alpha, .. } = self.setpoint {
            observer.value("alpha", "", alpha);
        }
        let cuts = match self.condition {
            Condition::Good => 0,
            Condition::Above { count, .. } => count - 1,
        };
        observer.value("cuts", "", f64::from(cuts));
    }
}

/// The RTT that is still good.
#[derive(Debug)]
enum Setpoint {
    /// v1: the target.
    Fixed(TimeOrMultiple),
    /// v2: so many minimum RTTs.
    Tuned { alpha: f64, tuner: Option<Tuner> },
}

impl Setpoint {
    fn read(arguments: &Arguments) -> Self {
        let target = arguments.get(&TARGET);
        match arguments.get(&PROFILE) {
            Profile::V1 => Self::Fixed(target),
            Profile::V2 => {
                let tuner = arguments.get(&TUNER).then(|| Tuner::new(target));
                Self::Tuned { alpha: arguments.get(&ALPHA), tuner }
            }
        }
    }

    fn on_rtt(&mut self, now: Time, sample: Span, min_rtt: Span) {
        if let Self::Tuned { alpha, tuner: Some(tuner) } = self {
            *alpha = tuner.on_rtt(now, sample, min_rtt, *alpha);
        }
    }

    fn get(&self, min_rtt: Span) -> Span {
        match self {
            Self::Fixed(target) => target.of(min_rtt),
            Self::Tuned { alpha, .. } => min_rtt.mul_f64(*alpha),
        }
    }

    /// For how long the RTT may be above the setpoint.
    fn interval(&self, min_rtt: Span) -> Span {
        match self {
            Self::Fixed(_) => V1_INTERVAL,
            Self::Tuned { .. } => self.get(min_rtt),
        }
    }
}

/// Moves alpha so that the mean RTT comes to the target (c2tcp `server-standalone.cc`, `CntThread`).
#[derive(Debug)]
struct Tuner {
    target: TimeOrMultiple,
    /// None before the first sample.
    period_ends: Option<Time>,
    sum_secs: f64,
    samples: f64,
}

impl Tuner {
    fn new(target: TimeOrMultiple) -> Self {
        Self { target, period_ends: None, sum_secs: 0.0, samples: 0.0 }
    }

    /// Takes a sample; returns the alpha that follows on `alpha`.
    fn on_rtt(&mut self, now: Time, sample: Span, min_rtt: Span, alpha: f64) -> f64 {
        let period_ends = *self.period_ends.get_or_insert(now + TUNING_PERIOD);
        let mut tuned = alpha;
        if now >= period_ends {
            if self.samples > 0.0 {
                let mean = self.sum_secs / self.samples;
                tuned = tune(alpha, mean, self.target.of(min_rtt).as_secs_f64());
            }
            *self = Self { period_ends: Some(now + TUNING_PERIOD), ..Self::new(self.target) };
        }
        self.sum_secs += sample.as_secs_f64();
        self.samples += 1.0;
        tuned
    }
}

/// Down by twice the share of the mean RTT that lies above the target, up by half of the share that it lies below.
fn tune(alpha: f64, mean: f64, target: f64) -> f64 {
    let distance = (target - mean) / mean;
    let change = if distance < 0.0 { 2.0 * distance } else { distance / 2.0 };
    (alpha * (1.0 + change)).clamp(MIN_ALPHA, MAX_ALPHA)
}

#[cfg(test)]
mod tests {
    use super::tune;
    use crate::testing::{CONTEXT, Path};
    use crate::{Flow, Registry};
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
            let controller = Registry::default().parse(scheme).expect("known").build(&CONTEXT);
            Self { flow: Flow::new(controller, CONTEXT.packet), now: Time::ZERO }
        }

        /// Milliseconds after which the window was one packet, of `count`.
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
        // Mean RTT, target, both in any one unit; what the authors' formula gives.
        for (mean, target, alpha) in [
            (100.0, 100.0, 2.0),
            (125.0, 100.0, 1.2),
            (50.0, 100.0, 3.0),
            (400.0, 100.0, 1.0),
            (1.0, 100.0, 10.0),
        ] {
            assert!((tune(2.0, mean, target) - alpha).abs() < 1e-9, "{mean} for {target}");
        }
        let mut acks = Acks::new("c2tcp(target=60ms)");
        acks.cuts(500, MS * 40);
        assert_eq!(
            acks.cuts(100, MS * 68),
            [0; 0],
            "1.5 by half of 20/40 more is 1.875: a setpoint of 75 ms"
        );
    }
}
