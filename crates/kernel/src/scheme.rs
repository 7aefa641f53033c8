//! The schemes that there are as objects.

use crate::machine::Release;

/// A scheme of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Reminis over Reno.
    Reminis,
}

/// Links of struct_ops, by which a scheme vanishes with its pin.
const LINKS: Release = Release { major: 6, minor: 4 };

impl Scheme {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 1] = [Self::Reminis];

    /// The name that the kernel knows, as in `TCP_CONGESTION`; at most 15 bytes (`TCP_CA_NAME_MAX`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reminis => "cellcc_reminis",
        }
    }

    /// The scheme of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// The programs, as `make kernel-objects` built them.
    pub(crate) const fn object(self) -> &'static [u8] {
        match self {
            Self::Reminis => include_bytes!("../objects/cellcc_reminis.bpf.o"),
        }
    }

    /// The oldest kernel that can run it.
    pub const fn since(self) -> Release {
        LINKS
    }

    /// The functions of the kernel that it calls.
    pub const fn functions(self) -> &'static [&'static str] {
        match self {
            Self::Reminis => RENO,
        }
    }
}

const RENO: &[&str] = &["tcp_reno_cong_avoid", "tcp_reno_ssthresh", "tcp_reno_undo_cwnd"];

/// The kernel's module that has a function, where the kernel may be built without it.
pub(crate) fn module_of(function: &str) -> Option<&'static str> {
    [("cubictcp_", "tcp_cubic"), ("bbr_", "tcp_bbr")]
        .into_iter()
        .find_map(|(prefix, module)| function.starts_with(prefix).then_some(module))
}
