//! What is known of a scheme that runs in the kernel's TCP as well: an entry, which stands in the scheme's file.

mod core;

pub(crate) use core::MapSettings;
pub use core::{Difference, KernelCore};

/// A scheme of the kernel.
#[derive(Debug)]
pub struct InKernel {
    /// The name that the kernel knows, as in `TCP_CONGESTION`; at most 15 bytes (`TCP_CA_NAME_MAX`). Its programs are the object
    /// of this name.
    pub name: &'static str,
    /// What the registry calls it.
    pub registry: &'static str,
    /// Arguments of the registry that say what it does anyway.
    pub always: &'static [(&'static str, &'static str)],
    /// The oldest kernel that can run it.
    pub since: (u32, u32),
    /// The functions of the kernel that it calls.
    pub calls: &'static [&'static str],
    /// What decides.
    pub core: &'static KernelCore,
}

/// Links of struct_ops, by which a scheme vanishes with its pin.
pub(crate) const LINKS: (u32, u32) = (6, 4);
/// cong_control with the acknowledgement's number and flags.
pub(crate) const CONTROL_WITH_FLAGS: (u32, u32) = (6, 10);

/// Of the kernel, that a scheme over Reno calls.
pub(crate) const RENO: &[&str] = &["tcp_reno_cong_avoid", "tcp_reno_ssthresh", "tcp_reno_undo_cwnd"];
/// The same over CUBIC.
pub(crate) const CUBIC: &[&str] = &[
    "cubictcp_init",
    "cubictcp_recalc_ssthresh",
    "cubictcp_cong_avoid",
    "cubictcp_state",
    "cubictcp_cwnd_event",
    "cubictcp_acked",
    "tcp_reno_undo_cwnd",
];
/// The same over BBR.
pub(crate) const BBR: &[&str] = &[
    "bbr_init",
    "bbr_main",
    "bbr_sndbuf_expand",
    "bbr_undo_cwnd",
    "bbr_cwnd_event",
    "bbr_ssthresh",
    "bbr_min_tso_segs",
    "bbr_set_state",
];
