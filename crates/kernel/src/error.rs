//! What can go wrong with the kernel's schemes.

use crate::machine::Refusal;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why something was not done. The message says what to do.
#[derive(Debug, Error)]
pub enum KernelError {
    /// This machine cannot.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Pins have no place.
    #[error("{} is not in a BPF file system: mount one (mount -t bpf bpf /sys/fs/bpf)", .0.display())]
    NoFileSystem(PathBuf),
    /// Loaded before.
    #[error(
        "{0} is loaded already: `cellcc tcp set` changes its settings, `cellcc tcp unload {0}` removes it"
    )]
    LoadedAlready(&'static str),
    /// Loaded by somebody else.
    #[error(
        "the kernel has a scheme {0} already: `cellcc tcp unload {0}` unloads what `cellcc tcp load` has loaded; what is \
         another's, whoever loaded it must unload"
    )]
    NameTaken(&'static str),
    /// Not loaded.
    #[error("{0} is not loaded: `cellcc tcp load` loads it")]
    NotLoaded(&'static str),
    /// Unpinned, but not gone.
    #[error(
        "{0} is unpinned, but the kernel still has it: another pin or process holds its link (bpftool link shows which)"
    )]
    StillHeld(&'static str),
    /// There is no interface of this name.
    #[error("there is no interface `{0}` in this network namespace: `ip link` lists what there is")]
    NoInterface(String),
    /// An interface was removed, and another has its name.
    #[error("the interface `{0}` is another than before")]
    InterfaceReplaced(String),
    /// Nothing loaded.
    #[error("nothing is loaded: `cellcc tcp load` loads a scheme")]
    NothingLoaded,
    /// No control group of version 2.
    #[error(
        "{} is no control group of version 2: {problem}; `findmnt -t cgroup2` says where they are", .path.display()
    )]
    NoControlGroup {
        /// What was given.
        path: PathBuf,
        /// Why it is none.
        problem: String,
    },
    /// A text that is no scheme of the kernel.
    #[error("{0}")]
    Notation(String),
    /// The settings in the kernel are of another layout.
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
        /// The end of what libbpf and the verifier wrote.
        log: String,
    },
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl KernelError {
    /// The command asked for what there is not.
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
