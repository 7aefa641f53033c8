//! The schemes that there are as objects: one table, which all else reads.

mod core;
#[cfg(test)]
mod layouts;
mod notation;
mod settings;
/// What the kernel asks the integer cores.
#[path = "../../bpf/steps"]
pub mod steps {
    pub mod assisted;
    pub mod c2tcp;
    pub mod draw;
    pub mod path;
    pub mod reminis;
    pub mod step;
    pub mod tide;
    pub mod vegas;
    pub mod westwood;
}

pub use self::core::Core;
pub use notation::Written;
pub use settings::Settings;

use self::core::MapSettings;
use crate::machine::Release;
use cellcc_control::kind::TimeOrMultiple;
use cellcc_control::{Arguments, Assignment};
use cellcc_fixed::{Micros, Q16};
use cellcc_schemes::{assisted, c2tcp, reminis, tide, vegas, westwood};
use cellcc_units::{Ratio, Span};
use steps::assisted::{AssistedSettings, AssistedStep};
use steps::c2tcp::{C2tcpSettings, C2tcpStep};
use steps::reminis::{ReminisSettings, ReminisStep};
use steps::tide::{TideSettings, TideStep};
use steps::vegas::{VegasSettings, VegasStep};
use steps::westwood::{WestwoodSettings, WestwoodStep};

/// All that is known of a scheme.
struct Entry {
    /// The name that the kernel knows, as in `TCP_CONGESTION`; at most 15 bytes (`TCP_CA_NAME_MAX`).
    name: &'static str,
    /// What the simulator's registry calls it.
    registry: &'static str,
    /// Arguments of the registry that say what it does anyway.
    always: &'static [(&'static str, &'static str)],
    /// The programs, as `make kernel-objects` built them.
    object: &'static [u8],
    /// The oldest kernel that can run it.
    since: Release,
    /// The functions of the kernel that it calls.
    calls: &'static [&'static str],
    /// What decides.
    core: &'static Core,
}

macro_rules! schemes {
    ($($(#[$doc:meta])* $scheme:ident = $entry:expr,)*) => {
        /// A scheme of the kernel.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Scheme {
            $($(#[$doc])* $scheme,)*
        }

        impl Scheme {
            /// All of them, in the order in which they are listed.
            pub const ALL: [Self; [$(Self::$scheme),*].len()] = [$(Self::$scheme),*];

            const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$scheme => const { &$entry },)*
                }
            }
        }
    };
}

macro_rules! object {
    ($name:literal) => {
        include_bytes!(concat!("../../objects/", $name, ".bpf.o"))
    };
}

schemes! {
    /// Reminis over Reno.
    Reminis = Entry {
        name: "cellcc_reminis",
        registry: "reminis",
        always: &[("aimd", "reno"), ("aimd", "profile"), ("slow-start", "on")],
        object: object!("cellcc_reminis"),
        since: LINKS,
        calls: RENO,
        core: &REMINIS,
    },
    /// Reminis over CUBIC.
    ReminisCubic = Entry {
        name: "reminis_cubic",
        registry: "reminis",
        always: &[("aimd", "cubic"), ("slow-start", "on")],
        object: object!("reminis_cubic"),
        since: LINKS,
        calls: CUBIC,
        core: &REMINIS,
    },
    /// NATCP.
    Natcp = Entry {
        name: "cellcc_natcp",
        registry: "natcp",
        always: &[("fairness", "network"), ("fallback", "cubic")],
        object: object!("cellcc_natcp"),
        since: CONTROL_WITH_FLAGS,
        calls: CUBIC,
        core: &ASSISTED,
    },
    /// NACubic.
    Nacubic = Entry {
        name: "cellcc_nacubic",
        registry: "nacubic",
        always: &[("fairness", "network")],
        object: object!("cellcc_nacubic"),
        since: LINKS,
        calls: CUBIC,
        core: &ASSISTED,
    },
    /// BBR with network assistance.
    Nabbr = Entry {
        name: "cellcc_nabbr",
        registry: "nabbr",
        always: &[("fairness", "network")],
        object: object!("cellcc_nabbr"),
        since: CONTROL_WITH_FLAGS,
        calls: BBR,
        core: &ASSISTED,
    },
    /// Vegas.
    Vegas = Entry {
        name: "cellcc_vegas",
        registry: "vegas",
        always: &[],
        object: object!("cellcc_vegas"),
        since: LINKS,
        calls: RENO,
        core: &const { Core::of::<VegasStep, VegasSettings>(3, "vegas") },
    },
    /// Westwood+.
    Westwood = Entry {
        name: "cellcc_westwood",
        registry: "westwood",
        always: &[],
        object: object!("cellcc_westwood"),
        since: LINKS,
        calls: RENO,
        core: &const { Core::of::<WestwoodStep, WestwoodSettings>(4, "westwood") },
    },
    /// C2TCP.
    C2tcp = Entry {
        name: "cellcc_c2tcp",
        registry: "c2tcp",
        always: &[],
        object: object!("cellcc_c2tcp"),
        since: LINKS,
        calls: CUBIC,
        core: &const { Core::of::<C2tcpStep, C2tcpSettings>(5, "c2tcp") },
    },
    /// Tide.
    Tide = Entry {
        name: "cellcc_tide",
        registry: "tide",
        always: &[],
        object: object!("cellcc_tide"),
        since: CONTROL_WITH_FLAGS,
        calls: &[],
        core: &const { Core::of::<TideStep, TideSettings>(6, "tide") },
    },
}

/// The cores of several schemes.
const REMINIS: Core = Core::of::<ReminisStep, ReminisSettings>(1, "reminis");
const ASSISTED: Core = Core::of::<AssistedStep, AssistedSettings>(2, "assisted");

impl MapSettings for ReminisSettings {
    fn set(arguments: &Arguments) -> Option<Self> {
        reminis::config(arguments).map(Self::from)
    }

    fn arguments(&self) -> Vec<Assignment> {
        let config = self.config();
        vec![
            reminis::DTT.with(&target(config.target, config.multiple)),
            reminis::PROFILE.with(&Some(config.profile)),
            reminis::NDE.with(&config.exploration),
            reminis::PS.with(&config.proactive_slowdown),
            reminis::CM.with(&config.catastrophe_mitigation),
        ]
    }
}

impl MapSettings for AssistedSettings {
    fn set(arguments: &Arguments) -> Option<Self> {
        Some(assisted::config(arguments).into())
    }

    fn arguments(&self) -> Vec<Assignment> {
        let config = self.config();
        let pace = if config.paces_at_share { assisted::Pace::Share } else { assisted::Pace::Bandwidth };
        vec![
            assisted::ALPHA.with(&real(config.alpha)),
            assisted::PACING_GAIN.with(&real(config.pacing_gain)),
            assisted::PACE.with(&pace),
            assisted::TIMEOUT.with(&real(config.timeout_periods)),
        ]
    }
}

impl MapSettings for VegasSettings {
    fn set(arguments: &Arguments) -> Option<Self> {
        Some(vegas::config(arguments).into())
    }

    fn arguments(&self) -> Vec<Assignment> {
        [(vegas::ALPHA, self.alpha), (vegas::BETA, self.beta), (vegas::GAMMA, self.gamma)]
            .map(|(threshold, packets)| threshold.with(&packets.into()))
            .into()
    }
}

impl MapSettings for WestwoodSettings {
    fn set(arguments: &Arguments) -> Option<Self> {
        Some(arguments.get(&westwood::PROFILE).into())
    }

    fn arguments(&self) -> Vec<Assignment> {
        vec![westwood::PROFILE.with(&self.profile())]
    }
}

impl MapSettings for C2tcpSettings {
    fn set(arguments: &Arguments) -> Option<Self> {
        Some(c2tcp::config(arguments).into())
    }

    fn arguments(&self) -> Vec<Assignment> {
        let config = self.config();
        vec![
            c2tcp::PROFILE.with(&config.profile),
            c2tcp::TARGET.with(&target(config.target, config.multiple)),
            c2tcp::ALPHA.with(&real(config.alpha)),
            c2tcp::TUNER.with(&config.tuner),
        ]
    }
}

impl MapSettings for TideSettings {
    fn set(arguments: &Arguments) -> Option<Self> {
        Some(tide::config(arguments).into())
    }

    fn arguments(&self) -> Vec<Assignment> {
        vec![tide::DELAY.with(&Span::from_micros(self.delay_us.into()))]
    }
}

/// A target as the registry has it.
fn target(micros: Micros, multiple: Q16) -> TimeOrMultiple {
    match micros {
        Micros::ZERO => TimeOrMultiple::Multiple(Ratio::new(real(multiple))),
        Micros(micros) => TimeOrMultiple::Time(Span::from_micros(micros.into())),
    }
}

fn real(number: Q16) -> f64 {
    f64::from(number.0) / f64::from(Q16::ONE.0)
}

/// Links of struct_ops, by which a scheme vanishes with its pin.
const LINKS: Release = Release { major: 6, minor: 4 };
/// cong_control with the acknowledgement's number and flags.
const CONTROL_WITH_FLAGS: Release = Release { major: 6, minor: 10 };

const RENO: &[&str] = &["tcp_reno_cong_avoid", "tcp_reno_ssthresh", "tcp_reno_undo_cwnd"];
const CUBIC: &[&str] = &[
    "cubictcp_init",
    "cubictcp_recalc_ssthresh",
    "cubictcp_cong_avoid",
    "cubictcp_state",
    "cubictcp_cwnd_event",
    "cubictcp_acked",
    "tcp_reno_undo_cwnd",
];
const BBR: &[&str] = &[
    "bbr_init",
    "bbr_main",
    "bbr_sndbuf_expand",
    "bbr_undo_cwnd",
    "bbr_cwnd_event",
    "bbr_ssthresh",
    "bbr_min_tso_segs",
    "bbr_set_state",
];

impl Scheme {
    /// The name that the kernel knows, as in `TCP_CONGESTION`.
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// What the simulator's registry calls it.
    pub const fn registry_name(self) -> &'static str {
        self.entry().registry
    }

    /// The scheme of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// The scheme of this name, the kernel's or the registry's.
    pub fn known_as(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| [scheme.name(), scheme.registry_name()].contains(&name))
    }

    /// The oldest kernel that can run it.
    pub const fn since(self) -> Release {
        self.entry().since
    }

    /// The functions of the kernel that it calls.
    pub const fn functions(self) -> &'static [&'static str] {
        self.entry().calls
    }

    /// What decides.
    pub const fn core(self) -> &'static Core {
        self.entry().core
    }

    /// Whether it follows what the network says of the path ([`Pins::advise`](crate::Pins::advise)).
    pub const fn takes_advice(self) -> bool {
        self.core().number == ASSISTED.number
    }

    pub(crate) const fn object(self) -> &'static [u8] {
        self.entry().object
    }
}

/// Each core of the schemes once.
pub fn cores() -> Vec<&'static Core> {
    let mut cores: Vec<_> = Scheme::ALL.into_iter().map(Scheme::core).collect();
    cores.dedup_by_key(|core| core.number);
    cores
}

/// The kernel's module that has a function, where the kernel may be built without it.
pub(crate) fn module_of(function: &str) -> Option<&'static str> {
    [("cubictcp_", "tcp_cubic"), ("bbr_", "tcp_bbr")]
        .into_iter()
        .find_map(|(prefix, module)| function.starts_with(prefix).then_some(module))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_fits_the_kernel_and_names_one_scheme() {
        for scheme in Scheme::ALL {
            assert!(scheme.name().len() <= 15, "{}", scheme.name());
            assert_eq!(Scheme::named(scheme.name()), Some(scheme));
        }
    }

    #[test]
    fn every_core_has_a_number_and_a_name_of_its_own() {
        let numbers: BTreeSet<_> = cores().iter().map(|core| core.number).collect();
        let names: BTreeSet<_> = cores().iter().map(|core| core.name).collect();
        assert_eq!((numbers.len(), names.len()), (cores().len(), cores().len()));
    }
}
