//! Parameters of Reminis, its profiles, and the sources of the values.

use crate::in_kernel::{CUBIC, InKernel, KernelCore, LINKS, MapSettings, RENO};
use crate::kernel_view::{micros, q16, target};
use cellcc_control::{
    Ack, Arguments, Assignment, Context, Event, Loss, Parameter, ParameterInfo, Preset,
    growth::{Cubic, Growth, NewReno, SlowStart},
    kind::{self, TimeOrMultiple},
};
use cellcc_fixed::{
    Micros,
    reminis::{
        Config, DEFAULT_MULTIPLE as DEFAULT_MULTIPLE_Q16, Exploration, Profile,
        step::{ReminisSettings, ReminisStep},
    },
};
use cellcc_units::{Bytes, Span, Time};

/// The default DTT in minimum RTTs; a target that cannot be met is also raised to it (paper, section 3.1).
pub(super) const DEFAULT_MULTIPLE: f64 = 1.5;

/// The target RTT.
const DTT: Parameter<kind::TimeOrMultipleFrom> = Parameter::new(
    "dtt",
    kind::TimeOrMultipleFrom(Span::from_micros(1)),
    TimeOrMultiple::times(DEFAULT_MULTIPLE),
    "delay tolerance threshold: the round-trip time to stay below",
    "paper, section 3.1; the authors' Pantheon wrapper ran with 2x",
);

/// The reading of the paper; `None`: the authors' program, which is not that of the core.
const PROFILE: Parameter<kind::Choice<Option<Profile>>> = Parameter::new(
    "profile",
    kind::Choice(&[
        ("paper", Some(Profile::Paper)),
        ("literal", Some(Profile::Literal)),
        ("code2022", None),
        ("following", Some(Profile::Following)),
        ("authors", None),
    ]),
    Some(Profile::Paper),
    "which version of the algorithm",
    "docs/fidelity/reminis.md",
);

/// Exploration.
const NDE: Parameter<kind::Choice<Exploration>> = Parameter::new(
    "nde",
    kind::Choice(&[
        ("random", Exploration::Random),
        ("deterministic", Exploration::Deterministic),
        ("off", Exploration::Off),
    ]),
    Exploration::Random,
    "exploration: draw from the Gaussian, take its mean, or none",
    "paper, section 3.2 and Figure 3",
);

/// Proactive slowdown.
const PS: Parameter<kind::Switch> = Parameter::new(
    "ps",
    kind::Switch,
    true,
    "proactive slowdown in Zone 2",
    "paper, section 3.3 and Figure 4",
);

/// Catastrophe mitigation.
const CM: Parameter<kind::Switch> = Parameter::new(
    "cm",
    kind::Switch,
    true,
    "catastrophe mitigation in Zone 3",
    "paper, section 3.3 and Figure 5",
);

/// `None`: left to the profile, and every profile sets it.
const AIMD: Parameter<kind::Choice<Option<Aimd>>> = Parameter::new(
    "aimd",
    kind::Choice(&[
        ("profile", None),
        ("reno", Some(Aimd::Reno)),
        ("cubic", Some(Aimd::Cubic)),
        ("off", Some(Aimd::Off)),
    ]),
    None,
    "the AIMD block; `profile`: as the profile sets it",
    "paper, section 2 (\"classic AIMD\") and section 5.2",
);

const SLOW_START: Parameter<kind::Switch> = Parameter::new(
    "slow-start",
    kind::Switch,
    true,
    "off: the AIMD block begins in congestion avoidance",
    "paper, section 6",
);

const TIMER: Parameter<kind::Switch> = Parameter::new(
    "timer",
    kind::Switch,
    true,
    "off: intervals end with the first acknowledgement after them, as in the kernel; not for code2022",
    "eBPF: no timer may touch a socket",
);

pub(super) fn parameters() -> Vec<ParameterInfo> {
    vec![
        DTT.into(),
        PROFILE.into(),
        NDE.into(),
        PS.into(),
        CM.into(),
        AIMD.into(),
        SLOW_START.into(),
        TIMER.into(),
    ]
}

pub(super) fn presets() -> Vec<Preset> {
    vec![
        Preset {
            parameter: PROFILE.name,
            name: "paper".into(),
            summary: "the reading of the paper that reproduces its results".into(),
            source: "docs/fidelity/reminis.md".into(),
            sets: "aimd=reno".into(),
        },
        Preset {
            parameter: PROFILE.name,
            name: "literal".into(),
            summary: "Algorithms 1 and 2, closest to the print".into(),
            source: "paper, Algorithms 1 and 2".into(),
            sets: "aimd=reno".into(),
        },
        authors("code2022"),
        Preset {
            parameter: PROFILE.name,
            name: "following".into(),
            summary: "this project: ssthresh follows the window that meets the target".into(),
            source: "docs/fidelity/reminis.md".into(),
            sets: "aimd=reno".into(),
        },
        authors("authors"),
    ]
}

fn authors(name: &'static str) -> Preset {
    Preset {
        parameter: PROFILE.name,
        name: name.into(),
        summary: "the authors' program of August 2022".into(),
        source: "an ns-3 port of the program and a patch to it, both by the authors' group".into(),
        sets: "aimd=cubic".into(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aimd {
    Reno,
    Cubic,
    Off,
}

const CORE: KernelCore = KernelCore::of::<ReminisStep, ReminisSettings>(1, "reminis");

/// In the kernel, over its Reno.
pub(in super::super) const IN_KERNEL: InKernel = InKernel {
    name: "cellcc_reminis",
    registry: "reminis",
    always: &[("aimd", "reno"), ("aimd", "profile"), ("slow-start", "on")],
    since: LINKS,
    calls: RENO,
    core: &CORE,
};

/// In the kernel, over its CUBIC.
pub(in super::super) const IN_KERNEL_OVER_CUBIC: InKernel = InKernel {
    name: "reminis_cubic",
    registry: "reminis",
    always: &[("aimd", "cubic"), ("slow-start", "on")],
    since: LINKS,
    calls: CUBIC,
    core: &CORE,
};

impl MapSettings for ReminisSettings {
    fn set(arguments: &Arguments) -> Option<Self> {
        Settings::read(arguments).config().map(Self::from)
    }

    fn arguments(&self) -> Vec<Assignment> {
        let config = self.config();
        vec![
            DTT.with(&target(config.target, config.multiple)),
            PROFILE.with(&Some(config.profile)),
            NDE.with(&config.exploration),
            PS.with(&config.proactive_slowdown),
            CM.with(&config.catastrophe_mitigation),
        ]
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    profile: Option<Profile>,
    /// A time, or a multiple of the minimum RTT.
    pub(super) target: TimeOrMultiple,
    pub(super) exploration: Exploration,
    pub(super) proactive_slowdown: bool,
    pub(super) catastrophe_mitigation: bool,
    slow_start: bool,
    pub(super) timer: bool,
    aimd: Aimd,
}

impl Settings {
    pub(super) fn read(arguments: &Arguments) -> Self {
        Self {
            profile: arguments.get(&PROFILE),
            target: arguments.get(&DTT),
            exploration: arguments.get(&NDE),
            proactive_slowdown: arguments.get(&PS),
            catastrophe_mitigation: arguments.get(&CM),
            slow_start: arguments.get(&SLOW_START),
            timer: arguments.get(&TIMER),
            aimd: arguments.get(&AIMD).unwrap_or(Aimd::Reno),
        }
    }

    pub(super) fn config(&self) -> Option<Config> {
        let (target, multiple) = match self.target {
            TimeOrMultiple::Time(span) => (micros(span), DEFAULT_MULTIPLE_Q16),
            TimeOrMultiple::Multiple(ratio) => (Micros::ZERO, q16(ratio.get())),
        };
        Some(Config {
            target,
            multiple,
            profile: self.profile?,
            exploration: self.exploration,
            proactive_slowdown: self.proactive_slowdown,
            catastrophe_mitigation: self.catastrophe_mitigation,
        })
    }

    pub(super) fn aimd(&self, context: &Context) -> Box<dyn Growth> {
        let mut aimd: Box<dyn Growth> = match self.aimd {
            Aimd::Reno => Box::new(NewReno::new(context)),
            Aimd::Cubic => Box::new(Cubic::new(context, SlowStart::UntilLoss)),
            Aimd::Off => Box::new(FixedAimd::new(context)),
        };
        if !self.slow_start {
            aimd.set_ssthresh(context.initial_window);
        }
        aimd
    }
}

// The AIMD block switched off (paper, section 5.2): a window that only its owner moves.

/// A window that neither acknowledgements nor losses change.
pub(super) struct FixedAimd {
    window: Bytes,
    ssthresh: Bytes,
}

impl FixedAimd {
    pub(super) fn new(context: &Context) -> Self {
        Self { window: context.initial_window, ssthresh: Bytes::MAX }
    }
}

impl Growth for FixedAimd {
    fn window(&self) -> Bytes {
        self.window
    }
    fn set_window(&mut self, window: Bytes) {
        self.window = window;
    }
    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }
    fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.ssthresh = ssthresh;
    }
    fn on_ack(&mut self, _ack: &Ack<'_>) {}
    fn on_loss(&mut self, _loss: &Loss<'_>) {}
    fn on_event(&mut self, _now: Time, _event: Event) {}
}
