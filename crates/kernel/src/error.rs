//! Errors of the kernel's schemes.

use std::fmt;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Reason why a kernel scheme has no pin in a folder. Its text says how to proceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unseen {
    /// The folder is in no BPF file system.
    #[error(
        "That folder is in no BPF file system: `ip netns exec` hides it behind a /sys of its own. Enter a network namespace with \
         `nsenter --net=/run/netns/NAME cellcc tcp ...` instead, which leaves /sys as it is"
    )]
    NoFileSystem,
    /// The folder cannot be read.
    #[error("This user may not look into that folder: run it as root")]
    NotPermitted,
    /// The pins are elsewhere, or there are none.
    #[error(
        "Either `cellcc tcp load` had another --pins, or ran where another BPF file system is mounted; or a program holds them \
         while it runs, such as `cellcc compare --driver kernel`"
    )]
    OtherPins,
}

/// Reason why an operation failed. The message says how to proceed.
#[derive(Debug, Error)]
pub enum KernelError {
    /// This machine cannot.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Pins have no place.
    #[error(
        "{} is not in a BPF file system: mount one (mount -t bpf bpf /sys/fs/bpf); `ip netns exec` hides it behind a /sys of its \
         own: there use `nsenter --net=/run/netns/NAME cellcc tcp ...` instead",
        .0.display()
    )]
    NoFileSystem(PathBuf),
    /// Another process changes the loaded schemes, for longer than that takes.
    #[error(
        "another `cellcc tcp` has held {} for half a minute: wait for it, or end it (`lsof {}` says which it is)",
        .0.display(), .0.display()
    )]
    Busy(PathBuf),
    /// Loaded before.
    #[error(
        "{0} is loaded already: `cellcc tcp set` changes its settings, `cellcc tcp unload {0}` removes it, and `load --replace` \
         gives it new settings and programs"
    )]
    LoadedAlready(&'static str),
    /// The schemes are in the kernel, but not pinned in the searched folder.
    #[error("in the kernel, but not in {}: {schemes}. {because}", .folder.display())]
    Elsewhere {
        /// The schemes' names.
        schemes: String,
        /// The folder that was searched.
        folder: PathBuf,
        /// The reason why they are missing.
        because: Unseen,
    },
    /// Loaded by another program.
    #[error(
        "the kernel has a scheme {0} already: `cellcc tcp unload {0}` unloads it if `cellcc tcp load` has loaded it; otherwise its owner must unload it"
    )]
    NameTaken(&'static str),
    /// The scheme is not loaded.
    #[error("{0} is not loaded: `cellcc tcp load` loads it")]
    NotLoaded(&'static str),
    /// Unpinned, but not gone.
    #[error(
        "{0} is unpinned, but the kernel still has it: another pin or process holds its link (bpftool link shows which)"
    )]
    StillHeld(&'static str),
    /// No route of exactly this destination names a scheme of ours.
    #[error(
        "no route to {0} in this network namespace names a scheme of cellcc: `cellcc tcp route list` shows those that do"
    )]
    NoRoute(String),
    /// There is no interface of this name.
    #[error("there is no interface `{0}` in this network namespace: `ip link` lists them")]
    NoInterface(String),
    /// An interface was removed, and another has its name.
    #[error("the interface `{0}` is another than before")]
    InterfaceReplaced(String),
    /// No scheme is loaded.
    #[error("nothing is loaded: `cellcc tcp load` loads a scheme")]
    NothingLoaded,
    /// No control group of version 2.
    #[error(
        "{} is no control group of version 2: {problem}; `findmnt -t cgroup2` says where they are", .path.display()
    )]
    NoControlGroup {
        /// The given path.
        path: PathBuf,
        /// The reason.
        problem: String,
    },
    /// A text that is no scheme of the kernel.
    #[error("{0}")]
    Notation(String),
    /// The settings in the kernel have another layout.
    #[error(
        "the settings of {0} have another layout than this cellcc knows: unload it with the version that loaded it"
    )]
    OtherLayout(&'static str),
    /// The kernel does not take a program.
    #[error("the kernel refuses {scheme}: {problem}; it said: {log}")]
    Rejected {
        /// The scheme's name.
        scheme: &'static str,
        /// The error.
        problem: String,
        /// The end of the log of libbpf and the verifier.
        log: String,
    },
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// The failed action.
        action: String,
        /// The reason for the failure.
        source: io::Error,
    },
}

impl KernelError {
    /// True for an error of the command's input.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::NoControlGroup { .. } | Self::NoInterface(_) | Self::Notation(_))
    }

    pub(crate) fn system(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action: action.into(), source }
    }

    pub(crate) fn libbpf(action: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |error| Self::System { action: action.into(), source: io::Error::other(error) }
    }
}

/// Reason why a machine cannot run a scheme. The message says how to proceed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Links of struct_ops or a callback's form came later.
    #[error("{scheme} needs Linux {needed} or newer, and this is {found}: boot a newer kernel")]
    OldKernel {
        /// The scheme's name.
        scheme: &'static str,
        /// The oldest kernel that can run it.
        needed: Release,
        /// This kernel.
        found: Release,
    },
    /// The kernel does not describe the fields of a socket.
    #[error(
        "the kernel does not describe its types: /sys/kernel/btf/vmlinux is missing; use a kernel with CONFIG_DEBUG_INFO_BTF"
    )]
    NoTypeInformation,
    /// The process may not.
    #[error("loading needs {missing}, which this process does not have: run it as root")]
    NotPermitted {
        /// The missing capability.
        missing: Capability,
    },
    /// The kernel is built without a part that a scheme needs.
    #[error("{scheme} needs `{function}`, which this kernel does not offer: {remedy}")]
    NoFunction {
        /// The scheme's name.
        scheme: &'static str,
        /// The missing function.
        function: &'static str,
        /// The remedy.
        remedy: String,
    },
}

/// A version of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// 6 of 6.4.
    pub major: u32,
    /// 4 of 6.4.
    pub minor: u32,
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Release {
    /// Reads, for example, `6.18.44-amd64`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        Some(Self { major: numbers.next()?.ok()?, minor: numbers.next()?.ok()? })
    }
}

/// A right that loading needs, by its number in capabilities(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Programs of the network, their maps and links.
    Bpf = 39,
    /// Programs that read the kernel's memory.
    Perfmon = 38,
    /// Congestion control, and programs of a control group.
    NetAdmin = 12,
}

impl Capability {
    pub(crate) const ALL: [Self; 3] = [Self::Bpf, Self::Perfmon, Self::NetAdmin];
    /// CAP_SYS_ADMIN stands for the first two.
    pub(crate) const SYS_ADMIN: u32 = 21;

    pub(crate) fn is_in(self, set: u64) -> bool {
        let has = |number: u32| set >> number & 1 == 1;
        has(self as u32) || (self != Self::NetAdmin && has(Self::SYS_ADMIN))
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bpf => "CAP_BPF",
            Self::Perfmon => "CAP_PERFMON",
            Self::NetAdmin => "CAP_NET_ADMIN",
        })
    }
}
