//! Reminis: random exploration, and proactive and reactive slowdowns, over classic AIMD.
//!
//! 1. An AIMD block grows the window on acknowledgements and halves it on loss, as TCP does.
//! 2. A Guardian looks once per sampling interval (SI = the minimum RTT) at the mean delay d and its slope.
//! 3. d below the target DTT and not rising: multiply the window by 2^S(x), x drawn from a Gaussian (NDE).
//! 4. d below DTT but rising: if the next interval would exceed DTT, multiply by 2^SafeZone(expected d) (PS).
//! 5. d above DTT: multiply by 2^SafeZone(d) / 2, at most once per RTT (CM).
//!
//! ```text
//!                        every SI: d, slope = (d - d before) / SI, mu -= slope
//!            d <= DTT, slope <= 0          d <= DTT, slope > 0             d > DTT
//!         +------------------------+   +------------------------+   +------------------------+
//!         | Zone 1: NDE explores   |   | Zone 2: PS slows early |   | Zone 3: CM cuts        |
//!         +------------------------+   +------------------------+   +------------------------+
//!                     \_________________________ | _________________________/
//!                          window (never below two packets) -> AIMD goes on from there
//! ```
//!
//! The decisions are those of [`cellcc_fixed::reminis`], in integers, which also run in the kernel's TCP. This file supplies
//! the kernel's input to them: a law of window growth (the AIMD block), packet counts, and a timer, which the kernel lacks.
//!
//! Source: P. Pazhooheshy, S. Abbasloo, Y. Ganjali, "A Simple Non-Deterministic Approach Can Adapt to Complex
//! Unpredictable 5G Cellular Networks", 2023: sections 3 (modules), 6 (choice of DTT), Algorithms 1 and 2.
//!
//! # Differences from the paper
//! `profile=paper` is the reading that reproduces the paper's figures on its traces (docs/fidelity/reminis.md):
//! - *The Guardian leaves ssthresh alone*, so that AIMD slow-starts back after a cut. The paper does not say; lowering
//!   ssthresh at each cut (`profile=literal`) loses a quarter of the link. The authors' related code writes the window only.
//! - *A CM cut at most once per measured RTT.* Algorithm 1 cuts every SI although a cut shows in the delay only one
//!   (longer) RTT later; `literal` does as printed.
//! - mu falls when delay rises, as the text and the proof have it; Algorithm 1 prints the other sign.
//! - sigma^2 = |mu| / 4: the paper's mu / 4 is no variance once mu is negative. The authors' code takes the absolute value.
//! - A slope of exactly zero is Zone 1, as in the text; Algorithm 1 does nothing then.
//! - After intervals without a sample the whole rise is divided by one SI, as Algorithm 1 prints it; the text divides by the
//!   time that passed. They differ only after a gap of the link: mu falls as if each interval had been observed, and PS
//!   expects the whole rise again. Divided by the time that passed, delays grow: p95 RTT 60 to 65 ms on ten 5G recordings, 197 to 233 ms on
//!   twelve of LTE and 3G, with use from 0.837 to 0.832 and from 0.866 to 0.868. So the algorithm's line stays.
//! - The Guardian acts from the first slope on; slow start ends at the first SI above DTT, or by loss. The paper starts it
//!   after slow start, which on a deep buffer would end only when that is full.
//! - A flow that its application limits does not explore: its window would grow without bound and mean nothing.
//! - Where packets are lost, NDE raises the window to at most four times the packets delivered per round trip: on a buffer
//!   of one packet no delay ever rises, and the window would grow without bound.
//! - The minimum RTT is measured again where no sample comes down to DTT for a second and packets sent alone do not either:
//!   a new route. The paper's never rises, and a flow whose path became longer than DTT would be cut for ever.
//!
//! `profile=following` is beyond the paper. In every reading of it the AIMD block slow-starts back to an ssthresh that says
//! nothing of the path any more: after a lasting fall of the capacity it overshoots in every round trip, after a rise it
//! crawls. Here each cut moves ssthresh towards the window that would have met the target (the window, times target / delay),
//! and a window above ssthresh that meets the target takes it along. The results by link are in
//! docs/algorithms/reminis.md, "Which to take".
//!
//! `profile=code2022` follows the authors' program of August 2022 instead: see `code2022`.

mod code2022;
mod settings;

use crate::kernel_view::{KernelView, millis, real, time, with_window};
use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, SchemeInfo, Sent, ShownValue, Tag,
    growth::Growth,
};
use cellcc_fixed::{
    Micros,
    reminis::{Config, DEFAULT_MULTIPLE, Reminis as Core},
};
use cellcc_units::{Bytes, Span, Time};
use code2022::Code2022;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use settings::Settings;

pub(super) use settings::{IN_KERNEL, IN_KERNEL_OVER_CUBIC};

/// Displayed names of the zones, by their numbers.
const ZONES: [&str; 4] = ["unknown", "explore", "slow", "cut"];

/// Values that Reminis reports, besides those of its AIMD block.
const SHOWS: [ShownValue; 3] = [
    ShownValue::number("dtt_ms", "delay tolerance threshold: the RTT to stay below"),
    ShownValue::number("mu", "mean of the exploration's draws: it falls as the delay rises"),
    ShownValue::state("zone", "the zone of the last interval", &ZONES),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "reminis",
        "random exploration, proactive and reactive slowdowns over AIMD, towards a delay target (DTT)",
        "Pazhooheshy, Abbasloo, Ganjali 2023",
        |arguments, context| {
            let settings = Settings::read(arguments);
            match settings.config() {
                Some(config) => Box::new(Reminis::new(&settings, config, context)),
                None => Box::new(Code2022::new(&settings, context)),
            }
        },
    )
    .parameters(settings::parameters())
    .presets(settings::presets())
    .shows(&SHOWS)
    .shows(&cellcc_control::growth::SHOWS)
    .in_linux(&[("timer", "off")])
}

struct Reminis {
    config: Config,
    packet_size: Bytes,
    /// The AIMD block.
    law: Box<dyn Growth>,
    view: KernelView,
    core: Core,
    rng: Pcg64Mcg,
    /// An interval ends at its end; otherwise with the next acknowledgement, as in the kernel.
    timer: bool,
}

impl Reminis {
    fn new(settings: &Settings, config: Config, context: &Context) -> Self {
        Self {
            config,
            packet_size: context.packet,
            law: settings.aimd(context),
            view: KernelView::default(),
            core: Core::START,
            rng: Pcg64Mcg::seed_from_u64(context.seed),
            timer: settings.timer,
        }
    }
}

impl Controller for Reminis {
    fn departures_change_limits(&self) -> bool {
        false
    }

    fn on_sent(&mut self, _sent: &Sent) -> Tag {
        self.view.tag()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        let seen = self.view.ack(ack);
        let (core, config, random) = (&mut self.core, &self.config, self.rng.random());
        with_window(self.law.as_mut(), self.packet_size, |window| core.on_ack(config, &seen, window, random));
        self.law.on_ack(ack);
        with_window(self.law.as_mut(), self.packet_size, |window| core.after_law(window));
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.packet_size = loss.packet_size;
        self.view.on_loss();
        let core = &mut self.core;
        with_window(self.law.as_mut(), self.packet_size, |window| core.before_law(window));
        self.law.on_loss(loss);
        with_window(self.law.as_mut(), self.packet_size, |window| core.after_law(window));
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.law.on_event(now, event);
    }

    fn next_timer(&self) -> Option<Time> {
        if self.timer { self.core.interval_ends_at().map(time) } else { None }
    }

    fn on_timer(&mut self, now: Time) {
        if self.core.interval_ends_at().is_none_or(|end| time(end) > now) {
            return;
        }
        let (core, config, delivered) = (&mut self.core, &self.config, self.view.delivered());
        let random = self.rng.random();
        with_window(self.law.as_mut(), self.packet_size, |window| {
            core.on_interval_end(config, delivered, window, random);
            core.after_law(window);
        });
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.law.window())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        let target = self.core.target();
        if target != Micros::ZERO {
            observer.delay_target(Span::from_micros(target.0.into()));
        }
        if self.core.is_target_raised() {
            observer.note(&format!(
                "reminis: DTT is not above the minimum RTT; raised to {} x minimum RTT = {} ms",
                real(DEFAULT_MULTIPLE),
                millis(target)
            ));
        }
        observer.value("mu", "", real(self.core.mu()));
        if self.core.zone() as u8 > 0 {
            observer.state("zone", &ZONES, self.core.zone() as usize);
        }
        self.law.observe(observer);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Path;
    use cellcc_units::{Rate, Span};

    /// Packets queued, averaged over the fifth second after the capacity fell from 200 to 20 Mbit/s and stayed there.
    fn queue_after_a_lasting_fall(scheme: &str) -> f64 {
        let mut path = Path::new(scheme, Rate::from_mbit_per_sec(200.0), Span::from_millis(20));
        path.run_for(Span::from_secs(5));
        path.set_rate(Rate::from_mbit_per_sec(20.0));
        path.run_for(Span::from_secs(4));
        let samples = (0..200).map(|_| {
            path.run_for(Span::from_millis(5));
            path.queued()
        });
        samples.sum::<f64>() / 200.0
    }

    #[test]
    fn an_ssthresh_that_follows_overshoots_less_after_a_lasting_fall_of_the_capacity() {
        let [paper, following] =
            ["reminis(profile=paper)", "reminis(profile=following)"].map(queue_after_a_lasting_fall);
        // A cut comes only after the target was exceeded, so that neither keeps its 10 ms of queue (16.7 packets).
        assert!(following < 0.75 * paper, "{following} packets queued, {paper} in the paper's");
    }

    #[test]
    fn a_path_that_becomes_longer_than_the_target_is_learnt_anew() {
        let mut path =
            Path::new("reminis(profile=paper)", Rate::from_mbit_per_sec(20.0), Span::from_millis(20));
        path.run_for(Span::from_secs(5));
        let before = path.shows("dtt").expect("a target");
        path.set_rtt(Span::from_millis(60));
        path.run_for(Span::from_secs(5));
        let after = path.shows("dtt").expect("a target");
        assert!(before < 32.0 && (90.0..95.0).contains(&after), "{before} ms, {after} ms");
    }

    #[test]
    fn a_queue_of_the_flows_own_making_is_not_another_path() {
        let mut path =
            Path::new("reminis(profile=paper)", Rate::from_mbit_per_sec(20.0), Span::from_millis(20));
        path.run_for(Span::from_secs(60));
        assert!(path.shows("dtt").expect("a target") < 32.0);
    }
}
