//! The entry of a scheme that also runs in the kernel's TCP, which is in the scheme's file.

use bytemuck::{CheckedBitPattern, Pod, bytes_of, cast_slice, checked, try_pod_read_unaligned};
use cellcc_control::{Arguments, Assignment, event_log};
use cellcc_fixed::{
    draw::{Digest, Draw},
    step::{Layout, Step, try_once},
};
use std::fmt::{self, Debug};

/// A scheme of the kernel.
#[derive(Debug)]
pub struct InKernel {
    /// The name that the kernel knows, as in `TCP_CONGESTION`; at most 15 bytes (`TCP_CA_NAME_MAX`). Its programs are the object
    /// of this name.
    pub name: &'static str,
    /// Its name in the registry.
    pub registry: &'static str,
    /// Arguments of the registry that say what it does anyway.
    pub always: &'static [(&'static str, &'static str)],
    /// The oldest kernel that can run it.
    pub since: (u32, u32),
    /// The functions of the kernel that it calls.
    pub calls: &'static [&'static str],
    /// The core that decides.
    pub core: &'static KernelCore,
}

/// Links of struct_ops, which remove a scheme with its pin.
pub(crate) const LINKS: (u32, u32) = (6, 4);
/// cong_control with the acknowledgement's number and flags.
pub(crate) const CONTROL_WITH_FLAGS: (u32, u32) = (6, 10);

/// Functions of the kernel that a scheme over Reno calls.
pub(crate) const RENO: &[&str] = &["tcp_reno_cong_avoid", "tcp_reno_ssthresh", "tcp_reno_undo_cwnd"];
/// Those for CUBIC.
pub(crate) const CUBIC: &[&str] = &[
    "cubictcp_init",
    "cubictcp_recalc_ssthresh",
    "cubictcp_cong_avoid",
    "cubictcp_state",
    "cubictcp_cwnd_event",
    "cubictcp_acked",
    "tcp_reno_undo_cwnd",
];
/// Those for BBR.
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

// An integer core: how the host decides as the kernel does, and how it is set.

/// The core of one or more schemes.
pub struct KernelCore {
    /// Its number in records; C: the second argument of `STEP_OF`.
    pub number: u32,
    /// Its name: C calls `NAME_run`.
    pub name: &'static str,
    /// The structs that C also has.
    pub layouts: &'static [Layout],
    check: fn(&event_log::Step) -> Option<Option<Difference>>,
    try_again: fn(u64, u32, &[u8]) -> Option<Difference>,
    set: fn(&Arguments) -> Option<Vec<u8>>,
    arguments: fn(&[u8]) -> Option<Vec<Assignment>>,
}

/// A decision that differs from the kernel's: the input, the kernel's decision, the one here. Field by field, one per line.
pub type Difference = [String; 3];

/// Settings as the kernel's map holds them.
pub(crate) trait MapSettings: Pod {
    /// Those for arguments of the registry; `None` where the kernel has no such thing.
    fn set(arguments: &Arguments) -> Option<Self>;

    /// The arguments that set them.
    fn arguments(&self) -> Vec<Assignment>;
}

impl KernelCore {
    /// The core whose step is `T`, and whose settings are `S`.
    pub(crate) const fn of<T: HostStep, S: MapSettings>(number: u32, name: &'static str) -> Self {
        Self {
            number,
            name,
            layouts: T::LAYOUTS,
            check: check::<T>,
            try_again: try_again::<T>,
            set: |arguments| S::set(arguments).map(|settings| bytes_of(&settings).into()),
            arguments: |bytes| try_pod_read_unaligned::<S>(bytes).ok().map(|settings| settings.arguments()),
        }
    }

    /// Runs a recorded step again. `None` for bytes that are no step of this core, else where the outcomes differ, they.
    pub fn check(&self, step: &event_log::Step) -> Option<Option<Difference>> {
        (self.check)(step)
    }

    /// Decides as many random steps of a seed as the kernel's program `try_NAME` has, whose map holds `kernel` afterwards.
    /// Where they differ: the first step, the kernel's last, the last here.
    pub fn try_again(&self, seed: u64, steps: u32, kernel: &[u8]) -> Option<Difference> {
        (self.try_again)(seed, steps, kernel)
    }

    /// The settings, as a map holds them.
    pub fn set(&self, arguments: &Arguments) -> Option<Vec<u8>> {
        (self.set)(arguments)
    }

    /// The arguments for settings of a map; `None` where those have another layout.
    pub fn arguments(&self, settings: &[u8]) -> Option<Vec<Assignment>> {
        (self.arguments)(settings)
    }
}

impl Debug for KernelCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A step on the host.
pub(crate) trait HostStep: Step + CheckedBitPattern + Debug + PartialEq {}

impl<T: Step + CheckedBitPattern + Debug + PartialEq> HostStep for T {}

fn check<T: HostStep>(step: &event_log::Step) -> Option<Option<Difference>> {
    let read = |words: &[u64]| checked::try_pod_read_unaligned::<T>(cast_slice(words)).ok();
    let (given, recorded) = (read(&step.before)?, read(&step.after)?);
    let mut decided = given;
    decided.run();
    Some((decided != recorded).then(|| [given, recorded, decided].map(|step| format!("{step:#?}"))))
}

fn try_again<T: HostStep>(seed: u64, steps: u32, kernel: &[u8]) -> Option<Difference> {
    let (mut here, mut draw, mut digest) = (T::FIRST, Draw(seed), Digest(0));
    (0..steps).for_each(|_| try_once(&mut here, &mut draw, &mut digest));
    let (step, rest) = kernel.split_at_checked(size_of::<T>()).unwrap_or_default();
    let step = checked::try_pod_read_unaligned::<T>(step);
    let is_alike = step == Ok(here) && rest.starts_with(bytes_of(&[draw.0, digest.0]));
    (!is_alike).then(|| [format!("{:#?}", T::FIRST), format!("{step:#?}"), format!("{here:#?}")])
}
