//! Westwood+: Reno that answers a loss with the window that its bandwidth estimate asks for, in place of half.
//!
//! The source of the estimate, and the differences from the papers and from Linux: [`cellcc_fixed::westwood`],
//! which also runs in the kernel. This file supplies the input of the kernel's TCP: Reno's law, and the begin and end of a
//! recovery.
//!
//! ```text
//!               window = ssthresh
//!  slow start -------------------> congestion avoidance
//!    ^   \                             |        ^
//!    |    \ loss                  loss |        | a packet sent after
//!    |     v                           v        | the loss arrives
//!    +------------------------------- recovery -+
//!       persistent congestion, idle    (ssthresh = bandwidth * min_rtt)
//! ```
//!
//! **Differences from the papers.** Persistent congestion (RFC 9002) stands where the papers have the retransmission time-out,
//! and leaves two packets in place of one.
//!
//! **The profile `linux`** halves the window at the loss, as Reno, and sets the estimate when recovery ends. The window then
//! rises in one step, and the burst overflows a small buffer: with a quarter of a BDP the flow used 69 % of the link, and lost
//! 23 times as many packets as CUBIC (20 Mbit/s, 40 ms RTT, 17-packet buffer). So the paper's reading is the default.

use crate::in_kernel::{InKernel, KernelCore, LINKS, MapSettings, RENO};
use crate::kernel_view::{KernelView, packets, with_window};
use cellcc_control::{
    Ack, Arguments, Assignment, Context, Controller, Event, Limits, Loss, Observer, Parameter, SchemeInfo,
    Sent, ShownValue, Tag,
    growth::{Growth, NewReno},
    kind,
};
use cellcc_fixed::Window;
use cellcc_fixed::westwood::{Profile, Westwood as Core, WestwoodSettings, WestwoodStep};
use cellcc_units::{Bytes, Time};

/// RFC 9002, section 7.2: the window after persistent congestion, in packets.
const MIN_WINDOW_PACKETS: u64 = 2;

/// Event at which the estimate sets the window.
const PROFILE: Parameter<kind::Choice<Profile>> = Parameter::new(
    "profile",
    kind::Choice(&[("paper", Profile::Paper), ("linux", Profile::Linux)]),
    Profile::Paper,
    "when the estimate sets the window: at the loss, or as in Linux when recovery ends, with Reno's half in between",
    "Mascolo et al. 2001, section 2.2; Linux tcp_westwood.c",
);

/// The values that it exposes.
const SHOWS: [ShownValue; 1] = [ShownValue::number("bandwidth_mbit_s", "the bandwidth estimate")];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "westwood",
        "Westwood+: Reno that answers a loss with its bandwidth estimate times the minimum RTT",
        "Mascolo et al., MobiCom 2001; Grieco and Mascolo, ACM CCR 34(2), 2004; Linux tcp_westwood.c",
        |arguments, context| Box::new(Westwood::new(arguments.get(&PROFILE), context)),
    )
    .parameters(vec![PROFILE.into()])
    .shows(&SHOWS)
    .shows(&cellcc_control::growth::SHOWS[..1])
}

/// In the kernel, over its Reno.
pub(crate) const IN_KERNEL: InKernel = InKernel {
    name: "cellcc_westwood",
    registry: "westwood",
    always: &[],
    since: LINKS,
    calls: RENO,
    core: &const { KernelCore::of::<WestwoodStep, WestwoodSettings>(4, "westwood") },
};

impl MapSettings for WestwoodSettings {
    fn set(arguments: &Arguments) -> Option<Self> {
        Some(arguments.get(&PROFILE).into())
    }

    fn arguments(&self) -> Vec<Assignment> {
        vec![PROFILE.with(&self.profile())]
    }
}

struct Westwood {
    profile: Profile,
    packet_size: Bytes,
    reno: NewReno,
    view: KernelView,
    core: Core,
}

impl Westwood {
    fn new(profile: Profile, context: &Context) -> Self {
        Self {
            profile,
            packet_size: context.packet,
            reno: NewReno::new(context),
            view: KernelView::default(),
            core: Core::START,
        }
    }

    /// Lets the core change Reno's window.
    fn decide(&mut self, decide: impl FnOnce(&mut Core, Profile, &mut Window)) {
        let Self { profile, packet_size, reno, core, .. } = self;
        with_window(reno, *packet_size, |window| decide(core, *profile, window));
    }

    /// Reno has cut the window that was `before`.
    fn cut(&mut self, before: Bytes) {
        let before = packets(before, self.packet_size);
        self.decide(|core, profile, window| core.on_cut(profile, before, window));
    }
}

impl Controller for Westwood {
    fn departures_change_limits(&self) -> bool {
        false
    }

    fn on_sent(&mut self, _sent: &Sent) -> Tag {
        self.view.tag()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        self.core.on_ack(&self.view.ack(ack));
        self.reno.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.packet_size = loss.packet_size;
        let before = self.reno.window();
        self.reno.on_loss(loss);
        if loss.new_episode {
            self.cut(before);
        }
        if loss.persistent {
            self.decide(|core, _, window| core.on_timeout(window));
            self.reno.set_window(self.packet_size * MIN_WINDOW_PACKETS);
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        let before = self.reno.window();
        self.reno.on_event(now, event);
        match event {
            Event::CongestionMarked => self.cut(before),
            Event::RecoveryLeft => self.decide(|core, profile, window| core.on_recovered(profile, window)),
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.reno.window())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.reno.observe(observer);
        if let Some(bandwidth) = self.core.bandwidth() {
            let packets_per_us = bandwidth as f64 / (1_u64 << 32) as f64;
            observer.value("bandwidth", "mbit_s", packets_per_us * self.packet_size.as_f64() * 8.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Path;
    use cellcc_units::{Rate, Span};

    const PROFILES: [&str; 2] = ["westwood", "westwood(profile=linux)"];

    /// 100 packets per RTT, and room for 100 more: enough that no loss leaves the link idle. After a minute slow start, whose
    /// small samples hold the estimate down at first, is forgotten.
    fn settled_path(scheme: &str) -> Path {
        let mut path = wide_path(scheme).with_queue(100);
        path.run_for(Span::from_secs(60));
        path
    }

    fn wide_path(scheme: &str) -> Path {
        Path::new(scheme, Rate::from_mbit_per_sec(12.0), Span::from_millis(99))
    }

    /// Runs until the recovery from the next loss is over. In Linux's profile Reno's half comes first.
    fn lose_one(path: &mut Path) {
        path.drop_next(1);
        let before = path.window();
        path.run_until(|path| path.window() < before - 5.0);
        path.run_for(Span::from_millis(450));
    }

    #[test]
    fn a_loss_leaves_what_the_path_holds_without_a_queue_whatever_the_queue_was() {
        for (scheme, queue) in
            PROFILES.into_iter().flat_map(|scheme| [20.0, 60.0, 90.0].map(|queue| (scheme, queue)))
        {
            let mut path = settled_path(scheme);
            path.run_until(|path| path.inflight() <= 110.0);
            path.run_until(|path| path.inflight() >= 100.0 + queue);
            lose_one(&mut path);
            // 100 packets. Linux's halves leave the link idle for part of a sample; Reno's growth has begun again.
            let ssthresh = path.shows("ssthresh").expect("a loss sets it");
            assert!((95.0..=101.0).contains(&ssthresh), "{scheme}: {ssthresh} after a queue of {queue}");
            let grown = path.window() - ssthresh;
            assert!(
                (0.0..=4.0).contains(&grown),
                "{scheme}: congestion avoidance goes on from there: {grown}"
            );
        }
    }

    #[test]
    fn linux_halves_the_window_until_recovery_ends_and_the_paper_does_not() {
        let least = PROFILES.map(|scheme| {
            let mut path = settled_path(scheme);
            path.run_until(|path| path.inflight() <= 110.0);
            path.run_until(|path| path.inflight() >= 150.0);
            path.drop_next(1);
            let mut least = path.window();
            for _ in 0..450 {
                path.run_for(Span::from_millis(1));
                least = least.min(path.window());
            }
            least
        });
        assert!((95.0..=101.0).contains(&least[0]), "{least:?}");
        assert!((75.0..=77.0).contains(&least[1]), "{least:?}");
    }

    #[test]
    fn the_estimate_is_the_rate_of_the_link_and_follows_it() {
        let mut path = settled_path("westwood");
        let shown = |path: &Path| path.shows("bandwidth").expect("after an RTT");
        assert!((shown(&path) / 12.0 - 1.0).abs() < 0.03, "{}", shown(&path));
        path.set_rate(Rate::from_mbit_per_sec(6.0));
        path.run_for(Span::from_secs(60));
        assert!((shown(&path) / 6.0 - 1.0).abs() < 0.03, "{}", shown(&path));
    }

    #[test]
    fn a_loss_before_the_first_sample_leaves_half() {
        // Recovery ends two round trips after the start, before the 50 ms that a sample takes.
        let mut path = Path::new("westwood", Rate::from_mbit_per_sec(12.0), Span::from_millis(20));
        path.drop_next(1);
        path.run_until(|path| path.shows("ssthresh").is_some());
        let half = path.window();
        path.run_until(|path| path.window() > half);
        assert_eq!(
            (path.window(), path.shows("bandwidth")),
            (half + 1.0, None),
            "Reno's growth after recovery"
        );
    }

    #[test]
    fn persistent_congestion_leaves_two_packets_and_a_new_minimum_rtt() {
        let mut path = settled_path("westwood");
        path.set_app_packets(0);
        path.run_for(Span::from_secs(1));
        let lost = path.flow.on_sent(path.now, crate::testing::CONTEXT.packet);
        path.flow.on_persistent_congestion(path.now, &[lost]);
        assert_eq!(path.window(), 2.0);
        let ssthresh = path.shows("ssthresh").expect("a loss sets it");
        assert!(
            (95.0..=101.0).contains(&ssthresh),
            "slow start leads back to what the path holds: {ssthresh}"
        );
        // Three times the RTT: it counts from the next loss on.
        path.set_rtt(Span::from_millis(299));
        path.set_app_packets(u64::MAX);
        path.run_for(Span::from_secs(120));
        lose_one(&mut path);
        assert!(path.window() > 200.0, "with the old minimum it would be 100: {}", path.window());
    }
}
