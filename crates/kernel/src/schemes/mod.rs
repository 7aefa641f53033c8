//! The schemes that there are as objects.

pub(crate) mod change;
pub(crate) mod notation;
pub(crate) mod settings;

use crate::machine::Release;

/// A scheme of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Reminis over Reno.
    Reminis,
    /// Reminis over CUBIC.
    ReminisCubic,
    /// NATCP.
    Natcp,
    /// NACubic.
    Nacubic,
    /// BBR with network assistance.
    Nabbr,
    /// Vegas.
    Vegas,
    /// Westwood+.
    Westwood,
    /// C2TCP.
    C2tcp,
    /// Tide.
    Tide,
}

/// Links of struct_ops, by which a scheme vanishes with its pin.
const LINKS: Release = Release { major: 6, minor: 4 };
/// cong_control with the acknowledgement's number and flags.
const CONTROL_WITH_FLAGS: Release = Release { major: 6, minor: 10 };

impl Scheme {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 9] = [
        Self::Reminis,
        Self::ReminisCubic,
        Self::Natcp,
        Self::Nacubic,
        Self::Nabbr,
        Self::Vegas,
        Self::Westwood,
        Self::C2tcp,
        Self::Tide,
    ];

    /// The name that the kernel knows, as in `TCP_CONGESTION`; at most 15 bytes (`TCP_CA_NAME_MAX`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reminis => "cellcc_reminis",
            Self::ReminisCubic => "reminis_cubic",
            Self::Natcp => "cellcc_natcp",
            Self::Nacubic => "cellcc_nacubic",
            Self::Nabbr => "cellcc_nabbr",
            Self::Vegas => "cellcc_vegas",
            Self::Westwood => "cellcc_westwood",
            Self::C2tcp => "cellcc_c2tcp",
            Self::Tide => "cellcc_tide",
        }
    }

    /// What the simulator's registry calls it.
    pub const fn registry_name(self) -> &'static str {
        match self {
            Self::Reminis | Self::ReminisCubic => "reminis",
            Self::Natcp => "natcp",
            Self::Nacubic => "nacubic",
            Self::Nabbr => "nabbr",
            Self::Vegas => "vegas",
            Self::Westwood => "westwood",
            Self::C2tcp => "c2tcp",
            Self::Tide => "tide",
        }
    }

    /// The scheme of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// The scheme of this name, the kernel's or the registry's.
    pub fn known_as(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| [scheme.name(), scheme.registry_name()].contains(&name))
    }

    /// The programs, as `make kernel-objects` built them.
    pub(crate) const fn object(self) -> &'static [u8] {
        match self {
            Self::Reminis => include_bytes!("../../objects/cellcc_reminis.bpf.o"),
            Self::ReminisCubic => include_bytes!("../../objects/reminis_cubic.bpf.o"),
            Self::Natcp => include_bytes!("../../objects/cellcc_natcp.bpf.o"),
            Self::Nacubic => include_bytes!("../../objects/cellcc_nacubic.bpf.o"),
            Self::Nabbr => include_bytes!("../../objects/cellcc_nabbr.bpf.o"),
            Self::Vegas => include_bytes!("../../objects/cellcc_vegas.bpf.o"),
            Self::Westwood => include_bytes!("../../objects/cellcc_westwood.bpf.o"),
            Self::C2tcp => include_bytes!("../../objects/cellcc_c2tcp.bpf.o"),
            Self::Tide => include_bytes!("../../objects/cellcc_tide.bpf.o"),
        }
    }

    /// The oldest kernel that can run it.
    pub const fn since(self) -> Release {
        match self {
            Self::Reminis
            | Self::ReminisCubic
            | Self::Nacubic
            | Self::Vegas
            | Self::Westwood
            | Self::C2tcp => LINKS,
            Self::Natcp | Self::Nabbr | Self::Tide => CONTROL_WITH_FLAGS,
        }
    }

    /// The functions of the kernel that it calls.
    pub const fn functions(self) -> &'static [&'static str] {
        match self {
            Self::Reminis | Self::Vegas | Self::Westwood => RENO,
            Self::ReminisCubic | Self::Natcp | Self::Nacubic | Self::C2tcp => CUBIC,
            Self::Nabbr => BBR,
            Self::Tide => &[],
        }
    }
}

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

/// The kernel's module that has a function, where the kernel may be built without it.
pub(crate) fn module_of(function: &str) -> Option<&'static str> {
    [("cubictcp_", "tcp_cubic"), ("bbr_", "tcp_bbr")]
        .into_iter()
        .find_map(|(prefix, module)| function.starts_with(prefix).then_some(module))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_fits_the_kernel_and_names_one_scheme() {
        for scheme in Scheme::ALL {
            assert!(scheme.name().len() <= 15, "{}", scheme.name());
            assert_eq!(Scheme::named(scheme.name()), Some(scheme));
        }
    }
}
