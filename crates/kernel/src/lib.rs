//! Schemes in the TCP of an unmodified Linux kernel: eBPF programs whose decisions are those of `cellcc-fixed`.
//!
//! | to find | look in |
//! |---|---|
//! | the schemes that there are, and what each needs of a kernel | [`Scheme`] |
//! | whether this machine can run one, and why not | [`Machine`] |
//! | what is loaded for as long as a value lives | [`Held`] |
//! | a scheme as text, `reminis(dtt=40ms)` | [`Written`] |
//! | the schemes for `cellcc compare --driver kernel` | [`KernelSchemes`] |
//! | what is loaded: it stays when the process ends | [`Pins`] |
//! | what the kernel has that is not pinned where we look | [`Pins::elsewhere`] |
//! | what the kernel asks the integer cores | [`steps`] |
//! | what the cores decide in the kernel, recorded and decided again | [`Recorder`], [`verify`] |
//! | the sockets that use a scheme, live | [`Sockets`] |
//! | beta in a TCP option, from the user's side | [`FlowTeller`], [`Pins::hear_flow_counts`] |
//! | what passes an interface towards users, and their RTTs | [`HostCounters`] |
//! | the programs in C around the cores | `bpf/` |
//! | the same as objects, and what they were made of | `objects/`, written by `make kernel-objects` |
//!
//! Linux only.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the kernel takes real time, and namespaces threads")]

mod advising;
mod backend;
mod change;
mod control_group;
mod error;
mod flow_counts;
mod holding;
mod host_counters;
mod libbpf_log;
mod loading;
mod machine;
mod netlink;
mod network;
mod notation;
mod pins;
mod recording;
pub mod routes;
mod scheme;
mod settings;
mod socket_options;
mod sockets;
#[path = "../bpf/steps/mod.rs"]
pub mod steps;
mod sys;
mod turn;
mod unloading;
mod upgrading;
mod verification;

pub use backend::KernelSchemes;
pub use cellcc_fixed::reminis::Zone;
pub use control_group::ControlGroup;
pub use error::{KernelError, Unseen};
pub use flow_counts::FlowTeller;
pub use holding::{Calls, Held};
pub use host_counters::HostCounters;
pub use machine::{Capability, Machine, Refusal, Release};
pub use notation::Written;
pub use pins::{DEFAULT_FOLDER, Pins};
pub use recording::{Recorded, Recorder};
pub use scheme::Scheme;
pub use settings::Settings;
pub use socket_options::{ALPHA_OPTION, TARGET_OPTION};
pub use sockets::{Socket, Sockets};
pub use unloading::Reset;
pub use verification::{Difference, SocketName, VerificationError, Verified, verify};
