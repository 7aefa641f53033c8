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
//! - The Guardian acts from the first slope on; slow start ends at the first SI above DTT, or by loss. The paper starts it
//!   after slow start, which on a deep buffer would end only when that is full.
//! - A flow that its application limits does not explore: its window would grow without bound and mean nothing.
//! - Where packets are lost, NDE raises the window to four times what a round trip delivers at most: on a buffer of a
//!   packet no delay ever rises, and the window would grow for ever.
//! - The minimum RTT is learnt anew where no sample comes down to DTT for a second and packets sent alone do not either: a
//!   new route. The paper's never rises, and a flow whose path became longer than DTT would be cut for ever.
//!
//! `profile=following` is beyond the paper. In every reading of it the AIMD block slow-starts back to an ssthresh that says
//! nothing of the path any more: after a lasting fall of the capacity it overshoots in every round trip, after a rise it
//! crawls. Here each cut moves ssthresh towards the window that would have met the target (the window, times target / delay),
//! and a window above ssthresh that meets the target takes it along. More of the link at a lower delay, on every kind of
//! recorded link (docs/fidelity/reminis.md).
//!
//! `arithmetic=fixed` computes all profiles but `code2022` as the kernel does (`cellcc_fixed::reminis`): see [`fixed`].
//!
//! `profile=code2022` follows the authors' program of August 2022 instead: see [`code2022`].

mod base_rtt;
mod code2022;
mod explorer;
mod fixed;
mod fixed_aimd;
mod guardian;
mod settings;

use crate::contract::{Ack, Context, Controller, Event, Limits, Loss, Observer};
use crate::growth::Growth;
use crate::info::{Needs, SchemeInfo};
use base_rtt::BaseRtt;
use cellcc_units::{Bytes, Span, Time};
use code2022::Code2022;
use guardian::Guardian;
use settings::{Profile, Settings};
use std::sync::Arc;

/// What the registry knows of Reminis.
pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "reminis".into(),
        summary:
            "random exploration, proactive and reactive slowdowns over AIMD, towards a delay target (DTT)"
                .into(),
        source: "Pazhooheshy, Abbasloo, Ganjali 2023".into(),
        parameters: settings::parameters(),
        presets: settings::presets(),
        needs: Needs::NOTHING,
        build: Arc::new(|arguments, context| {
            let settings = Settings::read(arguments);
            match settings.fixed().filter(|_| settings.arithmetic == settings::Arithmetic::Fixed) {
                Some(config) => Box::new(fixed::FixedReminis::new(&settings, config, context)),
                None => Box::new(Reminis::new(settings, context)),
            }
        }),
    }
}

/// What the Guardian knows at the end of a sampling interval.
#[derive(Debug, Clone, Copy)]
struct Interval {
    now: Time,
    /// Mean of the RTT samples that arrived in the interval.
    mean_rtt: Span,
    smoothed_rtt: Span,
    /// The flow's minimum RTT.
    min_rtt: Span,
    /// The interval's length.
    length: Span,
    /// The delay target, above `min_rtt`.
    target: Span,
    /// The window, not the application, limits the flow.
    cwnd_limited: bool,
    /// Of a full packet.
    packet_size: Bytes,
    /// Where packets were lost in the interval: what was delivered in it.
    delivered_despite_loss: Option<Bytes>,
}

impl Interval {
    /// 1 at the minimum RTT, 0 at the target, negative above it (paper, Equation 1); `delay` in seconds.
    fn safe_zone(&self, delay: f64) -> f64 {
        let min = self.min_rtt.as_secs_f64();
        1.0 - (delay - min) / (self.target.as_secs_f64() - min)
    }
}

/// The RTT samples of the sampling interval under way.
#[derive(Debug, Clone, Copy, Default)]
struct Samples {
    sum: Span,
    count: u64,
    smoothed: Span,
    cwnd_limited: bool,
    delivered: Bytes,
    lost: bool,
}

/// Which Guardian watches.
enum Watch {
    Paper(Guardian),
    Code(Code2022),
}

struct Reminis {
    settings: Settings,
    packet_size: Bytes,
    aimd: Box<dyn Growth>,
    watch: Watch,
    samples: Samples,
    base_rtt: BaseRtt,
    /// End of the sampling interval; none before the first RTT sample.
    interval_ends_at: Option<Time>,
    /// The target at the last decision.
    target: Span,
    target_raised: bool,
}

impl Reminis {
    fn new(settings: Settings, context: &Context) -> Self {
        let mut aimd = settings.aimd(context);
        if !settings.slow_start {
            aimd.set_ssthresh(context.initial_window);
        }
        let watch = match settings.profile {
            Profile::Paper | Profile::Literal | Profile::Following => {
                Watch::Paper(Guardian::new(&settings, context))
            }
            Profile::Code2022 => Watch::Code(Code2022::new(&settings, context)),
        };
        Self {
            settings,
            packet_size: context.packet,
            aimd,
            watch,
            samples: Samples::default(),
            base_rtt: BaseRtt::default(),
            interval_ends_at: None,
            target: Span::ZERO,
            target_raised: false,
        }
    }

    /// The sampling interval.
    fn interval_length(&self) -> Span {
        match self.settings.profile {
            Profile::Paper | Profile::Literal | Profile::Following => self.base_rtt.get(),
            Profile::Code2022 => code2022::INTERVAL,
        }
    }

    /// DTT; one that no queue could meet is raised to the default multiple (paper, section 6, "Choice of DTT").
    fn set_target(&mut self) {
        let asked = self.settings.target.of(self.base_rtt.get());
        self.target_raised = asked <= self.base_rtt.get();
        self.target =
            if self.target_raised { self.base_rtt.get().mul_f64(settings::DEFAULT_MULTIPLE) } else { asked };
    }
}

impl Controller for Reminis {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        self.aimd.on_ack(ack);
        self.samples.delivered += ack.bytes;
        let Some(sample) = ack.rtt_sample else { return };
        self.samples.sum += sample;
        self.samples.count += 1;
        self.samples.smoothed = ack.rtt.smoothed();
        self.samples.cwnd_limited = ack.cwnd_limited;
        self.base_rtt.update(ack, sample, self.target);
        if self.interval_ends_at.is_none() {
            self.interval_ends_at = Some(ack.now + self.interval_length());
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.packet_size = loss.packet_size;
        self.samples.lost = true;
        self.aimd.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.aimd.on_event(now, event);
    }

    fn next_timer(&self) -> Option<Time> {
        self.interval_ends_at
    }

    fn on_timer(&mut self, now: Time) {
        let length = self.interval_length();
        self.interval_ends_at = Some(now + length);
        let samples = std::mem::take(&mut self.samples);
        if samples.count == 0 {
            return; // An interval without samples decides nothing.
        }
        self.set_target();
        let interval = Interval {
            now,
            mean_rtt: samples.sum / samples.count,
            smoothed_rtt: samples.smoothed,
            min_rtt: self.base_rtt.get(),
            length,
            target: self.target,
            cwnd_limited: samples.cwnd_limited,
            packet_size: self.packet_size,
            delivered_despite_loss: samples.lost.then_some(samples.delivered),
        };
        match &mut self.watch {
            Watch::Paper(guardian) => guardian.act(&interval, self.aimd.as_mut()),
            Watch::Code(guardian) => guardian.act(&interval, self.aimd.as_mut()),
        }
    }

    fn limits(&self) -> Limits {
        let window = self.aimd.window();
        let probe = self.base_rtt.probe_window(self.packet_size);
        Limits::window_only(probe.map_or(window, |probe| probe.min(window)))
    }

    fn observe(&self, observer: &mut dyn Observer) {
        if !self.target.is_zero() {
            observer.value("dtt", "ms", self.target.as_millis_f64());
        }
        if self.target_raised {
            observer.note(&format!(
                "reminis: DTT is not above the minimum RTT; raised to {} x minimum RTT = {}",
                settings::DEFAULT_MULTIPLE,
                self.target
            ));
        }
        match &self.watch {
            Watch::Paper(guardian) => guardian.observe(observer),
            Watch::Code(guardian) => guardian.observe(observer),
        }
        self.aimd.observe(observer);
    }
}
